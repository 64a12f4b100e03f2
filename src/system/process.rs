//! Processes by identity: a number alone may belong to somebody else by now, so a start time goes with it.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process: its number, and when it began in the kernel's ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it began.
    pub start_time: u64,
}

impl Identity {
    /// This process. A start time of 0 means that the system would not tell, asked twice.
    pub fn own() -> Self {
        let pid = i32::try_from(std::process::id()).unwrap_or(0);
        Self { pid, start_time: start_time(pid).or_else(|| start_time(pid)).unwrap_or(0) }
    }

    /// Tells whether this very process lives. A zombie does not.
    pub fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.start_time)
    }

    /// Opens a handle that cannot come to mean another process. None = it is gone.
    pub fn open(self) -> Option<Handle> {
        let pid = Pid::from_raw(self.pid).filter(|_| self.pid > 1)?;
        let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Checked after the handle was opened: from here on the number cannot change hands unseen.
        self.is_alive().then_some(Handle(fd))
    }
}

/// A handle on one process.
#[derive(Debug)]
pub struct Handle(OwnedFd);

impl Handle {
    /// Sends a signal. Returns whether the process was there to get it.
    pub fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.0, signal).is_ok()
    }

    /// Waits until the process has ended, for at most `patience`. Returns whether it has.
    pub fn wait(&self, patience: Duration) -> bool {
        let Ok(timeout) = patience.try_into() else { return false };
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// The descriptor, readable once the process has ended.
    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

/// Returns when a process began. None = there is none, it is a zombie, or it cannot be looked at.
pub fn start_time(pid: i32) -> Option<u64> {
    try_start_time(pid).ok().flatten()
}

/// From now on a crash of this process leaves no core file, whatever the limits and the machine's handler say: payloads
/// hold prompts and tool inputs.
pub fn leave_no_core() {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
}

/// Returns when a process began (field 22 of `/proc/PID/stat`). None = there is none, or it is a zombie.
///
/// # Errors
/// The system does not let it be looked at, which may pass.
pub fn try_start_time(pid: i32) -> io::Result<Option<u64>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => Ok(parse_start_time(&stat)),
        // It may end between open and read.
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn parse_start_time(stat: &[u8]) -> Option<u64> {
    // The name may hold anything, blanks and brackets included: what follows its last bracket is numbers.
    let after = &stat[memchr::memrchr(b')', stat)? + 1..];
    let fields: Vec<&[u8]> = after.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect();
    if matches!(fields.first(), Some(&b"Z" | &b"X")) {
        return None;
    }
    std::str::from_utf8(fields.get(19)?).ok()?.parse().ok()
}

/// Tells whether a process is stopped by a signal (`T`).
pub fn is_stopped(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| memchr::memrchr(b')', &stat).map(|end| stat.get(end + 2) == Some(&b'T')))
        .unwrap_or(false)
}

/// Returns the process that holds the lock on a file, by the kernel's own list.
pub fn lock_holder(path: &Path) -> Option<i32> {
    let meta = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let file = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(3) == Some(&"WRITE") && words.get(5) == Some(&file.as_str());
        is_it.then(|| words.get(4)?.parse().ok())?
    })
}

/// Names the present boot: awake times of another boot mean nothing.
pub fn boot_id() -> String {
    let read = || fs::read_to_string("/proc/sys/kernel/random/boot_id");
    // A daemon that mistook its boot once would be nobody's for the rest of its life.
    read().or_else(|_| read()).map(|id| id.trim().to_owned()).unwrap_or_default()
}
