//! The table of events that are registered.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_event_stands_in_the_table_once() {
    let events: BTreeSet<&str> = TABLE.iter().map(|line| line.event).collect();
    assert_eq!(events.len(), TABLE.len());
}

#[test]
fn registrations_are_what_the_client_is_given() {
    let table = registrations("/opt/watchdog", Some(Duration::from_secs(3600)), false);
    let line = |event: &str| table.iter().find(|line| line.event == event).unwrap().value().to_string();
    let hook = r#"{"type":"command","command":"/opt/watchdog","args":["hook"],"timeout":10}"#;
    assert_eq!(line("PreToolUse"), format!(r#"{{"hooks":[{hook}]}}"#));
    let bridge =
        r#"{"type":"command","command":"/opt/watchdog","args":["bridge"],"asyncRewake":true,"timeout":3660}"#;
    assert_eq!(line("Stop"), format!(r#"{{"hooks":[{hook},{bridge}]}}"#));
    let waking =
        r#"{"type":"command","command":"/opt/watchdog","args":["hook"],"asyncRewake":true,"timeout":30}"#;
    let matcher = "pending-nudge.json|DEADLOCK.flag";
    assert_eq!(line("FileChanged"), format!(r#"{{"matcher":"{matcher}","hooks":[{waking}]}}"#));
}

#[test]
fn without_a_bridge_every_event_still_has_its_hook() {
    let table = registrations("/opt/watchdog", None, false);
    assert_eq!(table.len(), TABLE.len());
    assert!(table.iter().all(|line| line.handlers.len() == 1 && line.handlers[0].args == ["hook"]));
}

#[test]
fn with_guards_the_hooks_that_concern_one_are_told_so_and_two_events_are_added() {
    let plain = registrations("/opt/watchdog", None, false);
    let table = registrations("/opt/watchdog", None, true);
    let guarded: Vec<&str> = table
        .iter()
        .filter(|line| line.handlers.iter().any(|handler| handler.args == ["hook", "--guards"]))
        .map(|line| line.event.as_str())
        .collect();
    let wanted = [
        "SessionStart",
        "PreToolUse",
        "PostToolUse",
        "SubagentStop",
        "FileChanged",
        "TaskCreated",
        "TaskCompleted",
    ];
    assert_eq!(guarded, wanted);
    let added: Vec<&str> = table[plain.len()..].iter().map(|line| line.event.as_str()).collect();
    assert_eq!(added, ["TaskCreated", "TaskCompleted"]);
    // All other events are registered as they are without guards.
    let others = plain.iter().filter(|line| !guarded.contains(&line.event.as_str()));
    assert!(others.clone().count() > 5 && others.clone().all(|line| table.contains(line)));
    let changed = table.iter().find(|line| line.event == "FileChanged").unwrap();
    let matcher = "pending-nudge.json|DEADLOCK.flag|codebase-state.md|patterns.md|architecture.md";
    assert_eq!((changed.matcher.as_deref(), changed.handlers[0].rewake), (Some(matcher), true));
}
