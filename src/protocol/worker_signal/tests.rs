//! Tables of valid and invalid signal files, the matrix, freshness, context.

mod samples;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const STAMP: &str = "2026-06-25T10:05:00Z";
const AT: Millis = 1_782_381_900_000;

fn of(value: &Value) -> Reading {
    read(value.to_string().as_bytes())
}

/// The faults as they are told.
fn faults(value: &Value) -> Vec<String> {
    of(value).faults.iter().map(ToString::to_string).collect()
}

#[test]
fn every_status_goes_with_one_outcome_and_its_dispositions_alone() {
    let outcomes = [None, Some("success"), Some("failure"), Some("partial")];
    let dispositions = [
        None,
        Some("fixed"),
        Some("already_fixed"),
        Some("not_reproducible"),
        Some("blocked"),
        Some("failed"),
    ];
    let mut taken = Vec::new();
    for (status, _) in STATUSES {
        for outcome in outcomes {
            for disposition in dispositions {
                let reading = of(&json!({
                    "status": status, "outcome": outcome, "disposition": disposition, "timestamp": STAMP,
                    "evidence": {"reportPath": NO_CHANGE_REPORT},
                }));
                let fields: Vec<&str> = reading.faults.iter().map(|fault| fault.field.as_str()).collect();
                assert_eq!(
                    reading.signal.is_some(),
                    fields.is_empty(),
                    "{status} {outcome:?} {disposition:?}"
                );
                if let (Some(signal), Some(outcome), Some(disposition)) =
                    (&reading.signal, outcome, disposition)
                {
                    assert_eq!(signal.outcome.map(Outcome::word), Some(outcome));
                    assert_eq!(signal.disposition.map(Disposition::word), Some(disposition));
                    taken.push(format!("{status} {outcome} {disposition}"));
                }
            }
        }
    }
    let wanted = [
        "blocked partial blocked",
        "complete success fixed",
        "complete success already_fixed",
        "complete success not_reproducible",
        "failed failure failed",
        "done success fixed",
        "done success already_fixed",
        "done success not_reproducible",
    ];
    assert_eq!(taken, wanted);
}

#[test]
fn what_follows_from_the_status_need_not_be_said() {
    for (status, outcome, disposition) in [
        ("running", None, None),
        ("blocked", Some(Outcome::Partial), Some(Disposition::Blocked)),
        ("complete", Some(Outcome::Success), Some(Disposition::Fixed)),
        ("done", Some(Outcome::Success), Some(Disposition::Fixed)),
        ("failed", Some(Outcome::Failure), Some(Disposition::Failed)),
    ] {
        let reading = of(&json!({"status": status, "timestamp": STAMP}));
        let signal = reading.signal.unwrap();
        assert_eq!((signal.outcome, signal.disposition), (outcome, disposition), "{status}");
        assert_eq!(signal.status.is_terminal(), status != "running");
        assert_eq!(reading.faults, []);
    }
}

#[test]
fn a_running_worker_says_neither_outcome_nor_disposition() {
    let value =
        json!({"status": "running", "outcome": "success", "disposition": "fixed", "timestamp": STAMP});
    insta::assert_snapshot!(faults(&value).join("\n"), @r#"
    outcome: "success" does not go with status running, which takes none
    disposition: "fixed" does not go with status running, which takes none
    "#);
    assert_eq!(of(&value).signal, None);
}

#[test]
fn what_older_writers_called_done_partial_is_blocked() {
    let signal = of(&json!({"status": "done-partial", "timestamp": STAMP})).signal.unwrap();
    let wanted = (Status::Blocked, Some(Outcome::Partial), Some(Disposition::Blocked));
    assert_eq!((signal.status, signal.outcome, signal.disposition), wanted);
    let contrary = of(&json!({"status": "done-partial", "outcome": "success", "timestamp": STAMP}));
    assert_eq!(contrary.signal, None);
}

#[test]
fn a_no_change_result_without_its_report_is_taken_as_blocked_and_told() {
    for disposition in ["already_fixed", "not_reproducible"] {
        for (evidence, told) in [
            (json!(null), "evidence.reportPath: missing; a no-change result needs"),
            (json!({}), "evidence.reportPath: missing; a no-change result needs"),
            (json!({"reportPath": " "}), "evidence.reportPath: missing; a no-change result needs"),
            (
                json!({"reportPath": "artifacts/report.md"}),
                "evidence.reportPath: \"artifacts/report.md\" is not",
            ),
            (json!({"reportPath": "../artifacts/no-change-report.md"}), "evidence.reportPath: \"../"),
        ] {
            let value = json!({
                "status": "complete", "outcome": "success", "disposition": disposition, "evidence": evidence,
                "reason": "it does not happen", "timestamp": STAMP,
            });
            let reading = of(&value);
            let signal = reading.signal.clone().unwrap();
            let wanted = (Status::Blocked, Some(Outcome::Partial), Some(Disposition::Blocked));
            assert_eq!((signal.status, signal.outcome, signal.disposition), wanted);
            assert!(signal.reason.ends_with("it said: it does not happen"), "{}", signal.reason);
            assert!(faults(&value)[0].starts_with(told), "{:?}", faults(&value));
            assert_eq!(reading.breaches().count(), 0);
        }
        for path in ["artifacts/no-change-report.md", "./artifacts/no-change-report.md"] {
            let evidence = json!({"reportPath": path});
            let reading = of(
                &json!({"status": "done", "disposition": disposition, "evidence": evidence, "timestamp": STAMP}),
            );
            assert_eq!(reading.faults, []);
            assert!(reading.signal.unwrap().disposition.unwrap().is_no_change());
        }
    }
}

#[test]
fn only_a_strict_utc_stamp_is_one() {
    for (text, at) in [
        (STAMP, AT),
        ("2026-06-25T10:05:00.000Z", AT),
        ("2026-06-25T10:05:00.123456789Z", AT + 123),
        ("2026-06-25T10:05:00.5Z", AT + 500),
        ("2026-06-25T10:05:00+00:00", AT),
        ("2026-06-25T10:05:00+0000", AT),
        ("2026-06-25T10:05:00+00", AT),
        ("2026-06-25T10:05Z", AT),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ("1970-01-01T00:00:00Z", 0),
    ] {
        assert_eq!(stamp(text), Some(at), "{text}");
    }
    for text in [
        "",
        "Z",
        "2026-06-25",
        "2026-06-25T10:05:00",
        "2026-06-25T10:05:00Zjunk",
        " 2026-06-25T10:05:00Z",
        "2026-06-25T10:05:00Z\n",
        "2026-06-25 10:05:00Z",
        "2026-06-25t10:05:00z",
        "2026-06-25T12:05:00+02:00",
        "2026-06-25T10:05:00-00:00",
        "2026-06-25T10:05:00.Z",
        "2026-06-25T10:05:00.1234567890Z",
        "2026-06-25T10:05.5:00Z",
        "2026-06-25T25:05:00Z",
        "2026-06-25T10:60:00Z",
        "2026-02-29T10:05:00Z",
        "2026-13-01T10:05:00Z",
        "26-06-25T10:05:00Z",
        "+2026-06-2T10:05:00Z",
        "2026-6-25T10:05:00Z",
        "1969-12-31T23:59:59Z",
        "20260625T100500Z",
        "1782381900",
        "２０２６-06-25T10:05:00Z",
    ] {
        assert_eq!(stamp(text), None, "{text}");
    }
}

#[test]
fn a_missing_stamp_is_told_and_worth_nothing_unattended() {
    for (timestamp, told) in [
        (json!(null), "timestamp: missing; a UTC ISO 8601 time is wanted"),
        (json!(1_782_381_900), "timestamp: a UTC ISO 8601 time is wanted"),
        (
            json!("yesterday"),
            "timestamp: \"yesterday\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z",
        ),
    ] {
        let reading = of(&json!({"status": "complete", "timestamp": timestamp}));
        assert_eq!(reading.faults[0].to_string(), told);
        assert_eq!(reading.breaches().count(), 0);
        let signal = reading.signal.unwrap();
        assert_eq!(signal.freshness(Some(0)), Freshness::Unstamped);
        assert_eq!(signal.freshness(None), Freshness::Fresh);
    }
}

#[test]
fn a_signal_is_fresh_at_its_floor_and_after_it() {
    let signal = of(&json!({"status": "complete", "timestamp": STAMP})).signal.unwrap();
    for (floor, wanted) in [
        (None, Freshness::Fresh),
        (Some(AT - 1), Freshness::Fresh),
        (Some(AT), Freshness::Fresh),
        (Some(AT + 1), Freshness::Stale),
    ] {
        assert_eq!(signal.freshness(floor), wanted, "{floor:?}");
    }
}

#[test]
fn a_context_decides_before_a_role_and_a_signal_without_both_is_accepted() {
    for (role, context, asked_role, asked_context, is_ours) in [
        ("", "", "", "", true),
        ("", "", "worker", "c-1", true),
        ("worker", "c-1", "", "", true),
        ("worker", "c-1", "worker", "c-1", true),
        ("worker", "c-1", "worker", "c-2", false),
        ("other", "c-1", "worker", "c-1", true),
        ("worker", "", "worker", "c-1", true),
        ("other", "", "worker", "c-1", false),
        ("worker", "c-1", "other", "", false),
        ("worker", "c-1", "worker", "", true),
        ("", "c-1", "worker", "", true),
        ("", "c-1", "worker", "c-2", false),
    ] {
        let value = json!({"role": role, "contextId": context, "status": "running", "timestamp": STAMP});
        let signal = of(&value).signal.unwrap();
        assert_eq!(
            signal.is_of(asked_role, asked_context),
            is_ours,
            "{value} by {asked_role} {asked_context}"
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let reading = read(&bytes);
        prop_assert!(reading.signal.is_some() || !reading.faults.is_empty());
    }

    #[test]
    fn whatever_is_taken_is_one_of_the_matrix(
        status in "(running|blocked|complete|failed|done|done-partial|x)",
        outcome in proptest::option::of("(success|failure|partial|x)"),
        disposition in proptest::option::of("(fixed|already_fixed|not_reproducible|blocked|failed|x)"),
        path in proptest::option::of("(artifacts/no-change-report.md|x)"),
    ) {
        let value = json!({"status": status, "outcome": outcome, "disposition": disposition,
            "evidence": {"reportPath": path}, "timestamp": STAMP});
        let reading = of(&value);
        if let Some(signal) = &reading.signal {
            prop_assert_eq!(signal.outcome, signal.status.outcome());
            let fits = signal.disposition.is_none_or(|found| signal.status.dispositions().contains(&found));
            prop_assert!(fits && signal.disposition.is_none() == (signal.status == Status::Running));
        }
        prop_assert!(reading.faults.iter().all(|fault| !fault.field.is_empty()));
    }
}
