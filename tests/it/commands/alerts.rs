//! Telling a person: a command of theirs gets the report on its standard input.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use watchdog::model::event::What;

use super::{ago, parsed, team, tool};
use crate::world::{Past, QUICK, World, eventually, eventually_some};

/// Settings with an alert that appends each report to a file, and its arguments to another.
fn noted(world: &World, on: &str) -> PathBuf {
    let notes = world.beside("notes");
    let script = "cat >>\"$1/reports\"; printf '%s\\n' \"$2\" >>\"$1/words\"";
    let folder = notes.display();
    let run = format!("[\"/bin/sh\", \"-c\", {script:?}, \"sh\", \"{folder}\", \"note: {{summary}}\"]");
    world.settings(&format!("{QUICK}\n[[alert]]\n{on}\nrun = {run}\n"));
    notes
}

fn reports(notes: &Path) -> Vec<Value> {
    let text = fs::read_to_string(notes.join("reports")).unwrap_or_default();
    text.lines().map(parsed).collect()
}

#[test]
fn a_command_gets_each_report_as_json_and_the_summary_in_its_arguments() {
    let world = World::new("build");
    let notes = noted(&world, "");
    world.backdate(&Past::default());
    world.run_to_the_end();
    let all = eventually_some("four reports", || Some(reports(&notes)).filter(|all| all.len() == 4));
    let on: Vec<&str> = all.iter().filter_map(|report| report["on"].as_str()).collect();
    assert_eq!(on, ["nudge", "nudge", "nudge", "escalate"]);
    for report in &all {
        let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["v", "on", "root", "summary", "at"]);
        assert_eq!((&report["v"], &report["root"]), (&json!(1), &json!(world.path())));
    }
    let summary = all[3]["summary"].as_str().unwrap();
    let words = format!("{}: DEADLOCK.flag was written after 3 nudges (no_recovery)", world.path().display());
    assert_eq!(summary, words);
    let arguments = fs::read_to_string(notes.join("words")).unwrap();
    assert_eq!(arguments.lines().last(), Some(format!("note: {summary}").as_str()));
}

#[test]
fn only_the_occasions_that_were_asked_for_are_told() {
    let world = World::new("build");
    let notes = noted(&world, "on = [\"escalate\"]");
    world.backdate(&Past::default());
    world.run_to_the_end();
    assert_eq!(reports(&notes).len(), 1);
}

#[test]
fn work_after_a_nudge_is_told_as_recovery() {
    let world = World::new("build");
    let notes = noted(&world, "on = [\"recovered\"]");
    let settings = fs::read_to_string(world.root.in_kiln("watchdog.toml")).unwrap();
    world.settings(&settings.replace("nudge_every = \"1s\"", "nudge_every = \"1h\""));
    world.backdate(&Past::default());
    world.begin();
    eventually("it is nudged", || world.pending().is_some());
    world.hook(&world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    let all = eventually_some("the report", || Some(reports(&notes)).filter(|all| !all.is_empty()));
    assert!(all[0]["summary"].as_str().unwrap().ends_with("work was seen again after a nudge"), "{all:?}");
}

#[test]
fn a_person_who_is_waited_for_is_told_once() {
    let world = World::new("build");
    let notes = noted(&world, "on = [\"waiting\"]");
    team(&world, 730);
    ago(&world, 730, "rakim", tool("Bash"));
    ago(&world, 729, "rakim", What::Permission { tool: "Bash".to_owned() });
    assert_eq!(world.run(&["start"]).code, 0);
    let all = eventually_some("the report", || Some(reports(&notes)).filter(|all| !all.is_empty()));
    let summary = all[0]["summary"].as_str().unwrap();
    assert!(summary.contains(": rakim has waited for a person since "), "{summary}");
    assert!(summary.ends_with(" (permission: Bash)"), "{summary}");
    let tick = world.beacon().map(|beacon| beacon.last_tick);
    eventually("the daemon looks again", || world.beacon().map(|beacon| beacon.last_tick) > tick);
    assert_eq!(world.count(|what| matches!(what, What::PersonTold)), 1);
    assert_eq!(reports(&notes).len(), 1);
}

#[test]
fn a_livelock_is_told_to_the_lead_as_a_note_and_to_the_operator_each_once() {
    let world = World::new("build");
    let notes = noted(&world, "on = [\"livelock\"]");
    let settings = fs::read_to_string(world.root.in_kiln("watchdog.toml")).unwrap();
    world.settings(&settings.replace("idle_after = \"1s\"", "idle_after = \"1h\""));
    world.begin();
    let of_rakim = |event: &str, more: &Value| {
        let mut payload = world.event(event, more);
        payload["agent_id"] = json!("arakim-1");
        payload["agent_type"] = json!("rakim");
        world.hook(&payload)
    };
    of_rakim("SubagentStart", &json!({}));
    for call in 0..12 {
        let id = format!("t{call}");
        let same = json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "make"}});
        of_rakim("PreToolUse", &same);
        of_rakim("PostToolUse", &same);
    }
    let all = eventually_some("the report", || Some(reports(&notes)).filter(|all| !all.is_empty()));
    assert_eq!(all[0]["on"], "livelock");
    let summary = all[0]["summary"].as_str().unwrap();
    assert!(summary.ends_with(": rakim does the same again and again"), "{summary}");
    let note = eventually_some("the note", || world.pending());
    assert_eq!(note["nudge_n"], 0);
    let text = note["additionalContext"].as_str().unwrap();
    assert!(text.contains("rakim has called Bash with the same input"), "{text}");
    let tick = world.beacon().map(|beacon| beacon.last_tick);
    eventually("the daemon looks again", || world.beacon().map(|beacon| beacon.last_tick) > tick);
    assert_eq!(world.count(|what| matches!(what, What::Noted { .. })), 1);
    assert_eq!(reports(&notes).len(), 1);
}

#[test]
fn a_lost_client_is_told_as_that() {
    let mut world = World::new("build");
    let notes = noted(&world, "on = [\"session_lost\", \"escalate\"]");
    let settings = fs::read_to_string(world.root.in_kiln("watchdog.toml")).unwrap();
    world.settings(&settings.replace("idle_after = \"1s\"", "idle_after = \"1h\""));
    let daemon = world.begin();
    world.client.kill();
    crate::world::gone(daemon);
    let on: Vec<Value> = reports(&notes).iter().map(|report| report["on"].clone()).collect();
    assert_eq!(on, ["session_lost"]);
}

#[test]
fn a_command_that_hangs_fails_or_is_not_there_stops_nothing() {
    let world = World::new("build");
    let state = world.root.state();
    // It can be found by its argument, and ended with the world.
    let hanging = format!("run = [\"tail\", \"-f\", {state:?}]");
    let alert = |run: &str| format!("\n[[alert]]\non = [\"nudge\"]\n{run}\n");
    let all = [hanging.as_str(), "run = [\"/no/such/program\"]", "run = [\"/bin/sh\", \"-c\", \"exit 3\"]"]
        .map(alert);
    world.settings(&format!("{QUICK}{}", all.concat()));
    world.backdate(&Past::default());
    world.begin();
    // Its third nudge comes while the first alert still hangs.
    eventually("three nudges and the flag", || world.flag().is_some());
    assert_eq!(world.activity()["nudge_count"], 3);
    let log = world.log();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn a_command_that_hangs_is_ended_with_the_daemon() {
    let world = World::new("build");
    let run = format!("run = [\"tail\", \"-f\", {:?}]", world.root.state());
    world.settings(&format!("{QUICK}\n[[alert]]\non = [\"nudge\"]\n{run}\n"));
    world.backdate(&Past::default());
    let daemon = world.begin();
    let hangs = || world.processes().iter().any(|(_, words)| words[0] == "tail");
    eventually("the command hangs", hangs);
    assert_eq!(world.run(&["stop"]).out, "The daemon was stopped.\n");
    crate::world::gone(daemon);
    eventually("and is gone with it", || !hangs());
}

#[test]
fn a_command_that_fails_is_named_in_the_log() {
    let world = World::new("build");
    let alert = |run: &str| format!("\n[[alert]]\non = [\"nudge\"]\n{run}\n");
    let all = ["run = [\"/no/such/program\"]", "run = [\"/bin/sh\", \"-c\", \"exit 3\"]"].map(alert);
    world.settings(&format!("{QUICK}{}", all.concat()));
    world.backdate(&Past::default());
    world.begin();
    eventually("both are in the log", || {
        let log = world.log();
        log.contains("alert \\\"/no/such/program\\\": cannot start: ")
            && log.contains("ended with exit status: 3")
    });
}
