//! The log: it neither eats the disk nor ends the daemon.

use std::fs;

use rustix::process::Signal;
use serde_json::json;
use watchdog::store::lock;

use super::Timed;
use crate::world::{World, eventually, gone, signal, take_away};

#[test]
fn f21_a_fault_that_lasts_is_a_line_and_not_one_for_each_look() {
    let world = World::with("build", "[daemon]\ntick = \"50ms\"\n");
    world.begin();
    fs::remove_file(world.root.state()).unwrap();
    fs::write(world.root.activity(), "{\"last_activity_ts\":17").unwrap();
    eventually("it is logged", || world.log().contains("activity.json"));
    let size = world.log().len();
    let begun = world.beacon().unwrap().last_tick_awake_ms;
    eventually("a hundred looks pass", || world.beacon().unwrap().last_tick_awake_ms > begun + 6000);
    assert_eq!(world.log().matches("activity.json").count(), 1, "{}", world.log());
    assert!(world.log().len() < size + 500, "{}", world.log());
}

#[test]
fn f21_a_log_that_is_moved_or_taken_away_is_begun_anew_and_the_watching_goes_on() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    eventually("there is a log", || !world.log().is_empty());
    let moved = world.root.in_own("moved.log");
    fs::rename(world.root.in_own("watchdog.log"), &moved).unwrap();
    let size = fs::metadata(&moved).unwrap().len();
    world.stage("validate");
    world.pass(361);
    world.nudge(1);
    eventually("a new log is begun", || world.log().contains("nudged"));
    assert_eq!(fs::metadata(&moved).unwrap().len(), size);

    take_away(&world.root.own());
    eventually("it watches again", || lock::is_held(&world.root.daemon_lock()));
    world.pass(660);
    eventually("the next nudge comes", || world.pending().is_some_and(|nudge| nudge["nudge_n"] == 2));
    eventually("a new log is begun again", || world.log().contains("nudged"));
    assert_eq!(world.daemons(), [daemon]);
}

#[test]
fn f21_a_log_that_cannot_be_opened_keeps_nobody_from_watching_and_says_nothing_to_the_client() {
    let world = Timed::new("build");
    fs::create_dir_all(world.root.in_own("watchdog.log/x")).unwrap();
    let start = world.hook(&world.event("SessionStart", &json!({"source": "startup"})));
    assert_eq!((start.code, start.err.as_str()), (0, ""));
    assert!(start.answer()["hookSpecificOutput"]["watchPaths"].is_array());
    world.daemon();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.pass(361);
    world.nudge(1);
}

#[test]
fn f21_the_last_line_is_there_when_the_daemon_is_told_to_end() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.pass(361);
    world.nudge(1);
    signal(daemon, Signal::TERM);
    gone(daemon);
    let log = world.log();
    assert!(log.contains("nudged"), "{log}");
    assert!(log.lines().last().unwrap().contains("ended"), "{log}");
}
