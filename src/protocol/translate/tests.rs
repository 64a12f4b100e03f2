//! What each recorded payload becomes in the journal, and that ids stay ids.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Client, event};
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::protocol::payload;

fn of(value: &Value) -> Event {
    let payload = payload::read(value.to_string().as_bytes()).unwrap();
    event(&payload, Client { pid: Some(77), entry: "cli" }, 1000)
}

/// The journal's line of a payload, without what is the same in all of them.
fn line(event: &Event) -> String {
    let mut fields = serde_json::to_value(event).unwrap();
    let object = fields.as_object_mut().unwrap();
    for field in ["v", "at", "session", "hash"] {
        object.shift_remove(field);
    }
    if let Some(message) = object.get_mut("message") {
        message.as_object_mut().unwrap().shift_remove("hash");
    }
    fields.to_string().replace("toolu_0000000000000000", "").replace("areviewer-000000000000", "")
}

#[test]
fn every_recorded_payload_has_its_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/payloads");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let lines: Vec<String> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy();
            let payload = payload::read(&fs::read(path).unwrap()).unwrap();
            format!("{name}: {}", line(&event(&payload, Client { pid: Some(77), entry: "cli" }, 1000)))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    FileChanged.add: {"event":"other","hook":"FileChanged"}
    FileChanged.unlink: {"event":"other","hook":"FileChanged"}
    Notification.permission_prompt: {"event":"notice","kind":"permission_prompt"}
    PermissionRequest.Bash: {"event":"permission","tool":"Bash"}
    PostToolBatch: {"event":"other","hook":"PostToolBatch"}
    PostToolUse.Agent: {"spawn":{"name":"reviewer","id":"00a1","kind":"general-purpose","teammate":true},"event":"tool_end","tool":"Agent","id":"0001"}
    PostToolUse.Bash.from-teammate: {"agent":"00a1","name":"reviewer","event":"tool_end","tool":"Bash","id":"0002"}
    PostToolUse.Bash: {"event":"tool_end","tool":"Bash","id":"0003"}
    PostToolUse.SendMessage.from-lead: {"event":"tool_end","tool":"SendMessage","id":"0004","message":{"to":"reviewer","delivered":true,"head":"REVIEW_REQUEST","sender":"team-lead"}}
    PostToolUse.SendMessage.from-teammate: {"agent":"00a1","name":"reviewer","event":"tool_end","tool":"SendMessage","id":"0005","message":{"to":"team-lead","delivered":true,"head":"READY","sender":"reviewer"}}
    PostToolUse.SendMessage.shutdown_request: {"event":"tool_end","tool":"SendMessage","id":"0006","message":{"to":"reviewer","delivered":true,"head":"shutdown_request","request_id":"shutdown-1800000000000@reviewer"}}
    PostToolUse.SendMessage.unknown-recipient: {"event":"tool_end","tool":"SendMessage","id":"0007","message":{"to":"nobody-here","delivered":false,"head":"REVIEW_REQUEST"}}
    PostToolUse.ToolSearch: {"event":"tool_end","tool":"ToolSearch","id":"0008"}
    PreToolUse.Agent: {"event":"tool_start","tool":"Agent","id":"0001"}
    PreToolUse.Bash.from-teammate: {"agent":"00a1","name":"reviewer","event":"tool_start","tool":"Bash","id":"0002"}
    PreToolUse.Bash: {"event":"tool_start","tool":"Bash","id":"0003","timeout_ms":600000}
    PreToolUse.SendMessage.from-lead: {"event":"tool_start","tool":"SendMessage","id":"0004"}
    PreToolUse.SendMessage.from-teammate: {"agent":"00a1","name":"reviewer","event":"tool_start","tool":"SendMessage","id":"0005"}
    PreToolUse.SendMessage.shutdown_request: {"event":"tool_start","tool":"SendMessage","id":"0006"}
    PreToolUse.SendMessage.unknown-recipient: {"event":"tool_start","tool":"SendMessage","id":"0007"}
    PreToolUse.ToolSearch: {"event":"tool_start","tool":"ToolSearch","id":"0008"}
    SessionEnd.clear: {"event":"session_end","reason":"clear"}
    SessionEnd.other: {"event":"session_end","reason":"other"}
    SessionEnd.prompt_input_exit: {"event":"session_end","reason":"prompt_input_exit"}
    SessionStart.clear: {"event":"session_start","source":"clear","pid":77,"entry":"cli"}
    SessionStart.startup: {"event":"session_start","source":"startup","pid":77,"entry":"cli"}
    Stop: {"event":"turn_end"}
    StopFailure.authentication_failed: {"event":"api_error","error":"authentication_failed"}
    StopFailure.server_error: {"event":"api_error","error":"server_error","holds":true}
    StopFailure.unknown: {"event":"api_error","error":"unknown"}
    SubagentStart: {"agent":"00a1","name":"reviewer","event":"agent_start"}
    SubagentStop: {"agent":"00a1","name":"reviewer","event":"agent_stop"}
    TaskCompleted: {"task_change":{"id":"2","status":"completed"},"event":"other","hook":"TaskCompleted"}
    TaskCreated: {"task_change":{"id":"1","created":true,"status":"pending","subject":"55466f51"},"event":"other","hook":"TaskCreated"}
    TeammateIdle: {"agent":"00a1","name":"reviewer","event":"idle"}
    UserPromptSubmit.after-rewake: {"event":"prompt","wake":true}
    UserPromptSubmit: {"event":"prompt"}
    "#);
}

#[test]
fn a_failed_tool_sent_nothing() {
    let input = json!({"to": "rakim", "message": "READY: x"});
    let sent = |name: &str| {
        let value = json!({
            "hook_event_name": name, "tool_name": "SendMessage", "tool_use_id": "t1", "tool_input": input,
            "tool_response": {"success": true},
        });
        match of(&value).what {
            What::ToolEnd { failed, message, .. } => (failed, message.map(|message| message.to)),
            what => panic!("{what:?}"),
        }
    };
    assert_eq!(sent("PostToolUse"), (false, Some("rakim".to_owned())));
    assert_eq!(sent("PostToolUseFailure"), (true, None));
}

#[test]
fn ids_stay_apart_however_much_they_look_like_keys() {
    let start = |id: &str| {
        of(&json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": id, "agent_type": "coder",
            "agent_id": format!("acritical-thinker-12-{id}"), "session_id": format!("session-{id}"),
        }))
    };
    let mut ledger = Ledger::default();
    for id in ["toolu_bdrk_01A09q90qw9lq917835lq9aX", "toolu_bdrk_01B09q90qw9lq917835lq9aY"] {
        let event = start(id);
        assert!(event.session.ends_with(id) && event.agent.ends_with(id), "{event:?}");
        ledger.apply(&Event { session: "s1".to_owned(), agent: String::new(), ..event });
    }
    assert_eq!(ledger.sessions["s1"].agents[""].tools.len(), 2);
}

#[test]
fn an_agent_without_an_id_is_known_by_its_name() {
    let idle = of(&json!({"hook_event_name": "TeammateIdle", "teammate_name": "kiln:rakim"}));
    assert_eq!((idle.agent.as_str(), idle.name.as_str(), idle.is_lead()), ("rakim", "rakim", false));
    assert!(of(&json!({"hook_event_name": "SubagentStop"})).is_lead());
}

#[test]
fn a_failure_is_named_and_explained_in_every_form() {
    let failure = |value: Value| match of(&value).what {
        What::ApiError { error, holds, reset_at } => format!("{error} {holds} {reset_at:?}"),
        what => panic!("{what:?}"),
    };
    let event = |mut value: Value| {
        value["hook_event_name"] = json!("StopFailure");
        failure(value)
    };
    assert_eq!(event(json!({})), "unknown false None");
    assert_eq!(event(json!({"error": "", "error_type": "overloaded"})), "overloaded true None");
    assert_eq!(
        event(json!({"error": "server_error", "last_assistant_message": "API Error: 529"})),
        "server_error true None"
    );
    assert_eq!(
        event(
            json!({"error": "rate_limit", "error_details": "resets 2026-12-01T04:10:05Z", "error_message": "x"})
        ),
        "rate_limit true Some(1796098205000)"
    );
    assert_eq!(event(json!({"error": 7, "error_message": "529 overloaded"})), "unknown false None");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_in_a_line_is_long_or_breaks_it(
        name in prop::sample::select(vec!["PreToolUse", "PostToolUse", "Notification", "StopFailure", "SessionStart", "Odd"]),
        text in prop_oneof![any::<String>(), "[a-z\\n\\x1b]{0,5000}"],
    ) {
        let fields = ["session_id", "agent_id", "agent_type", "tool_name", "tool_use_id", "notification_type", "error",
            "source", "reason"];
        let mut value = json!({"hook_event_name": name, "tool_input": {"to": text, "message": text}});
        for field in fields {
            value[field] = json!(text);
        }
        value["tool_name"] = json!("SendMessage");
        let line = serde_json::to_value(of(&value)).unwrap();
        for text in line.as_object().unwrap().values().filter_map(Value::as_str) {
            prop_assert!(!text.chars().any(char::is_control) && text.chars().count() <= 200, "{:?}", text);
        }
        prop_assert!(line.to_string().chars().count() < 4000);
    }
}
