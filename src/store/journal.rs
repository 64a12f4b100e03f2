//! `journal.jsonl`: one event a line, appended in one write by hooks, rotated by the daemon.
//!
//! Appenders share a lock on the file itself and make sure that the name still leads to it, so that a rotation
//! (which holds it alone) loses no line. Readers need no lock: the name leads to a whole file at any time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use rustix::fs::OFlags;

use super::file::{Access, FileError, euid, open_own, replace};
use super::lock::{self, Kind};
use super::root::Root;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::model::order;
use crate::model::signals::Rules;

/// The size at which the daemon rotates, in bytes.
pub const ROTATE_AT: u64 = 1024 * 1024;
/// What is read at most, from the end: a journal that no daemon rotates still ends somewhere.
const MOST: u64 = 64 * 1024 * 1024;
/// How long an append waits for a rotation. A holder that is stopped delays no hook for longer.
const PATIENCE: Duration = Duration::from_secs(1);

const NAME: &str = "journal.jsonl";
const OLD: &str = "journal.1.jsonl";

/// Appends events, each as one line, all in one write.
///
/// # Errors
/// They could not be stored.
pub fn append(root: &Root, events: &[Event]) -> Result<(), FileError> {
    let path = root.in_own(NAME);
    let error = || FileError::of("append to", &path);
    let mut lines = Vec::with_capacity(256 * events.len());
    for event in events {
        serde_json::to_writer(&mut lines, event).map_err(io::Error::other).map_err(error())?;
        lines.push(b'\n');
    }
    // A rotation between open and lock leaves us with the old file: try again, but not for ever.
    for _ in 0..8 {
        let mut file = open_to_append(root).map_err(error())?;
        let locked = lock::lock(&file, Kind::Shared, PATIENCE).map_err(error())?;
        if !locked || is_current(&file, root) {
            return file.write_all(&lines).map_err(error());
        }
    }
    Err(error()(io::Error::new(io::ErrorKind::TimedOut, "it is being replaced again and again")))
}

fn open_to_append(root: &Root) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let path = root.in_own(NAME);
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.uid() != euid() {
        return Err(io::Error::other("it is not a regular file of ours"));
    }
    Ok(file)
}

fn is_current(file: &File, root: &Root) -> bool {
    lock::is_in_place(file, &root.in_own(NAME))
}

/// Reads one line. A line that was torn by a full disk runs into the next: the last whole event in it counts.
pub fn parse_line(line: &[u8]) -> Option<Event> {
    serde_json::from_slice(line).ok().or_else(|| {
        let starts: Vec<usize> = memmem::find_iter(line, b"{\"v\":").collect();
        starts
            .iter()
            .filter(|start| **start > 0)
            .find_map(|start| serde_json::from_slice(&line[*start..]).ok())
    })
}

/// Reads all events of a journal's text, oldest first. Lines that hold none are passed over.
pub fn parse(text: &[u8]) -> impl Iterator<Item = Event> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).filter_map(parse_line)
}

/// Reads the present journal's text; empty if there is none.
///
/// # Errors
/// It is there but cannot be read.
pub fn text(root: &Root) -> Result<Vec<u8>, FileError> {
    let path = root.in_own(NAME);
    let Some(file) = open_own(&path)? else { return Ok(Vec::new()) };
    let length = file.metadata().map_err(FileError::of("read", &path))?.len();
    read_from(file, length.saturating_sub(MOST)).map_err(FileError::of("read", &path))
}

fn read_from(mut file: File, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The texts of all that is kept, the rotated file's first.
fn texts(root: &Root) -> Result<Vec<Vec<u8>>, FileError> {
    let mut texts = Vec::new();
    let path = root.in_own(OLD);
    if let Some(file) = open_own(&path)?
        // A rotation that was killed half-way leaves one file with both names.
        && !is_current(&file, root)
    {
        texts.push(read_from(file, 0).map_err(FileError::of("read", &path))?);
    }
    texts.push(text(root)?);
    Ok(texts)
}

/// Reads all that is kept, the rotated file first.
///
/// # Errors
/// A file is there but cannot be read.
pub fn all(root: &Root) -> Result<Vec<Event>, FileError> {
    Ok(texts(root)?.iter().flat_map(|text| parse(text)).collect())
}

/// Folds the present journal, without the meaning of signals.
///
/// # Errors
/// It is there but cannot be read.
pub fn fold(root: &Root) -> Result<Ledger, FileError> {
    fold_with(root, Arc::default())
}

/// Folds the present journal.
///
/// # Errors
/// It is there but cannot be read.
pub fn fold_with(root: &Root, rules: Arc<Rules>) -> Result<Ledger, FileError> {
    let mut ledger = Ledger::with(rules);
    parse(&text(root)?).for_each(|event| ledger.apply(&event));
    Ok(ledger)
}

/// Folds only the lines in which one of the words occurs, and the snapshot: cheap enough for a hook that needs to
/// know one agent.
///
/// # Errors
/// The journal is there but cannot be read.
pub fn fold_lines_with(root: &Root, words: &[&str]) -> Result<Ledger, FileError> {
    fold_selected(root, words, Arc::default())
}

/// Folds the same lines under rules.
///
/// # Errors
/// The journal is there but cannot be read.
pub fn fold_selected(root: &Root, words: &[&str], rules: Arc<Rules>) -> Result<Ledger, FileError> {
    fold_until(root, words, rules, |_| false)
}

/// Folds the same lines as they were before an event was appended.
///
/// # Errors
/// The journal is there but cannot be read.
pub fn fold_before(
    root: &Root,
    words: &[&str],
    rules: Arc<Rules>,
    event: &Event,
) -> Result<Ledger, FileError> {
    fold_until(root, words, rules, |next| next == event)
}

fn fold_until(
    root: &Root,
    words: &[&str],
    rules: Arc<Rules>,
    is_end: impl Fn(&Event) -> bool,
) -> Result<Ledger, FileError> {
    let mut ledger = Ledger::with(rules);
    let text = text(root)?;
    select(&text, |line| is_snapshot(line) || holds_any(line, words))
        .take_while(|event| !is_end(event))
        .for_each(|event| ledger.apply(&event));
    Ok(ledger)
}

/// Returns the events of all that is kept in whose lines one of the words occurs, oldest first.
///
/// # Errors
/// A file is there but cannot be read.
pub fn selected(root: &Root, words: &[&str]) -> Result<Vec<Event>, FileError> {
    Ok(texts(root)?.iter().flat_map(|text| select(text, |line| holds_any(line, words))).collect())
}

/// Parses only the lines that are meant.
fn select(text: &[u8], is_meant: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = Event> {
    text.split(|byte| *byte == b'\n').filter(move |line| is_meant(line)).filter_map(parse_line)
}

fn holds_any(line: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| memmem::find(line, word.as_bytes()).is_some())
}

fn is_snapshot(line: &[u8]) -> bool {
    memmem::find(&line[..line.len().min(80)], b"\"snapshot\"").is_some()
}

/// Follows a journal: each call returns what came since the last, across rotations.
#[derive(Debug, Default)]
pub struct Follower {
    file: Option<(u64, u64)>,
    offset: u64,
    base: u64,
    /// All that was followed so far, folded.
    pub ledger: Ledger,
}

impl Follower {
    /// Follows under these rules.
    pub fn with(rules: Arc<Rules>) -> Self {
        Self { ledger: Ledger::with(rules), ..Self::default() }
    }

    /// Reads and folds what is new, and returns it.
    ///
    /// # Errors
    /// The journal is there but cannot be read.
    pub fn follow(&mut self, root: &Root) -> Result<Vec<Event>, FileError> {
        let path = root.in_own(NAME);
        let Some(file) = open_own(&path)? else { return Ok(Vec::new()) };
        let meta = file.metadata().map_err(FileError::of("read", &path))?;
        let id = (meta.dev(), meta.ino());
        let mut events = Vec::new();
        if self.file != Some(id) || meta.len() < self.offset {
            events = self.rest_of_rotated(root);
            *self = Self { file: Some(id), ..Self::with(Arc::clone(self.ledger.graph.rules())) };
        }
        if meta.len() == self.offset {
            return Ok(events);
        }
        let bytes = read_from(file, self.offset).map_err(FileError::of("read", &path))?;
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
        self.offset += whole as u64;
        if self.base == 0 && is_snapshot(&bytes) {
            self.base = memchr::memchr(b'\n', &bytes).map_or(0, |end| end as u64);
        }
        let mut more: Vec<Event> = parse(&bytes[..whole]).collect();
        order::settle(&mut more);
        for event in &more {
            self.ledger.apply(event);
        }
        events.extend(more);
        Ok(events)
    }

    /// What came between the last look and the rotation. The new file begins with all of it folded.
    fn rest_of_rotated(&self, root: &Root) -> Vec<Event> {
        let Ok(Some(file)) = open_own(&root.in_own(OLD)) else { return Vec::new() };
        let is_followed = file.metadata().is_ok_and(|meta| self.file == Some((meta.dev(), meta.ino())));
        if !is_followed {
            return Vec::new();
        }
        read_from(file, self.offset).map(|bytes| parse(&bytes).collect()).unwrap_or_default()
    }

    /// Bytes followed so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the snapshot that the journal begins with: what a rotation cannot make smaller.
    pub fn base(&self) -> u64 {
        self.base
    }
}

/// Rotates the journal if it has grown: the old text keeps a name, the new begins with all of it folded.
/// Returns whether it did. While somebody is appending (or stopped in it) it is left for the next time.
///
/// # Errors
/// The new file could not be stored; then the old one is whole and in place.
pub fn rotate(root: &Root, at: i64, limit: u64) -> Result<bool, FileError> {
    rotate_with(root, at, limit, Arc::default())
}

/// The same under rules: what they make of the old text goes into the snapshot.
///
/// # Errors
/// As [`rotate`].
pub fn rotate_with(root: &Root, at: i64, limit: u64, rules: Arc<Rules>) -> Result<bool, FileError> {
    let path = root.in_own(NAME);
    let Some(file) = open_own(&path)? else { return Ok(false) };
    let size = file.metadata().map_err(FileError::of("read", &path))?.len();
    if size <= limit || !lock::lock(&file, Kind::Exclusive, PATIENCE).map_err(FileError::of("lock", &path))? {
        return Ok(false);
    }
    // Another rotation was faster: the lock is on its old text, and appenders are on the new.
    if !is_current(&file, root) {
        return Ok(false);
    }
    let ledger = fold_with(root, rules)?;
    let snapshot = Event::of_root(at, What::Snapshot { ledger: Box::new(ledger) });
    let mut bytes =
        serde_json::to_vec(&snapshot).map_err(io::Error::other).map_err(FileError::of("write", &path))?;
    bytes.push(b'\n');
    // The name leads to a whole file at any time: the old text gets a second name before the new one takes over.
    let spare = root.in_own("journal.1.new");
    super::file::remove(&spare)?;
    fs::hard_link(&path, &spare)
        .and_then(|()| fs::rename(&spare, root.in_own(OLD)))
        .map_err(FileError::of("rotate", &path))?;
    // After a rotation that got this far and failed, both names led to the same text: such a rename does nothing.
    super::file::remove(&spare)?;
    replace(&path, &bytes, &root.own(), Access::Private, false)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
