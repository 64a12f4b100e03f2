//! The corpus: recorded and constructed runs, each with what the watchdog says of it, judged by the real program.
//!
//! `tests/traces/NAME.jsonl` is a run, `tests/traces/NAME.expected.jsonl` what `replay --json` prints. Runs whose
//! name begins with `healthy-` are those in which nothing may be said.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

/// All runs, by name.
fn runs() -> Vec<(String, PathBuf)> {
    let mut runs: Vec<(String, PathBuf)> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
            (!name.ends_with(".expected")).then_some((name, path))
        })
        .collect();
    runs.sort();
    runs
}

/// Replays a run in a folder of its own, with no settings but the built-in ones.
fn replay(path: &Path, home: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_watchdog"))
        .args(["replay", "--json"])
        .args(more)
        .arg(path)
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .output()
        .unwrap()
}

fn lines(text: &[u8]) -> Vec<Value> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn every_run_is_judged_as_its_expectation_says() {
    let home = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, path) in runs() {
        let output = replay(&path, home.path(), &[]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let expected = fs::read(path.with_extension("expected.jsonl")).unwrap_or_default();
        let differs = lines(&output.stdout)
            .into_iter()
            .zip(lines(&expected).into_iter().map(Some).chain(std::iter::repeat(None)))
            .find(|(found, wanted)| Some(found) != wanted.as_ref());
        if let Some((found, wanted)) = differs {
            wrong.push(format!("{name}:\n  found  {found}\n  wanted {}", wanted.unwrap_or_default()));
        } else if output.stdout != expected {
            wrong.push(format!("{name}: lines are missing at the end, or differ in form"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "a replay left files behind");
}

#[test]
fn the_corpus_holds_every_cause_and_enough_healthy_runs() {
    let runs = runs();
    assert!(runs.len() >= 40, "{} runs", runs.len());
    let healthy: Vec<_> = runs.iter().filter(|(name, _)| name.starts_with("healthy-")).collect();
    assert!(healthy.len() >= 12, "{} healthy runs", healthy.len());
    let told = |path: &Path| lines(&fs::read(path.with_extension("expected.jsonl")).unwrap());
    let causes: BTreeSet<String> = runs
        .iter()
        .flat_map(|(_, path)| told(path))
        .filter_map(|line| line["cause"].as_str().map(ToOwned::to_owned))
        .collect();
    let all = [
        "api-dead",
        "circular-wait",
        "livelock",
        "long-tool",
        "misaddressed",
        "misrouted",
        "no-reply-due",
        "nobody-waits",
        "parked-worker",
        "printed-not-sent",
        "reply-owed",
        "unread",
        "waits-for-gone",
        "waits-for-person",
        "went-on-after-blocking-send",
    ];
    assert_eq!(causes.into_iter().collect::<Vec<_>>(), all);
    for (name, path) in healthy {
        for line in told(path) {
            // The note that a failed turn leaves is the protocol's own; it is no verdict on the pipeline.
            let is_api = line["verdict"] == "note" && line["cause"] == "api-dead";
            assert!(line["verdict"] == "quiet" || is_api, "{name}: {line}");
        }
    }
}

#[test]
fn a_replay_touches_no_file_of_the_pipeline_it_stands_in() {
    let home = tempfile::tempdir().unwrap();
    let kiln = home.path().join(".kiln");
    fs::create_dir(&kiln).unwrap();
    fs::write(kiln.join("STATE.md"), "- **stage**: build\n").unwrap();
    let run = folder().join("three-nudges-and-the-flag.jsonl");
    let first = replay(&run, home.path(), &[]);
    let second = replay(&run, home.path(), &[]);
    assert_eq!(first.stdout, second.stdout);
    assert!(lines(&first.stdout).iter().any(|line| line["verdict"] == "escalate"));
    let left: Vec<_> = fs::read_dir(&kiln).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["STATE.md"]);
}

#[test]
fn a_run_is_judged_by_the_settings_that_are_given() {
    let home = tempfile::tempdir().unwrap();
    let run = folder().join("three-nudges-and-the-flag.jsonl");
    let output = replay(&run, home.path(), &["--set", "rule.max_nudges=1", "--set", "rule.idle_after=120s"]);
    let loud: Vec<String> = lines(&output.stdout)
        .iter()
        .filter(|line| line["verdict"] != "quiet")
        .map(|line| format!("{} {}", line["verdict"].as_str().unwrap(), line["n"]))
        .collect();
    assert_eq!(loud, ["nudge 1", "escalate 1"]);
}

/// Lines of one time in the opposite order: hooks run side by side, so their order means nothing.
#[test]
fn the_order_of_lines_with_the_same_time_does_not_matter() {
    let home = tempfile::tempdir().unwrap();
    for (name, path) in runs() {
        let text = fs::read_to_string(&path).unwrap();
        let mut all: Vec<(i64, &str)> = text
            .lines()
            .map(|line| (serde_json::from_str::<Value>(line).unwrap()["at"].as_i64().unwrap(), line))
            .collect();
        all.reverse();
        all.sort_by_key(|(at, _)| *at);
        let turned: Vec<&str> = all.iter().map(|(_, line)| *line).collect();
        let other = home.path().join("turned.jsonl");
        fs::write(&other, turned.join("\n")).unwrap();
        let (a, b) = (replay(&path, home.path(), &[]), replay(&other, home.path(), &[]));
        assert_eq!(String::from_utf8_lossy(&a.stdout), String::from_utf8_lossy(&b.stdout), "{name}");
    }
}

#[test]
fn a_broken_line_is_named_with_its_file_and_place() {
    let home = tempfile::tempdir().unwrap();
    let broken = home.path().join("broken.jsonl");
    fs::write(&broken, "{\"at\":1}\n{\"at\":\"soon\"}\n").unwrap();
    let output = replay(&broken, home.path(), &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("broken.jsonl:2: \"at\" is missing or no time"), "{said}");
}
