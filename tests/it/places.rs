//! Odd names, missing folders, processes that are half dead, and locks whose holders stand still.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use watchdog::model::event::What;
use watchdog::store::lock;
use watchdog::store::root::Root;
use watchdog::system::process::start_time;

use crate::timed::{Timed, status};
use crate::world::{QUICK, Ran, World, client, eventually, finish, gone};

/// The same project under another name.
fn renamed(world: &World, name: &[u8]) -> PathBuf {
    let place = world.beside("places").join(OsStr::from_bytes(name));
    fs::create_dir_all(place.join(".kiln")).unwrap();
    fs::copy(world.root.state(), place.join(".kiln/STATE.md")).unwrap();
    place
}

#[test]
fn a_root_may_have_any_name_that_a_folder_can_have() {
    let names: [&[u8]; 7] = [
        b"with blanks  in it",
        b"with\na line break",
        b"with\xff\xfebytes that are no text",
        b"-x",
        b"'quotes\" and $(things) `run` ; & |",
        b"\x1b[2Jclear",
        "mit Umlauten äöü und 漢字".as_bytes(),
    ];
    for name in names {
        let world = World::new("build");
        let place = renamed(&world, name);
        let link = world.beside("links").join("project");
        symlink(&place, &link).unwrap();
        let root = Root::at(&place).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = world.command(arguments);
            command.current_dir(&place);
            finish(command, b"")
        };
        assert_eq!(run(&["start"]).out, "A daemon was started.\n", "{}", place.display());
        let mut linked = world.command(&["start", "--root"]);
        linked.arg(&link);
        assert_eq!(finish(linked, b"").out, "A daemon is watching.\n", "{}", place.display());
        // A path that is no text cannot stand in a payload; the hook's own folder tells it.
        let payload = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read"});
        let mut hook = world.as_client("hook", &world.client);
        hook.current_dir(&place).env_remove("CLAUDE_PROJECT_DIR");
        assert_eq!(finish(hook, payload.to_string().as_bytes()), Ran::silence());
        assert!(root.activity().exists(), "{}", place.display());
        let shown = run(&["status"]);
        assert_eq!(shown.code, 0, "{shown:?}");
        assert!(!shown.out.contains('\u{1b}'), "{}", shown.out);
        let doctor = run(&["doctor"]);
        assert!(!doctor.out.contains('\u{1b}'), "{}", doctor.out);
        assert_eq!(run(&["stop"]).out, "The daemon was stopped.\n");
        eventually("its lock is free", || !lock::is_held(&root.daemon_lock()));
    }
}

#[test]
fn without_a_home_and_with_hardly_any_environment_it_works() {
    let world = World::new("build");
    let bare = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env_clear();
        finish(command, b"")
    };
    assert_eq!(bare(&["start"]).out, "A daemon was started.\n");
    world.daemon();
    assert_eq!(bare(&["status"]).code, 0);
    assert_eq!(bare(&["config"]).code, 0);
    let mut hook = world.command(&["hook"]);
    hook.env_clear();
    let payload = world.event("PostToolUse", &json!({"tool_name": "Read"}));
    assert_eq!(finish(hook, payload.to_string().as_bytes()), Ran::silence());
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Read");
    assert_eq!(bare(&["stop"]).out, "The daemon was stopped.\n");
}

#[test]
fn a_command_in_a_folder_that_is_gone_says_so() {
    let world = World::new("build");
    let gone = world.beside("gone");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "cd \"$1\" && rmdir \"$1\" && exec \"$0\" status"]);
    shell.arg(env!("CARGO_BIN_EXE_watchdog")).arg(&gone).env_remove("KILN_ROOT");
    let ran = finish(shell, b"");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("the current folder is gone"), "{}", ran.err);
}

#[test]
fn a_client_that_is_a_zombie_is_dead() {
    let world = World::with("build", QUICK);
    let mut zombie = client();
    let start = world.event("SessionStart", &json!({"source": "startup"}));
    assert_eq!(world.hook_by(&zombie, &start).code, 0);
    let daemon = world.daemon();
    // Killed, and not waited for: its entry stays.
    zombie.0.kill().unwrap();
    let entry = format!("/proc/{}/stat", zombie.pid());
    eventually("it is a zombie", || fs::read_to_string(&entry).is_ok_and(|text| text.contains(") Z ")));
    assert_eq!(start_time(zombie.pid()), None);
    gone(daemon);
    assert_eq!(world.flag().unwrap()["cause"], "session_lost");
}

#[test]
fn a_lock_of_the_journal_whose_holder_stands_still_costs_no_event() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    let journal = fs::File::open(world.root.in_own("journal.jsonl")).unwrap();
    journal.lock().unwrap();
    for _ in 0..2 {
        world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    }
    assert_eq!(world.count(|what| matches!(what, What::ToolEnd { .. })), 3);
    world.pass(360);
    world.nudge(1);
}

#[test]
fn a_daemon_lock_that_something_else_holds_is_named_and_not_taken_for_a_daemon() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    let held = lock::acquire(&world.root.daemon_lock(), Duration::ZERO).unwrap();
    assert!(held.is_some());
    let ran = world.run(&["start"]);
    let holder = format!("daemon.lock is held by process {}, which is no daemon", std::process::id());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(&holder), "{}", ran.err);
    let start = world.hook(&world.event("SessionStart", &json!({"source": "startup"})));
    assert_eq!((start.code, start.err.as_str()), (0, ""));
    let is_named = |what: &What| matches!(what, What::Fault { fault } if fault.contains(&holder));
    assert_eq!(world.count(is_named), 1);
    assert_eq!(status(&world)["daemon"].get("pid"), None);
    assert_eq!(world.run(&["stop"]).out, "No daemon was running.\n");
    drop(held);
    world.begin();
}

#[test]
fn a_journal_of_twenty_thousand_events_of_before_is_caught_up_with_and_told_to_nobody() {
    let world = Timed::with(
        "build",
        "[daemon]\ntick = \"100ms\"\n[[alert]]\non = [\"recovered\"]\nrun = [\"false\"]\n",
    );
    world.root.prepare().unwrap();
    let now = world.now().wall;
    let events: Vec<_> = (0..20_000)
        .map(|n| watchdog::model::event::Event::of_root(now - 20_000 + n, What::Resumed))
        .collect();
    watchdog::store::journal::append(&world.root, &events).unwrap();
    world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.quiet("active");
    eventually("the journal is rotated", || {
        fs::metadata(world.root.in_own("journal.jsonl")).is_ok_and(|meta| meta.len() < 1024 * 1024)
    });
    assert!(!world.log().contains("alert"), "{}", world.log());
    world.pass(360);
    world.nudge(1);
}
