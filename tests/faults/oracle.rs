//! What must hold after a run, whatever failed in it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use watchdog::store::journal::parse_line;

use crate::bench::{Bench, Said, comes};
use crate::matrix::Fault;
use crate::scenario::{Scenario, Way};

/// Whole files, by their names below `.kiln`.
const WHOLE: [&str; 6] = [
    "tmp/watchdog/sessions/s2.json",
    "tmp/activity.json",
    "tmp/pending-nudge.json",
    "DEADLOCK.flag",
    "tmp/watchdog/daemon.json",
    "tmp/watchdog/sessions/s1.json",
];

/// All that may lie there when everything has worked again.
const KNOWN: [&str; 16] = [
    "tmp/watchdog/sessions/s2.json",
    "DEADLOCK.flag",
    "STATE.md",
    "watchdog.toml",
    "tmp/activity.json",
    "tmp/activity.lock",
    "tmp/watchdog/activity.broken",
    "tmp/watchdog/daemon.lock",
    "tmp/watchdog/start.lock",
    "tmp/watchdog/journal.jsonl",
    "tmp/watchdog/journal.1.jsonl",
    "tmp/watchdog/sessions/s1.json",
    "tmp/watchdog/watchdog.log",
    "tmp/watchdog/flag.told",
    "tmp/watchdog/bridge.lock",
    "tmp/watchdog/unstored",
];

/// What there was before.
pub(crate) struct Before {
    files: Vec<(&'static str, Option<Vec<u8>>)>,
    journal: Vec<u8>,
    nudges: u64,
    epoch: u64,
}

fn number(activity: Option<&Value>, field: &str) -> u64 {
    activity.and_then(|activity| activity[field].as_u64()).unwrap_or(0)
}

impl Before {
    pub(crate) fn of(bench: &Bench) -> Self {
        let activity = bench.json("tmp/activity.json");
        Self {
            files: WHOLE.iter().map(|name| (*name, fs::read(bench.kiln(name)).ok())).collect(),
            journal: fs::read(bench.kiln("tmp/watchdog/journal.jsonl")).unwrap_or_default(),
            nudges: number(activity.as_ref(), "nudge_count"),
            epoch: number(activity.as_ref(), "epoch"),
        }
    }
}

/// Digits are left out of a violation, so that the same one by many faults is shown once.
fn require(holds: bool, violation: &str) -> Result<(), String> {
    let shown = || violation.replace(|letter: char| letter.is_ascii_digit(), "#");
    if holds { Ok(()) } else { Err(shown()) }
}

/// What must hold right after the run.
pub(crate) fn after(
    scenario: &Scenario,
    bench: &Bench,
    before: &Before,
    said: &Said,
    fault: Option<&Fault>,
) -> Result<(), String> {
    let killed = said.status.code().is_none();
    files_are_whole(scenario, bench, before)?;
    journal_is_whole(bench, before)?;
    counted_is_stored(bench, before)?;
    if !killed {
        status_is_designed(scenario, bench, said, fault)?;
        nothing_vanishes(scenario, bench, before, said)?;
    }
    Ok(())
}

/// Old or new, never half, never gone unless it was to go.
fn files_are_whole(scenario: &Scenario, bench: &Bench, before: &Before) -> Result<(), String> {
    for (name, old) in &before.files {
        match (fs::read(bench.kiln(name)).ok(), old) {
            (None, Some(_)) => require(scenario.may_remove.contains(name), &format!("{name} is gone"))?,
            (Some(new), old) if Some(&new) != old.as_ref() => {
                require(serde_json::from_slice::<Value>(&new).is_ok(), &format!("{name} is not whole"))?;
            }
            _ => {}
        }
    }
    let activity = bench.json("tmp/activity.json");
    require(activity.is_none() || number(activity.as_ref(), "epoch") >= before.epoch, "the epoch went back")
}

/// What was written stays; every line is a whole event.
fn journal_is_whole(bench: &Bench, before: &Before) -> Result<(), String> {
    let read = |name: &str| fs::read(bench.kiln("tmp/watchdog").join(name)).unwrap_or_default();
    let (journal, old) = (read("journal.jsonl"), read("journal.1.jsonl"));
    require(
        journal.starts_with(&before.journal) || old.starts_with(&before.journal),
        "the journal lost what it had",
    )?;
    let whole = |text: &[u8]| {
        text.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .all(|line| parse_line(line).is_some())
    };
    require(whole(&journal), "the journal has a broken line")
}

fn has_event(bench: &Bench, before: &Before, event: &str) -> bool {
    let journal = fs::read(bench.kiln("tmp/watchdog/journal.jsonl")).unwrap_or_default();
    let new = journal.get(before.journal.len()..).unwrap_or_default();
    String::from_utf8_lossy(new).contains(&format!("\"event\":\"{event}\""))
}

/// Nothing is counted or told that was not stored.
fn counted_is_stored(bench: &Bench, before: &Before) -> Result<(), String> {
    let count = number(bench.json("tmp/activity.json").as_ref(), "nudge_count");
    let staged = bench.json("tmp/pending-nudge.json");
    let is_staged = |n: u64| staged.as_ref().is_some_and(|nudge| nudge["nudge_n"].as_u64() == Some(n));
    require(count <= before.nudges || is_staged(count), "a nudge is counted that is not there")?;
    require(
        !has_event(bench, before, "nudged") || staged.is_some(),
        "a nudge is journalled that is not there",
    )?;
    let flag = bench.json("DEADLOCK.flag");
    require(
        !has_event(bench, before, "escalated") || flag.is_some(),
        "a flag is journalled that is not there",
    )
}

fn status_is_designed(
    scenario: &Scenario,
    bench: &Bench,
    said: &Said,
    fault: Option<&Fault>,
) -> Result<(), String> {
    // The daemon is killed at the same call of its own; its starter cannot know.
    let is_deadly = fault.is_some_and(|fault| fault.error.is_none());
    let code = said.status.code().unwrap_or(-1);
    let shown = format!("exit status {code}");
    match scenario.way {
        Way::Hook(..) => {
            require(code == 0, &shown)?;
            require(said.err.is_empty(), &format!("a hook said on stderr: {}", said.err))?;
            require(
                said.out.is_empty() || serde_json::from_str::<Value>(&said.out).is_ok(),
                "a hook's answer is not whole",
            )
        }
        Way::Daemon => {
            require(code == 0 || code == 1, &shown)?;
            require(code == 0 || said.err.contains("watchdog: "), "it ended with 1 and no reason")
        }
        Way::Command(words) => {
            require(code == 0 || code == 1, &shown)?;
            let done = said.out.contains("\"done\":true");
            require(code == 0 || done || said.err.contains("watchdog: "), "it ended with 1 and no reason")?;
            let stored =
                bench.json("tmp/pending-nudge.json").is_some() || bench.json("DEADLOCK.flag").is_some();
            require(!done || stored, "it says done, and nothing is stored")?;
            let is_asked = |word: &str| words.contains(&word) && code == 0;
            require(
                !is_asked("start") || is_deadly || bench.has_daemon(),
                "it says that a daemon runs, and none does",
            )?;
            require(
                !is_asked("stop") || !bench.has_daemon(),
                "it says that the daemon was stopped, and one runs",
            )
        }
    }
}

/// A message that was staged is delivered or still there, unless it was withdrawn.
fn nothing_vanishes(scenario: &Scenario, bench: &Bench, before: &Before, said: &Said) -> Result<(), String> {
    let was_staged =
        before.files.iter().any(|(name, old)| *name == "tmp/pending-nudge.json" && old.is_some());
    if scenario.name != "claim" || !was_staged {
        return Ok(());
    }
    let delivered = said.out.contains("KILN DEADLOCK WATCHDOG");
    let staged = bench.json("tmp/pending-nudge.json").is_some();
    let withdrawn = has_event(bench, before, "withdrawn");
    require(delivered || staged || withdrawn, "a message is neither delivered nor staged any more")?;
    require(!(delivered && staged), "a message is delivered and still staged")
}

/// The next start, heartbeat, stop, nudge and claim work with no manual step, and leave no temporary file.
pub(crate) fn goes_on(
    scenario: &Scenario,
    bench: &Bench,
    before: &Before,
    fault: Option<&Fault>,
) -> Result<(), String> {
    start(bench)?;
    let is_up = || bench.has_daemon() && bench.json("tmp/watchdog/daemon.json").is_some();
    let is_deadly = fault.is_some_and(|fault| fault.error.is_none());
    if !comes(|| is_up() || (is_deadly && !bench.has_daemon())) {
        return Err("the next start leaves no daemon".to_owned());
    }
    if !is_up() {
        // The first daemon met its end only now.
        start(bench)?;
        require(comes(is_up), "the next start but one leaves no daemon")?;
    }
    require(!bench.kiln("DEADLOCK.flag").exists(), "the next start leaves the flag")?;
    let epoch = number(bench.json("tmp/activity.json").as_ref(), "epoch");
    let said = bench.event("PostToolUse", r#","tool_name":"Bash","tool_use_id":"t9""#)?;
    let activity = bench.json("tmp/activity.json");
    let source =
        activity.as_ref().and_then(|activity| activity["last_activity_source"].as_str()).unwrap_or_default();
    require(said.status.success() && source.contains("PostToolUse"), "the next heartbeat is not stored")?;
    require(number(activity.as_ref(), "epoch") > epoch, "the next heartbeat does not raise the epoch")?;
    if scenario.name == "rotation" {
        let is_rotated = || bench.kiln("tmp/watchdog/journal.1.jsonl").exists();
        require(comes(is_rotated), "the journal is never rotated")?;
        journal_is_whole(bench, before)?;
    }
    let said = bench.run(&["stop"], None)?;
    require(said.status.success() && comes(|| !bench.has_daemon()), "the next stop fails")?;
    nudge_and_claim(bench)?;
    escalate(bench)?;
    no_strangers(bench)
}

fn start(bench: &Bench) -> Result<(), String> {
    let said = bench.event("SessionStart", r#","source":"startup""#)?;
    require(said.status.success() && said.out.contains("watchPaths"), "the next start fails")
}

fn escalate(bench: &Bench) -> Result<(), String> {
    bench.age(3000, 3, 900);
    let said = bench.run(&["check", "--act", "--json"], None)?;
    require(
        said.out.contains("\"done\":true") && bench.json("DEADLOCK.flag").is_some(),
        &format!("the next escalation fails: {}{}", said.out.trim(), said.err.trim()),
    )
}

fn nudge_and_claim(bench: &Bench) -> Result<(), String> {
    bench.age(1000, 0, 0);
    let said = bench.run(&["check", "--act", "--json"], None)?;
    require(
        said.status.success() && said.out.contains("\"done\":true"),
        &format!("the next nudge fails: {}{}", said.out.trim(), said.err.trim()),
    )?;
    let said = bench.event("UserPromptSubmit", r#","prompt":"go on""#)?;
    require(said.out.contains("KILN DEADLOCK WATCHDOG"), "the next claim delivers nothing")?;
    let count = number(bench.json("tmp/activity.json").as_ref(), "nudge_count");
    require(count == 1, "the next nudge is not counted")
}

fn no_strangers(bench: &Bench) -> Result<(), String> {
    let mut folders = vec![bench.kiln("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let path = entry.path();
            let name =
                path.strip_prefix(bench.kiln("")).unwrap_or(Path::new("?")).to_string_lossy().into_owned();
            require(KNOWN.contains(&name.as_str()), &format!("{name} is left behind"))?;
        }
    }
    Ok(())
}
