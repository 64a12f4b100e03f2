//! What hooks, the bridge and the daemon cost and how soon they act, measured on whole processes: `make bench`, or
//! `cargo bench --bench processes [-- PART…]` with the program in WATCHDOG (else the one of the bench profile).
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench reads the clock, and ends where it cannot go on"
)]

mod daemon;
mod hooks;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

/// A part of the bench: its name, and what it does in a folder of its own.
type Part = (&'static str, fn(&Path));

const LOOK: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that is ended with its value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn program() -> PathBuf {
    std::env::var_os("WATCHDOG").map_or_else(|| env!("CARGO_BIN_EXE_watchdog").into(), PathBuf::from)
}

fn watchdog(root: &Path, words: &[&str]) -> Command {
    let mut command = as_a_hook(&program(), root);
    command.args(words);
    command
}

/// A program as a client would start it.
fn as_a_hook(program: &Path, root: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root).env("CLAUDE_PID", std::process::id().to_string());
    command
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn fed(mut command: Command, payload: &str) -> Running {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    Running(child)
}

fn heartbeat(root: &Path) {
    let payload = json!({
        "hook_event_name": "PostToolUse", "session_id": "s1", "cwd": root, "tool_name": "Bash", "tool_use_id": "t1",
    });
    fed(watchdog(root, &["hook"]), &payload.to_string()).0.wait().unwrap();
}

fn project(root: &Path, settings: &str) {
    fs::create_dir_all(root.join(".kiln/tmp")).unwrap();
    fs::write(root.join(".kiln/STATE.md"), "- **stage**: build\n").unwrap();
    fs::write(root.join(".kiln/watchdog.toml"), settings).unwrap();
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(LOOK);
    }
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [Part; 8] = [
        ("inside", hooks::inside),
        ("outside", hooks::outside),
        ("large", hooks::large),
        ("hundred", hooks::hundred),
        ("threshold", daemon::threshold),
        ("bridge", daemon::bridge),
        ("idle", daemon::idle),
        ("thousand", daemon::thousand),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part(folder.path());
        }
    }
}
