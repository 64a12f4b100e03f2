//! Records that are valid, records that are not, and what a replay makes of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Queue, expired, is_uuid, standing};
use crate::model::plan::PlanState;

const ID: &str = "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41";
const OTHER: &str = "6f1c2b3a-1111-4222-8333-444455556666";

fn pending() -> Value {
    json!({
        "id": ID, "request_id": "plan-2026-05-13-007", "worker_name": "impl-1", "team_id": "backend",
        "plan_summary": "Refactor profile loader to new schema", "plan_body": "1. Move\n2. Migrate",
        "created_at": "2026-05-13T09:00:00.000Z", "status": "pending",
    })
}

/// A record with fields changed; null takes one away.
fn with(changes: &Value) -> Value {
    let mut record = pending();
    for (key, value) in changes.as_object().unwrap() {
        if value.is_null() {
            record.as_object_mut().unwrap().shift_remove(key);
        } else {
            record[key] = value.clone();
        }
    }
    record
}

fn decided(status: &str, by: &str, feedback: Option<&str>) -> Value {
    with(&json!({
        "status": status, "decided_at": "2026-05-13T09:30:00.000Z", "decided_by": by, "feedback": feedback,
    }))
}

fn read(lines: &[Value]) -> Queue {
    let mut queue = Queue::default();
    let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(queue.take(text.as_bytes()), text.len());
    queue
}

fn shown(queue: &Queue) -> String {
    let records = queue.records.iter().map(|(id, (line, record))| {
        format!(
            "{}:{line} {} {} of {} at {}",
            &id[..id.len().min(4)],
            record.state.word(),
            record.request,
            record.worker,
            record.created
        )
    });
    let faults = queue.faults.iter().map(|fault| format!("! {}: {}", fault.line, fault.fault));
    records.chain(faults).collect::<Vec<_>>().join("\n")
}

#[test]
fn valid_records_have_no_faults() {
    for record in [
        pending(),
        decided("approved", "operator", None),
        decided("rejected", "operator", Some("Skip step 3.")),
        decided("rejected", "operator", Some("")),
        decided("expired", "auto-timeout", Some("auto-expired")),
        with(&json!({"plan_summary": "(no summary)", "plan_body": ""})),
        with(&json!({"plan_summary": format!("{}…", "x".repeat(119))})),
        with(&json!({"more": {"of": "a later version"}})),
    ] {
        let queue = read(std::slice::from_ref(&record));
        assert_eq!(queue.faults, [], "{record}");
        assert_eq!(queue.records.len(), 1, "{record}");
    }
}

#[test]
fn every_field_that_is_wrong_is_named() {
    let check = |record: Value, is_taken: bool, wanted: &str| {
        let queue = read(std::slice::from_ref(&record));
        let faults: Vec<&str> = queue.faults.iter().map(|fault| fault.fault.as_str()).collect();
        assert_eq!(faults.join(" | "), wanted, "{record}");
        assert_eq!(queue.records.len(), usize::from(is_taken), "{record}");
    };
    let refused = |changes: Value, wanted: &str| {
        check(with(&changes), false, &format!("{wanted}; the line is passed over"));
    };
    let taken = |changes: Value, wanted: &str| check(with(&changes), true, wanted);
    refused(json!({"id": null}), "id is missing");
    refused(json!({"id": 7}), "id is no text");
    refused(json!({"request_id": null}), "request_id is missing");
    refused(json!({"request_id": "  "}), "request_id is empty");
    refused(json!({"worker_name": []}), "worker_name is no text");
    refused(json!({"team_id": null}), "team_id is missing");
    refused(json!({"status": null}), "status is missing");
    refused(json!({"status": "done"}), "status \"done\" is none of pending, approved, rejected, expired");
    refused(json!({"created_at": null}), "created_at is missing");
    refused(json!({"created_at": 1_796_083_200}), "created_at is no text");
    refused(json!({"created_at": "1796083200"}), "created_at \"1796083200\" is no ISO 8601 time");
    refused(json!({"created_at": "yesterday"}), "created_at \"yesterday\" is no ISO 8601 time");
    taken(json!({"id": "plan-7"}), "id is no UUID of version 4");
    taken(json!({"id": "0b0e7a2e-6f5d-1c1a-9a55-3f0d9c1b2a41"}), "id is no UUID of version 4");
    taken(json!({"plan_summary": null}), "plan_summary is missing");
    taken(json!({"plan_summary": ""}), "plan_summary is empty; the queue says \"(no summary)\" then");
    taken(json!({"plan_summary": "x".repeat(121)}), "plan_summary is longer than 120 characters");
    taken(json!({"plan_summary": 7}), "plan_summary is no text");
    taken(json!({"plan_body": null}), "plan_body is missing: the record is not full");
    taken(json!({"plan_body": 7}), "plan_body is no text");
    taken(json!({"feedback": "no"}), "feedback on a pending request");
    taken(json!({"decided_at": "2026-05-13T09:30:00Z"}), "decided_at on a pending request");
    taken(json!({"decided_by": "operator"}), "decided_by on a pending request");
    taken(json!({"status": "approved"}), "decided_at is missing | decided_by is missing");
    let check_decided = |changes: Value, wanted: &str| {
        let mut record = decided("rejected", "operator", Some("no"));
        for (key, value) in changes.as_object().unwrap() {
            record[key] = value.clone();
        }
        check(record, true, wanted);
    };
    check_decided(json!({"feedback": 7}), "feedback is no text");
    check_decided(json!({"decided_at": 7}), "decided_at is no text");
    check_decided(json!({"decided_at": "soon"}), "decided_at is no ISO 8601 time");
    check_decided(json!({"decided_at": "2026-05-13T08:59:59Z"}), "decided_at lies before created_at");
    check_decided(json!({"decided_by": "lead"}), "decided_by is neither \"operator\" nor \"auto-timeout\"");
    check_decided(
        json!({"decided_by": "auto-timeout"}),
        "a request that is rejected is decided by operator, not by auto-timeout",
    );
    check_decided(
        json!({"status": "expired", "decided_by": "auto-timeout", "feedback": "late"}),
        "feedback of an expired request is not \"auto-expired\"",
    );
    check(decided("expired", "auto-timeout", None), true, "feedback is missing: \"auto-expired\" is wanted");
}

#[test]
fn the_last_record_of_an_id_counts_and_a_second_decision_is_named() {
    let other = with(&json!({"id": OTHER, "request_id": "plan-8", "worker_name": "impl-2"}));
    let queue = read(&[
        pending(),
        other,
        decided("approved", "operator", None),
        decided("expired", "auto-timeout", Some("auto-expired")),
    ]);
    insta::assert_snapshot!(shown(&queue), @"
    0b0e:4 expired plan-2026-05-13-007 of impl-1 at 1778662800000
    6f1c:2 pending plan-8 of impl-2 at 1778662800000
    ! 4: it is expired after approved: the first decision stands (line 3)
    ");
    let again = read(&[pending(), decided("rejected", "operator", Some("no")), pending()]);
    insta::assert_snapshot!(shown(&again), @"
    0b0e:3 pending plan-2026-05-13-007 of impl-1 at 1778662800000
    ! 3: it is pending again after rejected (line 2)
    ");
}

#[test]
fn lines_that_are_no_records_are_passed_over_and_named() {
    let mut queue = Queue::default();
    let text =
        format!("{}\n\nnonsense\n[]\n\u{0}\u{0}\n{}\n{{\"id\":\"", pending(), with(&json!({"id": OTHER})));
    assert_eq!(queue.take(text.as_bytes()), text.len() - 7, "a line that is being written is left for later");
    let places: Vec<usize> = queue.faults.iter().map(|fault| fault.line).collect();
    assert_eq!((queue.records.len(), places.as_slice(), queue.lines()), (2, [3, 4, 5].as_slice(), 6));
    assert!(
        queue
            .faults
            .iter()
            .all(|fault| fault.id.is_empty() && fault.fault.ends_with("the line is passed over"))
    );
}

#[test]
fn what_was_decided_long_ago_is_forgotten_and_what_is_pending_is_not() {
    let mut lines = vec![pending()];
    for number in 0..3000 {
        lines.push(with(&json!({
            "id": format!("6f1c2b3a-1111-4222-8333-44445555{number:04}"), "status": "approved",
            "decided_at": "2026-05-13T09:30:00Z", "decided_by": "operator",
        })));
    }
    let queue = read(&lines);
    assert!(queue.records.contains_key(ID));
    assert_eq!(queue.records.len(), 1001);
}

#[test]
fn an_expired_record_is_the_full_record_with_the_decision() {
    let line = with(&json!({"more": [1, 2]})).to_string();
    let bytes = expired(line.as_bytes(), 1_778_666_461_007).unwrap();
    insta::assert_snapshot!(String::from_utf8(bytes.clone()).unwrap().trim_end(), @r#"{"id":"0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41","request_id":"plan-2026-05-13-007","worker_name":"impl-1","team_id":"backend","plan_summary":"Refactor profile loader to new schema","plan_body":"1. Move\n2. Migrate","created_at":"2026-05-13T09:00:00.000Z","status":"expired","more":[1,2],"decided_at":"2026-05-13T10:01:01.007Z","decided_by":"auto-timeout","feedback":"auto-expired"}"#);
    let mut queue = Queue::default();
    queue.take(&[line.as_bytes(), b"\n", &bytes].concat());
    assert_eq!(queue.faults, []);
    assert_eq!(queue.records[ID].1.state, PlanState::Expired);
    assert_eq!(expired(b"nonsense", 0), None);
    // What could not be read again is not written: it would be pending for ever, and be written again and again.
    let room = super::MOST_LINE - pending().to_string().len();
    let longest = with(&json!({"more": "x".repeat(room - 20)})).to_string();
    assert_eq!(read(&[with(&json!({"more": "x".repeat(room - 20)}))]).records.len(), 1);
    assert_eq!(expired(longest.as_bytes(), 0), None);
}

#[test]
fn the_standing_of_a_request_is_its_last_record() {
    let text = format!("{}\n{}\n", pending(), decided("approved", "operator", None));
    assert_eq!(standing(text.as_bytes(), ID).unwrap().1.state, PlanState::Approved);
    // An id that is named in a plan is no record of it.
    let quoting = with(&json!({"id": OTHER, "plan_body": format!("as in {ID}")}));
    let text = format!("{}\n{quoting}\n", pending());
    assert_eq!(standing(text.as_bytes(), ID).unwrap().0, pending().to_string().as_bytes());
    assert_eq!(standing(text.as_bytes(), "6f1c2b3a-0000-4222-8333-444455556666"), None);
}

#[test]
fn a_uuid_is_told_from_a_name() {
    for text in [ID, OTHER, "A962DE09-9B59-43F1-A753-19AED7FA0800"] {
        assert!(is_uuid(text), "{text}");
    }
    for text in [
        "",
        "team-lead",
        "0b0e7a2e6f5d4c1a9a553f0d9c1b2a41",
        "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a4",
        "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a4g",
    ] {
        assert!(!is_uuid(text), "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut queue = Queue::default();
        queue.take(&bytes);
        expired(&bytes, 0);
        standing(&bytes, ID);
        prop_assert!(queue.faults.len() <= 32);
    }

    #[test]
    fn a_queue_reads_the_same_in_pieces(cut in 0_usize..2000) {
        let text = format!("{}\n{}\n{}\n", pending(), with(&json!({"id": OTHER})), decided("approved", "operator", None));
        let bytes = text.as_bytes();
        let mut whole = Queue::default();
        whole.take(bytes);
        let cut = cut.min(bytes.len());
        let mut pieces = Queue::default();
        let taken = pieces.take(&bytes[..cut]);
        pieces.take(&bytes[taken..]);
        prop_assert_eq!(pieces, whole);
    }
}
