//! Messages between agents, in both generations of field names.

use super::{head, read};
use crate::protocol::sketch;

#[test]
fn the_head_of_a_signal_is_its_leading_word_in_capitals() {
    for (text, wanted) in [
        ("REVIEW_REQUEST: please", Some("REVIEW_REQUEST")),
        ("BUILD_COMPLETE", Some("BUILD_COMPLETE")),
        ("  QA_PASS\nall green", Some("QA_PASS")),
        ("QA_PASS\r\nall green", Some("QA_PASS")),
        ("**READY**: up", Some("READY")),
        ("**READY:** up", Some("READY")),
        ("`BLOCKED`: no network", Some("BLOCKED")),
        ("# ARCHIVE: step=5", Some("ARCHIVE")),
        ("LOG: READY | x", Some("LOG")),
        ("STEP2_DONE: x", Some("STEP2_DONE")),
        ("READY up", None),
        ("OK: done", None),
        ("Ready: up", None),
        ("please REVIEW_REQUEST: x", None),
        ("2ND: x", None),
        ("", None),
        ("ÄRGER: x", None),
    ] {
        assert_eq!(head(text).as_deref(), wanted, "{text:?}");
    }
}

fn shown(input: &str, response: &str) -> String {
    let message = read(&sketch::read(input.as_bytes()).unwrap(), &sketch::read(response.as_bytes()).unwrap());
    format!("{:?} {} {:?} {:?}", message.to, message.delivered, message.head, message.request_id)
}

#[test]
fn both_generations_of_field_names_are_understood() {
    let check =
        |input: &str, response: &str, wanted: &str| assert_eq!(shown(input, response), wanted, "{input}");
    check(r#"{"to":"rakim","message":"READY: x"}"#, r#"{"success":true}"#, r#""rakim" true "READY" """#);
    check(
        r#"{"type":"message","recipient":"rakim","content":"READY: x"}"#,
        "null",
        r#""rakim" true "READY" """#,
    );
    check(r#"{"to":"","recipient":"rakim","message":"hello"}"#, r#""sent""#, r#""rakim" true "" """#);
    check(
        r#"{"to":"raki","message":"x"}"#,
        r#"{"success":false,"message":"No agent"}"#,
        r#""raki" false "" """#,
    );
    check(r#"{"to":["rakim"],"message":7}"#, r#"{"success":"no"}"#, r#""" true "" """#);
    check("{}", "[]", r#""" true "" """#);
}

#[test]
fn a_structured_message_is_known_by_its_type_and_request() {
    let check =
        |input: &str, response: &str, wanted: &str| assert_eq!(shown(input, response), wanted, "{input}");
    check(
        r#"{"to":"rakim","message":{"type":"shutdown_request","reason":"done"}}"#,
        r#"{"success":true,"request_id":"shutdown-1@rakim"}"#,
        r#""rakim" true "shutdown_request" "shutdown-1@rakim""#,
    );
    check(
        r#"{"to":"team-lead","message":{"type":"shutdown_response","request_id":"r1","approve":true}}"#,
        r#"{"success":true}"#,
        r#""team-lead" true "shutdown_response" "r1""#,
    );
    check(
        r#"{"type":"plan_approval_response","recipient":"coder","request_id":"r2","approve":false}"#,
        "null",
        r#""coder" true "plan_approval_response" "r2""#,
    );
}

#[test]
fn the_agents_that_a_signal_names_are_taken_from_both_forms() {
    let check = |text: &str, wanted: &[(&str, &str)]| {
        let input = format!("{{\"to\":\"team-lead\",\"message\":{}}}", serde_json::json!(text));
        let message = read(&sketch::read(input.as_bytes()).unwrap(), &sketch::Sketch::Nothing);
        let names: Vec<(&str, &str)> =
            message.names.iter().map(|(key, name)| (key.as_str(), name.as_str())).collect();
        assert_eq!(names, wanted, "{text}");
    };
    check(
        "CYCLE_WORKERS: scenario=default, coder_name=athos, reviewer_name=kiln:porthos, reason=first",
        &[("coder_name", "athos"), ("reviewer_name", "porthos")],
    );
    check(
        "REQUEST_WORKERS: tintin (subagent_type: kiln:dial-a-coder), `kiln:haddock` (subagent_type=x)",
        &[("worker_1", "tintin"), ("worker_2", "haddock")],
    );
    check("REQUEST_WORKERS: (subagent_type: x), two (of a kind)", &[]);
    check("(subagent_type: x)", &[]);
    let many = "w (subagent_type: x), ".repeat(20);
    let input = format!("{{\"message\":\"{many}\"}}");
    assert_eq!(read(&sketch::read(input.as_bytes()).unwrap(), &sketch::Sketch::Nothing).names.len(), 8);
}

#[test]
fn the_body_is_known_by_its_hash_alone() {
    let hash = |input: &str| read(&sketch::read(input.as_bytes()).unwrap(), &sketch::Sketch::Nothing).hash;
    let first = hash(r#"{"to":"a","message":"the same words"}"#);
    assert_eq!(first, hash(r#"{"recipient":"b","content":"the same words"}"#));
    assert_ne!(first, hash(r#"{"to":"a","message":"other words"}"#));
    assert_eq!(first.len(), 8);
}

#[test]
fn ready_for_the_next_task_is_said_in_words() {
    let ready = |text: &str| {
        let input = serde_json::json!({"to": "team-lead", "message": text}).to_string();
        read(&sketch::read(input.as_bytes()).unwrap(), &sketch::Sketch::Nothing).ready
    };
    for text in [
        "ready for next task",
        "Branch pushed. Ready for the next task.",
        "I am READY, for next\ntask!",
        "not ready yet, ready for next task soon",
    ] {
        assert!(ready(text), "{text}");
    }
    for text in
        ["", "ready", "ready for next", "ready for shutdown", "already for next task", "next task: ready"]
    {
        assert!(!ready(text), "{text}");
    }
}
