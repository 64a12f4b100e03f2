//! Sessions end in three ways: cleared, left, killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::api::Api;
use crate::client::{Client, UNASKED, start_time};
use crate::project::Project;
use crate::wait::{wait_for, wait_until};

/// A daemon that looks often, and gives up a client that is gone soon. That no session is left ends it only after
/// ten minutes: whatever ends it sooner was told to it.
const WATCHFUL: &str = "[daemon]\ntick = \"1s\"\nlost_after = \"2s\"\nlinger = \"10m\"\n";

/// A process by its number and its start.
#[derive(Debug, PartialEq)]
struct Daemon {
    pid: i32,
    start_time: u64,
}

impl Daemon {
    /// The daemon that a project says it has; none = it says nothing, or the process is another's.
    fn of(project: &Project) -> Option<Self> {
        let beacon = project.beacon()?;
        let daemon = Self {
            pid: i32::try_from(beacon["pid"].as_i64()?).ok()?,
            start_time: beacon["start_time"].as_u64()?,
        };
        daemon.is_alive().then_some(daemon)
    }

    fn is_alive(&self) -> bool {
        start_time(self.pid) == Some(self.start_time)
    }
}

fn says(project: &Project, words: &str) -> Value {
    project.first_recorded("Stop", "last_assistant_message", words)
}

#[test]
fn clear_begins_a_new_session_and_keeps_the_daemon() {
    let project = Project::in_flight(WATCHFUL).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say BEFORE");
    let before = says(&project, "BEFORE");
    let daemon = wait_for("a daemon", || Daemon::of(&project));
    client.prompt("/clear");
    let cleared = project.first_recorded("SessionStart", "source", "clear");
    assert_ne!(cleared["session_id"], before["session_id"]);
    client.prompt("@say AFTER");
    assert_eq!(says(&project, "AFTER")["session_id"], cleared["session_id"]);
    let session = |payload: &Value| {
        format!(".kiln/tmp/watchdog/sessions/{}.json", payload["session_id"].as_str().unwrap_or_default())
    };
    let registered = wait_for("the new session's file", || project.read_json(&session(&cleared)));
    assert_eq!(registered["pid"], client.pid(), "{registered}");
    assert!(!project.has(&session(&before)), "the cleared session is still registered");
    assert_eq!(Daemon::of(&project), Some(daemon));
    assert_eq!(project.journalled("daemon_start").len(), 1);
}

#[test]
fn the_daemon_of_a_session_keeps_no_key_no_terminal_and_no_folder() {
    let project = Project::in_flight(WATCHFUL).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    says(&project, "hello");
    let daemon = wait_for("a daemon", || Daemon::of(&project));
    let proc = PathBuf::from(format!("/proc/{}", daemon.pid));
    let environment = fs::read(proc.join("environ")).expect("a process of ours");
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains("ANTHROPIC") && !environment.contains("CLAUDE"), "{environment}");
    assert_eq!(fs::read_link(proc.join("cwd")).expect("a process of ours"), Path::new("/"));
    let open: Vec<String> = fs::read_dir(proc.join("fd"))
        .expect("a process of ours")
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|target| target.display().to_string())
        .collect();
    assert!(!open.is_empty());
    let kept = |target: &&String| target.starts_with("/dev/pts") || target.starts_with("pipe:");
    assert_eq!(open.iter().find(kept), None, "{open:?}");
}

#[test]
fn exit_ends_the_daemon_and_takes_the_transient_files_along() {
    let project = Project::in_flight(WATCHFUL).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    says(&project, "hello");
    let daemon = wait_for("a daemon", || Daemon::of(&project));
    let begin = Instant::now();
    client.leave();
    wait_until("the client's end", || !client.is_alive());
    let client_gone = begin.elapsed();
    wait_until("the daemon's end", || !daemon.is_alive());
    println!(
        "measured: /exit to the client's end {client_gone:.2?}, to the daemon's end {:.2?}",
        begin.elapsed()
    );
    for name in ["activity.json", "watchdog.pid", "async-rewake-watchdog.pid", "pending-nudge.json"] {
        assert!(!project.has(&format!(".kiln/tmp/{name}")), "{name} was left behind");
    }
    assert!(!project.has(".kiln/DEADLOCK.flag"));
    assert_eq!(project.recorded("SessionEnd").len(), 1);
}

#[test]
fn a_killed_client_leaves_a_flag_and_the_next_session_recovers() {
    let project = Project::in_flight(WATCHFUL).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    says(&project, "hello");
    let daemon = wait_for("a daemon", || Daemon::of(&project));
    let begin = Instant::now();
    client.crash();
    let flag = wait_for("the flag", || project.read_json(".kiln/DEADLOCK.flag"));
    println!("measured: kill -9 of the client to the flag {:.2?}", begin.elapsed());
    assert_eq!(flag["cause"], "session_lost", "{flag}");
    wait_until("the daemon's end", || !daemon.is_alive());
    assert!(project.recorded("SessionEnd").is_empty(), "a killed client says nothing");

    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say BACK");
    says(&project, "BACK");
    assert!(!project.has(".kiln/DEADLOCK.flag"));
    let state = project.read(".kiln/STATE.md").unwrap_or_default();
    assert_eq!(state.matches("KILN DEADLOCK RECOVERY").count(), 1, "{state}");
    assert!(state.contains("session_lost"), "{state}");
    wait_until("a new daemon", || Daemon::of(&project).is_some_and(|new| new != daemon));
}
