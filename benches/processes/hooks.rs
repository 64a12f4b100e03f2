//! What a hook costs its client, beside an empty static program, in turns.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Running, as_a_hook, heartbeat, median, number, project, until, watchdog};

/// Rounds of a comparison; a tenth as many warm up.
const ROUNDS: usize = 500;

/// The yardstick: a program that does nothing, built as ours is.
fn empty(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    fs::write(&source, "fn main() {}").unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let flags = ["target-feature=+crt-static", "relocation-model=static", "strip=symbols"];
    let mut build = Command::new(rustc);
    build.arg("-O").args(flags.iter().flat_map(|flag| ["-C", flag])).arg("-o").arg(&program).arg(&source);
    assert!(build.status().unwrap().success());
    program
}

fn time(mut command: Command, input: &Path) -> Duration {
    command.stdin(File::open(input).unwrap()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    assert!(command.status().unwrap().success());
    began.elapsed()
}

fn payload(event: &str, root: &Path) -> Value {
    json!({
        "hook_event_name": event, "session_id": "s1", "cwd": root, "tool_name": "Bash", "tool_use_id": "t1",
        "tool_input": {"command": "x"},
    })
}

/// The medians of a hook in this folder and of the yardstick, run in turns with the same input.
fn compare(folder: &Path, root: &Path, what: &str, aim: &str) {
    let (program, input) = (empty(folder), folder.join("payload.json"));
    fs::write(&input, payload("PreToolUse", root).to_string()).unwrap();
    let round = |_| (time(watchdog(root, &["hook"]), &input), time(as_a_hook(&program, root), &input));
    let all: Vec<_> = (0..ROUNDS + ROUNDS / 10).map(round).collect();
    let (hook, empty) = all.into_iter().skip(ROUNDS / 10).unzip();
    let (hook, empty) = (median(hook), median(empty));
    println!(
        "{what}{hook:>8.2?}, an empty program {empty:.2?}: {:.2} x   (aim: {aim} x)",
        hook.as_secs_f64() / empty.as_secs_f64()
    );
}

/// A daemon runs, as it does beside every hook of a pipeline.
pub(super) fn inside(folder: &Path) {
    let root = folder.join("inside");
    project(&root, "");
    heartbeat(&root);
    let _daemon = Running(watchdog(&root, &["run", "--stay"]).spawn().unwrap());
    until("a beacon", || root.join(".kiln/tmp/watchdog/daemon.json").exists());
    compare(folder, &root, "one heartbeat                        ", "1.7");
}

pub(super) fn outside(folder: &Path) {
    let root = folder.join("outside");
    fs::create_dir(&root).unwrap();
    compare(folder, &root, "a hook outside a pipeline            ", "1.2");
}

/// Pushes a payload through a pipe, as a client does. Returns how long it took until the process was gone, and its
/// memory in KiB, which is asked for while the last byte is still owed.
fn push(mut command: Command, text: &[u8]) -> (Duration, u64) {
    let began = Instant::now();
    let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let (last, most) = text.split_last().unwrap();
    stdin.write_all(most).unwrap();
    let asked = Instant::now();
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let asking = asked.elapsed();
    stdin.write_all(&[*last]).unwrap();
    drop(stdin);
    assert!(process.wait().unwrap().success());
    (began.elapsed().saturating_sub(asking), number(&status, "VmHWM:"))
}

pub(super) fn large(folder: &Path) {
    let root = folder.join("large");
    project(&root, "");
    heartbeat(&root);
    let mut payload = payload("PostToolUse", &root);
    payload["tool_response"] = json!("x".repeat(10_000_000));
    let text = payload.to_string().into_bytes();
    let round =
        |_| (push(watchdog(&root, &["hook"]), &text), push(as_a_hook(Path::new("cat"), &root), &text));
    let (ours, others): (Vec<_>, Vec<_>) = (0..30).map(round).unzip();
    let memory = ours.iter().map(|(_, memory)| *memory).max().unwrap_or(0);
    let took = |all: Vec<(Duration, u64)>| median(all.into_iter().map(|(took, _)| took).collect());
    println!(
        "a PostToolUse payload of 10 MB       {:>8.2?}, `cat` {:.2?}; {:.1} MiB   (aim: 15 ms, 24 MiB)",
        took(ours),
        took(others),
        memory as f64 / 1024.0
    );
}

pub(super) fn hundred(folder: &Path) {
    let root = folder.join("hundred");
    project(&root, "");
    heartbeat(&root);
    let epoch = || {
        let text = fs::read(root.join(".kiln/tmp/activity.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["epoch"].as_u64().unwrap()
    };
    let input = folder.join("hundred.json");
    fs::write(&input, payload("PostToolUse", &root).to_string()).unwrap();
    let mut took = Vec::new();
    for _ in 0..10 {
        let before = epoch();
        let began = Instant::now();
        let hook = |_| watchdog(&root, &["hook"]).stdin(File::open(&input).unwrap()).spawn().unwrap();
        let all: Vec<_> = (0..100).map(hook).collect();
        for mut hook in all {
            hook.wait().unwrap();
        }
        took.push(began.elapsed());
        assert_eq!(epoch() - before, 100, "an update is lost");
    }
    println!("100 hooks at once, no update lost    {:>8.0?}   (aim: 300 ms)", median(took));
}
