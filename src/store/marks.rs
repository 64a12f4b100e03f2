//! Small marks of what is under way, one file each, so that a hook that has nothing to say pays one look at the file
//! system: by the session and a key of it, in a folder of their own.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;

use super::file::{Access, FileError, own_folder, read_own, replace};
use super::root::Root;

/// The marks of one folder below `tmp/watchdog/`.
#[derive(Debug)]
pub struct Marks {
    /// The folder's name.
    pub folder: &'static str,
    /// The longest mark that is read, in bytes.
    pub most: u64,
}

impl Marks {
    fn path(&self, root: &Root, session: &str, key: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        hasher.write(session.as_bytes());
        hasher.write_u8(0);
        hasher.write(key.as_bytes());
        root.in_own(self.folder).join(format!("{:016x}", hasher.finish()))
    }

    /// Stores a mark.
    ///
    /// # Errors
    /// It could not be stored.
    pub fn put(&self, root: &Root, session: &str, key: &str, text: &str) -> Result<(), FileError> {
        own_folder(&root.in_own(self.folder), 0o700)?;
        let path = self.path(root, session, key);
        replace(&path, text.as_bytes(), &root.own(), Access::Private, false)
    }

    /// Reads a mark. None = there is none that can be read.
    pub fn get(&self, root: &Root, session: &str, key: &str) -> Option<Vec<u8>> {
        read_own(&self.path(root, session, key), self.most).ok().flatten()
    }

    /// Removes a mark. Returns whether there was one.
    pub fn remove(&self, root: &Root, session: &str, key: &str) -> bool {
        fs::remove_file(self.path(root, session, key)).is_ok()
    }

    /// Removes all marks.
    pub fn clear(&self, root: &Root) {
        fs::remove_dir_all(root.in_own(self.folder)).ok();
    }
}
