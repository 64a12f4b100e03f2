//! Every payload that a client was seen to send, and every way in which one can be broken.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Payload, bare, read};

/// The recorded payloads by file name.
fn recorded() -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/payloads");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let json = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    json.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect()
}

fn of(value: &Value) -> Option<Payload> {
    read(value.to_string().as_bytes())
}

/// What is read of a payload, in one line.
fn shown(payload: &Payload) -> String {
    let mut parts = vec![format!("{} | {}", payload.source(), payload.session().get(..8).unwrap_or("-"))];
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            parts.push(format!("{name}={value}"));
        }
    };
    add("agent", payload.agent());
    add("name", payload.name());
    add("call", payload.field("tool_use_id").trim_start_matches("toolu_0000000000000000"));
    add("ms", &payload.timeout_ms().map(|ms| ms.to_string()).unwrap_or_default());
    if let Some(message) = payload.message() {
        add("to", &message.to);
        add("head", &message.head);
        add("request", &message.request_id);
        add("lost", if message.delivered { "" } else { "yes" });
    }
    add("wake", if payload.is_own_wake() { "yes" } else { "" });
    parts.join(" ")
}

#[test]
fn every_recorded_payload_is_read() {
    let lines: Vec<String> = recorded()
        .iter()
        .map(|(name, bytes)| {
            format!("{name}: {}", read(bytes).as_ref().map_or("unreadable".to_owned(), shown))
        })
        .collect();
    assert!(lines.len() >= 35, "{}", lines.len());
    insta::assert_snapshot!(lines.join("\n"), @"
    FileChanged.add: FileChanged | 00000001
    FileChanged.unlink: FileChanged | 00000001
    Notification.permission_prompt: Notification | 00000003
    PermissionRequest.Bash: PermissionRequest:Bash | 00000003
    PostToolBatch: PostToolBatch | 00000005
    PostToolUse.Agent: PostToolUse:Agent | 00000005 call=0001
    PostToolUse.Bash: PostToolUse:Bash | 00000007 call=0003 ms=600000
    PostToolUse.Bash.from-teammate: PostToolUse:Bash | 00000005 agent=areviewer-00000000000000a1 name=reviewer call=0002
    PostToolUse.SendMessage.from-lead: PostToolUse:SendMessage | 00000005 call=0004 to=reviewer head=REVIEW_REQUEST
    PostToolUse.SendMessage.from-teammate: PostToolUse:SendMessage | 00000005 agent=areviewer-00000000000000a1 name=reviewer call=0005 to=team-lead head=READY
    PostToolUse.SendMessage.shutdown_request: PostToolUse:SendMessage | 00000007 call=0006 to=reviewer head=shutdown_request request=shutdown-1800000000000@reviewer
    PostToolUse.SendMessage.unknown-recipient: PostToolUse:SendMessage | 00000005 call=0007 to=nobody-here head=REVIEW_REQUEST lost=yes
    PostToolUse.ToolSearch: PostToolUse:ToolSearch | 00000005 call=0008
    PreToolUse.Agent: PreToolUse:Agent | 00000005 call=0001
    PreToolUse.Bash: PreToolUse:Bash | 00000007 call=0003 ms=600000
    PreToolUse.Bash.from-teammate: PreToolUse:Bash | 00000005 agent=areviewer-00000000000000a1 name=reviewer call=0002
    PreToolUse.SendMessage.from-lead: PreToolUse:SendMessage | 00000005 call=0004 to=reviewer head=REVIEW_REQUEST
    PreToolUse.SendMessage.from-teammate: PreToolUse:SendMessage | 00000005 agent=areviewer-00000000000000a1 name=reviewer call=0005 to=team-lead head=READY
    PreToolUse.SendMessage.shutdown_request: PreToolUse:SendMessage | 00000007 call=0006 to=reviewer head=shutdown_request
    PreToolUse.SendMessage.unknown-recipient: PreToolUse:SendMessage | 00000005 call=0007 to=nobody-here head=REVIEW_REQUEST
    PreToolUse.ToolSearch: PreToolUse:ToolSearch | 00000005 call=0008
    SessionEnd.clear: SessionEnd | 00000001
    SessionEnd.other: SessionEnd | 00000011
    SessionEnd.prompt_input_exit: SessionEnd | 00000001
    SessionStart.clear: SessionStart | 00000013
    SessionStart.startup: SessionStart | 00000005
    Stop: Stop | 00000005
    StopFailure.authentication_failed: StopFailure | 00000014
    StopFailure.server_error: StopFailure | 00000016
    StopFailure.unknown: StopFailure | 00000018
    SubagentStart: SubagentStart | 00000005 agent=areviewer-00000000000000a1 name=reviewer
    SubagentStop: SubagentStop | 00000005 agent=areviewer-00000000000000a1 name=reviewer
    TaskCompleted: TaskCompleted | 00000021
    TaskCreated: TaskCreated | 00000021
    TeammateIdle: TeammateIdle | 00000005 agent=areviewer-00000000000000a1 name=reviewer
    UserPromptSubmit: UserPromptSubmit | 00000005
    UserPromptSubmit.after-rewake: UserPromptSubmit | 00000001 wake=yes
    ");
}

#[test]
fn a_recorded_payload_names_no_real_person_place_or_key() {
    for (name, bytes) in recorded() {
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(crate::model::wording::plain(&text, usize::MAX).matches("[masked]").count(), 0, "{name}");
        for path in text.split('"').filter(|part| part.starts_with('/') && part.len() > 1) {
            assert!(path.starts_with("/home/dev/") || path.starts_with("/tmp/client/"), "{name}: {path}");
        }
    }
}

#[test]
fn a_payload_needs_an_object_that_names_an_event() {
    for text in [
        "",
        " ",
        "{}",
        "[]",
        "null",
        "true",
        "7",
        "\"Stop\"",
        "{\"hook_event_name\":\"\"}",
        "{\"hook_event_name\":null}",
        "{\"hook_event_name\":7}",
        "{\"hook_event_name\":[\"Stop\"]}",
        "{\"session_id\":\"s1\"}",
        "{\"hook_event_name\":\"Stop\"",
        "{\"hook_event_name\":\"Stop\"}{",
        "hook_event_name",
        "\u{0}\u{0}\u{0}",
    ] {
        assert!(read(text.as_bytes()).is_none(), "{text}");
    }
    let least = read(br#"{"hook_event_name":"PostToolUse","tool_name":"SendMessage"}"#).unwrap();
    assert_eq!(shown(&least), "PostToolUse:SendMessage | -");
}

#[test]
fn an_event_that_is_not_known_keeps_its_name() {
    let payload =
        of(&json!({"hook_event_name": "Telepathy", "session_id": "s1-00000", "agent_type": "seer"})).unwrap();
    assert_eq!(shown(&payload), "Telepathy | s1-00000");
}

#[test]
fn of_a_key_that_occurs_twice_the_last_counts() {
    let payload =
        read(br#"{"hook_event_name":"Stop","tool_name":"A","hook_event_name":"PreToolUse","tool_name":"B"}"#);
    assert_eq!(payload.unwrap().source(), "PreToolUse:B");
}

#[test]
fn the_agent_and_its_name_are_found_in_every_form() {
    let check = |mut value: Value, event: &str, agent: &str, name: &str| {
        value["hook_event_name"] = json!(event);
        let payload = of(&value).unwrap();
        assert_eq!((payload.agent(), payload.name()), (agent, name), "{value}");
    };
    check(json!({"agent_id": "a1", "agent_type": "kiln:rakim"}), "PreToolUse", "a1", "rakim");
    check(json!({"agent_id": "a1", "agent_type": " kiln:rakim "}), "SubagentStart", "a1", "rakim");
    check(json!({"agent_id": "a1", "agent_type": ""}), "SubagentStop", "a1", "");
    check(json!({"agent_id": "a1"}), "SubagentStop", "a1", "");
    // The kind of the main agent is no name of another.
    check(json!({"agent_type": "planner"}), "SessionStart", "", "");
    check(json!({"agent_type": "planner"}), "PreToolUse", "", "");
    check(json!({"agent_type": "planner"}), "SubagentStart", "", "planner");
    check(json!({"teammate_name": "rakim", "team_name": "t1"}), "TeammateIdle", "", "rakim");
    check(
        json!({"teammate_name": "rakim", "agent_id": "a1", "agent_type": "general"}),
        "TeammateIdle",
        "a1",
        "rakim",
    );
    check(
        json!({"teammate": {"name": "kiln:rakim", "id": "a7", "context": {}}}),
        "TeammateIdle",
        "a7",
        "rakim",
    );
    check(json!({"agent_id": "member@team", "agent_type": "rakim"}), "Stop", "member@team", "rakim");
}

#[test]
fn a_prefix_is_taken_from_names_only_at_their_beginning() {
    for (name, wanted) in
        [("kiln:rakim", "rakim"), ("rakim", "rakim"), ("x:kiln:rakim", "x:kiln:rakim"), ("kiln:", "")]
    {
        assert_eq!(bare(name), wanted);
    }
}

#[test]
fn a_call_has_a_time_limit_if_it_says_a_believable_one() {
    let limit = |timeout: Value| {
        let input = json!({"command": "x", "timeout": timeout});
        of(&json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input}))
            .unwrap()
            .timeout_ms()
    };
    assert_eq!(limit(json!(600_000)), Some(600_000));
    assert_eq!(limit(json!(1500.7)), Some(1500));
    assert_eq!(limit(json!("120000")), Some(120_000));
    assert_eq!(limit(json!(86_400_000)), Some(86_400_000));
    for nonsense in [
        json!(0),
        json!(-5),
        json!(86_400_001),
        json!(1e300),
        json!(null),
        json!("soon"),
        json!([1]),
        json!("NaN"),
    ] {
        assert_eq!(limit(nonsense.clone()), None, "{nonsense}");
    }
}

#[test]
fn equal_calls_have_equal_hashes_and_others_do_not() {
    let hash = |tool: &str, input: Value| {
        of(&json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input}))
            .unwrap()
            .call_hash()
    };
    let read = hash("Read", json!({"file_path": "a", "limit": 5}));
    assert_eq!(read.len(), 8);
    assert_eq!(read, hash("Read", json!({"file_path": "a", "limit": 5})));
    for other in [
        hash("Grep", json!({"file_path": "a", "limit": 5})),
        hash("Read", json!({"file_path": "b", "limit": 5})),
        hash("Read", json!({"file_path": "a", "limit": "5"})),
        hash("Read", json!({"file_pat": "ha", "limit": 5})),
        hash("Read", json!(["file_path", "a", "limit", 5])),
        hash("Read", json!(null)),
    ] {
        assert_ne!(read, other);
    }
}

#[test]
fn only_our_own_wake_is_one() {
    let wake = |prompt: &str| {
        of(&json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt})).unwrap().is_own_wake()
    };
    assert!(wake(
        "<task-notification>\nStop hook blocking error: KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: …"
    ));
    assert!(wake("\n <task-notification>KILN ASYNC REWAKE: x</task-notification>"));
    assert!(!wake("KILN ASYNC REWAKE: what does that mean?"));
    assert!(!wake("<task-notification>another hook's text</task-notification>"));
    assert!(!wake(""));
}

/// Every field of every recorded payload in turn missing, null and of a wrong type.
#[test]
fn no_field_is_needed_but_the_event_s_name() {
    let mut checked = 0;
    for (name, bytes) in recorded() {
        let whole: Value = serde_json::from_slice(&bytes).unwrap();
        let payload = read(&bytes).unwrap();
        for field in whole.as_object().unwrap().keys().filter(|field| *field != "hook_event_name") {
            let mut broken = vec![whole.clone()];
            broken[0].as_object_mut().unwrap().remove(field);
            for wrong in
                [Value::Null, json!(7), json!(true), json!(""), json!([1, "x"]), json!({"a": {"b": []}})]
            {
                let mut changed = whole.clone();
                changed[field] = wrong;
                broken.push(changed);
            }
            for value in broken {
                let found = of(&value).unwrap_or_else(|| panic!("{name} without a good {field}"));
                assert_eq!(found.event, payload.event, "{name}, {field}");
                assert!(!shown(&found).is_empty());
                if !matches!(field.as_str(), "tool_name" | "tool_input") {
                    assert_eq!(found.call_hash(), payload.call_hash(), "{name}, {field}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn half_of_a_surrogate_pair_in_a_tool_s_output_loses_nothing_else() {
    let text = r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t1","tool_response":"cut \ud83d"}"#;
    assert_eq!(shown(&read(text.as_bytes()).unwrap()), "PostToolUse:Bash | - call=t1");
}

#[test]
fn depth_does_no_harm() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
    for nested in [deep("[", "]"), deep("{\"a\":", "}"), deep("[{\"a\":", "}]")] {
        let text = format!("{{\"tool_input\":{nested},\"hook_event_name\":\"Stop\",\"agent_id\":{nested}}}");
        let payload = read(text.as_bytes()).unwrap();
        assert_eq!((payload.event.as_str(), payload.agent()), ("Stop", ""));
        assert_eq!(payload.call_hash().len(), 8);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Some(payload) = read(&bytes) {
            prop_assert!(!shown(&payload).is_empty());
        }
    }

    #[test]
    fn no_change_of_a_good_payload_makes_it_panic(
        pick in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let all: Vec<Vec<u8>> = recorded().into_values().collect();
        let mut bytes = all[pick.index(all.len())].clone();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for bytes in [&bytes[..], &bytes[..end.index(bytes.len())]] {
            if let Some(payload) = read(bytes) {
                prop_assert!(!shown(&payload).is_empty());
            }
        }
    }
}
