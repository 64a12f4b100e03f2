//! What the daemon and the bridge cost and how soon they act, measured on whole processes: `make bench`, or
//! `cargo bench --bench daemon [-- PART…]` with the program in WATCHDOG (else the one of the bench profile).
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench reads the clock, and ends where it cannot go on"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

const LOOK: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(60);

/// A part of the bench: its name, and what it does in a folder of its own.
type Part = (&'static str, fn(&Path));

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
    let mut command = Command::new(program());
    command.args(words).current_dir(root).env("CLAUDE_PID", std::process::id().to_string());
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

fn stamp(path: &Path) -> Duration {
    fs::metadata(path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap()
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Memory in MiB, wake-ups and processor time of all threads.
fn costs(pid: u32) -> (f64, u64, Duration) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let switches = tasks.map(|task| {
        let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        number(&text, "voluntary_ctxt_switches")
    });
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let ticks: u64 = stat
        .rsplit(") ")
        .next()
        .unwrap()
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum();
    (number(&status, "VmRSS:") as f64 / 1024.0, switches.sum(), Duration::from_millis(ticks * 10))
}

/// The stamp is in whole seconds and the rule is "more than": the threshold of 2 s passes 3 s after the stamp.
fn threshold(folder: &Path) {
    let mut late = Vec::new();
    for round in 0..7 {
        let root = folder.join(format!("threshold-{round}"));
        project(&root, "[rule]\nidle_after = \"2s\"\n[daemon]\ntick = \"1s\"\n");
        let _daemon = Running(watchdog(&root, &["run"]).spawn().unwrap());
        until("a beacon", || root.join(".kiln/tmp/watchdog/daemon.json").exists());
        sleep(Duration::from_millis(1200));
        heartbeat(&root);
        let worked = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let nudge = root.join(".kiln/tmp/pending-nudge.json");
        until("a nudge", || nudge.exists());
        late.push(stamp(&nudge).saturating_sub(Duration::from_secs(worked + 2)));
    }
    println!(
        "threshold passed to nudge staged     {:>8.0?} median, {:?} at most   (aim: 1.1 s)",
        median(late.clone()),
        late.iter().max().unwrap()
    );
}

fn bridge(folder: &Path) {
    let mut late = Vec::new();
    for round in 0..21 {
        let root = folder.join(format!("bridge-{round}"));
        project(&root, "");
        heartbeat(&root);
        let payload = json!({"hook_event_name": "Stop", "session_id": "s1", "cwd": root}).to_string();
        let mut bridge = fed(watchdog(&root, &["bridge"]), &payload);
        until("a bridge", || root.join(".kiln/tmp/async-rewake-watchdog.pid").exists());
        sleep(Duration::from_millis(100));
        let nudge = root.join(".kiln/tmp/watchdog/journal.jsonl");
        let began = Instant::now();
        watchdog(&root, &["nudge", "a word"]).status().unwrap();
        // The command itself has a journal line to write after it has staged: its own end is the later bound.
        let staged = began.elapsed();
        assert_eq!(bridge.0.wait().unwrap().code(), Some(2));
        late.push(began.elapsed().saturating_sub(staged));
        assert!(nudge.exists());
    }
    println!(
        "nudge staged to bridge gone          {:>8.2?} median after the command's own end   (aim: 10 ms)",
        median(late)
    );
}

fn idle(folder: &Path) {
    let root = folder.join("idle");
    project(&root, "");
    heartbeat(&root);
    let daemon = Running(watchdog(&root, &["run", "--stay"]).spawn().unwrap());
    until("a beacon", || root.join(".kiln/tmp/watchdog/daemon.json").exists());
    sleep(Duration::from_secs(5));
    let (_, before, _) = costs(daemon.0.id());
    sleep(Duration::from_secs(60));
    let (memory, after, _) = costs(daemon.0.id());
    println!(
        "idle daemon, one root                {memory:>6.1} MiB, {} wake-ups in a minute   (aim: 3 MiB, 2)",
        after - before
    );
}

fn thousand(folder: &Path) {
    let roots: Vec<PathBuf> = (0..1000).map(|n| folder.join(format!("many/{n}"))).collect();
    let mut command = watchdog(folder, &["run", "--stay"]);
    for root in &roots {
        project(root, "");
        heartbeat(root);
        command.arg("--root").arg(root);
    }
    let daemon = Running(command.spawn().unwrap());
    until("the last beacon", || roots[999].join(".kiln/tmp/watchdog/daemon.json").exists());
    sleep(Duration::from_secs(5));
    let (_, _, before) = costs(daemon.0.id());
    let began = Instant::now();
    for root in &roots {
        heartbeat(root);
        sleep(Duration::from_millis(60).saturating_sub(began.elapsed() / 1000));
    }
    sleep(Duration::from_secs(60).saturating_sub(began.elapsed()));
    let took = began.elapsed();
    let (memory, _, after) = costs(daemon.0.id());
    let share = after.saturating_sub(before).as_secs_f64() / took.as_secs_f64() * 100.0;
    println!(
        "1,000 roots, 1,000 heartbeats in {:.0} s {memory:>6.1} MiB, {share:.2} % of a core   (aim: 40 MiB, 0.5 %)",
        took.as_secs_f64()
    );
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [Part; 4] =
        [("threshold", threshold), ("bridge", bridge), ("idle", idle), ("thousand", thousand)];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part(folder.path());
        }
    }
}
