//! Small files that others write in place: read when they have changed, and judged only when their writer has come to
//! an end, as a reader may see such a file empty or half.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::file::{FileError, open_own, read_own};
use crate::model::moment::Millis;

/// A file that was not changed for this long is written by nobody any more.
const CALM: Millis = 2_000;
/// Files are stamped by the kernel's own ticks, of 10 ms at most; twice that is on the safe side.
const TICK: Millis = 20;

/// Tells one state of a file from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Takes the state that a file is in.
    pub fn of(meta: &Metadata) -> Self {
        Self {
            file: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Tells whether a file that is written now may bear the stamp that it has already: change times only go on.
    pub fn may_be_borne_again(&self, now: Millis) -> bool {
        now.saturating_sub(in_millis(self.changed)) < TICK
    }

    fn is_calm(&self, now: Millis) -> bool {
        now.saturating_sub(in_millis(self.modified)) >= CALM
    }
}

/// A file's time (seconds and nanoseconds).
fn in_millis((seconds, nanos): (i64, i64)) -> Millis {
    seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000)
}

/// Waits until a file that looks wrong does not change any more.
#[derive(Debug, Clone, Default)]
pub struct Settling(Option<Stamp>);

impl Settling {
    /// Tells whether this state is one that will stay: it was the same at the last look, or is some seconds old.
    pub fn is_over(&mut self, stamp: Stamp, now: Millis) -> bool {
        let is_same = self.0.replace(stamp) == Some(stamp);
        is_same || stamp.is_calm(now)
    }
}

/// What a look at a file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It is as it was when [`Seen::done`] was said.
    Same,
    /// It is not there.
    Missing,
    /// Its bytes, up to the limit, and whether its writer has come to an end.
    Changed {
        /// The bytes.
        bytes: Vec<u8>,
        /// Nobody writes it any more: what looks wrong is wrong.
        is_settled: bool,
    },
}

/// One file, looked at again and again.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    done: Option<Stamp>,
    now: Option<Stamp>,
    settling: Settling,
}

impl Seen {
    /// Looks.
    ///
    /// # Errors
    /// As [`read_own`].
    pub fn look(&mut self, path: &Path, most: u64, now: Millis) -> Result<Look, FileError> {
        self.look_by(path, now, || read_own(path, most))
    }

    /// Looks, and reads in another way.
    ///
    /// # Errors
    /// It is no file of ours, or as `read` says.
    pub fn look_by(
        &mut self,
        path: &Path,
        now: Millis,
        read: impl FnOnce() -> Result<Option<Vec<u8>>, FileError>,
    ) -> Result<Look, FileError> {
        let Some(file) = open_own(path)? else {
            (self.done, self.now) = (None, None);
            return Ok(Look::Missing);
        };
        let stamp = Stamp::of(&file.metadata().map_err(FileError::of("read", path))?);
        drop(file);
        if self.done == Some(stamp) {
            return Ok(Look::Same);
        }
        let Some(bytes) = read()? else { return Ok(Look::Missing) };
        self.now = Some(stamp);
        Ok(Look::Changed { bytes, is_settled: self.settling.is_over(stamp, now) })
    }

    /// What was read has been dealt with: until it changes, it is the same.
    pub fn done(&mut self) {
        self.done = self.now;
    }
}

#[cfg(test)]
mod tests;
