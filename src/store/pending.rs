//! `pending-nudge.json`: a message is staged by replacing the file and taken by renaming it, so exactly one taker
//! gets it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::file::{Access, FileError, read_own, remove, replace};
use super::root::Root;
use crate::model::nudge::Nudge;
use crate::protocol::nudge_json;

/// The largest message that is read.
const MOST: u64 = 256 * 1024;

/// What lies in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Pending {
    /// Nothing is staged.
    Nothing,
    /// A message.
    Staged(Nudge),
    /// Something that cannot be delivered: no text, not ours; or it cannot be read at present.
    Broken(String),
}

/// Looks without taking.
pub fn look(root: &Root) -> Pending {
    read(&root.pending()).unwrap_or_else(|error| Pending::Broken(super::file::chain(&error)))
}

/// # Errors
/// The system does not let it be read, which may pass.
fn read(path: &Path) -> Result<Pending, FileError> {
    match read_own(path, MOST) {
        Ok(None) => Ok(Pending::Nothing),
        Ok(Some(bytes)) => Ok(nudge_json::read(&bytes)
            .map_or_else(|| Pending::Broken("it holds no text".to_owned()), Pending::Staged)),
        Err(error) if error.source.raw_os_error().is_some() => Err(error),
        Err(error) => Ok(Pending::Broken(super::file::chain(&error))),
    }
}

/// Stages a message, replacing one that nobody took.
///
/// # Errors
/// It could not be stored.
pub fn stage(root: &Root, nudge: &Nudge) -> Result<(), FileError> {
    sweep(root);
    replace(&root.pending(), &nudge_json::write(nudge), &root.own(), Access::Private, false)
}

/// Takes the message if `is_mine` says so of it. None = nothing is staged, it is another's, or another was faster.
/// A file that cannot be delivered is dropped, once, whoever asks.
///
/// # Errors
/// The file is there and cannot be read or moved; then it stays.
pub fn claim(root: &Root, is_mine: impl Fn(&Nudge) -> bool) -> Result<Option<Nudge>, FileError> {
    match read(&root.pending())? {
        Pending::Nothing => return Ok(None),
        Pending::Staged(nudge) if !is_mine(&nudge) => return Ok(None),
        Pending::Staged(_) | Pending::Broken(_) => {}
    }
    let Some(taken) = take(root)? else { return Ok(None) };
    // What was taken may be another message than the one that was looked at.
    let nudge = match read(&taken) {
        Ok(Pending::Staged(nudge)) => nudge,
        Ok(_) => return remove(&taken).map(|()| None),
        Err(error) => {
            put_back(root, &taken).ok();
            return Err(error);
        }
    };
    if !is_mine(&nudge) {
        return put_back(root, &taken).map(|()| None);
    }
    // It is ours, whether or not its name goes: nobody else looks there, and the next message sweeps it away.
    remove(&taken).ok();
    Ok(Some(nudge))
}

/// Gives a message that was taken its place again, unless a newer one has been staged since.
fn put_back(root: &Root, taken: &Path) -> Result<(), FileError> {
    let pending = root.pending();
    // Not every file system knows a rename that replaces nothing; a link never does.
    let is_back = renameat_with(CWD, taken, CWD, &pending, RenameFlags::NOREPLACE).is_ok()
        || fs::hard_link(taken, &pending).is_ok()
        || pending.symlink_metadata().is_err() && fs::rename(taken, &pending).is_ok();
    if is_back || pending.symlink_metadata().is_ok() {
        return remove(taken);
    }
    let error = io::Error::other("what was taken for another could not be put back");
    Err(FileError::of("stage", &pending)(error))
}

/// Removes what takers left that died between taking and removing. Whether their client got the text is not known,
/// so nobody gets it again.
fn sweep(root: &Root) {
    let Ok(entries) = fs::read_dir(root.own()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let taker =
            name.to_str().and_then(|name| name.strip_prefix("pending-nudge.")?.strip_suffix(".claimed"));
        let taker = taker.and_then(|taker| taker.split('-').next());
        if taker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Takes back whatever is staged and for which `is_over` holds. Returns its id.
///
/// # Errors
/// The file is there and cannot be moved.
pub fn withdraw(root: &Root, is_over: impl Fn(&Nudge) -> bool) -> Result<Option<String>, FileError> {
    Ok(claim(root, is_over)?.map(|nudge| nudge.id))
}

/// Moves the file to a name of its own. A name that a killed process of the same number left is overwritten.
fn take(root: &Root) -> Result<Option<PathBuf>, FileError> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let pending = root.pending();
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    let mine = root.in_own(&format!("pending-nudge.{}-{number}.claimed", std::process::id()));
    match fs::rename(&pending, &mine) {
        Ok(()) => Ok(Some(mine)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::of("claim", &pending)(error)),
    }
}

#[cfg(test)]
mod tests;
