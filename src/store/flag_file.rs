//! `DEADLOCK.flag`: the durable record of giving up.

use super::file::{Access, FileError, read_own, remove, replace};
use super::root::Root;
use crate::model::nudge::Flag;
use crate::protocol::flag_json;

/// The largest flag that is read; of a larger one only the fact counts.
const MOST: u64 = 64 * 1024;

/// Tells whether the flag lies there, whatever it is.
pub fn is_there(root: &Root) -> bool {
    root.flag().symlink_metadata().is_ok()
}

/// Reads the flag. None = there is none. What cannot be read is an empty flag: that it lies there is what counts.
pub fn load(root: &Root) -> Option<Flag> {
    match read_own(&root.flag(), MOST) {
        Ok(None) => None,
        Ok(Some(bytes)) => Some(flag_json::read(&bytes)),
        Err(_) => Some(Flag::default()),
    }
}

/// Writes the flag so that it outlives a power cut: file and folder are synced. A new flag wakes anew, even if the
/// one before was removed by hand.
///
/// # Errors
/// It could not be stored.
pub fn store(root: &Root, flag: &Flag) -> Result<(), FileError> {
    if !is_there(root) {
        remove(&root.in_own("flag.told"))?;
    }
    replace(&root.flag(), &flag_json::write(flag), &root.own(), Access::Shared, true)
}

/// Removes the flag, and the mark that its wake was told.
///
/// # Errors
/// It is there and stays there.
pub fn clear(root: &Root) -> Result<(), FileError> {
    remove(&root.flag())?;
    remove(&root.in_own("flag.told"))
}

/// Claims the wake for the present flag: true for exactly one caller.
pub fn claim_wake(root: &Root) -> bool {
    std::fs::OpenOptions::new().write(true).create_new(true).open(root.in_own("flag.told")).is_ok()
}

#[cfg(test)]
mod tests;
