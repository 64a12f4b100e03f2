//! `signal probe`: each of the eleven codes on a real folder, with its exit status.

use std::fs;

use serde_json::{Value, json};

use super::{BINARY, Task, bare};
use crate::world::{Ran, finish};

impl Task {
    fn probe(&self, arguments: &[&str]) -> Ran {
        finish(bare(BINARY, self.top.path(), &[&["signal", "probe"], arguments].concat()), b"")
    }

    /// Probes the task folder, and returns the exit status and what is said.
    #[track_caller]
    pub(super) fn probed(&self, arguments: &[&str]) -> (i32, String) {
        let ran = self.probe(&[&[".task/fix/proj-1"], arguments].concat());
        assert_eq!(ran.err, "");
        (ran.code, ran.out)
    }

    fn said(&self, value: &Value) {
        self.put("SIGNAL.json", &value.to_string());
    }
}

const STAMP: &str = "2026-06-25T10:05:00Z";

#[test]
fn every_code_is_reached_and_has_its_exit_status() {
    let task = Task::new("fix");
    let check = |arguments: &[&str], code: i32, said: &str| {
        let (found, out) = task.probed(arguments);
        assert_eq!((found, out.as_str()), (code, format!("{said}\n").as_str()), "{arguments:?}");
    };
    let at = "(.task/fix/proj-1/SIGNAL.json)";
    check(&[], 12, &format!("missing: there is no signal file {at}"));
    task.put("SIGNAL.json", "{\"status\"");
    check(&[], 13, &format!("invalid_json: not JSON (line 1, column 9) {at}"));
    task.said(&json!({"status": "complete", "outcome": "partial", "timestamp": STAMP}));
    let told = "outcome: \"partial\" does not go with status complete, which takes success";
    check(&[], 14, &format!("invalid_schema: {told} {at}"));
    task.said(&json!({"status": "running", "timestamp": STAMP}));
    check(&[], 15, &format!("non_terminal: the worker says running {at}"));
    task.said(&json!({"status": "complete", "contextId": "c-1", "role": "worker", "timestamp": STAMP}));
    let told = "it is of context c-1 and role worker; asked was context c-2 and role none";
    check(&["--context-id", "c-2"], 16, &format!("context_mismatch: {told} {at}"));
    let told = "it is of context c-1 and role worker; asked was context none and role other";
    check(&["--role", "other"], 16, &format!("context_mismatch: {told} {at}"));
    let told = "it was written at 2026-06-25T10:05:00Z, before this attempt began at 2026-06-25T10:05:01Z";
    check(&["--since", "2026-06-25T10:05:01Z"], 17, &format!("stale: {told} {at}"));
    let (code, out) = task.probed(&["--since", "2026-06-25T10:05:00.9Z"]);
    assert_eq!(code, 18, "a floor counts in whole seconds: {out}");
    let (code, out) = task.probed(&["--since", STAMP]);
    assert_eq!(
        (
            code,
            out.starts_with(
                "artifact_contract: artifacts/report.md is missing; artifacts/learnings.md is missing"
            )
        ),
        (18, true),
        "{out}"
    );
    task.put("inputs/worker-terminal-contract.json", "[]");
    let told = "inputs/worker-terminal-contract.json: commands: an object is wanted";
    check(&[], 19, &format!("terminal_contract_infrastructure: {told} {at}"));
    fs::remove_file(task.path.join("inputs/worker-terminal-contract.json")).unwrap();
    let task = task.with_evidence();
    assert_eq!(
        task.probed(&["--context-id", "c-1", "--role", "worker", "--since", STAMP]),
        (0, format!("ready: the worker says complete {at}\n"))
    );
    let ran = task.probe(&[".task/fix/gone"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (10, "no_slot: there is no such folder (.task/fix/gone/SIGNAL.json)\n")
    );
    let ran = task.probe(&[".task/fix"]);
    let told = "missing_path: it is no task folder: it holds no TASK.md (.task/fix/SIGNAL.json)\n";
    assert_eq!((ran.code, ran.out.as_str()), (11, told));
    task.put("checklist-target.json", "{\"checklist\": \"GONE.md\"}");
    let told = "missing_path: checklist-target.json names GONE.md, which is not there; mend or remove it";
    let (code, out) = task.probed(&[]);
    assert!(code == 11 && out.starts_with(told), "{out}");
    task.put("checklist-target.json", "{}");
    let (code, out) = task.probed(&[]);
    assert!(code == 11 && out.starts_with("missing_path: checklist-target.json: checklist: "), "{out}");
}

#[test]
fn a_role_with_a_file_of_its_own_is_read_from_there() {
    let task = Task::new("fix").with_evidence();
    task.put("artifacts/review.md", "fine\n");
    task.put("SELF-REVIEW.md", "- [ ] Read\n");
    task.marked(&["start"]);
    task.marked(&["--checklist", "SELF-REVIEW.md", "complete", "--mark-last"]);
    assert_eq!(task.probed(&[]).0, 15);
    let (code, out) = task.probed(&["--role", "self-review"]);
    assert_eq!(
        (code, out.as_str()),
        (0, "ready: the worker says complete (.task/fix/proj-1/SELF-REVIEW-SIGNAL.json)\n")
    );
    assert_eq!(task.probed(&["--role", "ci-fix"]).0, 11);
    task.put("checklist-target.json", "{\"checklist\": \"SELF-REVIEW.md\"}");
    assert_eq!(task.probed(&[]).0, 0, "without a role it is the active one");
}

#[test]
fn whatever_mark_writes_is_ready_or_says_why_not() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["start"]);
    let began = task.signal()["timestamp"].as_str().unwrap().to_owned();
    assert_eq!(task.probed(&["--since", &began]).0, 15);
    task.marked(&["complete"]);
    assert_eq!(task.probed(&["--since", &began]).0, 0);
    task.put("artifacts/no-change-report.md", "x\n");
    task.marked(&["no-change", "--reason", "x", "--skip-learnings"]);
    fs::remove_file(task.path.join("artifacts/learnings.md")).unwrap();
    assert_eq!(task.probed(&["--since", &began]).0, 0);
    task.marked(&["blocked", "--reason", "x"]);
    assert_eq!(task.probed(&["--since", &began]).0, 0);
}

#[test]
fn its_json_is_versioned_and_names_every_field_that_is_wrong() {
    let task = Task::new("fix");
    task.said(&json!({
        "status": "blocked", "contextId": "c-1", "step": "run", "reason": "a\u{1b}[31mb", "prNumber": "x",
        "checklistTiming": {"schemaVersion": 1, "events": [{"stepNumber": 1, "label": "a", "checkedAt": "then"}]},
        "timestamp": STAMP,
    }));
    let (code, out) = task.probed(&["--json"]);
    assert_eq!((code, out.lines().count()), (14, 1));
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        value,
        json!({
            "v": 1, "ok": false, "code": "invalid_schema",
            "message": "checklistTiming.events[0].checkedAt: \"then\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z; \
                        prNumber: a whole number from 1 is wanted",
            "file": ".task/fix/proj-1/SIGNAL.json",
            "signal": {
                "role": null, "context_id": "c-1", "attempt_id": null, "status": "blocked", "outcome": "partial",
                "disposition": "blocked", "step": "run", "reason": "a [31mb", "report": null, "pr_number": null,
                "timestamp": STAMP,
            },
            "faults": [
                {
                    "field": "checklistTiming.events[0].checkedAt",
                    "fault": "checklistTiming.events[0].checkedAt: \"then\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z",
                },
                {"field": "prNumber", "fault": "prNumber: a whole number from 1 is wanted"},
            ],
        })
    );
}

#[test]
fn a_floor_that_is_no_time_is_a_usage_error() {
    let task = Task::new("fix");
    let ran = task.probe(&[".task/fix/proj-1", "--since", "yesterday"]);
    assert_eq!((ran.code, ran.out.as_str()), (64, ""));
    assert!(ran.err.contains("--since \"yesterday\" is not a UTC ISO 8601 time"), "{}", ran.err);
    assert_eq!(task.probe(&[]).code, 64);
}
