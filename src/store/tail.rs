//! The lines of a file that others append to, from some offset on, in bounded memory. A line that has no end yet is left
//! for the next time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use crate::model::digest::of_bytes;

/// The longest line that is kept, in bytes.
pub const LONGEST: usize = 256 * 1024;
/// What is held of the file at a time.
const CHUNK: usize = 64 * 1024;
/// Bytes before an offset by which it is known that what comes before it is still the same.
const ANCHOR: u64 = 4096;

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes.
    Whole(&'a [u8]),
    /// It is longer than what is kept of one: how long.
    TooLong(u64),
}

/// How far a reading came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// The offset from which the next reading goes on: behind the last whole line.
    pub bytes: u64,
    /// Lines that were read.
    pub lines: u64,
    /// There is more than was asked for.
    pub more: bool,
}

/// Reads the lines from an offset on, about `most` bytes of them. `each` is given a line and the offset behind it.
///
/// # Errors
/// The file cannot be read.
pub fn lines(
    mut file: &File,
    from: u64,
    most: u64,
    each: &mut dyn FnMut(Line<'_>, u64),
) -> io::Result<Progress> {
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(CHUNK, file);
    let mut progress = Progress { bytes: from, ..Progress::default() };
    let (mut line, mut length, mut taken) = (Vec::new(), 0_u64, from);
    loop {
        if taken.saturating_sub(from) >= most {
            progress.more = true;
            break;
        }
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        if length + part.len() as u64 <= LONGEST as u64 {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        length += part.len() as u64;
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        taken += used as u64;
        if end.is_some() {
            each(if length > LONGEST as u64 { Line::TooLong(length) } else { Line::Whole(&line) }, taken);
            progress.bytes = taken;
            progress.lines += 1;
            line.clear();
            length = 0;
        }
    }
    if progress.more && progress.bytes == from {
        // No end within all that may be read at a time: it is passed over in pieces.
        each(Line::TooLong(length), taken);
        progress.bytes = taken;
    }
    Ok(progress)
}

/// Hashes the bytes before an offset. While they stay the same, nothing before them was put in or taken out.
///
/// # Errors
/// The file cannot be read, or ends before the offset.
pub fn anchor(file: &File, offset: u64) -> io::Result<String> {
    let start = offset.saturating_sub(ANCHOR);
    let mut bytes = vec![0; (offset - start) as usize];
    file.read_exact_at(&mut bytes, start)?;
    Ok(of_bytes(&bytes))
}

/// Reads the beginning of a file that may only grow. Blanks at its end do not count, as editors add and take them.
///
/// # Errors
/// The file cannot be read.
pub fn beginning(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    bytes.truncate(bytes.trim_ascii_end().len());
    Ok(bytes)
}

#[cfg(test)]
mod tests;
