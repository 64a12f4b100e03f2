//! How soon the daemon and the bridge act, and what they take while they wait.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::{Running, fed, heartbeat, median, number, project, until, watchdog};

fn stamp(path: &Path) -> Duration {
    fs::metadata(path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap()
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
pub(super) fn threshold(folder: &Path) {
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

pub(super) fn bridge(folder: &Path) {
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

pub(super) fn idle(folder: &Path) {
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

pub(super) fn thousand(folder: &Path) {
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
