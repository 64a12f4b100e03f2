//! Many starts at once, starts that fail, and what a start hands down.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

use rustix::process::Signal;
use serde_json::json;
use watchdog::model::event::What;
use watchdog::store::lock;

use super::{Timed, status};
use crate::world::{QUICK, Ran, World, eventually, finish, gone, signal};

#[test]
fn f18_many_starts_at_once_give_one_daemon() {
    let world = World::new("build");
    for _ in 0..10 {
        let codes: Vec<i32> = thread::scope(|scope| {
            let starts: Vec<_> = (0..100)
                .map(|n| {
                    let world = &world;
                    scope.spawn(move || match n % 3 {
                        0 => world.hook(&world.event("SessionStart", &json!({"source": "startup"}))).code,
                        1 => world.hook(&world.event("PostToolUse", &json!({"tool_name": "Write"}))).code,
                        _ => world.run(&["ensure"]).code,
                    })
                })
                .collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(codes.iter().all(|code| *code == 0), "{codes:?}");
        let daemon = world.daemon();
        assert_eq!(world.run(&["stop"]).code, 0);
        gone(daemon);
        assert_eq!(world.daemons(), []);
    }
    assert_eq!(world.count(|what| matches!(what, What::DaemonStart { .. })), 10);
    let is_fault = |event: &watchdog::model::event::Event| matches!(event.what, What::Fault { .. });
    let faults: Vec<_> = world.journal().into_iter().filter(is_fault).map(|event| event.what).collect();
    assert_eq!(faults, []);
}

#[test]
fn f18_starts_and_stops_in_turn_end_as_the_last_one_asked() {
    let world = World::new("build");
    thread::scope(|scope| {
        for n in 0..100 {
            let world = &world;
            scope.spawn(move || world.run(&[if n % 2 == 0 { "start" } else { "stop" }]));
        }
    });
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
    assert_eq!((world.daemons(), status(&world)["daemon"]["state"].clone()), (vec![], json!("none")));
}

#[test]
fn f18_a_starter_that_stands_still_holds_up_no_hook_for_ever_and_is_named() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    let held = lock::acquire(&world.root.in_own("start.lock"), std::time::Duration::ZERO).unwrap();
    assert!(held.is_some());
    let ran = world.run(&["start"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("another process has been starting a daemon here"), "{}", ran.err);
    let start = world.hook(&world.event("SessionStart", &json!({"source": "startup"})));
    assert_eq!(start.code, 0);
    let is_named = |what: &What| matches!(what, What::Fault { fault } if fault.contains("has been starting"));
    assert_eq!(world.count(is_named), 1);
    // In the midst of a turn nobody waits for it: no limit of the starter's passes, and nothing is complained of twice.
    for _ in 0..20 {
        assert_eq!(world.hook(&world.event("PostToolUse", &json!({"tool_name": "Write"}))), Ran::silence());
    }
    assert_eq!(world.count(is_named), 1);
    drop(held);
    world.begin();
}

#[test]
fn f18_a_child_that_a_notifier_leaves_behind_holds_no_lock() {
    let world = Timed::new("build");
    let left = world.beside("left").join("pid");
    let script = format!("sleep 600 </dev/null >/dev/null 2>&1 & echo $! > {}", left.display());
    world.settings(&format!(
        "{}[[alert]]\non = [\"nudge\"]\nrun = [\"sh\", \"-c\", {script:?}]\n",
        super::OFTEN
    ));
    let daemon = world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.pass(360);
    world.nudge(1);
    eventually("the notifier has run", || fs::read_to_string(&left).is_ok_and(|pid| pid.ends_with('\n')));
    let pid: i32 = fs::read_to_string(&left).unwrap().trim().parse().unwrap();
    let start_time = watchdog::system::process::start_time(pid).expect("its child lives");
    let child = watchdog::system::process::Identity { pid, start_time };
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        let target = fs::read_link(entry.path()).unwrap();
        assert!(!target.starts_with(world.root.kiln()), "{}", target.display());
    }
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
    assert_eq!(world.run(&["start"]).code, 0);
    assert_ne!(world.daemon(), daemon);
    signal(child, Signal::KILL);
}

#[test]
fn f18_all_names_of_one_root_lead_to_one_daemon() {
    let world = World::new("build");
    let link = world.beside("links").join("project");
    symlink(world.path(), &link).unwrap();
    let daemon = world.begin();
    let roots = [world.path().to_owned(), link.clone(), world.path().join("."), link.join(".kiln/..")];
    for root in roots {
        let ran = world.run(&["--root", root.to_str().unwrap(), "start"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "A daemon is watching.\n"), "{}", root.display());
    }
    assert_eq!(world.daemon(), daemon);
}

#[test]
fn f18_daemons_of_two_versions_do_not_replace_each_other_for_ever() {
    let world = World::new("build");
    let daemon = world.begin();
    let mut beacon = world.beacon().unwrap();
    for (version, stays) in [("99.0.0", true), (env!("CARGO_PKG_VERSION"), true), ("0.0.1", false)] {
        beacon.version = version.to_owned();
        signal(daemon, Signal::STOP);
        watchdog::store::beacon::store(&world.root, &beacon).unwrap();
        if !stays {
            signal(daemon, Signal::CONT);
        }
        assert_eq!(world.run(&["ensure"]).code, 0, "{version}");
        assert_eq!(daemon.is_alive(), stays, "{version}");
        if stays {
            signal(daemon, Signal::CONT);
        }
    }
    assert_ne!(world.daemon(), daemon);
}

#[test]
fn f34_the_pid_file_is_there_when_the_starter_returns() {
    let world = World::new("build");
    for _ in 0..10 {
        assert_eq!(world.run(&["start"]).code, 0);
        let text = fs::read_to_string(world.root.in_tmp("watchdog.pid")).unwrap();
        let pid: i32 = text.strip_suffix('\n').unwrap().parse().unwrap();
        assert!(watchdog::system::process::start_time(pid).is_some());
        assert_eq!(world.daemon().pid, pid);
        assert_eq!(world.run(&["stop"]).code, 0);
    }
}

#[test]
fn f34_a_second_start_changes_nothing_and_says_so() {
    let world = World::new("build");
    let daemon = world.begin();
    let before = fs::read(world.root.in_tmp("watchdog.pid")).unwrap();
    let again = world.run(&["start"]);
    assert_eq!((again.code, again.out.as_str()), (0, "A daemon is watching.\n"));
    let foreground = world.run(&["run"]);
    assert_eq!(foreground.code, 1);
    let expected = format!("is watched by another daemon already (pid {})", daemon.pid);
    assert!(foreground.err.contains(&expected), "{}", foreground.err);
    assert_eq!(fs::read(world.root.in_tmp("watchdog.pid")).unwrap(), before);
    assert_eq!(world.daemon(), daemon);
}

#[test]
fn f34_a_start_that_fails_fails_in_the_starter_and_says_why() {
    type Fault = (&'static str, fn(&World), &'static str);
    let faults: [Fault; 4] = [
        ("broken settings", |world| world.settings("[rule]\nidle_after = \"soon\"\n"), "watchdog.toml:2"),
        ("no folder for its files", |world| fs::write(world.root.tmp(), "a file").unwrap(), "cannot trust"),
        ("a folder that is a link", |world| symlink("/tmp", world.root.tmp()).unwrap(), "it is a symlink"),
        (
            "a pid file that cannot be written",
            |world| fs::create_dir_all(world.root.in_own("watchdog.pid.new/x")).unwrap(),
            "cannot replace",
        ),
    ];
    for (what, break_it, reason) in faults {
        let world = World::new("build");
        break_it(&world);
        let ran = world.run(&["start"]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{what}: {ran:?}");
        assert!(ran.err.contains(reason), "{what}: {}", ran.err);
        eventually("nobody runs untracked", || world.daemons().is_empty());
        let hook = world.hook(&world.event("SessionStart", &json!({"source": "startup"})));
        assert_eq!((hook.code, hook.err.as_str()), (0, ""), "{what}: a session is not kept from working");
    }
}

#[test]
fn f34_a_relative_root_is_the_one_that_was_meant() {
    let world = World::new("build");
    let elsewhere = world.beside("elsewhere");
    for (cwd, root) in [(world.path().to_owned(), "."), (elsewhere, "../project")] {
        let mut command = world.command(&["start", "--root", root]);
        command.current_dir(cwd);
        let ran = finish(command, b"");
        assert_eq!((ran.code, ran.out.as_str()), (0, "A daemon was started.\n"), "{ran:?}");
        world.daemon();
        assert_eq!(world.run(&["stop"]).code, 0);
    }
}

#[test]
fn f34_a_daemon_in_the_background_ticks_ends_when_asked_and_leaves_no_zombie() {
    let world = World::with("build", &format!("{QUICK}[[alert]]\non = [\"recovered\"]\nrun = [\"true\"]\n"));
    let daemon = world.begin();
    let first = world.beacon().unwrap().last_tick_awake_ms;
    eventually("it ticks", || world.beacon().unwrap().last_tick_awake_ms > first);
    let events: Vec<_> = (0..100).map(|n| watchdog::model::event::Event::of_root(n, What::Resumed)).collect();
    let ticked = world.beacon().unwrap().last_tick_awake_ms;
    watchdog::store::journal::append(&world.root, &events).unwrap();
    eventually("all notifiers are reaped", || {
        let children =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", daemon.pid)).unwrap_or_default();
        let looked = world.beacon().unwrap().last_tick_awake_ms > ticked + 400;
        looked && children.trim().is_empty()
    });
    signal(daemon, Signal::TERM);
    gone(daemon);
    assert!(!world.root.in_tmp("watchdog.pid").exists());
    assert_eq!(world.count(|what| matches!(what, What::DaemonStop { .. })), 1);
}

#[test]
fn f34_a_session_that_could_not_get_a_daemon_finds_the_reason_in_the_journal_and_status() {
    let world = World::new("build");
    fs::create_dir_all(world.root.in_own("watchdog.pid.new/x")).unwrap();
    assert_eq!(world.hook(&world.event("SessionStart", &json!({"source": "startup"}))).code, 0);
    let is_reason = |what: &What| matches!(what, What::Fault { fault } if fault.contains("watchdog.pid"));
    assert_eq!(world.count(is_reason), 1);
    let shown = world.run(&["status"]);
    assert_eq!(shown.code, 3);
    assert!(shown.out.contains("NOT WATCHED"), "{}", shown.out);
    assert_eq!(world.hook(&world.event("PostToolUse", &json!({"tool_name": "Read"}))), Ran::silence());
}
