//! What a wrong command line does: never exit 2, which blocks a tool or wakes a session where a hook is run.

use serde_json::json;

use crate::world::{Past, Ran, World, finish, listing};

#[test]
fn usage_errors_end_with_64_and_say_what_is_there() {
    let world = World::new("build");
    for arguments in [
        &["stats"][..],
        &["--no-such-flag"],
        &["status", "--no-such-flag"],
        &["status", "too", "many"],
        &["pause"],
        &["nudge"],
        &["generate", "nothing"],
        &["run", "--root"],
        &["start", "--set"],
        &["check", "--act=maybe"],
        &[],
    ] {
        let ran = world.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (64, ""), "{arguments:?}");
        assert!(
            ran.err.contains("Usage: watchdog") || ran.err.contains("try '--help'"),
            "{arguments:?}: {}",
            ran.err
        );
    }
    assert!(world.run(&["stats"]).err.contains("status"), "the nearest is named");
    assert!(!world.root.tmp().exists(), "and nothing happened");
}

#[test]
fn a_hook_ends_with_0_whatever_is_behind_it() {
    let world = World::new("build");
    let payload = world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})).to_string();
    for arguments in [
        &["hook", "--no-such-flag"][..],
        &["hook", "PostToolUse"],
        &["hook", "--root"],
        &["hook", "--help"],
        &["hook", "--version"],
        &["hook", "--set", "rule.idle_after=never"],
        &["hook", "--", "x"],
    ] {
        let mut command = world.command(arguments);
        command.env("CLAUDE_PID", "not a number");
        assert_eq!(finish(command, payload.as_bytes()), Ran::silence(), "{arguments:?}");
        assert_eq!(finish(world.command(arguments), b""), Ran::silence(), "{arguments:?}: no payload");
    }
}

#[test]
fn a_bridge_ends_with_0_whatever_is_behind_it() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let before = listing(world.path());
    for arguments in [
        &["bridge", "--no-such-flag"][..],
        &["bridge", "--root"],
        &["bridge", "--root", "/no/such/folder"],
        &["bridge", "--help"],
        &["bridge", "status"],
    ] {
        for input in ["", "{}", "not json", "{\"hook_event_name\":"] {
            assert_eq!(
                finish(world.command(arguments), input.as_bytes()),
                Ran::silence(),
                "{arguments:?} {input:?}"
            );
        }
    }
    assert_eq!(listing(world.path()), before);
}

#[test]
fn commands_that_take_one_project_refuse_two() {
    let (one, two) = (World::new("build"), World::new("build"));
    let roots = [one.path().to_str().unwrap(), two.path().to_str().unwrap()];
    for word in ["status", "start", "stop", "check", "ensure", "resume"] {
        let ran = one.run(&[word, "--root", roots[0], "--root", roots[1]]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{word}");
        assert_eq!(
            ran.err, "watchdog: one --root at a time, please; only \"run\" serves several\n",
            "{word}"
        );
    }
}
