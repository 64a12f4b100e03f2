//! How a staged message travels: to the lead, once, and not after it has stopped being true.

use serde_json::{Value, json};

use watchdog::model::event::What;
use watchdog::store::journal;

use crate::world::{Past, Ran, SESSION, World, client, names};

const TEXT: &str = "KILN DEADLOCK WATCHDOG: idle_seconds=400; nudge 1 of 3.";

/// A nudge in the protocol's own form, with nothing that is ours.
fn stage(world: &World) {
    world.write_pending(&json!({"additionalContext": TEXT, "timestamp": 1, "nudge_n": 1}));
}

fn tool(world: &World) -> Value {
    world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t1", "tool_input": {}}))
}

fn prompt(world: &World) -> Value {
    world.event("UserPromptSubmit", &json!({"prompt": "go on"}))
}

fn of_mate(mut payload: Value) -> Value {
    payload["agent_id"] = json!("arakim-1");
    payload["agent_type"] = json!("rakim");
    payload
}

fn appeared(world: &World) -> Value {
    world.event("FileChanged", &json!({"file_path": world.root.pending(), "event": "add"}))
}

#[test]
fn the_leads_next_tool_or_prompt_takes_the_nudge_and_it_is_gone() {
    for payload in [tool, prompt] {
        let world = World::new("build");
        stage(&world);
        let payload = payload(&world);
        let event = payload["hook_event_name"].as_str().unwrap();
        assert_eq!(world.hook(&payload).context(event), TEXT);
        assert_eq!(world.pending(), None, "{event}");
        assert_eq!(world.hook(&payload), Ran::silence(), "{event}: not twice");
        let claims = world.count(|what| matches!(what, What::Claimed { n: 1, via, .. } if via == event));
        assert_eq!(claims, 1, "{event}");
        let left = names(&world.root.own());
        assert!(!left.iter().any(|name| name.contains("claimed")), "{event}: {left:?}");
    }
}

#[test]
fn the_nudge_is_taken_before_the_heartbeat_that_would_withdraw_it() {
    let world = World::new("build");
    world.backdate(&Past { nudged: Some(60), count: 1, ..Past::default() });
    stage(&world);
    assert_eq!(world.hook(&tool(&world)).context("PreToolUse"), TEXT);
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 1);
    assert_eq!(world.count(|what| matches!(what, What::Withdrawn { .. })), 0);
}

#[test]
fn a_teammates_tool_and_prompt_take_nothing() {
    let world = World::new("build");
    stage(&world);
    world.silent(&of_mate(tool(&world)));
    world.silent(&of_mate(prompt(&world)));
    assert_eq!(world.pending().map(|nudge| nudge["additionalContext"].clone()), Some(json!(TEXT)));
}

#[test]
fn no_other_event_takes_it() {
    let world = World::new("build");
    stage(&world);
    for (event, more) in [
        ("PostToolUse", json!({"tool_name": "Read", "tool_use_id": "t"})),
        ("Stop", json!({})),
        ("Notification", json!({"notification_type": "idle_prompt"})),
        ("SubagentStop", json!({"agent_id": "a", "agent_type": "rakim"})),
    ] {
        world.silent(&world.event(event, &more));
        assert!(world.pending().is_some(), "{event}");
    }
}

#[test]
fn work_of_a_teammate_withdraws_a_nudge_that_nobody_took() {
    let world = World::new("build");
    world.backdate(&Past { nudged: Some(60), count: 1, ..Past::default() });
    stage(&world);
    world.silent(&of_mate(tool(&world)));
    assert_eq!(world.pending(), None);
    assert_eq!(world.count(|what| matches!(what, What::Withdrawn { .. })), 1);
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 1);
    assert_eq!(
        world.hook(&tool(&world)),
        Ran::silence(),
        "what is over is not injected as if it were current"
    );
    assert_eq!(
        world.activity()["nudge_count"],
        1,
        "the episode stays open until it has worked for half an hour"
    );
}

#[test]
fn a_note_that_is_not_counted_stays_for_the_lead_when_a_teammate_works() {
    let world = World::new("build");
    world.backdate(&Past { nudged: Some(60), count: 1, ..Past::default() });
    world.write_pending(&json!({"additionalContext": "a note", "timestamp": 1, "nudge_n": 0}));
    world.silent(&of_mate(tool(&world)));
    assert_eq!(world.hook(&tool(&world)).context("PreToolUse"), "a note");
}

#[test]
fn a_chain_of_idling_teammates_is_no_recovery_and_withdraws_no_nudge() {
    let world = World::new("build");
    let idle = of_mate(world.event("TeammateIdle", &json!({"teammate_name": "rakim"})));
    world.silent(&idle);
    world.backdate(&Past { source: "TeammateIdle", nudged: Some(60), count: 1, ..Past::default() });
    stage(&world);
    world.silent(&idle);
    world.silent(&idle);
    assert!(world.pending().is_some(), "the lead has not read it yet");
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 0);
    world.silent(&of_mate(tool(&world)));
    assert_eq!(world.pending(), None, "real work withdraws it all the same");
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 1);
}

#[test]
fn a_file_event_wakes_with_the_nudge_once_on_standard_error_alone() {
    let world = World::new("build");
    stage(&world);
    let woken = world.hook(&appeared(&world));
    assert_eq!(woken, Ran { code: 2, out: String::new(), err: format!("KILN ASYNC REWAKE: {TEXT}\n") });
    assert_eq!(world.hook(&appeared(&world)), Ran::silence());
    assert_eq!(world.hook(&tool(&world)), Ran::silence(), "the model sees it once");
}

#[test]
fn a_deletion_and_a_file_of_another_name_wake_nobody() {
    let world = World::new("build");
    stage(&world);
    for (path, event) in [("pending-nudge.json", "unlink"), ("activity.json", "change"), ("", "add")] {
        let more = json!({"file_path": world.root.in_tmp(path), "event": event});
        world.silent(&world.event("FileChanged", &more));
    }
    assert!(world.pending().is_some());
}

#[test]
fn a_note_of_a_failed_api_waits_for_the_next_prompt_and_wakes_nobody() {
    let world = World::new("build");
    world.silent(&world.event("StopFailure", &json!({"error": "server_error"})));
    world.silent(&appeared(&world));
    let text = world.hook(&prompt(&world)).context("UserPromptSubmit");
    assert!(
        text.starts_with("KILN DEADLOCK WATCHDOG: the turn before this one was ended by the API"),
        "{text}"
    );
}

#[test]
fn a_flag_of_the_rule_wakes_once_and_one_of_a_failed_api_never() {
    let changed = |world: &World| {
        world.hook(&world.event("FileChanged", &json!({"file_path": world.root.flag(), "event": "change"})))
    };
    let world = World::new("build");
    world.root.prepare().unwrap();
    world.write_flag(
        &json!({"timestamp": 1, "nudge_count": 3, "last_activity_source": "x", "diagnosis": "D."}),
    );
    let woken = changed(&world);
    assert_eq!((woken.code, woken.out.as_str()), (2, ""));
    let words = "KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: DEADLOCK.flag was written; no further nudges follow. D.\n";
    assert_eq!(woken.err, words);
    assert_eq!(changed(&world), Ran::silence(), "once");
    let world = World::new("build");
    world.root.prepare().unwrap();
    world.write_flag(&json!({"timestamp": 1, "source": "stop_failure", "error": "billing_error"}));
    assert_eq!(changed(&world), Ran::silence());
}

#[test]
fn a_nudge_for_one_session_is_left_alone_by_another() {
    let world = World::new("build");
    let other = client();
    world.silent(&prompt(&world));
    let mut theirs = prompt(&world);
    theirs["session_id"] = json!("other");
    assert_eq!(world.hook_by(&other, &theirs), Ran::silence());
    world.write_pending(
        &json!({"additionalContext": TEXT, "timestamp": 1, "nudge_n": 1, "id": "1-1", "session_id": SESSION}),
    );
    assert_eq!(world.hook_by(&other, &theirs), Ran::silence());
    let mut wake = appeared(&world);
    wake["session_id"] = json!("other");
    assert_eq!(world.hook_by(&other, &wake), Ran::silence());
    assert_eq!(world.hook(&prompt(&world)).context("UserPromptSubmit"), TEXT);
}

#[test]
fn a_nudge_whose_session_is_gone_goes_to_whoever_works_on() {
    let world = World::new("build");
    let mut gone = client();
    let mut theirs = prompt(&world);
    theirs["session_id"] = json!("gone");
    assert_eq!(world.hook_by(&gone, &theirs), Ran::silence());
    world.write_pending(
        &json!({"additionalContext": TEXT, "timestamp": 1, "nudge_n": 1, "id": "1-1", "session_id": "gone"}),
    );
    gone.kill();
    assert_eq!(world.hook(&prompt(&world)).context("UserPromptSubmit"), TEXT);
}

#[test]
fn a_session_that_was_cleared_still_gets_its_nudge_under_its_new_id() {
    let world = World::new("build");
    world.silent(&prompt(&world));
    world.write_pending(
        &json!({"additionalContext": TEXT, "timestamp": 1, "nudge_n": 1, "id": "1-1", "session_id": SESSION}),
    );
    let mut cleared = prompt(&world);
    cleared["session_id"] = json!("after-clear");
    assert_eq!(world.hook(&cleared).context("UserPromptSubmit"), TEXT, "the same client process");
}

#[test]
fn what_cannot_be_delivered_is_dropped_once_and_stops_no_hook() {
    let world = World::new("build");
    world.silent(&prompt(&world));
    for broken in ["", "{", "[]", "{\"additionalContext\":\"  \"}", "{\"additionalContext\":7}", "\0\0\0\0"] {
        crate::world::put(&world.root.pending(), broken.as_bytes());
        world.silent(&tool(&world));
        assert!(!world.root.pending().exists(), "{broken:?}");
    }
    let before = journal::all(&world.root).unwrap().len();
    world.silent(&tool(&world));
    assert_eq!(journal::all(&world.root).unwrap().len(), before + 1, "and the next tool is an ordinary one");
}
