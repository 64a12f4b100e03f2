//! The project, its sessions, and the log of everything that was done to it.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use watchdog::model::event::Event;
use watchdog::store::beacon;
use watchdog::store::journal::Follower;
use watchdog::store::lock;
use watchdog::store::root::Root;
use watchdog::system::clock;
use watchdog::system::process::Identity;

/// How long a condition may take, on a machine that others use too.
pub(crate) const LIMIT: Duration = Duration::from_secs(40);

const SETTINGS: &str = "[rule]\nidle_after = \"2s\"\nnudge_every = \"2s\"\nmax_nudges = 2\n\
    recovered_after = \"6s\"\n[quiet]\ntool_limit = \"10m\"\n[daemon]\ntick = \"500ms\"\n\
    linger = \"1s\"\nlost_after = \"1s\"\n";

/// A session: its id and the process that plays its client.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) client: Child,
}

/// One thing that the driver did, unix milliseconds before and after.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) began: i64,
    pub(crate) ended: i64,
    pub(crate) event: String,
    /// The call's id, if it was about a tool.
    pub(crate) call: String,
    /// It carried a staged message to an agent.
    pub(crate) delivered: bool,
}

/// Time in which the driver knows that no nudge may be staged.
#[derive(Debug, Clone)]
pub(crate) struct Hush {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) why: &'static str,
}

/// What is shared with the threads that run hooks.
pub(crate) struct Field {
    scratch: Option<TempDir>,
    pub(crate) root: Root,
    pub(crate) sessions: Vec<Session>,
    names: u64,
    calls: AtomicU64,
    pub(crate) deeds: Mutex<Vec<Deed>>,
    pub(crate) hushes: Mutex<Vec<Hush>>,
    record: Mutex<(Follower, Vec<Event>)>,
    violations: Mutex<Vec<String>>,
    /// Where the present life of `activity.json` began: deeds, events, kills.
    pub(crate) life: (usize, usize, usize),
    kills: AtomicUsize,
}

/// Events whose hooks write `activity.json` once.
pub(crate) const BEATS: [&str; 5] =
    ["UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop"];

impl Field {
    pub(crate) fn new() -> Self {
        let scratch = TempDir::with_prefix("watchdog-soak-").expect("a scratch folder");
        let folder = scratch.path().join("project");
        fs::create_dir_all(folder.join(".kiln")).expect("a project");
        fs::write(folder.join(".kiln/STATE.md"), "# State\n\n## Pipeline\n- **stage**: build\n")
            .expect("a stage");
        fs::write(folder.join(".kiln/watchdog.toml"), SETTINGS).expect("settings");
        let root = Root::at(&folder).expect("a root");
        Self {
            scratch: Some(scratch),
            root,
            sessions: Vec::new(),
            names: 0,
            calls: AtomicU64::new(0),
            deeds: Mutex::default(),
            hushes: Mutex::default(),
            record: Mutex::default(),
            violations: Mutex::default(),
            life: (0, 0, 0),
            kills: AtomicUsize::new(0),
        }
    }

    pub(crate) fn violate(&self, what: String) {
        self.violations.lock().unwrap().push(what);
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }

    pub(crate) fn keep(&mut self) -> PathBuf {
        self.scratch.take().map(TempDir::keep).unwrap_or_default()
    }

    // -- the driver's deeds -------------------------------------------------------------------------------------

    pub(crate) fn call(&self) -> String {
        format!("t{}", self.calls.fetch_add(1, Ordering::Relaxed))
    }

    /// A new session, with a client of its own.
    pub(crate) fn come(&mut self) -> usize {
        self.names += 1;
        let client = Command::new("sleep").arg("7200").stdin(Stdio::null()).spawn().expect("sleep");
        self.sessions.push(Session { id: format!("s{}", self.names), client });
        let place = self.sessions.len() - 1;
        self.hook(place, "SessionStart", &json!({"source": "startup"}));
        place
    }

    /// A session ends by its own word; its client goes after it.
    pub(crate) fn go(&mut self, place: usize) {
        self.hook(place, "SessionEnd", &json!({"reason": "other"}));
        self.crash(place);
    }

    /// A client dies without a word.
    pub(crate) fn crash(&mut self, place: usize) -> String {
        let mut session = self.sessions.remove(place);
        session.client.kill().ok();
        session.client.wait().ok();
        session.id
    }

    /// Runs the real hook as this session's client does.
    pub(crate) fn hook(&self, place: usize, event: &str, more: &Value) -> Deed {
        let session = &self.sessions[place];
        let mut payload =
            json!({"session_id": session.id, "cwd": self.root.path(), "hook_event_name": event});
        for (key, value) in more.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        let call = more.get("tool_use_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let began = clock::now().wall;
        let (code, out, err) = self.run(session.client.id(), &payload.to_string());
        let ended = clock::now().wall;
        let delivered =
            out.contains("KILN DEADLOCK WATCHDOG") || err.contains("KILN DEADLOCK WATCHDOG: idle");
        let wakes = event == "FileChanged";
        let is_well = if wakes { matches!(code, 0 | 2) } else { code == 0 && err.is_empty() };
        if !is_well {
            self.violate(format!("{event} of {} ended with {code}: {err}", session.id));
        }
        let deed = Deed { began, ended, event: event.to_owned(), call, delivered };
        self.deeds.lock().unwrap().push(deed.clone());
        deed
    }

    fn run(&self, client: u32, payload: &str) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_watchdog"));
        command.arg("hook").current_dir(self.root.path()).env_clear();
        command.env("HOME", self.root.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("CLAUDE_PID", client.to_string()).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the hook starts");
        child.stdin.take().expect("a pipe").write_all(payload.as_bytes()).ok();
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.take().expect("a pipe").read_to_string(&mut out).ok();
        child.stderr.take().expect("a pipe").read_to_string(&mut err).ok();
        (child.wait().ok().and_then(|status| status.code()).unwrap_or(-1), out, err)
    }

    /// One whole tool call.
    pub(crate) fn tool(&self, place: usize, tool: &str) {
        let more = json!({"tool_name": tool, "tool_use_id": self.call()});
        self.hook(place, "PreToolUse", &more);
        self.hook(place, "PostToolUse", &more);
    }

    // -- the daemon ---------------------------------------------------------------------------------------------

    /// The daemon that holds the lock, by its own beacon.
    pub(crate) fn daemon(&self) -> Option<Identity> {
        let beacon = beacon::load(&self.root)?;
        let identity = Identity { pid: beacon.pid, start_time: beacon.start_time };
        (lock::is_held(&self.root.daemon_lock()) && identity.is_alive()).then_some(identity)
    }

    /// Kills the daemon where it stands.
    pub(crate) fn kill_daemon(&self) -> bool {
        let Some(handle) = self.daemon().and_then(Identity::open) else { return false };
        let killed = handle.signal(Signal::KILL) && handle.wait(LIMIT);
        self.kills.fetch_add(usize::from(killed), Ordering::Relaxed);
        killed
    }

    pub(crate) fn kills(&self) -> usize {
        self.kills.load(Ordering::Relaxed)
    }

    /// Waits until something holds. Says what did not, and goes on.
    pub(crate) fn wait(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let began = clock::now();
        while clock::now().awake_since(began) < LIMIT {
            if holds(self) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.violate(format!("not within {LIMIT:?}: {what}"));
        false
    }

    // -- the journal --------------------------------------------------------------------------------------------

    /// Follows the journal and gives all that was recorded to `read`.
    pub(crate) fn recorded<T>(&self, read: impl FnOnce(&[Event]) -> T) -> T {
        let mut record = self.record.lock().unwrap();
        let (follower, events) = &mut *record;
        match follower.follow(&self.root) {
            Ok(new) => events.extend(new),
            Err(error) => self.violate(error.to_string()),
        }
        read(events)
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        while !self.sessions.is_empty() {
            self.crash(0);
        }
        self.kill_daemon();
    }
}
