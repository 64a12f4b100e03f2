//! Pids that belong to others, folders that are made again, watchers that hear nothing.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::json;
use watchdog::model::event::What;
use watchdog::store::beacon;
use watchdog::store::pid_file;
use watchdog::system::process::{Identity, boot_id, start_time};

use super::{Timed, status};
use crate::world::{
    Past, QUICK, Ran, Running, World, eventually, eventually_some, gone, put, signal, take_away,
};

/// A process that is none of ours, under a name that could be taken for one.
fn bystander(name: &str) -> Running {
    let mut command = Command::new("sleep");
    command.arg0(name).arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

/// Starts and ends a session, by hooks and by hand, and finds a daemon of its own in between each time.
#[track_caller]
fn comes_and_goes(world: &World) {
    let daemon = world.begin();
    assert_eq!(status(world)["daemon"]["pid"], daemon.pid);
    assert_eq!(
        world.hook(&world.event("SessionEnd", &json!({"reason": "prompt_input_exit"}))),
        Ran::silence()
    );
    gone(daemon);
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
    assert_eq!(status(world)["daemon"]["state"], "none");
}

#[test]
fn f16_a_pid_file_that_names_a_stranger_keeps_nobody_from_watching_and_harms_nobody() {
    let names = ["sleep", "vim watchdog notes", "watchdog run --root somewhere"];
    for name in names {
        let world = World::new("build");
        let mut stranger = bystander(name);
        fs::create_dir_all(world.root.own()).unwrap();
        fs::write(world.root.in_tmp("watchdog.pid"), format!("{}\n", stranger.pid())).unwrap();
        assert_eq!(status(&world)["daemon"]["state"], "none", "{name}");
        comes_and_goes(&world);
        assert!(stranger.is_running(), "{name}");
    }
}

#[test]
fn f16_a_beacon_that_names_a_stranger_is_worth_nothing() {
    let world = World::new("build");
    let mut stranger = bystander("watchdog");
    world.root.prepare().unwrap();
    let real = start_time(stranger.pid()).unwrap();
    // The same number with another start, the same process of another boot, and even the very process.
    for (start_time, boot) in [(real + 1, boot_id()), (real, "another boot".to_owned()), (real, boot_id())] {
        let beacon = beacon::Beacon {
            pid: stranger.pid(),
            start_time,
            boot_id: boot,
            tick_ms: 50,
            ..Default::default()
        };
        beacon::store(&world.root, &beacon).unwrap();
        fs::write(world.root.in_tmp("watchdog.pid"), format!("{}\n", stranger.pid())).unwrap();
        assert_eq!(status(&world)["daemon"]["state"], "none");
        comes_and_goes(&world);
        assert!(stranger.is_running());
    }
}

#[test]
fn f16_a_pid_that_another_roots_daemon_has_got_is_left_alone() {
    let other = World::new("build");
    let theirs = other.begin();
    let world = World::new("build");
    world.root.prepare().unwrap();
    fs::copy(other.root.in_tmp("watchdog.pid"), world.root.in_tmp("watchdog.pid")).unwrap();
    fs::copy(other.root.in_own("daemon.json"), world.root.in_own("daemon.json")).unwrap();
    comes_and_goes(&world);
    assert!(theirs.is_alive());
    assert_eq!(other.daemon(), theirs);
}

#[test]
fn f16_whatever_the_pid_file_holds_a_daemon_runs_and_nothing_else_is_signalled() {
    let texts =
        ["", "abc", "-1", "0", "1", "4294967295", "99999999999999999999", "\n17\n", "1 2", "\u{0}\u{0}"];
    let world = World::new("build");
    let path = world.root.in_tmp("watchdog.pid");
    for text in texts {
        world.root.prepare().unwrap();
        fs::write(&path, text).unwrap();
        assert_eq!(pid_file::load(&path), None, "{text:?}");
        comes_and_goes(&world);
    }
    // A folder in its place, empty and with something of somebody's in it.
    fs::create_dir_all(&path).unwrap();
    comes_and_goes(&world);
    fs::create_dir_all(path.join("theirs")).unwrap();
    comes_and_goes(&world);
    assert!(world.root.in_own("watchdog.pid.folder/theirs").is_dir());
}

#[test]
fn f22_every_way_of_replacing_a_file_is_seen() {
    let world = World::new("build");
    world.settings("[daemon]\ntick = \"30s\"\n");
    world.begin();
    // The tick is long: what is seen here is seen by events. The stamp that the daemon saw is in its beacon only
    // from tick to tick, so the journal's stage and the nudge tell what it looked at.
    for round in 0..10 {
        world.stage(&format!("stage-{round}"));
        let is_seen =
            |what: &What| matches!(what, What::Stage { stage } if *stage == format!("stage-{round}"));
        eventually("the stage is seen", || world.count(is_seen) == 1);
    }
    fs::remove_file(world.root.state()).unwrap();
    eventually("the end is seen", || {
        world.count(|what| matches!(what, What::Stage { stage } if stage.is_empty())) == 1
    });
    fs::write(world.root.state(), "- **stage**: build\n").unwrap();
    eventually("a file written in place is seen", || {
        world.count(|what| matches!(what, What::Stage { stage } if stage == "build")) == 2
    });
}

#[test]
fn f22_the_view_follows_the_activity_however_it_is_written() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    // Recent enough to be no stall, and each its own.
    let base = watchdog::system::clock::now().seconds() - 100;
    let text = |n: i64| json!({"last_activity_ts": base + n, "epoch": n}).to_string();
    let follows = |n: i64| {
        eventually("the view follows", || {
            let seen = world.beacon().and_then(|beacon| beacon.seen_activity).map(|seen| seen.0);
            status(&world)["activity"]["epoch"] == n && seen == Some(base + n)
        });
    };
    for n in 1..6 {
        put(&world.root.activity(), text(n).as_bytes());
        follows(n);
    }
    fs::remove_file(world.root.activity()).unwrap();
    fs::write(world.root.activity(), text(6)).unwrap();
    follows(6);
    fs::write(world.root.activity(), text(7)).unwrap();
    follows(7);
}

#[test]
fn f22_an_activity_that_is_taken_away_from_a_living_session_hides_no_stall_and_no_count() {
    let world = Timed::new("build");
    world.settings("[daemon]\ntick = \"200ms\"\n");
    world.begin();
    // A session that has done nothing yet has none, and is silent by right.
    world.pass(6 * 60);
    world.quiet("active");
    assert!(!world.root.activity().exists());
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    for n in 1..=3 {
        fs::remove_file(world.root.activity()).unwrap();
        eventually("it is written again", || world.root.activity().exists());
        world.pass(if n == 1 { 6 * 60 } else { 11 * 60 });
        world.nudge(n);
    }
    let is_fault =
        |what: &What| matches!(what, What::Fault { fault } if fault.contains("activity.json was gone"));
    assert_eq!(world.count(is_fault), 3);
    // What the end of the last session takes away stays away, also from the same session that comes again.
    assert_eq!(world.hook(&world.event("SessionEnd", &json!({"reason": "other"}))).code, 0);
    eventually("the daemon has gone", || world.daemons().is_empty());
    world.begin();
    world.pass(6 * 60);
    world.quiet("active");
    assert!(!world.root.activity().exists());
}

#[test]
fn f22_folders_that_are_made_again_are_watched_again_by_one_daemon() {
    let world = Timed::new("build");
    let daemon = world.begin();
    take_away(&world.root.tmp());
    // The daemon may be faster.
    fs::create_dir_all(world.root.tmp()).unwrap();
    world.backdate(&Past { idle: 10, ..Past::default() });
    // Hooks look for a daemon now, with the lock's folder gone: they must find the one that runs.
    for _ in 0..3 {
        world.does("PostToolUse", &json!({"tool_name": "Write", "tool_use_id": "t"}));
    }
    eventually("one daemon is left", || world.daemons().len() == 1);
    let daemon_now = world.daemon();
    assert!(daemon_now == daemon || !daemon.is_alive());
    world.quiet("active");
    world.pass(6 * 60);
    world.nudge(1);
    assert_eq!(world.status()["daemon"]["pid"], daemon_now.pid);
}

#[test]
fn f22_a_folder_taken_away_while_nobody_works_still_ends_in_a_nudge() {
    let world = Timed::new("build");
    let daemon = world.begin();
    take_away(&world.root.tmp());
    eventually("the daemon is found again", || world.status()["daemon"]["pid"] == daemon.pid);
    world.backdate(&Past { idle: 10, ..Past::default() });
    world.quiet("active");
    world.pass(6 * 60);
    world.nudge(1);
    assert_eq!(world.daemons(), [daemon]);
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
}

#[test]
fn f22_a_project_that_is_gone_is_left_and_one_that_comes_back_is_watched() {
    let world = World::new("build");
    let daemon = world.begin();
    take_away(&world.root.kiln());
    gone(daemon);
    assert!(!world.root.kiln().exists(), "nothing is made again in a project that is gone");
    fs::create_dir(world.root.kiln()).unwrap();
    world.stage("build");
    let again = world.begin();
    assert_ne!(again, daemon);
}

#[test]
fn f23_a_daemon_that_was_stopped_and_continued_goes_on() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.looked();
    for _ in 0..3 {
        signal(daemon, Signal::STOP);
        eventually("it stands still", || watchdog::system::process::is_stopped(daemon.pid));
        world.stage("validate");
        signal(daemon, Signal::CONT);
    }
    world.pass(6 * 60);
    let text = world.nudge(1);
    assert!(text.contains("stage validate"), "{text}");
    assert_eq!(world.status()["daemon"]["watching"], "inotify");
}

#[test]
fn f23_a_stuck_daemon_is_told_from_a_living_one_and_replaced() {
    let world = World::with("build", QUICK);
    let stuck = world.begin();
    signal(stuck, Signal::STOP);
    // Its tick and the margin for slow machines have to pass.
    eventually_some("it is seen to be stuck", || {
        (status(&world)["daemon"]["state"] == "stuck").then_some(())
    });
    let shown = world.run(&["status"]);
    assert_eq!(shown.code, 3);
    assert!(shown.out.contains("NOT WATCHED") && shown.out.contains("has not ticked for"), "{}", shown.out);
    assert_eq!(world.hook(&world.event("PostToolUse", &json!({"tool_name": "Write"}))), Ran::silence());
    gone(stuck);
    let fresh = world.daemon();
    assert_ne!(fresh, stuck);
    assert!(Identity { pid: fresh.pid, start_time: fresh.start_time }.is_alive());
}
