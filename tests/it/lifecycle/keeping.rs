//! How a daemon is kept: settings read again, a stuck or older one replaced, a crash mended.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use watchdog::store::beacon::{self, Beacon};
use watchdog::system::process::Identity;

use crate::world::{Past, QUICK, World, client, eventually, gone, signal};

fn begin_by_command(world: &World) -> Identity {
    assert_eq!(world.run(&["start"]).code, 0);
    world.daemon()
}

#[test]
fn sighup_reads_the_settings_again_and_broken_ones_change_nothing() {
    let world = World::with("build", "[daemon]\ntick = \"50s\"\n");
    let daemon = begin_by_command(&world);
    let tick = || world.beacon().map_or(0, |beacon| beacon.tick_ms);
    assert_eq!(tick(), 50_000);
    world.settings("[daemon]\ntick = \"40s\"\nmode = \"observe\"\n");
    signal(daemon, Signal::HUP);
    eventually("the new tick is in force", || tick() == 40_000);
    assert_eq!(world.beacon().unwrap().mode, "observe");
    world.settings("[daemon]\ntick = \"soon\"\n");
    signal(daemon, Signal::HUP);
    eventually("the log says what is wrong", || world.log().contains("settings not taken"));
    let line = world.log().lines().last().unwrap_or_default().to_owned();
    assert!(line.contains("watchdog.toml:2: daemon.tick: a duration is wanted"), "{line}");
    assert_eq!(tick(), 40_000, "what was in force stays in force");
    world.settings("[daemon]\ntick = \"30s\"\n");
    signal(daemon, Signal::HUP);
    eventually("they are taken when they are put right", || tick() == 30_000);
    assert_eq!(world.daemon(), daemon);
}

/// Changes what the daemon says of itself. A daemon with a long tick does not say it again for a while.
fn alter(world: &World, change: impl FnOnce(&mut Beacon)) {
    let mut found = world.beacon().expect("a beacon");
    change(&mut found);
    beacon::store(&world.root, &found).unwrap();
}

#[test]
fn a_stuck_daemon_is_shown_as_one_and_replaced() {
    let world = World::new("build");
    let stuck = begin_by_command(&world);
    signal(stuck, Signal::STOP);
    // As if it had not ticked since the machine started.
    alter(&world, |beacon| (beacon.last_tick_awake_ms, beacon.tick_ms) = (0, 1));
    let status = world.run(&["status"]);
    assert_eq!(status.code, 3);
    assert!(
        status.out.contains(&format!("NO: the daemon (pid {}) has not ticked for", stuck.pid)),
        "{}",
        status.out
    );
    let replaced = "A daemon was started in place of one that was stuck or older.\n";
    assert_eq!(world.run(&["start"]).out, replaced);
    assert!(!stuck.is_alive());
    assert_ne!(world.daemon(), stuck);
}

#[test]
fn a_session_start_replaces_a_stuck_daemon_too() {
    let world = World::new("build");
    let stuck = begin_by_command(&world);
    signal(stuck, Signal::STOP);
    alter(&world, |beacon| (beacon.last_tick_awake_ms, beacon.tick_ms) = (0, 1));
    assert_ne!(world.begin(), stuck);
    assert!(!stuck.is_alive());
}

#[test]
fn an_older_daemon_is_replaced_and_a_newer_one_and_a_services_own_are_left_alone() {
    let world = World::new("build");
    let first = begin_by_command(&world);
    for version in ["99.0.0", "0.1.0", env!("CARGO_PKG_VERSION")] {
        alter(&world, |beacon| version.clone_into(&mut beacon.version));
        assert_eq!(world.run(&["start"]).out, "A daemon is watching.\n", "{version}");
        assert_eq!(world.daemon(), first, "{version}");
    }
    alter(&world, |beacon| (beacon.version, beacon.stays) = ("0.0.9".to_owned(), true));
    assert_eq!(world.run(&["start"]).out, "A daemon is watching.\n");
    alter(&world, |beacon| beacon.stays = false);
    let replaced = "A daemon was started in place of one that was stuck or older.\n";
    assert_eq!(world.run(&["start"]).out, replaced);
    let second = world.daemon();
    assert_ne!(second, first);
    assert!(!first.is_alive());
    assert_eq!(world.beacon().unwrap().version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_daemon_that_was_killed_leaves_nothing_that_needs_a_hand() {
    let world = World::new("build");
    let first = begin_by_command(&world);
    signal(first, Signal::KILL);
    gone(first);
    let status = world.run(&["status"]);
    assert_eq!(status.code, 3, "{}", status.out);
    assert!(status.out.contains("NOT WATCHED"), "{}", status.out);
    assert_eq!(world.run(&["stop"]).out, "No daemon was running.\n");
    assert!(!world.root.in_tmp("watchdog.pid").exists());
    let second = world.begin();
    signal(second, Signal::KILL);
    gone(second);
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Write", "tool_use_id": "t"})));
    let third = world.daemon();
    assert!(third != second);
    assert_eq!(world.run(&["stop"]).out, "The daemon was stopped.\n");
    gone(third);
}

#[test]
fn a_start_that_is_killed_at_any_moment_leaves_nothing_that_needs_a_hand() {
    let world = World::new("build");
    for pause in 0..12_u64 {
        let mut start = world.spawn(&["start"]);
        // Not to wait for anything: to be somewhere else in it each time.
        thread::sleep(Duration::from_millis(pause * 3));
        start.kill();
        let ran = world.run(&["start"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{pause}");
        let daemon = world.daemon();
        assert_eq!(world.run(&["stop"]).code, 0);
        gone(daemon);
    }
}

#[test]
fn a_hook_that_is_killed_at_any_moment_leaves_nothing_that_needs_a_hand() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let payload = world.event("PostToolUse", &json!({"tool_name": "Write", "tool_use_id": "t"})).to_string();
    for pause in 0..12_u64 {
        let mut hook = crate::world::launch_with(world.as_client("hook", &world.client), payload.as_bytes());
        thread::sleep(Duration::from_millis(pause));
        hook.kill();
        let before = world.activity()["epoch"].as_u64().expect("whole, whatever happened");
        world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
        assert_eq!(world.activity()["epoch"], before + 1, "{pause}");
    }
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Write", "tool_use_id": "t"})));
    world.daemon();
}

#[test]
fn a_daemon_that_is_killed_in_the_middle_of_an_episode_is_neither_doubled_nor_forgotten() {
    let world = World::with("build", &QUICK.replace("nudge_every = \"1s\"", "nudge_every = \"1h\""));
    world.backdate(&Past::default());
    let first = world.begin();
    eventually("the first nudge", || world.pending().is_some_and(|nudge| nudge["nudge_n"] == 1));
    signal(first, Signal::KILL);
    gone(first);
    let next = client();
    let mut begin = world.event("SessionStart", &json!({"source": "startup"}));
    begin["session_id"] = json!("next");
    assert_eq!(world.hook_by(&next, &begin).code, 0);
    let second = world.daemon();
    eventually("the new daemon knows that it was nudged", || {
        world.beacon().is_some_and(|beacon| beacon.pid == second.pid && beacon.reason == "debounce")
    });
    assert_eq!(world.activity()["nudge_count"], 1);
    // Two hours later, and killed again.
    signal(second, Signal::KILL);
    gone(second);
    let mut activity = world.activity();
    for stamp in ["last_nudge_ts", "last_activity_ts"] {
        activity[stamp] = json!(activity[stamp].as_i64().unwrap() - 7200);
    }
    world.write_activity(&activity);
    begin_by_command(&world);
    eventually("and counts on", || world.pending().is_some_and(|nudge| nudge["nudge_n"] == 2));
}

#[test]
fn a_daemon_whose_marks_were_taken_away_makes_them_again() {
    let world = World::new("build");
    let daemon = world.begin();
    fs::remove_file(world.root.in_own("daemon.json")).unwrap();
    fs::remove_file(world.root.in_tmp("watchdog.pid")).unwrap();
    assert_eq!(world.daemon(), daemon, "it is named again");
    eventually("its beacon is back", || world.root.in_own("daemon.json").exists());
    assert_eq!(world.run(&["stop"]).out, "The daemon was stopped.\n");
    gone(daemon);
}
