//! What comes in on a hook's standard input: late, in crumbs, never ended, not at all, or far too much.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::world::{Ran, World, finish, launch, listing};

/// Every event that a client is told to deliver, and some that it may learn.
const EVENTS: [&str; 16] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "TeammateIdle",
    "Stop",
    "StopFailure",
    "Notification",
    "PermissionRequest",
    "FileChanged",
    "PreCompact",
    "PostToolBatch",
];

/// Only the wait for a value counts: no daemon is started for it.
fn world() -> World {
    let world = World::new("build");
    world.write_activity(&json!({"last_activity_ts": 1, "epoch": 1}));
    world
}

fn payload(world: &World, event: &str) -> Value {
    world.event(event, &json!({"tool_name": "Read", "tool_use_id": "t", "agent_type": "x"}))
}

#[test]
fn f03_a_complete_value_is_handled_although_the_pipe_stays_open() {
    let world = world();
    for event in EVENTS {
        let mut command = world.as_client("hook", &world.client);
        command.stdin(Stdio::piped());
        let mut hook = launch(command);
        let mut pipe = hook.0.stdin.take().unwrap();
        pipe.write_all(payload(&world, event).to_string().as_bytes()).unwrap();
        let ran = hook.end();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{event}");
        drop(pipe);
    }
    assert_eq!(world.activity()["active_teammates"], json!({}));
}

#[test]
fn f03_a_pipe_that_stays_open_and_empty_ends_the_hook_and_changes_nothing() {
    let world = world();
    let before = listing(world.path());
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let mut command = world.as_client("hook", &world.client);
            command.stdin(Stdio::piped());
            let mut hook = launch(command);
            let pipe = hook.0.stdin.take().unwrap();
            (hook, pipe)
        })
        .collect();
    for (hook, pipe) in waiting {
        assert_eq!(hook.end(), Ran::silence());
        drop(pipe);
    }
    assert_eq!(listing(world.path()), before);
}

#[test]
fn f03_half_a_value_and_then_silence_changes_nothing() {
    let world = world();
    let before = listing(world.path());
    let mut command = world.as_client("hook", &world.client);
    command.stdin(Stdio::piped());
    let mut hook = launch(command);
    let mut pipe = hook.0.stdin.take().unwrap();
    let whole = payload(&world, "PostToolUse").to_string();
    pipe.write_all(&whole.as_bytes()[..whole.len() / 2]).unwrap();
    assert_eq!(hook.end(), Ran::silence());
    drop(pipe);
    assert_eq!(listing(world.path()), before);
}

#[test]
fn f03_a_payload_that_comes_in_crumbs_is_read_whole() {
    let world = world();
    let mut command = world.as_client("hook", &world.client);
    command.stdin(Stdio::piped());
    let mut hook = launch(command);
    let mut pipe = hook.0.stdin.take().unwrap();
    for crumb in payload(&world, "PostToolUse").to_string().as_bytes().chunks(3) {
        pipe.write_all(crumb).unwrap();
        pipe.flush().unwrap();
        // The pause is the fault itself: together they last longer than any one silence may.
        thread::sleep(Duration::from_millis(60));
    }
    drop(pipe);
    assert_eq!(hook.end(), Ran::silence());
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Read");
}

#[test]
fn f03_an_end_of_file_or_a_terminal_is_no_activity() {
    let world = world();
    let before = listing(world.path());
    let mut nothing = world.as_client("hook", &world.client);
    nothing.stdin(Stdio::null());
    assert_eq!(launch(nothing).end(), Ran::silence());

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let path = std::ffi::OsStr::from_bytes(name.as_bytes());
    let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut typed = world.as_client("hook", &world.client);
    typed.stdin(Stdio::from(terminal));
    assert_eq!(launch(typed).end(), Ran::silence());
    assert_eq!(listing(world.path()), before);
}

#[test]
fn f03_no_writer_of_a_large_payload_meets_a_broken_pipe() {
    let world = world();
    let large = "x".repeat(2 * 1024 * 1024);
    let too_large: Vec<Value> = (0..400).map(|n| json!({"n": n, "text": "y".repeat(60_000)})).collect();
    let with = |response: Value| {
        let mut payload = payload(&world, "PostToolUse");
        payload["tool_response"] = response;
        payload.to_string().into_bytes()
    };
    let inputs = [
        ("a large answer", with(json!({"file": {"content": large}})), "PostToolUse:Read"),
        ("garbage", "y\n".repeat(1_000_000).into_bytes(), "none"),
        ("more than is ever kept", with(json!(too_large)), "none"),
    ];
    for (what, bytes, source) in inputs {
        world.write_activity(&json!({"last_activity_ts": 1, "last_activity_source": "none"}));
        let mut command = world.as_client("hook", &world.client);
        command.stdin(Stdio::piped());
        let mut hook = launch(command);
        let mut pipe = hook.0.stdin.take().unwrap();
        pipe.write_all(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        drop(pipe);
        assert_eq!(hook.end(), Ran::silence(), "{what}");
        assert_eq!(world.activity()["last_activity_source"], source, "{what}");
    }
}

#[test]
fn f03_what_is_no_event_counts_as_nothing() {
    let world = world();
    let before = listing(world.path());
    let inputs: [&[u8]; 8] =
        [b"", b"{}", b"[]", b"null", b"\"PostToolUse\"", b"{\"tool_name\":\"Read\"}", b"{]", b"\xff\xfe\0"];
    for input in inputs {
        let ran = finish(world.as_client("hook", &world.client), input);
        assert_eq!(ran, Ran::silence(), "{}", String::from_utf8_lossy(input));
    }
    assert_eq!(listing(world.path()), before);
}

#[test]
fn f03_payloads_as_small_as_tests_in_the_wild_deliver_them_are_taken() {
    let world = world();
    let small = b"{\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"SendMessage\"}";
    assert_eq!(finish(world.as_client("hook", &world.client), small), Ran::silence());
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:SendMessage");
}
