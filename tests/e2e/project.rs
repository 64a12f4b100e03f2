//! A scratch project with a pipeline in flight, its hooks, and what can be read from it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wait::wait_for;

/// The program under test.
pub(crate) const WATCHDOG: &str = env!("CARGO_BIN_EXE_watchdog");

/// Every event that a recorder is put on.
const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "TeammateIdle",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

/// The two files whose appearance wakes a session.
const WATCHED: &str = "pending-nudge.json|DEADLOCK.flag";

/// A scratch project. Dropping it stops its daemon and removes it.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    /// Makes a project without a pipeline and without hooks, for what needs only the client.
    pub(crate) fn bare() -> Self {
        let folder = tempfile::Builder::new().prefix("e2e-").tempdir().expect("a scratch folder");
        for name in ["project/.claude", "records", "hooks"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder in the scratch folder");
        }
        Self { folder }
    }

    /// Makes a project whose pipeline is in flight, with these settings and the product's hooks.
    pub(crate) fn in_flight(settings: &str) -> Self {
        let project = Self::in_flight_without_hooks(settings);
        project.install();
        project
    }

    /// Makes a project whose pipeline is in flight, with these settings.
    pub(crate) fn in_flight_without_hooks(settings: &str) -> Self {
        let project = Self::bare();
        fs::create_dir(project.path().join(".kiln")).expect("a new folder");
        project.write(".kiln/STATE.md", "# State\n\n- **stage**: build\n");
        project.write(".kiln/watchdog.toml", settings);
        project
    }

    /// Puts a recorder on every event, so that a test can wait for what the client said.
    pub(crate) fn with_recorder(self) -> Self {
        let name = format!("{}/$(date +%s%N)-$$", self.scratch().join("records").display());
        let script = format!("name={name}\ncat >\"$name.part\" && mv \"$name.part\" \"$name.json\"");
        let recorder = self.script("record", &script);
        let handler = json!({"type": "command", "command": recorder, "args": []});
        for event in EVENTS {
            self.add_hook(event, json!({"hooks": [handler]}));
        }
        self.add_hook("FileChanged", json!({"matcher": WATCHED, "hooks": [handler]}));
        self
    }

    /// The project folder.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The folder beside it, for the client's home and socket.
    pub(crate) fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("a file of the project can be written");
    }

    /// Reads a file of the project; none = it is not there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path().join(name)).ok()
    }

    /// Reads a JSON file of the project; none = it is not there.
    pub(crate) fn read_json(&self, name: &str) -> Option<Value> {
        let text = self.read(name)?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name} is broken: {error}\n{text}")))
    }

    /// Tells whether a file of the project is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path().join(name).symlink_metadata().is_ok()
    }

    /// Runs `watchdog` in the project.
    pub(crate) fn watchdog(&self, arguments: &[&str]) -> Output {
        Command::new(WATCHDOG)
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.scratch().join("home"))
            .env("PATH", "/usr/bin:/bin")
            .output()
            .expect("the program under test can be run")
    }

    /// Registers the product's hooks, as a person does.
    pub(crate) fn install(&self) {
        let installed = self.watchdog(&["install"]);
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    }

    /// Takes one handler of the product out again: the event, and the word it calls the program with.
    pub(crate) fn without(self, event: &str, word: &str) -> Self {
        let mut settings = self.read_json(".claude/settings.json").expect("hooks are registered");
        let taken = remove_handler(&mut settings, event, word);
        assert_eq!(taken, 1, "{event} has one handler that calls {word:?}");
        self.write(".claude/settings.json", &settings.to_string());
        self
    }

    /// Registers a handler of the test's own beside whatever is there.
    pub(crate) fn add_hook(&self, event: &str, entry: Value) {
        let mut settings = self.read_json(".claude/settings.json").unwrap_or_else(|| json!({"hooks": {}}));
        push(&mut settings["hooks"][event], entry);
        self.write(".claude/settings.json", &settings.to_string());
    }

    /// Writes a shell script for a hook and returns its path.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch().join("hooks").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        path
    }

    /// The payloads of an event so far, in order.
    pub(crate) fn recorded(&self, event: &str) -> Vec<Value> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.scratch().join("records"))
            .expect("the folder of records")
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension() == Some(OsStr::new("json")))
            .collect();
        files.sort();
        let payload = |path: &PathBuf| serde_json::from_slice::<Value>(&fs::read(path).ok()?).ok();
        files.iter().filter_map(payload).filter(|payload| payload["hook_event_name"] == event).collect()
    }

    /// Waits until an event was recorded whose field has a value, and returns its payload.
    pub(crate) fn first_recorded(&self, event: &str, field: &str, value: &str) -> Value {
        wait_for(&format!("{event} with {field} {value:?}"), || {
            self.recorded(event).into_iter().find(|payload| payload[field] == value)
        })
    }

    /// What the daemon says of itself; none = it has not said anything yet.
    pub(crate) fn beacon(&self) -> Option<Value> {
        self.read_json(".kiln/tmp/watchdog/daemon.json")
    }

    /// Everything that the journal holds of one kind.
    pub(crate) fn journalled(&self, event: &str) -> Vec<Value> {
        let text = self.read(".kiln/tmp/watchdog/journal.jsonl").unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    }

    /// Shows what a person would look at when a test failed.
    fn show(&self) {
        for name in ["activity.json", "pending-nudge.json", "watchdog/journal.jsonl", "watchdog/watchdog.log"]
        {
            let text = self.read(&format!(".kiln/tmp/{name}")).unwrap_or_else(|| "(not there)".to_owned());
            eprintln!("--- {name}\n{text}");
        }
        eprintln!("--- DEADLOCK.flag\n{}", self.read(".kiln/DEADLOCK.flag").unwrap_or_default());
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if !self.has(".kiln") {
            return;
        }
        if thread::panicking() {
            self.show();
        }
        let stopped = self.watchdog(&["stop", "--root", &self.path().display().to_string()]);
        if thread::panicking() {
            eprintln!("--- watchdog stop: {}", String::from_utf8_lossy(&stopped.stderr));
        }
    }
}

/// Removes the handlers of an event that call the program with a word, and entries that hold nothing any more.
/// Returns how many there were.
pub(crate) fn remove_handler(settings: &mut Value, event: &str, word: &str) -> usize {
    let entries = settings["hooks"][event].as_array_mut().expect("the event has handlers");
    let mut taken = 0;
    for entry in entries.iter_mut() {
        let handlers = entry["hooks"].as_array_mut().expect("an entry has handlers");
        let before = handlers.len();
        handlers.retain(|handler| handler["args"][0] != word);
        taken += before - handlers.len();
    }
    entries.retain(|entry| entry["hooks"] != json!([]));
    taken
}

fn push(list: &mut Value, entry: Value) {
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().expect("a list of entries").push(entry);
}
