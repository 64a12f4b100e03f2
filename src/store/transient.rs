//! What the end of the last session takes away; never the flag, never the journal.

use std::fs;

use super::activity_file::Held;
use super::file::{self, FileError};
use super::root::Root;
use super::{asked, pending, pid_file, sessions};

/// Whether the daemon goes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    /// Its pid file and its beacon go with it.
    Ends,
    /// A service manager keeps it: what tells of it is still true.
    Stays,
}

/// Removes pid files, bridge files, the beacon, whatever is staged, and what killed writers left. Returns the first thing that would not go.
///
/// # Errors
/// A staged message is there and stays there.
pub fn remove(root: &Root, daemon: Daemon) -> Result<(), FileError> {
    if daemon == Daemon::Ends {
        for path in [root.in_tmp(pid_file::DAEMON), root.in_own("daemon.json")] {
            fs::remove_file(path).ok();
        }
    }
    fs::remove_file(root.in_tmp(pid_file::BRIDGE)).ok();
    fs::remove_dir_all(root.in_own("bridges")).ok();
    asked::clear(root);
    file::sweep(&root.own());
    pending::withdraw(root, |_| true).map(|_| ())
}

/// Removes the sessions and the activity too: nobody is left whose they are. The lock is taken if it can be had in
/// time; a session's end must not hang on somebody who is stopped.
///
/// # Errors
/// A file is there and stays there.
pub fn remove_all(root: &Root, held: Option<Held<'_>>, daemon: Daemon) -> Result<(), FileError> {
    let rest = remove(root, daemon);
    sessions::clear(root);
    file::remove(&root.activity())?;
    super::activity_file::forget_unstored(root);
    drop(held);
    rest
}

#[cfg(test)]
mod tests;
