//! `STATE.md`: read by all, written by the pipeline, and by us once at recovery.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use rustix::fs::OFlags;

use super::file::{FileError, euid};
use super::root::Root;
use crate::model::wording::plain;
use crate::protocol::state_md;

/// A stage stands near the top; only if it does not, more is read.
const HEAD: u64 = 16 * 1024;
/// What is read at most of a file of any size.
const MOST: u64 = 1024 * 1024;
/// The longest name of a stage, in characters.
const LONGEST: usize = 80;

/// The stage of a project without `.kiln/` as long as nobody has looked at what is watched in it.
pub const WITHOUT_KILN: &str = "working";

/// Reads the pipeline's stage. None = there is no pipeline: no file, or none that names a stage. Without `.kiln/` there is
/// no such file: whoever has folded the journal knows the stage (`model::stage`), and all others take it for at work.
///
/// A symlink is followed: nothing but a word is taken from the file, and a pipeline that keeps its state elsewhere
/// must not go unwatched.
///
/// # Errors
/// The file is there but cannot be read.
pub fn stage(root: &Root) -> Result<Option<String>, FileError> {
    if !root.is_kiln() {
        return Ok(Some(WITHOUT_KILN.to_owned()));
    }
    let path = root.state();
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::of("read", &path)(error)),
    };
    let mut bytes = Vec::new();
    let mut more = |bytes: &mut Vec<u8>, most: u64| -> io::Result<bool> {
        Ok((&mut file as &mut File).take(most).read_to_end(bytes)? as u64 == most)
    };
    let long = more(&mut bytes, HEAD).map_err(FileError::of("read", &path))?;
    // A line that goes on beyond what was read is read again, whole.
    let lines = if long { memchr::memrchr(b'\n', &bytes).unwrap_or(0) } else { bytes.len() };
    let found = state_md::stage(&bytes[..lines]);
    if found.is_some() || !long {
        return Ok(found.map(|stage| plain(&stage, LONGEST)));
    }
    more(&mut bytes, MOST - HEAD).map_err(FileError::of("read", &path))?;
    Ok(state_md::stage(&bytes).map(|stage| plain(&stage, LONGEST)))
}

/// Appends a note, in one write, to the file as it is.
///
/// # Errors
/// It is a symlink, not ours, or cannot be written.
pub fn append(root: &Root, note: &str) -> Result<(), FileError> {
    let path = root.state();
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new()
        .append(true)
        .custom_flags(flags)
        .open(&path)
        .map_err(FileError::of("append to", &path))?;
    let meta = file.metadata().map_err(FileError::of("append to", &path))?;
    if !meta.is_file() || meta.uid() != euid() {
        return Err(FileError::of("append to", &path)(io::Error::other("it is not a regular file of ours")));
    }
    file.write_all(note.as_bytes()).map_err(FileError::of("append to", &path))
}

#[cfg(test)]
mod tests;
