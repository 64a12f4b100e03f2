//! The daemon's log: `tracing` into a capped file, or to standard error under a service manager. A line that
//! repeats is counted, not written again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::error;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::model::wording::{clock, plain};
use crate::store::file::check_folder;
use crate::system;

/// The log and the one before it hold at most this much together.
const CAP: u64 = 5 * 1024 * 1024;

/// Where the log goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// Standard error.
    Stderr,
    /// A file.
    File(PathBuf),
}

/// Starts logging. Call it after detaching.
pub fn start(target: Target) {
    // A defect of ours: nobody reads a detached daemon's standard error, and its words may hold foreign text.
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let what = plain(text.unwrap_or_default(), 300);
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        error!(place, what, "panicked");
    }));
    let Target::File(path) = target else {
        tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_ansi(false)
            .with_target(false)
            .without_time()
            .init();
        return;
    };
    let log =
        CappedLog(Arc::new(Mutex::new(Inner { path, file: None, size: 0, last: String::new(), repeats: 0 })));
    tracing_subscriber::fmt().with_writer(log).with_ansi(false).with_target(false).with_timer(Utc).init();
}

/// Stamps in UTC from the clock that everything else reads.
struct Utc;

impl FormatTime for Utc {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{}", clock(system::clock::now().wall))
    }
}

#[derive(Clone)]
struct CappedLog(Arc<Mutex<Inner>>);

struct Inner {
    path: PathBuf,
    file: Option<File>,
    size: u64,
    last: String,
    repeats: u64,
}

impl<'a> MakeWriter<'a> for CappedLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for CappedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A log that cannot be written must never stop the watching: it is dropped, and tried again at the next line.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(&String::from_utf8_lossy(bytes)).ok();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Inner {
    fn take(&mut self, line: &str) -> io::Result<()> {
        let (time, text) = line.split_once(' ').unwrap_or(("", line));
        if text == self.last {
            self.repeats += 1;
            return Ok(());
        }
        if self.repeats > 0 {
            let count = std::mem::take(&mut self.repeats);
            self.put(&format!("{time}  INFO the line before was repeated {count} times\n"))?;
        }
        text.clone_into(&mut self.last);
        self.put(line)
    }

    fn put(&mut self, line: &str) -> io::Result<()> {
        if self.size + line.len() as u64 > CAP / 2 {
            self.file = None;
            std::fs::rename(&self.path, self.path.with_extension("1.log")).ok();
        }
        // A log that was moved or removed is begun anew.
        let is_gone = self.file.as_ref().is_some_and(|file| {
            let named = std::fs::symlink_metadata(&self.path).map(|meta| meta.ino());
            named.ok() != file.metadata().ok().map(|meta| meta.ino())
        });
        if self.file.is_none() || is_gone {
            // A link in place of our folder would lead the log elsewhere.
            if let Some(folder) = self.path.parent() {
                check_folder(folder).map_err(io::Error::other)?;
            }
            let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(flags)
                .open(&self.path)?;
            self.size = file.metadata()?.len();
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(line.as_bytes())?;
            self.size += line.len() as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
