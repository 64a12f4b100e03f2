//! `.kiln/docs/iter-log.md`, where the pipeline keeps a line of each answer that was not waited for any longer.
//! Append only.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use rustix::fs::OFlags;

use super::file::{FileError, euid};
use super::root::Root;

/// Appends a line, in one write. Without `.kiln/` there is no such log, and nothing is done.
///
/// # Errors
/// It is a symlink, not ours, or cannot be written.
pub fn append(root: &Root, line: &str) -> Result<(), FileError> {
    if !root.is_kiln() {
        return Ok(());
    }
    let path = root.in_kiln("docs/iter-log.md");
    let error = || FileError::of("append to", &path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(error())?;
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file =
        OpenOptions::new().append(true).create(true).custom_flags(flags).open(&path).map_err(error())?;
    let meta = file.metadata().map_err(error())?;
    if !meta.is_file() || meta.uid() != euid() {
        return Err(error()(io::Error::other("it is not a regular file of ours")));
    }
    file.write_all(line.as_bytes()).map_err(error())
}
