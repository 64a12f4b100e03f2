//! `daemon.json`, the daemon's beacon: `status` and hooks see by it a daemon that is alive but stuck, and what it
//! decided last.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::SystemTime;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::file::{Access, FileError, read_own, replace};
use super::root::Root;
use crate::model::moment::{Millis, duration};

/// What a daemon says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Beacon {
    /// The format's version.
    pub v: u32,
    /// Its process.
    pub pid: i32,
    /// When that process began, in the kernel's ticks.
    pub start_time: u64,
    /// The boot that the awake times belong to.
    pub boot_id: String,
    /// Its version.
    pub version: String,
    /// Since when, unix milliseconds.
    pub started: Millis,
    /// Its last look, unix milliseconds.
    pub last_tick: Millis,
    /// The same by `CLOCK_MONOTONIC`, milliseconds.
    pub last_tick_awake_ms: u64,
    /// Its longest sleep, milliseconds.
    pub tick_ms: u64,
    /// `inotify`, or `polling (why)`.
    pub watching: String,
    /// act or observe.
    pub mode: String,
    /// quiet, nudge, escalate.
    pub verdict: String,
    /// The reason's name.
    pub reason: String,
    /// When it will look again at the latest, unix milliseconds.
    pub until: Option<Millis>,
    /// What it saw of the activity: `[stamp, awake_ms, before_ms]`.
    pub seen_activity: Option<(i64, u64, u64)>,
    /// What it saw of the nudge.
    pub seen_nudge: Option<(i64, u64, u64)>,
    /// What is broken, in words; empty = nothing.
    pub faults: Vec<String>,
    /// It waits for the next pipeline instead of ending.
    pub stays: bool,
    /// When it last said that it lives although the beacon could not be stored, unix milliseconds: the file's
    /// modification time. Not part of the file's text.
    #[serde(skip)]
    pub touched: Option<Millis>,
}

/// A modification time this much later than the last look was set by [`touch`].
const APART: Millis = 2000;

/// Writes the beacon.
///
/// # Errors
/// It could not be stored.
pub fn store(root: &Root, beacon: &Beacon) -> Result<(), FileError> {
    let path = root.in_own("daemon.json");
    let bytes =
        serde_json::to_vec(beacon).map_err(io::Error::other).map_err(FileError::of("write", &path))?;
    replace(&path, &bytes, &root.own(), Access::Private, false)
}

/// Says that the daemon lives where the beacon cannot be stored: a modification time takes no space. A daemon that
/// cannot write must not look like one that is stuck, or it would be replaced by one that cannot even start.
///
/// # Errors
/// Not even that is possible.
pub fn touch(root: &Root, now: Millis) -> Result<(), FileError> {
    let path = root.in_own("daemon.json");
    let at = SystemTime::UNIX_EPOCH + duration(now);
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(&path)
        .and_then(|file| file.set_modified(at))
        .map_err(FileError::of("mark", &path))
}

/// Reads the beacon. None = there is none, or it cannot be read.
pub fn load(root: &Root) -> Option<Beacon> {
    let path = root.in_own("daemon.json");
    let mut beacon: Beacon = serde_json::from_slice(&read_own(&path, 64 * 1024).ok()??).ok()?;
    let touched =
        path.symlink_metadata().map_or(0, |meta| meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000);
    beacon.touched = Some(touched).filter(|touched| *touched > beacon.last_tick + APART);
    Some(beacon)
}

#[cfg(test)]
mod tests;
