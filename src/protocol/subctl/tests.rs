//! Messages and spawns that keep to the protocol, and what is said of those that do not.

use serde_json::{Value, json};

use super::{breaches, missing};
use crate::protocol::payload;

/// The rules that a call breaks, with what they say of it.
fn rules(tool: &str, input: &Value, response: &Value, is_worker: bool) -> String {
    let payload = json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response});
    let payload = payload::read(payload.to_string().as_bytes()).unwrap();
    let keys = breaches(&payload, is_worker);
    keys.iter().map(|breach| breach.key("me").replace("subctl ", "")).collect::<Vec<_>>().join(", ")
}

fn message(input: &Value, is_worker: bool) -> String {
    rules("SendMessage", input, &json!({"success": true}), is_worker)
}

#[test]
fn messages_of_the_protocol_break_nothing() {
    for input in [
        json!({"to": "team-lead", "summary": "skills shipped and branch pushed", "message": "Branch pushed."}),
        json!({"to": "impl-1", "summary": "the next five words come", "message": "READY: go on"}),
        json!({"to": "impl-1", "message": {"type": "shutdown_request", "request_id": "shutdown-1", "reason": "done"}}),
        json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1", "approve": true}}),
        json!({"to": "team-lead", "message": {"type": "plan_approval_request", "request_id": "plan-1", "plan_summary": "x", "plan_body": "1. y"}}),
        json!({"to": "impl-1", "message": {"type": "plan_approval_response", "request_id": "plan-1", "approve": false, "feedback": "Skip step 3."}}),
        json!({"to": "impl-1", "message": "{\"type\":\"plan_approval_response\",\"request_id\":\"plan-1\",\"approve\":true}"}),
        json!({"to": "team-lead", "message": {"type": "idle_notification"}}),
        // Text that looks like JSON is text.
        json!({"to": "team-lead", "summary": "five words of a preview", "message": "{\"progress\": 50}"}),
        json!({"type": "message", "recipient": "team-lead", "summary": "five words of a preview", "content": "Done."}),
    ] {
        assert_eq!(message(&input, false), "", "{input}");
    }
}

#[test]
fn each_form_that_the_protocol_says_otherwise_is_named() {
    let check = |input: Value, wanted: &str| assert_eq!(message(&input, true), wanted, "{input}");
    check(
        json!({"to": "team-lead", "message": {"type": "progress", "percent": 50}}),
        "status-over-message me",
    );
    check(
        json!({"to": "team-lead", "message": {"type": "task_complete", "task": 3}}),
        "status-over-message me",
    );
    check(json!({"to": "team-lead", "message": {"status": "done"}}), "status-over-message me");
    check(
        json!({"to": "team-lead", "message": "{\"type\":\"status\",\"state\":\"done\"}"}),
        "status-over-message me",
    );
    check(json!({"to": "team-lead", "message": "Done."}), "summary-missing me");
    check(json!({"to": "team-lead", "summary": " ", "message": "Done."}), "summary-missing me");
    check(
        json!({"to": "team-lead", "message": {"type": "shutdown_response", "approve": true}}),
        "request-id-missing me shutdown_response",
    );
    check(
        json!({"to": "team-lead", "message": {"type": "plan_approval_request", "plan_summary": "x", "plan_body": "y"}}),
        "request-id-missing me plan_approval_request",
    );
    check(
        json!({"to": "impl-2", "message": {"type": "shutdown_request", "request_id": "s-1", "reason": "bored"}}),
        "shutdown-by-worker me",
    );
    check(
        json!({"to": "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41", "summary": "five words of a preview", "message": "x"}),
        "id-instead-of-name me 0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41",
    );
    check(
        json!({"to": "@asphinx-a2c92feb83dc957e", "summary": "five words of a preview", "message": "x"}),
        "id-instead-of-name me asphinx-a2c92feb83dc957e",
    );
    check(
        json!({"to": "a962de09-9b59-43f1-a753-19aed7fa0800", "message": "x"}),
        "summary-missing me, id-instead-of-name me a962de09-9b59-43f1-a753-19aed7fa0800",
    );
    // The client makes the id of a shutdown itself.
    let asked = json!({"to": "impl-1", "message": {"type": "shutdown_request", "reason": "done"}});
    let answer = json!({"success": true, "request_id": "shutdown-1@impl-1"});
    assert_eq!(rules("SendMessage", &asked, &answer, false), "");
    assert_eq!(
        rules(
            "TaskUpdate",
            &json!({"taskId": "1", "owner": "a962de09-9b59-43f1-a753-19aed7fa0800"}),
            &json!({}),
            false
        ),
        "id-instead-of-name me a962de09-9b59-43f1-a753-19aed7fa0800"
    );
    assert_eq!(rules("TaskUpdate", &json!({"taskId": "1", "owner": "impl-1"}), &json!({}), false), "");
}

/// A prompt as the protocol wants it.
const WHOLE: &str = "GOAL — build it\nCONTEXT — src/a.rs\nDELIVERABLE — a branch\nDONE WHEN — tests pass\nREPORT BACK — the SHA\nCONSTRAINTS — not src/b.rs\n";

#[test]
fn headings_are_found_however_they_are_written() {
    for prompt in [
        WHOLE.to_owned(),
        WHOLE.to_lowercase(),
        "# Goal\nx\n## 2. Context\nx\n**Deliverable**: x\n- Done when: x\n3) REPORT_BACK = x\n<constraints>\nx\n</constraints>".to_owned(),
        "GOAL: x. CONTEXT: x. DELIVERABLE: x. DONE WHEN: x. REPORT BACK: x. **CONSTRAINTS**: x.".to_owned(),
        WHOLE.replace('\n', "\r\n"),
    ] {
        assert_eq!(missing(&prompt), Vec::<&str>::new(), "{prompt}");
    }
}

#[test]
fn headings_that_are_missing_are_named() {
    let check = |prompt: &str, wanted: &[&str]| assert_eq!(missing(prompt), wanted, "{prompt}");
    check("", &["GOAL", "CONTEXT", "DELIVERABLE", "DONE WHEN", "REPORT BACK", "CONSTRAINTS"]);
    check(&WHOLE.replace("CONSTRAINTS", "Scope"), &["CONSTRAINTS"]);
    check(&WHOLE.replace("DONE WHEN", "DONEWHEN"), &["DONE WHEN"]);
    // A word that only begins like a heading, or stands in a sentence, is none.
    check(&WHOLE.replace("GOAL —", "Goals of this work:"), &["GOAL"]);
    check(&WHOLE.replace("CONTEXT —", "In this context"), &["CONTEXT"]);
    check(&WHOLE.replace("REPORT BACK —", "Then report back:"), &["REPORT BACK"]);
}

#[test]
fn a_spawn_outside_the_team_and_a_prompt_without_headings_are_named() {
    let check = |input: Value, response: Value, wanted: &str| {
        assert_eq!(rules("Agent", &input, &response, false), wanted, "{input}");
    };
    let spawned =
        json!({"status": "teammate_spawned", "agent_id": "aimpl-1-0011223344556677", "name": "impl-1"});
    let of = |prompt: &str| json!({"description": "x", "prompt": prompt, "subagent_type": "general-purpose", "name": "impl-1", "team_name": "t1"});
    check(of(WHOLE), spawned.clone(), "");
    check(
        of("Do it."),
        spawned.clone(),
        "prompt-lacks-headings me impl-1 GOAL, CONTEXT, DELIVERABLE, DONE WHEN, REPORT BACK, CONSTRAINTS",
    );
    // Newer clients have one team for each session, and take no name for it.
    let mut unnamed = of(WHOLE);
    unnamed.as_object_mut().unwrap().shift_remove("team_name");
    check(unnamed.clone(), spawned, "");
    let ended = json!({"status": "completed", "agentId": "a1", "content": []});
    check(unnamed, ended.clone(), "spawn-outside-team me impl-1");
    check(
        json!({"prompt": "x", "subagent_type": "general-purpose"}),
        ended.clone(),
        "spawn-outside-team me general-purpose",
    );
    check(json!({"prompt": "x", "subagent_type": "Explore"}), ended, "");
    check(of("Do it."), json!({"status": "failed"}), "");
}

#[test]
fn a_prompt_that_may_have_been_cut_is_not_judged() {
    let spawned = json!({"status": "teammate_spawned", "name": "impl-1"});
    let of = |prompt: String| rules("Agent", &json!({"prompt": prompt, "name": "impl-1"}), &spawned, false);
    let lacks =
        "prompt-lacks-headings me impl-1 GOAL, CONTEXT, DELIVERABLE, DONE WHEN, REPORT BACK, CONSTRAINTS";
    assert_eq!(of("word ".repeat(12_000)), lacks);
    assert_eq!(of("word ".repeat(13_200)), "");
    assert_eq!(of("line\n".repeat(10_000)), lacks);
    assert_eq!(of("ä".repeat(11_000)), "");
}

#[test]
fn no_text_of_a_message_or_prompt_is_taken_over() {
    let secret = "the-body-of-it";
    for (tool, input) in [
        ("SendMessage", json!({"to": "team-lead", "message": secret})),
        ("SendMessage", json!({"to": "team-lead", "message": {"type": "progress", "text": secret}})),
        ("Agent", json!({"prompt": secret, "name": "impl-1", "team_name": "t"})),
    ] {
        let payload = json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": {}});
        let payload = payload::read(payload.to_string().as_bytes()).unwrap();
        let found = breaches(&payload, true);
        assert!(!found.is_empty(), "{input}");
        assert!(
            found.iter().all(|breach| !breach.words().contains(secret) && !breach.key("me").contains(secret))
        );
    }
}
