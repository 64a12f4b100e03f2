//! Marks of agents that asked another and have not ended their turn yet: whoever goes on meets its own mark. One
//! small file each, so that a hook that has nothing to say pays one look at the file system.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;

use super::file::{Access, FileError, read_own, replace};
use super::root::Root;

/// The longest mark that is read.
const MOST: u64 = 4096;

fn path(root: &Root, session: &str, agent: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    hasher.write(session.as_bytes());
    hasher.write_u8(0);
    hasher.write(agent.as_bytes());
    root.in_own("asked").join(format!("{:016x}", hasher.finish()))
}

/// Marks that an agent asked for something.
///
/// # Errors
/// The mark could not be stored.
pub fn put(root: &Root, session: &str, agent: &str, what: &str) -> Result<(), FileError> {
    let path = path(root, session, agent);
    super::file::own_folder(&root.in_own("asked"), 0o700)?;
    replace(&path, what.as_bytes(), &root.own(), Access::Private, false)
}

/// Takes an agent's mark: what it asked for.
pub fn take(root: &Root, session: &str, agent: &str) -> Option<String> {
    let path = path(root, session, agent);
    let bytes = read_own(&path, MOST).ok().flatten()?;
    fs::remove_file(&path).ok()?;
    String::from_utf8(bytes).ok()
}

/// Removes an agent's mark, if there is one: its turn is over.
pub fn forget(root: &Root, session: &str, agent: &str) {
    fs::remove_file(path(root, session, agent)).ok();
}

/// Removes all marks.
pub fn clear(root: &Root) {
    fs::remove_dir_all(root.in_own("asked")).ok();
}
