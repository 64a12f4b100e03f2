//! subctl's queue of plans: followed as it grows, and one record appended where an hour has passed over a request. It is
//! another program's file: never rewritten, never made, refused where it is a link or of another user.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::file::{FileError, euid, open_own};
use super::lock::{self, Kind};
use crate::model::moment::Millis;
use crate::model::plan::{LIFE, PlanState};
use crate::model::policy::Policy;
use crate::protocol::plan_queue::{MOST_LINE, Queue, expired, standing};

/// What is read of a queue at most, from the end.
const MOST: u64 = 64 * 1024 * 1024;
/// What is read at once.
const PIECE: u64 = 256 * 1024;
/// How long an expiry waits for another. The daemon looks again anyway.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where the queue lies: as it is set, else where subctl's master keeps it. None = the user has no home.
pub fn path(policy: &Policy) -> Option<PathBuf> {
    if !policy.subctl.plan_queue.is_empty() {
        return Some(PathBuf::from(&policy.subctl.plan_queue));
    }
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("subctl/plan-approvals.jsonl"))
}

/// Follows a queue: each reading takes what came since the last.
#[derive(Debug, Default)]
pub struct Reader {
    /// The file, by its place on the disk.
    file: Option<(u64, u64)>,
    /// Bytes taken, and the file's length at the last reading.
    offset: u64,
    length: u64,
    /// The rest of a line that is too long is passed over.
    skipping: bool,
    /// What was read.
    pub queue: Queue,
}

impl Reader {
    /// Reads what is new. A file that is not there is an empty queue.
    ///
    /// # Errors
    /// It is there and cannot be read, or is not to be trusted; what was read before stays.
    pub fn follow(&mut self, path: &Path) -> Result<(), FileError> {
        let Some(mut file) = open_own(path)? else {
            *self = Self::default();
            return Ok(());
        };
        let meta = file.metadata().map_err(FileError::of("read", path))?;
        let id = (meta.dev(), meta.ino());
        if self.file != Some(id) || meta.len() < self.length {
            let start = meta.len().saturating_sub(MOST);
            *self = Self { file: Some(id), offset: start, skipping: start > 0, ..Self::default() };
        }
        if meta.len() == self.length {
            return Ok(());
        }
        self.length = meta.len();
        self.take(&mut file).map_err(FileError::of("read", path))
    }

    fn take(&mut self, file: &mut File) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.offset))?;
        let mut held: Vec<u8> = Vec::new();
        loop {
            let read = file.take(PIECE).read_to_end(&mut held)?;
            if read == 0 {
                return Ok(());
            }
            if self.skipping {
                let end = memchr::memchr(b'\n', &held).map_or(held.len(), |end| end + 1);
                self.skipping = held.get(end.wrapping_sub(1)) != Some(&b'\n');
                self.offset += end as u64;
                held.drain(..end);
            }
            let taken = self.queue.take(&held);
            self.offset += taken as u64;
            held.drain(..taken);
            if held.len() > MOST_LINE {
                self.queue.push(&held);
                self.offset += held.len() as u64;
                self.skipping = true;
                held.clear();
            }
        }
    }
}

/// What came of an expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The record was appended.
    Done,
    /// Somebody decided first, or the hour is not over: nothing was written.
    Overtaken,
    /// Another holds the queue, or it was replaced at this moment: the next look tries again.
    Busy,
}

/// Appends the record that says that a request expired, if it is still pending and older than an hour at `now`.
///
/// The queue is locked against other daemons (subctl itself takes no lock), read again, and written to once. If
/// somebody else's decision slipped in between, that one was first and stands: it is appended once more, so that a
/// replay ends with it.
///
/// # Errors
/// The queue cannot be read or written, or is not to be trusted.
pub fn expire(path: &Path, id: &str, now: Millis) -> Result<Expiry, FileError> {
    if open_own(path)?.is_none() {
        return Ok(Expiry::Overtaken);
    }
    let error = || FileError::of("append to", path);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file =
        OpenOptions::new().read(true).append(true).custom_flags(flags).open(path).map_err(error())?;
    let meta = file.metadata().map_err(error())?;
    if !meta.is_file() || meta.uid() != euid() {
        return Err(error()(io::Error::other("it is not a regular file of ours")));
    }
    let is_held = lock::lock(&file, Kind::Exclusive, PATIENCE).map_err(error())?;
    if !is_held || !lock::is_in_place(&file, path) {
        return Ok(Expiry::Busy);
    }
    let (text, end) = tail(&file).map_err(error())?;
    let Some((line, record)) = standing(&text, id) else { return Ok(Expiry::Overtaken) };
    if record.state != PlanState::Pending || now.saturating_sub(record.created) <= LIFE {
        return Ok(Expiry::Overtaken);
    }
    let Some(mut bytes) = expired(line, now) else { return Ok(Expiry::Overtaken) };
    if text.last().is_some_and(|byte| *byte != b'\n') {
        // A line that was torn must not take ours with it.
        bytes.insert(0, b'\n');
    }
    file.write_all(&bytes).map_err(error())?;
    let start = file.stream_position().map_err(error())?.saturating_sub(bytes.len() as u64);
    if let Some(first) = slipped_in(&file, id, end, start).map_err(error())? {
        file.write_all(&first).map_err(error())?;
        return Ok(Expiry::Overtaken);
    }
    Ok(Expiry::Done)
}

/// The end of a queue's text, and its length.
fn tail(file: &File) -> io::Result<(Vec<u8>, u64)> {
    let length = file.metadata()?.len();
    let mut text = Vec::new();
    let mut reader = file;
    reader.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let read = reader.take(MOST).read_to_end(&mut text)?;
    Ok((text, length.saturating_sub(MOST) + read as u64))
}

/// The decision on this request that somebody wrote between our reading and our writing, as a line.
fn slipped_in(file: &File, id: &str, from: u64, to: u64) -> io::Result<Option<Vec<u8>>> {
    if to <= from || to - from > MOST {
        return Ok(None);
    }
    let mut between = vec![0; usize::try_from(to - from).unwrap_or_default()];
    file.read_exact_at(&mut between, from)?;
    let decided = standing(&between, id).filter(|(_, record)| record.state != PlanState::Pending);
    Ok(decided.map(|(line, _)| [line, b"\n"].concat()))
}

#[cfg(test)]
mod tests;
