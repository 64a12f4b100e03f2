//! `activity.json`: read by anyone at any time, changed under the lock that the seeds' own scripts take.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use super::file::{Access, FileError, chain, euid, read_own, remove, replace};
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

/// Reads the file, and what is known of work that could not be stored in it. None = it is not there.
pub fn load(root: &Root) -> Option<Loaded> {
    let mut loaded = read(root)?;
    add_unstored(root, &mut loaded.activity);
    Some(loaded)
}

/// Takes note of work at `now` (unix seconds) that could not be stored: no space is left, or somebody who is stopped
/// holds the lock. A modification time takes no space and no lock.
///
/// # Errors
/// Not even that is possible.
pub fn note_unstored(root: &Root, now: i64) -> Result<(), FileError> {
    root.prepare()?;
    let path = unstored(root);
    mark(&path, now).map_err(FileError::of("mark", &path))
}

/// Makes the mark's file while there is space for it.
pub fn prepare_unstored(root: &Root) {
    let path = unstored(root);
    if path.symlink_metadata().is_err() {
        mark(&path, 0).ok();
    }
}

/// Raises the last activity to work that could not be stored. Returns whether there was later work of that kind.
pub fn add_unstored(root: &Root, activity: &mut Activity) -> bool {
    let marked = fs::symlink_metadata(unstored(root))
        .ok()
        .filter(|meta| meta.is_file() && meta.uid() == euid())
        .map_or(0, |meta| meta.mtime());
    let later = marked > activity.last_activity_ts;
    activity.last_activity_ts = activity.last_activity_ts.max(marked);
    later
}

/// Removes the mark: whose work it was is gone with its session.
pub fn forget_unstored(root: &Root) {
    fs::remove_file(unstored(root)).ok();
}

fn unstored(root: &Root) -> PathBuf {
    root.in_own("unstored")
}

fn mark(path: &Path, at: i64) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    let at = u64::try_from(at).unwrap_or(0);
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(at))
}

fn read(root: &Root) -> Option<Loaded> {
    let path = root.activity();
    // What cannot be read is replaced by the next heartbeat, counters and all: a passing fault (no descriptor left, a
    // network file system) must not come to that.
    let bytes = read_own(&path, MOST).or_else(|_| read_own(&path, MOST));
    let (read, fault) = match bytes {
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

/// A crowd that takes its turns is waited for this many times longer than one holder who does not move.
const TURNS: u32 = 3;

/// Takes the lock, waiting for at most `patience` on a holder who does not move. While others take their turns, as
/// hundreds of hooks at once do, it is worth waiting longer: a turn that is given up is an update that is lost.
///
/// # Errors
/// The folders are not ours, or somebody else holds the lock.
pub fn hold(root: &Root, patience: Duration) -> Result<Held<'_>, FileError> {
    root.prepare()?;
    let path = root.in_tmp("activity.lock");
    let written = || fs::symlink_metadata(root.activity()).map(|meta| (meta.ino(), meta.mtime_nsec())).ok();
    let mut before = written();
    for _ in 0..TURNS {
        if let Some(lock) = lock::acquire(&path, patience)? {
            return Ok(Held { root, _lock: lock });
        }
        let now = written();
        if now == before {
            break;
        }
        before = now;
    }
    let words = "another process holds it; if it is stopped, continue or end it";
    Err(FileError::of("lock", &path)(io::Error::new(io::ErrorKind::TimedOut, words)))
}

impl Held<'_> {
    /// Reads the file as it is; one that is not there reads as nothing ever seen.
    pub fn load(&self) -> Loaded {
        read(self.root).unwrap_or_default()
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
