//! Pid files for people and scripts. They prove nothing; a held lock does.

use std::path::Path;

use super::file::{Access, FileError, read_own, remove, replace};
use super::root::Root;

/// The daemon's, below `.kiln/tmp/`.
pub const DAEMON: &str = "watchdog.pid";
/// The bridge's, below `.kiln/tmp/`.
pub const BRIDGE: &str = "async-rewake-watchdog.pid";

/// Writes a pid and a newline.
///
/// # Errors
/// It could not be stored.
pub fn store(root: &Root, name: &str, pid: u32) -> Result<(), FileError> {
    let path = root.in_tmp(name);
    // A folder in its place would keep the daemon from running; whatever it holds is somebody's.
    if path.is_dir() && std::fs::remove_dir(&path).is_err() {
        std::fs::rename(&path, root.in_own(&format!("{name}.folder"))).ok();
    }
    replace(&path, format!("{pid}\n").as_bytes(), &root.own(), Access::Shared, false)
}

/// Reads a pid that a process could have: a whole number above 1 on the first line.
pub fn load(path: &Path) -> Option<i32> {
    let bytes = read_own(path, 64).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    text.trim_end_matches('\n').parse::<i32>().ok().filter(|pid| *pid > 1)
}

/// Removes the file if it names this process.
pub fn remove_if(root: &Root, name: &str, pid: u32) {
    let path = root.in_tmp(name);
    if load(&path).is_some_and(|found| u32::try_from(found) == Ok(pid)) {
        remove(&path).ok();
    }
}

#[cfg(test)]
mod tests;
