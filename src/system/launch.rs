//! Starting and stopping a root's daemon from another process: one at a time, and only what is really ours.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;

use super::process::{Handle, Identity, boot_id, lock_holder, start_time};
use super::ready::READY;
use crate::model::moment::{Moment, duration};
use crate::store::beacon::{self, Beacon};
use crate::store::file::{FileError, chain, obstacle};
use crate::store::root::Root;
use crate::store::{lock, pid_file};

/// How long a starter waits for another starter, and for its daemon's answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an older daemon may take to end before it is ended.
const GOODBYE: Duration = Duration::from_secs(3);
/// How long a daemon without a beacon is watched: one that starts or ends takes a moment.
const GRACE: Duration = Duration::from_secs(2);

/// The environment that a daemon keeps; nothing else of its starter's, so no key and no token.
const KEEP: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// What a root's daemon is like.
#[derive(Debug, Clone, PartialEq)]
pub enum Daemon {
    /// Nobody holds the lock.
    None,
    /// It lives and ticks. The beacon is missing only while it starts or ends.
    Running(Option<Box<Beacon>>),
    /// It holds the lock and has not ticked for too long.
    Stuck(Box<Beacon>),
}

/// What a start came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// A daemon runs that was there before.
    Already,
    /// A new daemon runs.
    New,
    /// A new daemon runs in place of one that was stuck or older.
    Replaced,
}

/// A daemon could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Somebody else has been starting one for too long.
    #[error("another process has been starting a daemon here for {} s", PATIENCE.as_secs())]
    Busy,
    /// Something that is no daemon has the daemon's lock.
    #[error("daemon.lock is held by {0}, which is no daemon of this project; end it, and watching can begin")]
    Held(String),
    /// The program could not be run.
    #[error("cannot run {}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The daemon said why it does not run.
    #[error("the daemon did not start: {0}")]
    Refused(String),
    /// The daemon said nothing.
    #[error("the daemon gave no answer for {} s; its log is tmp/watchdog/watchdog.log in .kiln or .watchdog", PATIENCE.as_secs())]
    Silent,
}

/// Looks at a root's daemon.
pub fn look(root: &Root, now: Moment) -> Daemon {
    if !lock::is_held(&root.daemon_lock()) {
        return Daemon::None;
    }
    let Some(beacon) = beacon::load(root).filter(|beacon| identity(beacon).is_alive()) else {
        return Daemon::Running(None);
    };
    if silence(&beacon, now) > patience_with(&beacon) {
        Daemon::Stuck(Box::new(beacon))
    } else {
        Daemon::Running(Some(Box::new(beacon)))
    }
}

/// Returns the awake time since a daemon's last tick; of one that cannot store its beacon, the time since it last
/// said that it lives.
pub fn silence(beacon: &Beacon, now: Moment) -> Duration {
    let awake = now.awake.saturating_sub(Duration::from_millis(beacon.last_tick_awake_ms));
    beacon.touched.map_or(awake, |touched| awake.min(duration(now.wall - touched)))
}

/// Three ticks and a margin for slow machines.
fn patience_with(beacon: &Beacon) -> Duration {
    Duration::from_millis(beacon.tick_ms) * 3 + Duration::from_secs(10)
}

/// Makes sure that a daemon of this version watches the root.
///
/// # Errors
/// There is none, and the reason.
pub fn ensure(root: &Root, now: Moment, flags: &[String]) -> Result<Started, LaunchError> {
    if is_fine(&look(root, now)) {
        return Ok(Started::Already);
    }
    root.make_home()?;
    ensure_under(hold_starts(root)?, root, now, flags)
}

/// As [`ensure`], but leaves it to a starter that is at work already; a hook in the midst of a turn waits for none.
/// Returns None if there is one.
///
/// # Errors
/// There is none, and the reason.
pub fn ensure_unless_begun(root: &Root, now: Moment) -> Result<Option<Started>, LaunchError> {
    if is_fine(&look(root, now)) {
        return Ok(Some(Started::Already));
    }
    root.make_home()?;
    root.prepare()?;
    let Some(start) = lock::acquire(&root.in_own("start.lock"), Duration::ZERO)? else { return Ok(None) };
    ensure_under(start, root, now, &[]).map(Some)
}

/// The lock of starters is held until the daemon has answered.
fn ensure_under(_start: File, root: &Root, now: Moment, flags: &[String]) -> Result<Started, LaunchError> {
    // Somebody may have started one while we waited.
    let found = look_longer(root, now);
    if is_fine(&found) {
        return Ok(Started::Already);
    }
    if found == Daemon::Running(None) {
        return if is_named(root) { Ok(Started::Already) } else { Err(held(root)) };
    }
    // Where nothing can be written a new one could not even begin: the old one is better than none.
    if found != Daemon::None
        && let Some(obstacle) = obstacle(&root.home())
    {
        return Err(LaunchError::Refused(obstacle));
    }
    let replaced = retire(&found);
    if let Err(error) = spawn(root, flags) {
        // One may have been on its way, of a starter that was killed: it was faster, and it watches.
        return if is_fine(&look(root, now)) { Ok(Started::Already) } else { Err(error) };
    }
    Ok(if replaced { Started::Replaced } else { Started::New })
}

/// Takes the lock under which daemons are started and stopped, so that nobody does either meanwhile.
///
/// # Errors
/// Somebody else has held it for too long.
pub fn hold_starts(root: &Root) -> Result<File, LaunchError> {
    root.prepare()?;
    lock::acquire(&root.in_own("start.lock"), PATIENCE)?.ok_or(LaunchError::Busy)
}

/// Looks until it is clear what the daemon is like: one without a beacon is about to show it, or to end.
fn look_longer(root: &Root, now: Moment) -> Daemon {
    let step = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        match look(root, now) {
            Daemon::Running(None) if waited < GRACE => std::thread::sleep(step),
            found => return found,
        }
        waited += step;
    }
}

/// Tells whether the holder of the lock is the daemon that the pid file names: one that starts, or that has no room
/// for a beacon.
pub fn is_named(root: &Root) -> bool {
    named(root).is_some()
}

fn named(root: &Root) -> Option<i32> {
    let holder = lock_holder(&root.daemon_lock());
    holder.filter(|_| holder == pid_file::load(&root.in_tmp(pid_file::DAEMON)))
}

/// Opens a daemon that has no beacon, or one that cannot be read.
fn open_named(root: &Root) -> Option<Handle> {
    let pid = named(root)?;
    let handle = Identity { pid, start_time: start_time(pid)? }.open()?;
    // It still holds the lock: the number was not another's when the handle was opened.
    (named(root) == Some(pid)).then_some(handle)
}

fn held(root: &Root) -> LaunchError {
    let by =
        lock_holder(&root.daemon_lock()).map_or("another process".to_owned(), |pid| format!("process {pid}"));
    LaunchError::Held(by)
}

/// A daemon that ticks and is not older than we are is left alone; so is a newer one, or two versions of the hooks
/// would replace each other's daemon for ever, and one that a service manager keeps.
fn is_fine(daemon: &Daemon) -> bool {
    match daemon {
        Daemon::None | Daemon::Stuck(_) | Daemon::Running(None) => false,
        Daemon::Running(Some(beacon)) => {
            beacon.stays || !is_older(&beacon.version, env!("CARGO_PKG_VERSION"))
        }
    }
}

/// Compares versions by their numbers; what is no version is older than any.
pub fn is_older(version: &str, than: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    numbers(version) < numbers(than)
}

/// Ends a daemon that is stuck or older. Returns whether there was one.
fn retire(daemon: &Daemon) -> bool {
    let (beacon, first) = match daemon {
        Daemon::Stuck(beacon) => (beacon, Signal::KILL),
        Daemon::Running(Some(beacon)) => (beacon, Signal::TERM),
        _ => return false,
    };
    if let Some(handle) = identity(beacon).open() {
        handle.signal(first);
        if !handle.wait(GOODBYE) {
            handle.signal(Signal::KILL);
            handle.wait(GOODBYE);
        }
    }
    true
}

fn identity(beacon: &Beacon) -> Identity {
    // Start times of another boot prove nothing.
    let start_time = if beacon.boot_id == boot_id() { beacon.start_time } else { u64::MAX };
    Identity { pid: beacon.pid, start_time }
}

/// Tells whether a service manager keeps the root's daemon: it waits for the next pipeline and is left to that manager.
pub fn stays(root: &Root) -> bool {
    lock::is_held(&root.daemon_lock()) && beacon::load(root).is_some_and(|beacon| beacon.stays)
}

/// Asks a root's daemon to end. Returns the handle to wait on; none = there is no daemon to ask.
pub fn ask_to_end(root: &Root) -> Option<Handle> {
    if !lock::is_held(&root.daemon_lock()) {
        return None;
    }
    let shown = beacon::load(root).and_then(|beacon| identity(&beacon).open());
    let handle = shown.or_else(|| open_named(root))?;
    // Whoever looks from here on must not take it for one that goes on watching.
    std::fs::remove_file(root.in_own("daemon.json")).ok();
    handle.signal(Signal::TERM).then_some(handle)
}

/// Stops a root's daemon: asks, waits, and ends one that does not answer. Returns whether there was one. The lock of
/// [`hold_starts`] must be held: one that is being started is one to be stopped.
pub fn stop(root: &Root, _starts: &File) -> bool {
    let Some(handle) = ask_to_end(root) else { return false };
    if !handle.wait(GOODBYE) {
        handle.signal(Signal::KILL);
        handle.wait(GOODBYE);
    }
    true
}

/// Runs ourselves as a daemon and waits for its answer.
fn spawn(root: &Root, flags: &[String]) -> Result<(), LaunchError> {
    // Whatever else the starter had open (a copy of a pipe that somebody waits on, a lock) ends with the exec.
    close_fds::set_fds_cloexec(3, &[]);
    let program = std::env::current_exe()
        .map_err(|source| LaunchError::Spawn { program: "watchdog".into(), source })?;
    let mut command = Command::new(&program);
    command.args(["run", "--detached", "--root"]).arg(root.path());
    for flag in flags {
        command.arg("--set").arg(flag);
    }
    command.env_clear().envs(kept_environment()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|source| LaunchError::Spawn { program, source })?;
    let answer = read_answer(&mut child);
    // The first process ends as soon as it has forked; only a start that failed early leaves it to be ended.
    if answer.is_none() {
        child.kill().ok();
    }
    child.wait().ok();
    match answer.as_deref() {
        Some(READY) => Ok(()),
        Some("") | None => Err(LaunchError::Silent),
        Some(reason) => Err(LaunchError::Refused(reason.to_owned())),
    }
}

fn kept_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            KEEP.contains(&name.as_ref())
                || (name.starts_with("WATCHDOG_") && !matches!(&*name, "WATCHDOG_USEC" | "WATCHDOG_PID"))
        })
        .collect()
}

/// Reads one line from the daemon. None = it said nothing in time.
fn read_answer(child: &mut Child) -> Option<String> {
    let pipe = child.stdout.take()?;
    let timeout = PATIENCE.try_into().ok()?;
    let mut fds = [PollFd::new(&pipe, PollFlags::IN)];
    if !poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0) {
        return None;
    }
    let mut line = String::new();
    BufReader::new(pipe).read_line(&mut line).ok()?;
    Some(line.trim_end().to_owned())
}

/// Prints a launch error on one line.
pub fn describe(error: &LaunchError) -> String {
    chain(error)
}
