//! Lines of a message log.

use proptest::prelude::*;
use serde_json::json;

use super::read;

fn faults(line: &str) -> Vec<String> {
    let faults = read(line.as_bytes()).1;
    faults.into_iter().map(|fault| format!("{}: {}", fault.rule.word(), fault.fact)).collect()
}

#[test]
fn a_line_of_the_tool_is_read() {
    let line = r#"{"id":"MSG-007","ts":"2026-01-15T10:30:00.123+00:00","from":"analyst","to":"planner","type":"progress","summary":"[analyst] progress → planner","dispatch_status":"delivered"}"#;
    let (message, faults) = read(line.as_bytes());
    let message = message.expect("a message");
    assert_eq!(faults, []);
    assert_eq!(
        (message.id.as_str(), message.number, message.at),
        ("MSG-007", Some(7), Some(1_768_473_000_123))
    );
    assert_eq!(
        (message.from.as_str(), message.to.as_str(), message.kind.as_str()),
        ("analyst", "planner", "progress")
    );
    assert_eq!((message.update, message.mark.len()), (None, 8));
}

#[test]
fn every_field_may_be_left_out() {
    let (message, faults) = read(b"{}");
    let message = message.expect("a message");
    assert_eq!(faults, []);
    assert_eq!(
        (message.id.as_str(), message.number, message.at, message.from.as_str()),
        ("", None, None, "")
    );
    assert_eq!((message.to.as_str(), message.kind.as_str(), message.task()), ("coordinator", "message", ""));
    let (message, faults) = read(br#"{"id":null,"to":"","type":" "}"#);
    assert_eq!(
        (message.map(|message| (message.to, message.kind)), faults.len()),
        (Some(("coordinator".to_owned(), "message".to_owned())), 0)
    );
}

#[test]
fn fields_are_of_their_form() {
    let check = |line: &str, wanted: &[&str]| assert_eq!(faults(line), wanted, "{line}");
    for id in ["MSG-001", "MSG-999", "MSG-1000"] {
        check(&json!({ "id": id }).to_string(), &[]);
    }
    for id in ["MSG-1", "MSG-0001", "msg-001", "7", "MSG-", "MSG-00x"] {
        check(
            &json!({ "id": id }).to_string(),
            &[&format!("id-form: id is \"{id}\", not of the form MSG-001")],
        );
    }
    check(r#"{"id":7}"#, &["field-type: id is no text"]);
    check(r#"{"ts":"yesterday"}"#, &["stamp-form: ts is \"yesterday\", no ISO 8601 stamp"]);
    check(r#"{"ts":"2026-01-15T10:30:00Z"}"#, &[]);
    check(
        r#"{"from":["a"],"to":{},"type":false}"#,
        &["field-type: from is no text", "field-type: to is no text", "field-type: type is no text"],
    );
    check(r#"{"type":"state_update"}"#, &["payload-missing: a state_update carries no data"]);
    check(r#"{"type":"state_update","data":"done"}"#, &["field-type: data is no object"]);
    check(r#"{"type":"progress","data":"done"}"#, &[]);
}

#[test]
fn what_is_no_object_is_passed_over() {
    for line in [
        "",
        "x",
        "[1]",
        "7",
        "\"MSG-001\"",
        "{\"id\":\"MSG-001\"",
        "{\"id\":\"MSG-0{\"id\":\"MSG-002\"}",
        "{}{}",
        "\u{0}",
    ] {
        assert_eq!(read(line.as_bytes()).0, None, "{line}");
        assert_eq!(faults(line), ["torn-line: the line is no JSON object and was passed over"], "{line}");
    }
}

#[test]
fn a_report_is_read_and_an_older_ref_counts() {
    let data = json!({"status": "task_complete", "task_id": "PLAN-001", "key_findings": [], "decisions": [], "verification": "tested"});
    let line =
        json!({"type": "state_update", "from": "planner", "ref": "artifacts/PLAN-001-plan.md", "data": data});
    let (message, faults) = read(line.to_string().as_bytes());
    assert_eq!(faults, []);
    let message = message.expect("a message");
    assert_eq!(message.task(), "PLAN-001");
    assert_eq!(message.update.expect("a report").reference, "artifacts/PLAN-001-plan.md");
}

#[test]
fn a_message_is_told_from_every_other() {
    let mark = |line: &str| read(line.as_bytes()).0.expect("a message").mark;
    let lines = [
        r#"{"id":"MSG-001"}"#,
        r#"{"id":"MSG-002"}"#,
        r#"{"id":"MSG-001","from":"a"}"#,
        r#"{"id":"MSG-001","type":"a"}"#,
    ];
    let mut marks: Vec<String> = lines.iter().map(|line| mark(line)).collect();
    marks.sort();
    marks.dedup();
    assert_eq!(marks.len(), lines.len());
    assert_eq!(
        mark(r#"{"id":"MSG-001","dispatch_status":"pending"}"#),
        mark(r#"{"id":"MSG-001","dispatch_status":"delivered","delivered_at":"x"}"#)
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn any_values_are_read(id in any::<String>(), ts in any::<String>(), from in any::<String>(), kind in "state_update|[a-z]{0,9}", data in any::<Option<String>>()) {
        let line = json!({"id": id, "ts": ts, "from": from, "type": kind, "data": {"ref": data, "task_id": from}});
        let (message, _) = read(line.to_string().as_bytes());
        let message = message.expect("an object is a message");
        prop_assert!(message.from.chars().count() <= 80 && message.id.chars().count() <= 80);
        prop_assert!(!message.from.contains(char::is_control));
    }
}
