//! A scratch project with the real binary around it. Whatever a test starts in it is ended by its pid when the
//! world goes.

mod files;
mod process;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use watchdog::model::event::{Event, What};
use watchdog::store::beacon::{self, Beacon};
use watchdog::store::journal;
use watchdog::store::root::Root;
use watchdog::system::clock;
use watchdog::system::process::{Identity, start_time};

pub(crate) use files::{listing, names, put, read_json, take_away};
pub(crate) use process::{
    Ran, Running, bridge, client, feed, finish, gone, launch, launch_with, prepare, signal,
};

/// How long a condition may take. Generous: the tests share two slow cores with others.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(10);

/// The session that the payloads of [`World::event`] belong to.
pub(crate) const SESSION: &str = "5e55-lead";

/// Settings with which a stall takes a second or two instead of minutes.
pub(crate) const QUICK: &str = "[rule]\nidle_after = \"1s\"\nnudge_every = \"1s\"\n\
                                [daemon]\ntick = \"200ms\"\nlinger = \"1s\"\nlost_after = \"1s\"\n";

/// A scratch project.
pub(crate) struct World {
    scratch: TempDir,
    pub(crate) root: Root,
    pub(crate) client: Running,
}

/// An `activity.json` of some time ago.
pub(crate) struct Past {
    /// Seconds of silence.
    pub(crate) idle: i64,
    pub(crate) source: &'static str,
    pub(crate) phase: &'static str,
    pub(crate) teammates: Value,
    /// Seconds since the last nudge.
    pub(crate) nudged: Option<i64>,
    pub(crate) count: u32,
}

impl Default for Past {
    fn default() -> Self {
        let teammates = json!({});
        Self { idle: 400, source: "PostToolUse:Read", phase: "build", teammates, nudged: None, count: 0 }
    }
}

impl World {
    /// Makes a project whose pipeline is in this stage.
    pub(crate) fn new(stage: &str) -> Self {
        let scratch = TempDir::with_prefix("watchdog-it-").expect("a scratch folder");
        let folder = scratch.path().join("project");
        fs::create_dir_all(folder.join(".kiln")).expect("a project");
        fs::create_dir_all(scratch.path().join("home")).expect("a home");
        let root = Root::at(&folder).expect("a root");
        let world = Self { scratch, root, client: client() };
        world.stage(stage);
        world
    }

    /// A project folder without `.kiln/`, and with nothing in it.
    pub(crate) fn bare() -> Self {
        let scratch = TempDir::with_prefix("watchdog-it-").expect("a scratch folder");
        let folder = scratch.path().join("project");
        fs::create_dir_all(&folder).expect("a project");
        fs::create_dir_all(scratch.path().join("home")).expect("a home");
        let root = Root::new(&folder).expect("a root");
        Self { scratch, root, client: client() }
    }

    /// The same with settings.
    pub(crate) fn with(stage: &str, settings: &str) -> Self {
        let world = Self::new(stage);
        world.settings(settings);
        world
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// A folder beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let folder = self.scratch.path().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        folder.canonicalize().expect("its real path")
    }

    pub(crate) fn stage(&self, stage: &str) {
        let text = format!("# Kiln State\n\n## Pipeline\n- **stage**: {stage}\n");
        put(&self.root.state(), text.as_bytes());
    }

    pub(crate) fn settings(&self, text: &str) {
        put(&self.root.in_home("watchdog.toml"), text.as_bytes());
    }

    // -- processes ----------------------------------------------------------------------------------------------

    /// The binary, in the project folder, with an environment of its own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_watchdog"));
        command.args(arguments).current_dir(self.path()).env_clear();
        command.env("HOME", self.scratch.path().join("home")).env("TZ", "UTC");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments), b"")
    }

    /// Starts a command and leaves it running.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Running {
        launch(self.command(arguments))
    }

    /// `hook` or `bridge` as the client runs it.
    pub(crate) fn as_client(&self, word: &str, client: &Running) -> Command {
        let mut command = self.command(&[word]);
        command.env("CLAUDE_PID", client.pid().to_string()).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        command.env("CLAUDE_PROJECT_DIR", self.path());
        command
    }

    /// Delivers a payload as the project's own client does.
    pub(crate) fn hook(&self, payload: &Value) -> Ran {
        self.hook_by(&self.client, payload)
    }

    /// Delivers a payload as some other client does.
    pub(crate) fn hook_by(&self, client: &Running, payload: &Value) -> Ran {
        finish(self.as_client("hook", client), payload.to_string().as_bytes())
    }

    /// Delivers a payload that must not be answered.
    #[track_caller]
    pub(crate) fn silent(&self, payload: &Value) {
        assert_eq!(self.hook(payload), Ran::silence(), "{payload}");
    }

    /// Begins the project's session, and with it a daemon.
    #[track_caller]
    pub(crate) fn begin(&self) -> Identity {
        let began = self.hook(&self.event("SessionStart", &json!({"source": "startup"})));
        assert_eq!(began.code, 0, "{began:?}");
        self.daemon()
    }

    /// Begins the project's session and waits until its daemon has come to an end by itself, however fast that is.
    #[track_caller]
    pub(crate) fn run_to_the_end(&self) {
        let began = self.hook(&self.event("SessionStart", &json!({"source": "startup"})));
        assert_eq!(began.code, 0, "{began:?}");
        let ended = || self.count(|what| matches!(what, What::DaemonStop { .. })) == 1;
        eventually("the daemon ends by itself", || ended() && self.daemons().is_empty());
    }

    /// A payload of the project's session: the lead's, unless `more` names an agent.
    pub(crate) fn event(&self, name: &str, more: &Value) -> Value {
        let mut payload = json!({"session_id": SESSION, "cwd": self.path(), "hook_event_name": name});
        for (key, value) in more.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        payload
    }

    /// All processes that were started with this argument or below this folder: they can only be this world's.
    pub(crate) fn processes(&self) -> Vec<(Identity, Vec<String>)> {
        let own = self.scratch.path().to_string_lossy().into_owned();
        let real = self
            .scratch
            .path()
            .canonicalize()
            .map_or_else(|_| own.clone(), |path| path.display().to_string());
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                let start_time = start_time(pid)?;
                let line = fs::read(entry.path().join("cmdline")).ok()?;
                let words: Vec<String> = line
                    .split(|byte| *byte == 0)
                    .map(|word| String::from_utf8_lossy(word).into_owned())
                    .collect();
                let is_ours = words.iter().any(|word| word.contains(&own) || word.contains(&real));
                is_ours.then_some((Identity { pid, start_time }, words))
            })
            .collect()
    }

    /// The daemons of this project, as the system knows them.
    pub(crate) fn daemons(&self) -> Vec<Identity> {
        let is_run = |words: &[String]| words.get(1).is_some_and(|word| word == "run");
        self.processes()
            .into_iter()
            .filter(|(_, words)| is_run(words))
            .map(|(identity, _)| identity)
            .collect()
    }

    /// The daemon that the pid file names and that holds the lock; waits for it.
    #[track_caller]
    pub(crate) fn daemon(&self) -> Identity {
        eventually_some("a daemon runs and is the one of the pid file", || {
            let found = self.daemons();
            let named = fs::read_to_string(self.root.in_tmp("watchdog.pid")).ok()?;
            let one = found.iter().find(|identity| named == format!("{}\n", identity.pid))?;
            (found.len() == 1 && watchdog::store::lock::is_held(&self.root.daemon_lock())).then_some(*one)
        })
    }

    // -- files --------------------------------------------------------------------------------------------------

    pub(crate) fn backdate(&self, past: &Past) {
        let now = clock::now().seconds();
        self.write_activity(&json!({
            "last_activity_ts": now - past.idle, "last_activity_source": past.source,
            "active_teammates": past.teammates, "last_nudge_ts": past.nudged.map_or(0, |ago| now - ago),
            "nudge_count": past.count, "epoch": 7, "pipeline_phase": past.phase,
        }));
    }

    pub(crate) fn write_activity(&self, value: &Value) {
        fs::create_dir_all(self.root.tmp()).expect("a folder");
        put(&self.root.activity(), value.to_string().as_bytes());
    }

    #[track_caller]
    pub(crate) fn activity(&self) -> Value {
        read_json(&self.root.activity()).expect("activity.json holds JSON")
    }

    pub(crate) fn write_pending(&self, value: &Value) {
        fs::create_dir_all(self.root.tmp()).expect("a folder");
        put(&self.root.pending(), value.to_string().as_bytes());
    }

    pub(crate) fn pending(&self) -> Option<Value> {
        read_json(&self.root.pending())
    }

    pub(crate) fn flag(&self) -> Option<Value> {
        read_json(&self.root.flag())
    }

    pub(crate) fn write_flag(&self, value: &Value) {
        put(&self.root.flag(), value.to_string().as_bytes());
    }

    pub(crate) fn beacon(&self) -> Option<Beacon> {
        beacon::load(&self.root)
    }

    pub(crate) fn journal(&self) -> Vec<Event> {
        journal::all(&self.root).unwrap_or_default()
    }

    pub(crate) fn count(&self, is_it: impl Fn(&What) -> bool) -> usize {
        self.journal().iter().filter(|event| is_it(&event.what)).count()
    }

    pub(crate) fn state_text(&self) -> String {
        fs::read_to_string(self.root.state()).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.root.in_own("watchdog.log")).unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A daemon that was about to start may show itself only after the first round.
        for _ in 0..3 {
            for (identity, _) in self.processes() {
                if let Some(handle) = identity.open() {
                    handle.signal(Signal::KILL);
                    handle.wait(LIMIT);
                }
            }
        }
    }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    eventually_some(what, || holds().then_some(()));
}

/// Waits until there is something.
#[track_caller]
pub(crate) fn eventually_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let began = clock::now();
    loop {
        let looked = clock::now();
        if let Some(found) = find() {
            return found;
        }
        assert!(clock::now().awake_since(began) < LIMIT, "not within {LIMIT:?}: {what}");
        // Whoever looks must not keep those from their work whose work is waited for.
        thread::sleep(PAUSE.max(clock::now().awake_since(looked)));
    }
}
