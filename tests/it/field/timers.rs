//! Clocks that step, machines that sleep, processes that stand still.

use rustix::process::Signal;
use serde_json::json;
use watchdog::model::event::What;

use super::Timed;
use crate::world::{Past, eventually, gone, signal};

const HOUR: i64 = 3600;

fn read() -> serde_json::Value {
    json!({"tool_name": "Read", "tool_use_id": "t"})
}

/// A world with a daemon that saw work just now.
fn at_work() -> Timed {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    world
}

#[test]
fn f32_a_wall_clock_that_steps_forward_is_no_silence_and_hides_none() {
    let world = at_work();
    world.step_wall(2 * HOUR);
    world.quiet("active");
    world.does("PostToolUse", &read());
    world.quiet("active");
    world.step_wall(2 * HOUR);
    world.quiet("active");
    // Without any work after it the stall is seen once running time says so, and only then.
    world.pass(200);
    world.quiet("active");
    world.pass(101);
    world.nudge(1);
}

#[test]
fn f32_a_night_of_sleep_is_no_silence() {
    let world = at_work();
    world.pass(200);
    world.sleep(8 * HOUR);
    world.quiet("active");
    world.pass(101);
    world.nudge(1);
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 1);
}

#[test]
fn f32_a_daemon_that_stood_still_gives_others_a_moment_before_it_speaks() {
    let world = Timed::with("build", "[daemon]\ntick = \"2s\"\n");
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    signal(daemon, Signal::STOP);
    eventually("it stands still", || watchdog::system::process::is_stopped(daemon.pid));
    // Everything stood still, hooks as well; the first heartbeat comes after the daemon's first look.
    let (wall, awake) = (world.now().wall, world.now().awake);
    world.jump(600);
    assert!(world.now().wall - wall >= 600_000 && world.now().awake > awake);
    signal(daemon, Signal::CONT);
    let before = world.beacon().unwrap().last_tick_awake_ms;
    eventually("it looks", || world.beacon().unwrap().last_tick_awake_ms > before);
    assert_eq!(world.beacon().unwrap().reason, "settling");
    world.does("PostToolUse", &read());
    world.quiet("active");
}

#[test]
fn f32_a_wall_clock_that_steps_back_hides_no_stall() {
    for back in [2 * HOUR, 250, 30 * 24 * HOUR] {
        let world = at_work();
        world.step_wall(-back);
        world.quiet("active");
        world.pass(301);
        world.nudge(1);
    }
}

#[test]
fn f32_a_stamp_of_the_future_blinds_nobody() {
    let world = Timed::new("build");
    world.begin();
    world.backdate(&Past { idle: -400 * 24 * HOUR, ..Past::default() });
    world.quiet("active");
    world.pass(301);
    world.nudge(1);
    // Nor does a nudge of the future hold the next one back.
    world.backdate(&Past { idle: 400, nudged: Some(-400 * 24 * HOUR), count: 1, ..Past::default() });
    world.looked();
    world.pass(601);
    world.nudge(2);
}

#[test]
fn f32_a_daemon_that_finds_yesterdays_files_waits_a_moment_and_then_speaks() {
    let world = Timed::with("build", "[daemon]\ntick = \"1s\"\n");
    world.backdate(&Past { idle: 26 * HOUR, ..Past::default() });
    world.begin();
    let beacon = world.beacon().unwrap();
    assert_eq!((beacon.verdict.as_str(), beacon.reason.as_str()), ("quiet", "settling"));
    assert_eq!(world.pending(), None);
    world.nudge(1);
}

#[test]
fn f32_work_that_lands_in_the_moment_of_grace_keeps_it_quiet() {
    let world = Timed::with("build", "[daemon]\ntick = \"3s\"\n");
    world.backdate(&Past { idle: 26 * HOUR, ..Past::default() });
    world.begin();
    world.does("PostToolUse", &read());
    let before = world.beacon().unwrap().last_tick_awake_ms;
    eventually("it has looked again", || world.beacon().unwrap().last_tick_awake_ms > before + 3000);
    assert_eq!((world.pending(), world.beacon().unwrap().reason.as_str()), (None, "active"));
}

#[test]
fn f32_clocks_that_jump_about_are_survived() {
    let world = at_work();
    for step in [5, -5, 86_400, -90_000, i64::from(i32::MAX), -i64::from(i32::MAX), 1, -1] {
        world.step_wall(step);
        world.looked();
    }
    world.quiet("active");
    let daemon = world.daemon();
    world.pass(301);
    world.nudge(1);
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
}
