//! What is a sign of work, and how it is written down.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use watchdog::system::clock;

use crate::world::{Past, World, listing};

/// Every event that is a heartbeat: its payload, and what `activity.json` calls it.
fn heartbeats() -> Vec<(&'static str, Value, &'static str)> {
    let mate = json!({"agent_id": "arakim-1", "agent_type": "rakim"});
    let tool = |name: &str| json!({"tool_name": name, "tool_use_id": "toolu_1", "tool_input": {}});
    vec![
        ("TeammateIdle", json!({"teammate_name": "rakim", "team_name": "t"}), "TeammateIdle"),
        ("SubagentStart", mate.clone(), "SubagentStart"),
        ("SubagentStop", mate, "SubagentStop"),
        ("PreToolUse", tool("Read"), "PreToolUse:Read"),
        ("PostToolUse", tool("SendMessage"), "PostToolUse:SendMessage"),
        ("PostToolUseFailure", tool("Bash"), "PostToolUseFailure:Bash"),
        ("UserPromptSubmit", json!({"prompt": "go on"}), "UserPromptSubmit"),
    ]
}

#[test]
fn every_work_event_stamps_its_time_its_source_and_the_phase_and_raises_the_epoch_by_one() {
    for (event, more, source) in heartbeats() {
        let world = World::new("build");
        world.backdate(&Past { phase: "research", ..Past::default() });
        let before = clock::now().seconds();
        world.hook(&world.event(event, &more));
        let after = clock::now().seconds();
        let activity = world.activity();
        let stamp = activity["last_activity_ts"].as_i64().expect("a whole number");
        assert!((before..=after).contains(&stamp), "{event}: {activity}");
        assert_eq!(activity["last_activity_source"], source, "{event}");
        assert_eq!(activity["pipeline_phase"], "build", "{event}");
        assert_eq!(activity["epoch"], 8, "{event}");
        assert_eq!((&activity["nudge_count"], &activity["last_nudge_ts"]), (&json!(0), &json!(0)), "{event}");
    }
}

#[test]
fn the_first_heartbeat_makes_a_file_of_exactly_the_seven_fields_that_everybody_can_read() {
    let world = World::new("build");
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    let activity = world.activity();
    let shape: Vec<(&str, &str)> = activity
        .as_object()
        .expect("an object")
        .iter()
        .map(|(key, value)| (key.as_str(), kind(value)))
        .collect();
    let wanted = [
        ("last_activity_ts", "integer"),
        ("last_activity_source", "string"),
        ("active_teammates", "object"),
        ("last_nudge_ts", "integer"),
        ("nudge_count", "integer"),
        ("epoch", "integer"),
        ("pipeline_phase", "string"),
    ];
    assert_eq!(shape, wanted);
    assert_eq!(activity["epoch"], 1);
    let text = fs::read_to_string(world.root.activity()).unwrap();
    assert!(text.ends_with("}\n"), "a whole line: {text:?}");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.root.activity()), 0o644);
    assert_eq!(mode(world.root.own()), 0o700);
    assert_eq!(mode(world.root.in_own("journal.jsonl")), 0o600);
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_i64() => "integer",
        Value::String(_) => "string",
        Value::Object(_) => "object",
        _ => "something else",
    }
}

#[test]
fn fields_of_others_survive_a_heartbeat_at_every_level() {
    let world = World::new("build");
    let mut file = json!({
        "schema": {"v": 3}, "last_activity_ts": 1, "last_activity_source": "x", "nudge_count": 2, "epoch": 41,
        "active_teammates": {"rakim": {"ts": 1, "host": "pane 3"}, "sentinel": 17}, "last_nudge_ts": 0,
        "pipeline_phase": "build", "note": ["kept", null],
    });
    world.write_activity(&file);
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    let activity = world.activity();
    file["last_activity_ts"] = activity["last_activity_ts"].clone();
    file["last_activity_source"] = json!("PostToolUse:Read");
    file["epoch"] = json!(42);
    assert_eq!(activity, file);
}

#[test]
fn sessions_turns_questions_and_file_changes_are_no_activity() {
    let no_activity = [
        ("SessionStart", json!({"source": "startup"})),
        ("Stop", json!({"stop_hook_active": false})),
        ("Notification", json!({"notification_type": "permission_prompt", "message": "may I?"})),
        ("PermissionRequest", json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}})),
        ("FileChanged", json!({"file_path": "/p/.kiln/tmp/pending-nudge.json", "event": "add"})),
        ("StopFailure", json!({"error": "server_error"})),
        ("SomethingNew", json!({"tool_name": "Read"})),
    ];
    for (event, more) in no_activity {
        let world = World::new("build");
        world.backdate(&Past::default());
        let before = world.activity();
        assert_eq!(world.hook(&world.event(event, &more)).code, 0, "{event}");
        assert_eq!(world.activity(), before, "{event}");
    }
}

#[test]
fn our_own_wake_is_no_activity_and_a_persons_prompt_that_quotes_it_is() {
    let own = "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n\
               Stop hook blocking error from command \"FileChanged:pending-nudge.json\": KILN ASYNC REWAKE: KILN \
               DEADLOCK WATCHDOG: idle_seconds=301\n</system-reminder>";
    let quoted = "what does \"KILN ASYNC REWAKE:\" in my terminal mean? <task-notification>";
    let other = "<task-notification>\n<summary>Background command finished</summary>\n</task-notification>";
    for (prompt, is_work) in [(own, false), (quoted, true), (other, true)] {
        let world = World::new("build");
        world.backdate(&Past::default());
        let before = world.activity();
        world.silent(&world.event("UserPromptSubmit", &json!({"prompt": prompt})));
        let after = world.activity();
        let source = if is_work { json!("UserPromptSubmit") } else { before["last_activity_source"].clone() };
        assert_eq!(after["last_activity_source"], source, "{prompt}");
        assert_eq!(after["last_activity_ts"] != before["last_activity_ts"], is_work, "{prompt}");
    }
}

#[test]
fn a_payload_that_names_no_event_changes_nothing_at_all() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let before = listing(world.path());
    for text in
        ["", "{}", "[]", "null", "7", "{\"hook_event_name\":", "not json", "{\"hook_event_name\":\"\"}"]
    {
        let ran = crate::world::finish(world.as_client("hook", &world.client), text.as_bytes());
        assert_eq!(ran, crate::world::Ran::silence(), "{text}");
        assert_eq!(listing(world.path()), before, "{text}");
    }
}

#[test]
fn outside_an_active_pipeline_a_hook_does_nothing_at_all() {
    let stateless = World::new("build");
    fs::remove_file(stateless.root.state()).unwrap();
    let unnamed = World::new("build");
    crate::world::put(&unnamed.root.state(), b"# Kiln State\n\nnothing has begun\n");
    let complete = World::new("complete");
    complete.backdate(&Past { phase: "complete", ..Past::default() });
    complete.write_pending(&json!({"additionalContext": "stale", "timestamp": 1, "nudge_n": 1}));
    complete.write_flag(&json!({"timestamp": 1, "nudge_count": 3, "last_activity_source": "x"}));
    let mut events = heartbeats();
    events.extend([
        ("SessionStart", json!({"source": "startup"}), ""),
        ("Stop", json!({}), ""),
        ("StopFailure", json!({"error": "authentication_failed"}), ""),
        ("PermissionRequest", json!({"tool_name": "Bash"}), ""),
        ("FileChanged", json!({"file_path": "/x/pending-nudge.json", "event": "add"}), ""),
        ("PostToolUse", json!({"tool_name": "Write", "tool_use_id": "t"}), ""),
    ]);
    for world in [stateless, unnamed, complete] {
        let before = listing(world.path());
        for (event, more, _) in &events {
            world.silent(&world.event(event, more));
            assert_eq!(listing(world.path()), before, "{event}");
        }
        assert_eq!(world.daemons(), []);
    }
}

#[test]
fn the_phase_of_the_file_alone_is_enough_to_exempt() {
    // An engine that writes `activity.json` itself may know the phase before STATE.md does.
    let world = World::new("build");
    for phase in ["idle", "awaiting_user", "complete"] {
        world.backdate(&Past { phase, ..Past::default() });
        let checked = world.run(&["check", "--act", "--json"]);
        let verdict: Value = serde_json::from_str(&checked.out).unwrap();
        assert_eq!((&verdict["verdict"], &verdict["reason"]), (&json!("quiet"), &json!("exempt-phase")));
    }
    world.backdate(&Past::default());
    for stage in ["idle", "awaiting_user"] {
        world.stage(stage);
        assert!(world.run(&["check"]).out.starts_with("quiet: silence is no stall in phase"), "{stage}");
    }
    assert_eq!(world.pending(), None);
}
