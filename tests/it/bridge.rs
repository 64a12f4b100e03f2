//! The bridge: waits for its session's nudge, wakes once, and leaves when there is nothing to wait for.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};

use watchdog::model::event::What;

use crate::world::{
    Past, QUICK, Ran, Running, SESSION, World, bridge, client, eventually, finish, launch_with, signal,
    take_away,
};

const TEXT: &str = "KILN DEADLOCK WATCHDOG: idle_seconds=400; nudge 1 of 3.";

fn nudge(text: &str, more: &Value) -> Value {
    let mut value = json!({"additionalContext": text, "timestamp": 1, "nudge_n": 1, "id": "1-1"});
    for (key, part) in more.as_object().into_iter().flatten() {
        value[key] = part.clone();
    }
    value
}

fn woken(text: &str) -> Ran {
    Ran { code: 2, out: String::new(), err: format!("KILN ASYNC REWAKE: {text}\n") }
}

/// A session that is known to the project, with a client of its own.
fn session(world: &World, id: &str) -> Running {
    let client = client();
    let prompt = world.event("UserPromptSubmit", &json!({"prompt": "begin", "session_id": id}));
    assert_eq!(world.hook_by(&client, &prompt), Ran::silence());
    client
}

fn generation(world: &World, session: &str) -> PathBuf {
    world.root.in_own("bridges").join(session)
}

#[test]
fn it_wakes_with_the_nudge_once_and_leaves_no_file_of_its_own() {
    let world = World::new("build");
    let waiting = bridge(&world, &world.client, SESSION);
    let pid_file = world.root.in_tmp("async-rewake-watchdog.pid");
    assert_eq!(fs::read_to_string(&pid_file).unwrap(), format!("{}\n", waiting.pid()));
    world.write_pending(&nudge(TEXT, &json!({})));
    assert_eq!(waiting.end(), woken(TEXT));
    assert_eq!(world.pending(), None);
    assert!(!pid_file.exists() && !generation(&world, SESSION).exists());
    assert_eq!(world.count(|what| matches!(what, What::Claimed { via, n: 1, .. } if via == "bridge")), 1);
    let tool = world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    assert_eq!(world.hook(&tool), Ran::silence(), "the model sees it once");
}

#[test]
fn a_nudge_that_was_there_before_it_came_wakes_at_once() {
    let world = World::new("build");
    world.write_pending(&nudge(TEXT, &json!({})));
    let payload = world.event("Stop", &json!({})).to_string();
    assert_eq!(finish(world.as_client("bridge", &world.client), payload.as_bytes()), woken(TEXT));
}

#[test]
fn a_daemons_nudge_reaches_it() {
    let world = World::with("build", &QUICK.replace("nudge_every = \"1s\"", "nudge_every = \"1h\""));
    world.begin();
    world.silent(&world.event("Stop", &json!({})));
    let waiting = bridge(&world, &world.client, SESSION);
    world.backdate(&Past::default());
    let ran = waiting.end();
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: idle_seconds="), "{}", ran.err);
    assert!(ran.err.contains("nudge 1 of 3.") && ran.err.contains("team-lead's turn ended"), "{}", ran.err);
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 0, "being woken is no recovery");
}

#[test]
fn a_flag_of_the_rule_wakes_once_and_one_of_a_failed_api_does_not() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    let waiting = bridge(&world, &world.client, SESSION);
    world.write_flag(&json!({"timestamp": 1, "source": "stop_failure", "error": "billing_error"}));
    world.write_flag(
        &json!({"timestamp": 2, "nudge_count": 3, "last_activity_source": "x", "diagnosis": "D."}),
    );
    let words = "KILN DEADLOCK WATCHDOG: DEADLOCK.flag was written; no further nudges follow. D.";
    assert_eq!(waiting.end(), woken(words));
    let second = bridge(&world, &world.client, SESSION);
    world.write_flag(&json!({"timestamp": 3, "source": "stop_failure", "error": "billing_error"}));
    world.write_pending(&nudge("after both", &json!({})));
    assert_eq!(second.end(), woken("after both"), "the same flag is told once, the other one not at all");
}

#[test]
fn print_mode_is_left_at_once() {
    // A client in print mode waits for its hooks before it prints.
    let world = World::new("build");
    world.write_pending(&nudge(TEXT, &json!({})));
    let payload = world.event("Stop", &json!({})).to_string();
    for (name, value) in [
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"),
        ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
    ] {
        let mut command = world.as_client("bridge", &world.client);
        command.env(name, value);
        assert_eq!(finish(command, payload.as_bytes()), Ran::silence(), "{name}={value}");
    }
    assert!(world.pending().is_some(), "and the nudge waits for the next prompt");
}

#[test]
fn outside_an_active_pipeline_it_does_not_wait() {
    let world = World::new("complete");
    let payload = world.event("Stop", &json!({})).to_string();
    let run = || finish(world.as_client("bridge", &world.client), payload.as_bytes());
    assert_eq!(run(), Ran::silence());
    fs::remove_file(world.root.state()).unwrap();
    assert_eq!(run(), Ran::silence());
    assert!(!world.root.tmp().exists(), "and makes nothing");
    take_away(&world.root.kiln());
    assert_eq!(run(), Ran::silence());
    fs::create_dir(world.root.kiln()).unwrap();
    world.stage("build");
    let elsewhere = world.beside("elsewhere");
    let mut command = world.as_client("bridge", &world.client);
    command.current_dir(&elsewhere).env_remove("CLAUDE_PROJECT_DIR");
    let payload = json!({"hook_event_name": "Stop", "session_id": SESSION, "cwd": elsewhere}).to_string();
    assert_eq!(finish(command, payload.as_bytes()), Ran::silence());
}

type End = fn(&World);

#[test]
fn the_end_of_the_pipeline_ends_it() {
    let ends: [(&str, End); 4] = [
        ("complete", |world| world.stage("complete")),
        ("no STATE.md", |world| fs::remove_file(world.root.state()).unwrap()),
        ("no .kiln", |world| take_away(&world.root.kiln())),
        ("no project", |world| take_away(world.path())),
    ];
    for (what, end) in ends {
        let world = World::new("build");
        let waiting = bridge(&world, &world.client, SESSION);
        end(&world);
        assert_eq!(waiting.end(), Ran::silence(), "{what}");
        let left = world.root.kiln().exists() && generation(&world, SESSION).exists();
        assert!(!left, "{what}: its mark is gone");
    }
}

#[test]
fn the_death_of_its_client_ends_it() {
    let world = World::new("build");
    let mut client = client();
    let waiting = bridge(&world, &client, "other");
    client.kill();
    assert_eq!(waiting.end(), Ran::silence());
}

#[test]
fn a_newer_bridge_of_the_same_session_takes_over() {
    let world = World::new("build");
    let first = bridge(&world, &world.client, SESSION);
    let second = bridge(&world, &world.client, SESSION);
    assert_eq!(first.end(), Ran::silence());
    let pid_file = fs::read_to_string(world.root.in_tmp("async-rewake-watchdog.pid")).unwrap();
    assert_eq!(pid_file, format!("{}\n", second.pid()), "the older one left the newer one's mark alone");
    world.write_pending(&nudge(TEXT, &json!({})));
    assert_eq!(second.end(), woken(TEXT));
}

#[test]
fn a_killed_bridge_blocks_nobody() {
    let world = World::new("build");
    let mut first = bridge(&world, &world.client, SESSION);
    first.kill();
    let second = bridge(&world, &world.client, SESSION);
    world.write_pending(&nudge(TEXT, &json!({})));
    assert_eq!(second.end(), woken(TEXT));
}

#[test]
fn the_end_of_its_life_ends_it() {
    let world = World::with("build", "[bridge]\nlife = \"1s\"\n");
    let payload = world.event("Stop", &json!({})).to_string();
    let waiting = launch_with(world.as_client("bridge", &world.client), payload.as_bytes());
    assert_eq!(waiting.end(), Ran::silence());
    assert!(!generation(&world, SESSION).exists());
}

#[test]
fn signals_end_it_in_order() {
    // A client that leaves sends SIGTERM to its hooks first.
    for number in [Signal::TERM, Signal::INT, Signal::HUP] {
        let world = World::new("build");
        let waiting = bridge(&world, &world.client, SESSION);
        signal(waiting.identity(), number);
        assert_eq!(waiting.end(), Ran::silence(), "{number:?}");
        assert!(
            !generation(&world, SESSION).exists() && !world.root.in_tmp("async-rewake-watchdog.pid").exists()
        );
    }
}

#[test]
fn another_sessions_nudge_is_left_to_it() {
    let world = World::new("build");
    let (one, two) = (session(&world, "one"), session(&world, "two"));
    let of_one = bridge(&world, &one, "one");
    let of_two = bridge(&world, &two, "two");
    world.write_pending(&nudge("for two", &json!({"session_id": "two"})));
    assert_eq!(of_two.end(), woken("for two"));
    world.write_pending(&nudge("for one", &json!({"session_id": "one"})));
    assert_eq!(of_one.end(), woken("for one"), "it was there for the first one, and left it alone");
}

#[test]
fn a_nudge_for_a_session_whose_client_died_is_taken_by_one_that_lives() {
    let world = World::new("build");
    let (mut one, two) = (session(&world, "one"), session(&world, "two"));
    let of_two = bridge(&world, &two, "two");
    one.kill();
    world.write_pending(&nudge(TEXT, &json!({"session_id": "one"})));
    assert_eq!(of_two.end(), woken(TEXT));
}

#[test]
fn a_note_of_a_failed_api_wakes_nobody() {
    let world = World::new("build");
    let waiting = bridge(&world, &world.client, SESSION);
    world.silent(&world.event("StopFailure", &json!({"error": "rate_limit"})));
    assert_eq!(world.pending().unwrap()["wakes"], false);
    // What an operator says does wake, and replaces the note.
    assert_eq!(world.run(&["nudge", "--replace", "look at the build"]).code, 0);
    assert_eq!(waiting.end(), woken("KILN DEADLOCK WATCHDOG: a note from the operator: look at the build"));
}

#[test]
fn what_cannot_be_delivered_is_dropped_and_it_waits_on() {
    let world = World::new("build");
    let mut waiting = bridge(&world, &world.client, SESSION);
    for broken in ["", "{", "[]", "{\"additionalContext\":\" \"}"] {
        crate::world::put(&world.root.pending(), broken.as_bytes());
        eventually("it is dropped", || !world.root.pending().exists());
        assert!(waiting.is_running(), "{broken:?}");
    }
    world.write_pending(&nudge(TEXT, &json!({})));
    assert_eq!(waiting.end(), woken(TEXT));
}
