//! `activity.json`: read by anyone at any time, changed under the lock that the seeds' own scripts take.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::file::{Access, FileError, chain, read_own, remove, replace};
use super::lock;
use super::root::Root;
use crate::model::activity::Activity;
use crate::protocol::activity_json;

/// The largest file that is read: thousands of teammates.
const MOST: u64 = 4 * 1024 * 1024;

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// The activity. If its stamp had no meaning, the file's modification time stands in for it.
    pub activity: Activity,
    /// What was wrong, in words; empty = nothing.
    pub faults: Vec<String>,
}

/// The lock on a root's activity, held until it is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    root: &'a Root,
    _lock: File,
}

/// Reads the file. None = it is not there.
pub fn load(root: &Root) -> Option<Loaded> {
    let path = root.activity();
    let (read, fault) = match read_own(&path, MOST) {
        Ok(None) => return None,
        Ok(Some(bytes)) => (activity_json::read(&bytes), None),
        Err(error) => (activity_json::Read::default(), Some(chain(&error))),
    };
    let mut activity = read.activity;
    if !read.has_stamp {
        activity.last_activity_ts = fs::symlink_metadata(&path).map_or(0, |meta| meta.mtime());
    }
    Some(Loaded { activity, faults: read.faults.into_iter().chain(fault).collect() })
}

/// Takes the lock, waiting for at most `patience`.
///
/// # Errors
/// The folders are not ours, or somebody else holds the lock.
pub fn hold(root: &Root, patience: Duration) -> Result<Held<'_>, FileError> {
    root.prepare()?;
    let path = root.in_tmp("activity.lock");
    match lock::acquire(&path, patience)? {
        Some(lock) => Ok(Held { root, _lock: lock }),
        None => Err(FileError::of("lock", &path)(io::Error::new(
            io::ErrorKind::TimedOut,
            "another process holds it; if it is stopped, continue or end it",
        ))),
    }
}

impl Held<'_> {
    /// Reads the file; one that is not there reads as nothing ever seen.
    pub fn load(&self) -> Loaded {
        load(self.root).unwrap_or_default()
    }

    /// Replaces the file, raising the epoch. What could not be read is put aside once, not overwritten unseen.
    ///
    /// # Errors
    /// It could not be stored; then the old file is whole.
    pub fn store(&self, loaded: &mut Loaded) -> Result<(), FileError> {
        if !loaded.faults.is_empty() {
            self.put_aside();
        }
        loaded.activity.epoch += 1;
        let bytes = activity_json::write(&loaded.activity);
        replace(&self.root.activity(), &bytes, &self.root.own(), Access::Shared, false)?;
        loaded.faults.clear();
        Ok(())
    }

    /// Removes the file, as the end of the last session does.
    ///
    /// # Errors
    /// It is there and stays there.
    pub fn remove(&self) -> Result<(), FileError> {
        remove(&self.root.activity())
    }

    /// Keeps one copy of a broken file. A rename would leave readers without one, so it is a copy.
    fn put_aside(&self) {
        if let Ok(Some(bytes)) = read_own(&self.root.activity(), MOST) {
            let aside = self.root.in_own("activity.broken");
            replace(&aside, &bytes, &self.root.own(), Access::Private, false).ok();
        }
    }
}

#[cfg(test)]
mod tests;
