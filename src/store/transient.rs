//! What the end of the last session takes away; never the flag, never the journal.

use std::fs;
use std::time::Duration;

use super::activity_file::Held;
use super::file::FileError;
use super::root::Root;
use super::{lock, pending, pid_file, sessions};

/// Removes pid files, bridge files, the beacon and whatever is staged, but for the marks of a daemon that lives.
///
/// # Errors
/// A staged message is there and stays there.
pub fn remove(root: &Root) -> Result<(), FileError> {
    fs::remove_file(root.in_tmp(pid_file::BRIDGE)).ok();
    remove_marks(root);
    fs::remove_dir_all(root.in_own("bridges")).ok();
    pending::withdraw(root, |_| true).map(|_| ())
}

/// A daemon that ends removes its own marks; those of one that was killed are left. While somebody starts one they
/// are not ours to remove.
fn remove_marks(root: &Root) {
    let Ok(Some(_start)) = lock::acquire(&root.in_own("start.lock"), Duration::ZERO) else { return };
    if !lock::is_held(&root.daemon_lock()) {
        fs::remove_file(root.in_tmp(pid_file::DAEMON)).ok();
        fs::remove_file(root.in_own("daemon.json")).ok();
    }
}

/// Removes the sessions and the activity too: nobody is left whose they are. The lock is taken if it can be had in
/// time; a session's end must not hang on somebody who is stopped.
///
/// # Errors
/// A file is there and stays there.
pub fn remove_all(root: &Root, held: Option<Held<'_>>) -> Result<(), FileError> {
    let rest = remove(root);
    sessions::clear(root);
    super::file::remove(&root.activity())?;
    drop(held);
    rest
}
