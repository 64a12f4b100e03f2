//! What cannot be stored, and a file that somebody else is editing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use watchdog::model::event::What;
use watchdog::store::lock;

use super::Timed;
use crate::world::{Past, Ran, World, eventually, gone, put};

const MINUTE: i64 = 60;

fn read() -> serde_json::Value {
    json!({"tool_name": "Read", "tool_use_id": "t"})
}

/// Keeps a file from being replaced: its temporary name is taken by something that cannot be taken away.
fn block(world: &World, name: &str) {
    fs::create_dir_all(world.root.in_own(&format!("{name}.new/in the way"))).unwrap();
}

fn unblock(world: &World, name: &str) {
    fs::remove_dir_all(world.root.in_own(&format!("{name}.new"))).unwrap();
}

#[test]
fn f25_a_nudge_that_cannot_be_stored_is_not_counted_and_comes_when_it_can() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    block(&world, "pending-nudge.json");
    let before = fs::read(world.root.activity()).unwrap();
    world.pass(6 * MINUTE);
    let is_told = || {
        let faults = world.status()["faults"].to_string();
        faults.contains("cannot replace") && faults.contains("pending-nudge.json")
    };
    eventually("status names the fault", is_told);
    assert!(world.log().contains("pending-nudge.json"), "{}", world.log());
    assert_eq!(fs::read(world.root.activity()).unwrap(), before);
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 0);
    unblock(&world, "pending-nudge.json");
    world.nudge(1);
    eventually("the fault is over", || world.status()["faults"] == json!([]));
    assert!(world.log().contains("over"), "{}", world.log());
}

#[test]
fn f25_a_nudge_whose_counter_cannot_be_stored_is_given_once() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    block(&world, "activity.json");
    world.pass(6 * MINUTE);
    eventually("it is staged", || world.pending().is_some());
    let first = world.pending();
    for _ in 0..4 {
        world.pass(2 * MINUTE);
    }
    assert_eq!(world.pending(), first);
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 1);
    unblock(&world, "activity.json");
    world.pass(3 * MINUTE);
    eventually("the next one counts", || world.activity()["nudge_count"] == 1);
}

#[test]
fn f25_work_that_cannot_be_stored_is_not_taken_for_silence_afterwards() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    block(&world, "activity.json");
    for _ in 0..3 {
        world.pass(4 * MINUTE);
        world.silent(&world.event("PostToolUse", &read()));
    }
    world.quiet("active");
    assert!(world.status()["faults"].to_string().contains("could not take the work"), "{}", world.status());
    unblock(&world, "activity.json");
    world.pass(4 * MINUTE);
    world.quiet("active");
    world.pass(61);
    world.nudge(1);
    world.does("PostToolUse", &read());
    eventually("the fault is over", || world.status()["faults"] == json!([]));
}

#[test]
fn f25_work_behind_a_lock_whose_holder_stands_still_is_not_taken_for_silence() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    let held = lock::acquire(&world.root.in_tmp("activity.lock"), Duration::ZERO).unwrap();
    assert!(held.is_some());
    world.pass(4 * MINUTE);
    // It gives up after a while, changes nothing, and leaves the mark.
    world.does("PostToolUse", &read());
    let is_named =
        |what: &What| matches!(what, What::Fault { fault } if fault.contains("another process holds it"));
    assert_eq!(world.count(is_named), 1);
    world.pass(4 * MINUTE);
    world.quiet("active");
    drop(held);
    world.pass(61);
    world.nudge(1);
}

#[test]
fn f25_a_flag_that_cannot_be_stored_ends_no_daemon() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.backdate(&Past { idle: 10, nudged: Some(700), count: 3, ..Past::default() });
    world.looked();
    block(&world, "DEADLOCK.flag");
    world.pass(6 * MINUTE);
    eventually("it is told", || world.status()["faults"].to_string().contains("DEADLOCK.flag"));
    assert!(daemon.is_alive());
    unblock(&world, "DEADLOCK.flag");
    gone(daemon);
    assert_eq!(world.flag().unwrap()["nudge_count"], 3);
}

#[test]
fn f25_a_daemon_that_cannot_store_its_beacon_is_not_taken_for_a_stuck_one() {
    let world = World::with("build", "[daemon]\ntick = \"100ms\"\n");
    let daemon = world.begin();
    block(&world, "daemon.json");
    let old = world.beacon().unwrap();
    let patience = old.last_tick_awake_ms + 11_000;
    // Longer than a daemon may be silent; its sign of life is the file's own time.
    eventually("its patience is over", || watchdog::system::clock::now().awake.as_millis() as u64 > patience);
    assert_eq!(super::status(&world)["daemon"]["state"], "running");
    assert_eq!(world.hook(&world.event("PostToolUse", &json!({"tool_name": "Write"}))), Ran::silence());
    assert_eq!(world.daemon(), daemon);
}

#[test]
fn f31_the_watching_never_touches_the_file_that_the_agents_edit() {
    let world = Timed::new("build");
    let daemon = world.begin();
    let state = world.root.state();
    let look = |path: &Path| {
        let meta = fs::symlink_metadata(path).unwrap();
        (meta.ino(), meta.mtime(), meta.mtime_nsec(), fs::read(path).unwrap())
    };
    let before = look(&state);
    world.does("PostToolUse", &read());
    world.pass(6 * MINUTE);
    for n in 1..=3 {
        world.nudge(n);
        world.pass(11 * MINUTE);
    }
    gone(daemon);
    assert!(world.flag().is_some());
    assert_eq!(look(&state), before);
}

#[test]
fn f31_an_agents_own_edits_all_survive_nudges_and_recoveries() {
    let world = World::with(
        "build",
        "[rule]\nidle_after = \"1s\"\nnudge_every = \"1s\"\n[daemon]\ntick = \"50ms\"\n",
    );
    world.begin();
    let count = |text: &str| -> u32 {
        let line = text.lines().find_map(|line| line.strip_prefix("- **chunk_count**: "));
        line.and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let watched = scope.spawn(|| {
            // Stalls, nudges and work, as fast as they can follow each other.
            while !stop.load(Ordering::Relaxed) {
                world.backdate(&Past { idle: 10, ..Past::default() });
                thread::sleep(Duration::from_millis(100));
                world.silent(&world.event("PostToolUse", &read()));
            }
        });
        for n in 0..500u32 {
            let text = world.state_text();
            assert_eq!(count(&text), n);
            thread::sleep(Duration::from_millis(u64::from(n % 7)));
            put(
                &world.root.state(),
                format!("## Pipeline\n- **stage**: build\n- **chunk_count**: {}\n", n + 1).as_bytes(),
            );
        }
        stop.store(true, Ordering::Relaxed);
        watched.join().unwrap();
    });
    assert_eq!(world.state_text(), "## Pipeline\n- **stage**: build\n- **chunk_count**: 500\n");
}

#[test]
fn f31_the_note_of_a_recovery_is_appended_once_and_in_place() {
    let world = World::new("build");
    let inode = fs::metadata(world.root.state()).unwrap().ino();
    let before = world.state_text();
    world.write_flag(&json!({"timestamp": 1_790_000_000, "nudge_count": 3, "cause": "no_recovery"}));
    for _ in 0..3 {
        world.begin();
        world.hook(&world.event("SessionStart", &json!({"source": "resume"})));
    }
    let after = world.state_text();
    assert!(after.starts_with(&before));
    assert_eq!(after.matches("KILN DEADLOCK RECOVERY").count(), 1, "{after}");
    assert_eq!(fs::metadata(world.root.state()).unwrap().ino(), inode);
}

#[test]
fn f31_a_state_file_that_is_odd_is_watched_and_left_as_it_is() {
    type Kind<'a> = (&'static str, &'a dyn Fn(&World));
    let large = format!("- **stage**: build\n{}", "- a line of the record\n".repeat(220_000));
    let kinds: [Kind<'_>; 3] = [
        ("read-only", &|world| {
            fs::set_permissions(world.root.state(), fs::Permissions::from_mode(0o444)).unwrap();
        }),
        ("a link", &|world| {
            let elsewhere = world.beside("elsewhere").join("STATE.md");
            fs::rename(world.root.state(), &elsewhere).unwrap();
            symlink(&elsewhere, world.root.state()).unwrap();
        }),
        ("large", &|world| fs::write(world.root.state(), &large).unwrap()),
    ];
    for (what, make) in kinds {
        let world = Timed::new("build");
        make(&world);
        let before = fs::read(world.root.state()).unwrap();
        let is_link = world.root.state().is_symlink();
        let daemon = world.begin();
        world.does("PostToolUse", &read());
        world.pass(6 * MINUTE);
        for n in 1..=3 {
            world.nudge(n);
            world.pass(11 * MINUTE);
        }
        gone(daemon);
        assert_eq!(fs::read(world.root.state()).unwrap(), before, "{what}");
        assert_eq!(world.hook(&world.event("SessionStart", &json!({"source": "startup"}))).code, 0, "{what}");
        assert_eq!(world.flag(), None, "{what}: the flag is cleared whether or not the note could be left");
        assert!(fs::read(world.root.state()).unwrap().starts_with(&before), "{what}");
        assert_eq!(world.root.state().is_symlink(), is_link, "{what}");
    }
}
