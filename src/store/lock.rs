//! Advisory locks with a deadline.
//!
//! We make a lock file once and never remove it, so a lock is on the file that others see; who holds one for long asks
//! [`is_in_place`], since people remove folders. Dropping the returned file releases it; so does death.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use super::file::FileError;

/// The first pause between two attempts; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(250);
/// A crowd that asks often keeps the one who holds the lock from its work; the more there are, the sooner one of them
/// comes by after a release anyway.
const LONGEST_PAUSE: Duration = Duration::from_millis(32);

/// How a lock is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nobody else.
    Exclusive,
    /// With others that share it.
    Shared,
}

/// Takes an exclusive lock, waiting for at most `patience`. None = somebody else holds it.
///
/// # Errors
/// The lock file cannot be made or opened.
pub fn acquire(path: &Path, patience: Duration) -> Result<Option<File>, FileError> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
        .map_err(FileError::of("open", path))?;
    Ok(lock(&file, Kind::Exclusive, patience).map_err(FileError::of("lock", path))?.then_some(file))
}

/// Locks an open file, waiting for at most `patience`. Returns false if somebody else holds it.
///
/// # Errors
/// The file system knows no locks.
pub fn lock(file: &File, kind: Kind, patience: Duration) -> io::Result<bool> {
    let mut waited = Duration::ZERO;
    let mut pause = FIRST_PAUSE;
    loop {
        let attempt = match kind {
            Kind::Exclusive => file.try_lock(),
            Kind::Shared => file.try_lock_shared(),
        };
        match attempt {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if waited >= patience => return Ok(false),
            Err(TryLockError::WouldBlock) => {}
        }
        thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Tells whether a lock file is still the one that others find: the folder around it may have been removed since. One
/// that cannot be looked at is taken to be in its place.
pub fn is_in_place(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        (_, Err(error)) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        (Err(_), Ok(_)) => true,
    }
}

/// Tells whether somebody holds the lock. A file that is not there is not held.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests;
