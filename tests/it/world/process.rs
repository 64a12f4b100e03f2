//! Processes of a test, and what they leave.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use watchdog::system::process::{Identity, start_time};

use super::{LIMIT, World, eventually};

/// What a process that ended has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A child process; ended when it is dropped.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Ran {
    /// Exit 0 and not a word.
    pub(crate) fn silence() -> Self {
        Self { code: 0, out: String::new(), err: String::new() }
    }

    /// What was answered on standard output.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        serde_json::from_str(&self.out).expect("one JSON value on standard output")
    }

    /// The text that the answer puts into the agent's context at this event.
    #[track_caller]
    pub(crate) fn context(&self, event: &str) -> String {
        let answer = self.answer();
        let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned();
        let exact = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
        assert_eq!(answer, exact);
        text
    }
}

impl Running {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).expect("a pid")
    }

    pub(crate) fn identity(&self) -> Identity {
        let pid = self.pid();
        Identity { pid, start_time: start_time(pid).unwrap_or(0) }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_none())
    }

    /// Waits for the end; what was printed must fit into a pipe.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        eventually("the process ends by itself", || !self.is_running());
        let status = self.0.wait().expect("a child of ours");
        let mut ran = Ran { code: code(status), ..Ran::silence() };
        if let Some(mut out) = self.0.stdout.take() {
            out.read_to_string(&mut ran.out).expect("text");
        }
        if let Some(mut err) = self.0.stderr.take() {
            err.read_to_string(&mut ran.err).expect("text");
        }
        ran
    }

    /// Ends it the hard way, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process that plays the client.
pub(crate) fn client() -> Running {
    let mut command = Command::new("sleep");
    command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().expect("sleep"))
}

/// Starts a command whose output is wanted.
pub(crate) fn launch(mut command: Command) -> Running {
    Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
}

/// Starts a command whose standard input is held open, with nothing in it yet.
pub(crate) fn prepare(mut command: Command) -> Running {
    command.stdin(Stdio::piped());
    launch(command)
}

/// Gives a process its input, and closes it.
pub(crate) fn feed(running: &mut Running, input: &[u8]) {
    if let Some(mut stdin) = running.0.stdin.take() {
        stdin.write_all(input).ok();
    }
}

/// Starts a command that reads `input` from standard input, which is closed after it.
pub(crate) fn launch_with(command: Command, input: &[u8]) -> Running {
    let mut running = prepare(command);
    feed(&mut running, input);
    running
}

/// Starts a bridge of this client's session, as its turn ends, and waits until it waits.
#[track_caller]
pub(crate) fn bridge(world: &World, client: &Running, session: &str) -> Running {
    let mut payload = world.event("Stop", &json!({"stop_hook_active": false}));
    payload["session_id"] = json!(session);
    let running = launch_with(world.as_client("bridge", client), payload.to_string().as_bytes());
    let generation = world.root.in_own("bridges").join(session);
    let number = format!("{}.{}", running.pid(), running.identity().start_time);
    let holds = |path: &Path, text: &str| fs::read_to_string(path).is_ok_and(|found| found == text);
    let pid_file = world.root.in_tmp("async-rewake-watchdog.pid");
    let pid = format!("{}\n", running.pid());
    eventually("the bridge waits", || holds(&generation, &number) && holds(&pid_file, &pid));
    running
}

/// Runs a command to its end, and to the end of its output: a daemon that kept a pipe would show.
#[track_caller]
pub(crate) fn finish(command: Command, input: &[u8]) -> Ran {
    const PATIENCE: Duration = LIMIT.saturating_mul(3);
    let name = format!("{command:?}");
    let mut running = launch_with(command, input);
    let mut out = running.0.stdout.take().expect("a pipe");
    let mut err = running.0.stderr.take().expect("a pipe");
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let (mut ran, mut errors) = (Ran::silence(), String::new());
        let reader = thread::spawn(move || err.read_to_string(&mut errors).map(|_| errors));
        out.read_to_string(&mut ran.out).expect("text");
        ran.err = reader.join().expect("a reader").expect("text");
        done.send(ran)
    });
    // What hangs is a failure of one test, not of all that wait for it.
    let ran =
        ended.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{name} did not end within {PATIENCE:?}"));
    Ran { code: code(running.0.wait().expect("a child of ours")), ..ran }
}

fn code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

/// Waits until this process has ended, with all its threads: the last of them holds the locks until then.
#[track_caller]
pub(crate) fn gone(process: Identity) {
    let threads = || fs::read_dir(format!("/proc/{}/task", process.pid)).map_or(0, Iterator::count);
    eventually("the process ends", || !process.is_alive() && threads() <= 1);
}

/// Sends a signal to exactly this process.
#[track_caller]
pub(crate) fn signal(process: Identity, signal: Signal) {
    let handle = process.open().expect("the process lives");
    assert!(handle.signal(signal), "the signal is taken");
}
