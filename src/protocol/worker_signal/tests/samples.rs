//! Samples of signal files: valid ones, and for each field what is invalid in it.

use serde_json::json;

use super::*;

#[test]
fn the_examples_of_the_protocol_are_valid() {
    for (value, disposition) in [
        (
            json!({"status": "complete", "outcome": "success", "disposition": "fixed", "timestamp": STAMP}),
            Disposition::Fixed,
        ),
        (
            json!({
                "status": "complete", "outcome": "success", "disposition": "not_reproducible",
                "reason": "Bug does not reproduce with forced GC.",
                "evidence": {"reportPath": "artifacts/no-change-report.md"}, "timestamp": STAMP,
            }),
            Disposition::NotReproducible,
        ),
        (
            json!({
                "status": "blocked", "outcome": "partial", "disposition": "blocked", "step": "validate",
                "reason": "Simulator is unavailable on the selected slot.", "timestamp": STAMP,
            }),
            Disposition::Blocked,
        ),
    ] {
        let reading = of(&value);
        assert_eq!(reading.faults, []);
        let signal = reading.signal.unwrap();
        assert_eq!((signal.disposition, signal.stamp), (Some(disposition), Some(AT)));
        assert!(signal.status.is_terminal());
    }
}

#[test]
fn every_field_of_the_schema_is_read() {
    let value = json!({
        "role": "worker", "contextId": "ctx-1", "attemptId": "0b8e3f5c-1111-4222-8333-444455556666",
        "status": "done", "outcome": "success", "disposition": "already_fixed",
        "evidence": {
            "reportPath": "artifacts/no-change-report.md", "artifacts": ["artifacts/run.log"], "confidence": "high",
        },
        "artifactWaivers": {"learnings": true},
        "checklistTiming": {
            "schemaVersion": 1, "source": "TASK.md",
            "events": [{"stepNumber": 2, "label": "Reproduce", "checkedAt": STAMP}],
        },
        "step": "Reproduce", "reason": "fixed by another change", "prNumber": 41, "needsSelfReview": false,
        "timestamp": STAMP, "futureField": {"x": 1},
    });
    let reading = of(&value);
    assert_eq!(reading.faults, []);
    let text = |text: &str| text.to_owned();
    let wanted = Signal {
        role: text("worker"),
        context: text("ctx-1"),
        attempt: text("0b8e3f5c-1111-4222-8333-444455556666"),
        status: Status::Done,
        outcome: Some(Outcome::Success),
        disposition: Some(Disposition::AlreadyFixed),
        evidence: Some(Evidence {
            report_path: text("artifacts/no-change-report.md"),
            artifacts: vec![text("artifacts/run.log")],
            confidence: text("high"),
        }),
        waives_learnings: true,
        timing: Some(Timing {
            source: text("TASK.md"),
            events: vec![Tick { step_number: 2, label: text("Reproduce"), checked_at: AT }],
        }),
        step: text("Reproduce"),
        reason: text("fixed by another change"),
        pr_number: Some(41),
        needs_self_review: Some(false),
        stamp: Some(AT),
    };
    assert_eq!(reading.signal, Some(wanted));
}

#[test]
fn what_is_optional_may_be_null() {
    let value = json!({
        "role": null, "contextId": null, "attemptId": null, "status": "running", "outcome": null,
        "disposition": null, "evidence": null, "artifactWaivers": null, "checklistTiming": null, "step": null,
        "reason": null, "prNumber": null, "needsSelfReview": null, "timestamp": STAMP,
    });
    assert_eq!(of(&value), of(&json!({"status": "running", "timestamp": STAMP})));
}

/// One field of a valid signal replaced: whether the signal is still taken, and what is told.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_violation_names_its_field() {
    for (field, value, is_taken, told) in [
        (
            "status",
            json!(null),
            false,
            "status: missing; running, blocked, complete, failed or done is wanted",
        ),
        ("status", json!(""), false, "status: \"\" is none of running, blocked, complete, failed, done"),
        (
            "status",
            json!("Complete"),
            false,
            "status: \"Complete\" is none of running, blocked, complete, failed, done",
        ),
        ("status", json!(["done"]), false, "status: a string is wanted"),
        ("outcome", json!("great"), false, "outcome: \"great\" is none of success, failure, partial"),
        ("outcome", json!(true), false, "outcome: a string is wanted"),
        (
            "outcome",
            json!("partial"),
            false,
            "outcome: \"partial\" does not go with status complete, which takes success",
        ),
        (
            "disposition",
            json!("wontfix"),
            false,
            "disposition: \"wontfix\" is none of fixed, already_fixed, not_reproducible, blocked, failed",
        ),
        (
            "disposition",
            json!("blocked"),
            false,
            "disposition: \"blocked\" does not go with status complete, which takes fixed or already_fixed or not_reproducible",
        ),
        ("role", json!(7), false, "role: a string is wanted"),
        ("contextId", json!({}), false, "contextId: a string is wanted"),
        ("attemptId", json!(1.5), false, "attemptId: a string is wanted"),
        ("evidence", json!("report.md"), true, "evidence: an object is wanted"),
        ("evidence", json!({"reportPath": 1}), true, "evidence.reportPath: a string is wanted"),
        ("evidence", json!({"artifacts": "x"}), true, "evidence.artifacts: a list is wanted"),
        ("evidence", json!({"artifacts": ["x", 2]}), true, "evidence.artifacts[1]: a string is wanted"),
        (
            "evidence",
            json!({"confidence": "sure"}),
            true,
            "evidence.confidence: \"sure\" is none of low, medium, high",
        ),
        ("artifactWaivers", json!(true), true, "artifactWaivers: an object is wanted"),
        (
            "artifactWaivers",
            json!({"learnings": "yes"}),
            true,
            "artifactWaivers.learnings: true or false is wanted",
        ),
        ("checklistTiming", json!([]), true, "checklistTiming: an object is wanted"),
        (
            "checklistTiming",
            json!({"events": []}),
            true,
            "checklistTiming.schemaVersion: missing; the number 1 is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 2, "events": []}),
            true,
            "checklistTiming.schemaVersion: the number 1 is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1}),
            true,
            "checklistTiming.events: missing; a list is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": {}}),
            true,
            "checklistTiming.events: a list is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "source": 3, "events": []}),
            true,
            "checklistTiming.source: a string is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": [{"stepNumber": 1, "label": "a", "checkedAt": STAMP}, 5]}),
            true,
            "checklistTiming.events[1]: an object is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": [{"stepNumber": 0, "label": "a", "checkedAt": STAMP}]}),
            true,
            "checklistTiming.events[0].stepNumber: a whole number from 1 is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": [{"label": "a", "checkedAt": STAMP}]}),
            true,
            "checklistTiming.events[0].stepNumber: missing; a whole number from 1 is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": [{"stepNumber": 1, "checkedAt": STAMP}]}),
            true,
            "checklistTiming.events[0].label: missing; a string is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": [{"stepNumber": 1, "label": "a"}]}),
            true,
            "checklistTiming.events[0].checkedAt: missing; a UTC ISO 8601 time is wanted",
        ),
        (
            "checklistTiming",
            json!({"schemaVersion": 1, "events": [{"stepNumber": 1, "label": "a", "checkedAt": "10:05"}]}),
            true,
            "checklistTiming.events[0].checkedAt: \"10:05\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z",
        ),
        ("step", json!(3), true, "step: a string is wanted"),
        ("reason", json!(["x"]), true, "reason: a string is wanted"),
        ("prNumber", json!("41"), true, "prNumber: a whole number from 1 is wanted"),
        ("prNumber", json!(-1), true, "prNumber: a whole number from 1 is wanted"),
        ("prNumber", json!(1.5), true, "prNumber: a whole number from 1 is wanted"),
        ("needsSelfReview", json!("no"), true, "needsSelfReview: true or false is wanted"),
        ("timestamp", json!(7), true, "timestamp: a UTC ISO 8601 time is wanted"),
    ] {
        let mut sample = json!({"status": "complete", "timestamp": STAMP});
        sample[field] = value;
        let reading = of(&sample);
        assert_eq!(faults(&sample), [told], "{sample}");
        assert!(reading.faults[0].field.starts_with(field));
        assert_eq!(reading.signal.is_some(), is_taken, "{sample}");
        assert_eq!(reading.breaches().count(), usize::from(field != "timestamp"), "{sample}");
    }
}

#[test]
fn all_violations_are_told_at_once() {
    let value = json!({"status": "complete", "outcome": "partial", "prNumber": "x", "timestamp": "now"});
    let fields: Vec<String> = of(&value).faults.into_iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["outcome", "prNumber", "timestamp"]);
}

#[test]
fn what_is_no_json_object_says_where() {
    for (bytes, told) in [
        (&b""[..], "not JSON (line 1, column 0)"),
        (b"{\"status\": \"running\",\n", "not JSON (line 2, column 0)"),
        (b"{\"status\": running}", "not JSON (line 1, column 12)"),
        (b"{} x", "not JSON (line 1, column 4)"),
        (b"\xff\xfe{\0", "not JSON (line 1, column 1)"),
        (b"[]", "no JSON object"),
        (b"\"running\"", "no JSON object"),
        (b"null", "no JSON object"),
    ] {
        let reading = read(bytes);
        assert_eq!(reading.signal, None);
        assert_eq!(reading.faults[0].to_string(), told);
        assert_eq!(reading.is_no_json(), told.starts_with("not JSON"));
    }
    let deep = "[".repeat(100_000);
    assert!(read(deep.as_bytes()).is_no_json());
    let marked = format!("\u{feff}{{\"status\": \"running\", \"timestamp\": \"{STAMP}\"}}");
    assert_eq!(read(marked.as_bytes()).faults, []);
}

#[test]
fn foreign_words_in_a_fault_are_one_short_line() {
    let value = json!({"status": format!("a\nb\u{1b}[31m{}", "x".repeat(500)), "timestamp": STAMP});
    let told = faults(&value).remove(0);
    assert!(!told.contains(char::is_control) && told.chars().count() < 150, "{told}");
}
