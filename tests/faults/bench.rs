//! A scratch project, the commands that run in it, with and without strace, and words about its files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use tempfile::TempDir;
use watchdog::store::lock;
use watchdog::store::root::Root;
use watchdog::system::clock;
use watchdog::system::process::start_time;

use crate::matrix::Fault;

const WATCHDOG: &str = env!("CARGO_BIN_EXE_watchdog");
/// Waits for this long are failures of what is waited for, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether a run's folder stays, to be looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Yes,
    No,
}

/// Tells what is missing.
pub(crate) fn check_strace() -> Result<(), String> {
    let probe = ["-f", "-qq", "-e", "trace=openat", "-e", "inject=openat:error=EIO:when=9999", "true"];
    match Command::new("strace").args(probe).stdout(Stdio::null()).output() {
        Err(error) => Err(format!("the command strace ({error}; package strace)")),
        Ok(output) if !output.status.success() => {
            Err(format!("permission to trace: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Ok(_) => Ok(()),
    }
}

/// What strace does to a command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Traced<'a> {
    /// Nothing: it runs without strace.
    No,
    /// It writes down the calls.
    Recorded,
    /// It lets one fail.
    With(&'a Fault),
}

/// What a command said, and how it ended.
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A scratch project.
pub(crate) struct Bench {
    dir: TempDir,
}

impl Bench {
    /// Makes one from a template, or an empty one.
    pub(crate) fn new(template: Option<&Path>, keep: Keep) -> Self {
        let mut dir = tempfile::tempdir().unwrap();
        dir.disable_cleanup(keep == Keep::Yes);
        if let Some(template) = template {
            copy(template, dir.path()).unwrap();
        }
        if keep == Keep::Yes {
            println!("kept: {}", dir.path().display());
        }
        Self { dir }
    }

    pub(crate) fn into_dir(self) -> TempDir {
        self.dir
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn kiln(&self, name: &str) -> PathBuf {
        self.root().join(".kiln").join(name)
    }

    pub(crate) fn trace(&self) -> PathBuf {
        self.dir.path().join("trace")
    }

    /// Begins a command in the project. With a fault, or to be recorded, under strace, which is beside the command
    /// (`-D`) so that the process is the command's own.
    pub(crate) fn begin(&self, words: &[&str], stdin: Option<&str>, traced: Traced<'_>) -> Begun {
        let mut command = match traced {
            Traced::No => Command::new(WATCHDOG),
            Traced::Recorded | Traced::With(_) => {
                let mut strace = Command::new("strace");
                strace.args([
                    "-D",
                    "-f",
                    "-q",
                    "-s",
                    "200",
                    "-e",
                    "trace=%file,%desc",
                    "-e",
                    "signal=none",
                    "-o",
                ]);
                strace.arg(self.trace());
                if let Traced::With(fault) = traced {
                    strace.arg("-e").arg(format!("inject={fault}"));
                }
                strace.arg(WATCHDOG);
                strace
            }
        };
        let (out, err) = (self.dir.path().join("out"), self.dir.path().join("err"));
        let input = self.dir.path().join("in");
        fs::write(&input, stdin.unwrap_or_default()).unwrap();
        let child = command
            .args(words)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("CLAUDE_PID", std::process::id().to_string())
            .stdin(File::open(&input).unwrap())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Begun { child, out, err }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str], stdin: Option<&str>) -> Result<Said, String> {
        self.begin(words, stdin, Traced::No).end()
    }

    /// Sends an event through the hook.
    pub(crate) fn event(&self, name: &str, fields: &str) -> Result<Said, String> {
        self.run(&["hook"], Some(&payload(name, fields)))
    }

    pub(crate) fn json(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.kiln(name)).ok()?).ok()
    }

    /// Rewrites activity.json as if the last sign of work were that old.
    pub(crate) fn age(&self, idle: i64, nudges: u64, since_nudge: i64) {
        let mut activity = self.json("tmp/activity.json").unwrap();
        let now = clock::now().seconds();
        activity["last_activity_ts"] = (now - idle).into();
        activity["last_nudge_ts"] = if nudges == 0 { 0.into() } else { (now - since_nudge).into() };
        activity["nudge_count"] = nudges.into();
        fs::write(self.kiln("tmp/activity.json"), activity.to_string()).unwrap();
        // Work that could not be stored is as old.
        if let Ok(mark) = OpenOptions::new().write(true).open(self.kiln("tmp/watchdog/unstored")) {
            mark.set_modified(UNIX_EPOCH).unwrap();
        }
    }

    /// Tells whether a daemon holds its lock.
    pub(crate) fn has_daemon(&self) -> bool {
        Root::at(&self.root()).is_ok_and(|root| lock::is_held(&root.daemon_lock()))
    }

    /// Waits until the traced processes have ended, or what is left of them is a daemon that watches.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let is_settled = || {
            let trace = fs::read_to_string(self.trace()).unwrap_or_default();
            let running = |line: &str| {
                let pid = line.split(' ').next().and_then(|word| word.parse().ok());
                pid.is_some_and(|pid| start_time(pid).is_some())
            };
            self.has_daemon() && self.kiln("tmp/watchdog/daemon.json").exists() || !trace.lines().any(running)
        };
        if comes(is_settled) { Ok(()) } else { Err("its processes neither end nor watch".to_owned()) }
    }

    /// Ends a daemon that a violation has left.
    pub(crate) fn sweep(&self) {
        if self.has_daemon()
            && let Some(pid) = self.json("tmp/watchdog/daemon.json").and_then(|beacon| beacon["pid"].as_i64())
            && let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)
        {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
}

/// A command that runs.
pub(crate) struct Begun {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Begun {
    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end; one that does not come is a violation.
    pub(crate) fn end(mut self) -> Result<Said, String> {
        let child = &mut self.child;
        if !comes(|| !matches!(child.try_wait(), Ok(None))) {
            child.kill().ok();
            child.wait().ok();
            return Err("it hangs".to_owned());
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ok(Said { status, out: read(&self.out), err: read(&self.err) })
    }
}

/// Waits for a condition.
pub(crate) fn comes(mut condition: impl FnMut() -> bool) -> bool {
    let pause = Duration::from_millis(2);
    let mut left = PATIENCE;
    while !condition() {
        let Some(rest) = left.checked_sub(pause) else { return false };
        left = rest;
        sleep(pause);
    }
    true
}

/// A client's event.
pub(crate) fn payload(name: &str, fields: &str) -> String {
    format!(r#"{{"hook_event_name":"{name}","session_id":"s1"{fields}}}"#)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
