//! The schema of a report, field by field.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Update, Verdict, read};
use crate::protocol::sketch;

fn of(data: &Value) -> (Update, Vec<String>) {
    let data = sketch::read(data.to_string().as_bytes()).expect("JSON");
    let (update, faults) = read(&data, "executor");
    (update, faults.into_iter().map(|fault| format!("{}: {}", fault.rule.word(), fault.fact)).collect())
}

/// A report that keeps every rule.
fn good() -> Value {
    json!({
        "status": "task_complete", "task_id": "IMPL-001", "ref": ".workflow/.team/TLS-x/artifacts/IMPL-001-api.md",
        "key_findings": ["The router is generated"], "decisions": ["Kept the router because clients depend on it"],
        "files_modified": ["src/router.ts"], "verification": "tested"
    })
}

fn with(key: &str, value: impl Into<Value>) -> Value {
    let value = value.into();
    let mut data = good();
    if value.is_null() {
        data.as_object_mut().expect("an object").remove(key);
    } else {
        data[key] = value;
    }
    data
}

/// A supervisor's report that keeps every rule.
fn checkpoint(more: impl Into<Value>) -> Value {
    let more = more.into();
    let mut data = with("task_id", json!("CHECKPOINT-002"));
    data["files_modified"] = json!([]);
    data["supervision_verdict"] = json!("pass");
    data["supervision_score"] = json!(0.85);
    data["risks_logged"] = json!(0);
    data["blocks_detected"] = json!(0);
    for (key, value) in more.as_object().expect("an object") {
        if value.is_null() {
            data.as_object_mut().expect("an object").remove(key);
        } else {
            data[key] = value.clone();
        }
    }
    data
}

#[track_caller]
fn check(data: &Value, wanted: &[&str]) {
    assert_eq!(of(data).1, wanted, "{data}");
}

#[test]
fn a_report_that_keeps_every_rule_has_no_fault() {
    let (update, faults) = of(&good());
    assert_eq!(faults, [""; 0]);
    assert_eq!((update.task.as_str(), update.is_done, update.is_of_pipeline), ("IMPL-001", true, false));
    assert_eq!(update.reference, ".workflow/.team/TLS-x/artifacts/IMPL-001-api.md");
    assert_eq!((update.verdict, update.halt()), (None, None));
    check(&with("files_modified", Value::Null), &[]);
    check(&with("tech_profile", json!({"language": "rust"})), &[]);
    check(&checkpoint(json!({})), &[]);
}

#[test]
fn what_the_schema_asks_for_is_there() {
    for name in ["status", "task_id", "ref", "key_findings", "decisions", "verification"] {
        check(&with(name, Value::Null), &[&format!("field-missing: a state_update has no {name}")]);
    }
    for name in ["status", "task_id", "ref", "verification"] {
        check(&with(name, json!("  ")), &[&format!("field-missing: a state_update has no {name}")]);
        check(&with(name, json!(7)), &[&format!("field-type: {name} is no text")]);
    }
    for name in ["key_findings", "decisions", "files_modified"] {
        check(&with(name, json!("one")), &[&format!("field-type: {name} is no list")]);
    }
    assert_eq!(of(&json!({})).1.len(), 6);
}

#[test]
fn status_and_task_are_of_their_form() {
    check(&with("status", json!("done")), &["status-unknown: status is \"done\", not task_complete"]);
    check(
        &with("status", json!("nearly done with it")),
        &["status-unknown: status is a text of 19 characters, not task_complete"],
    );
    for id in ["IMPL-001", "DEV-FE-012", "FIX-R1-001", "IMPL-001.2", "CHECKPOINT-1"] {
        let faults = of(&with("task_id", json!(id))).1;
        assert!(!faults.iter().any(|fault| fault.starts_with("task-id-form")), "{id}: {faults:?}");
    }
    for id in ["<TASK-NNN>", "IMPL", "the api task", "001", "IMPL-x", "IMPL 001"] {
        let faults = of(&with("task_id", json!(id))).1;
        assert!(faults.iter().any(|fault| fault.starts_with("task-id-form")), "{id}: {faults:?}");
    }
}

#[test]
fn ref_is_a_path_and_never_content() {
    let paths = [
        "artifacts/a.md",
        "<session>/artifacts/IMPL-001-a b.md",
        "/abs/artifacts/a.md",
        "a.md",
        "../x/a.md",
        "c:\\a.md",
    ];
    for path in paths {
        let (update, faults) = of(&with("ref", json!(path)));
        assert_eq!((update.reference.as_str(), faults.len()), (path, 0), "{faults:?}");
    }
    let long = "x".repeat(1025);
    let inline = [
        "# Report\nAll is well",
        "{\"a\": 1}",
        "[1]",
        "All tests pass now",
        "```\nx",
        &long,
        "- one and/or two",
        "we looked at one and/or two and three of the many ways that are known",
    ];
    for text in inline {
        let (update, faults) = of(&with("ref", json!(text)));
        let length = text.chars().count();
        assert_eq!(faults, [format!("ref-inline: ref holds {length} characters that are no path")], "{text}");
        assert_eq!((update.reference.as_str(), update.has_reference), ("", true));
    }
}

#[test]
fn findings_are_few_and_short() {
    check(&with("key_findings", json!([])), &[]);
    check(&with("key_findings", json!(vec!["a"; 5])), &[]);
    check(
        &with("key_findings", json!(vec!["a"; 6])),
        &["too-many-findings: key_findings has 6 items; at most 5 are allowed"],
    );
    check(&with("key_findings", json!(["é".repeat(99)])), &[]);
    check(
        &with("key_findings", json!(["a", "é".repeat(100)])),
        &["finding-too-long: item 2 of key_findings has 100 characters; under 100 are allowed"],
    );
    check(&with("key_findings", json!([{"a": 1}])), &["field-type: item 1 of key_findings is no text"]);
}

#[test]
fn a_decision_says_why() {
    let good = [
        json!("Use tokio because hyper needs it"),
        json!("tokio over async-std"),
        json!("Kept the old API: clients depend on it"),
        json!("Use Rust (speed)"),
        json!("选择 Rust"),
        json!("Moved the cache into its own module"),
        json!("Use Redis - fast"),
        json!({"choice": "tokio", "rationale": "hyper needs it"}),
    ];
    for decision in good {
        check(&with("decisions", json!([decision])), &[]);
    }
    for decision in ["Use tokio", "JWT", "REST API chosen.", ""] {
        check(
            &with("decisions", json!(["fine, as it is", decision])),
            &["decision-without-rationale: item 2 of decisions names the choice alone"],
        );
    }
    check(
        &with("decisions", json!([{"choice": "tokio"}])),
        &["decision-without-rationale: item 1 of decisions has no field for its reason"],
    );
    check(&with("decisions", json!([7])), &["field-type: item 1 of decisions is no text"]);
}

#[test]
fn only_implementation_tasks_modify_files() {
    for id in ["IMPL-001", "FIX-002", "TEST-001", "DEV-FE-001", "PLANETS-001"] {
        check(&with("task_id", json!(id)), &[]);
    }
    for (id, head) in [("RESEARCH-001", "RESEARCH"), ("PLAN-1", "PLAN"), ("review-003", "REVIEW")] {
        let fact = format!(
            "files-not-implementation: a {head} task lists 1 in files_modified, which is for implementation tasks"
        );
        check(&with("task_id", json!(id)), &[&fact]);
    }
    let mut plan = with("task_id", json!("PLAN-001"));
    plan["files_modified"] = json!([]);
    check(&plan, &[]);
    check(
        &with("files_modified", json!([1])),
        &["field-type: files_modified holds something other than paths"],
    );
}

#[test]
fn verification_is_one_of_three() {
    for word in ["self-validated", "peer-reviewed", "tested"] {
        check(&with("verification", json!(word)), &[]);
    }
    check(
        &with("verification", json!("self-validated | peer-reviewed | tested")),
        &[
            "verification-unknown: verification is a text of 39 characters, none of self-validated, peer-reviewed, tested",
        ],
    );
    check(
        &with("verification", json!("Tested")),
        &["verification-unknown: verification is \"Tested\", none of self-validated, peer-reviewed, tested"],
    );
}

#[test]
fn a_checkpoint_has_a_verdict_and_its_numbers_have_ranges() {
    let no_range = "score-range: supervision_score is no number from 0.0 to 1.0";
    check(
        &checkpoint(json!({"supervision_verdict": null})),
        &["verdict-missing: a CHECKPOINT has no supervision_verdict"],
    );
    check(
        &checkpoint(json!({"supervision_verdict": "fail"})),
        &["verdict-unknown: supervision_verdict is \"fail\", none of pass, warn, block"],
    );
    check(&checkpoint(json!({"supervision_verdict": true})), &["field-type: supervision_verdict is no text"]);
    check(&checkpoint(json!({"supervision_verdict": "warn", "supervision_score": null})), &[]);
    check(&checkpoint(json!({"supervision_score": 0.0})), &[]);
    check(&checkpoint(json!({"supervision_score": 1})), &[]);
    check(&checkpoint(json!({"supervision_score": 1.01})), &[no_range]);
    check(&checkpoint(json!({"supervision_score": -0.1})), &[no_range]);
    check(&checkpoint(json!({"supervision_score": "0.8"})), &[no_range]);
    check(
        &checkpoint(json!({"risks_logged": -1})),
        &["count-range: risks_logged is no whole number from 0 on"],
    );
    check(
        &checkpoint(json!({"blocks_detected": 1.5})),
        &["count-range: blocks_detected is no whole number from 0 on"],
    );
    check(&checkpoint(json!({"risks_logged": 3})), &[]);
}

#[test]
fn blocks_imply_a_block_and_both_halt() {
    let (update, faults) = of(&checkpoint(json!({"supervision_verdict": "block", "blocks_detected": 2})));
    assert_eq!(faults, [""; 0]);
    assert_eq!(update.verdict, Some(Verdict::Block));
    assert_eq!(
        update.halt().as_deref(),
        Some("supervision_verdict of CHECKPOINT-002 is block; blocks_detected is 2")
    );
    let (update, faults) = of(&checkpoint(json!({"supervision_verdict": "block"})));
    assert_eq!(
        (faults.len(), update.halt().as_deref()),
        (0, Some("supervision_verdict of CHECKPOINT-002 is block"))
    );
    let (update, faults) = of(&checkpoint(json!({"blocks_detected": 1})));
    assert_eq!(faults, ["blocks-without-block: blocks_detected is 1, and supervision_verdict is not block"]);
    assert_eq!(update.halt().as_deref(), Some("blocks_detected of CHECKPOINT-002 is 1"));
    assert_eq!(of(&checkpoint(json!({"supervision_verdict": "warn"}))).0.halt(), None);
}

#[test]
fn a_supervisor_s_fields_belong_to_checkpoints() {
    let mut data = good();
    data["supervision_verdict"] = json!("block");
    data["supervision_score"] = json!(0.2);
    let (update, faults) = of(&data);
    assert_eq!(
        faults,
        [
            "supervision-elsewhere: supervision_verdict, supervision_score in the report of IMPL-001 (sent by executor), which is no CHECKPOINT"
        ]
    );
    assert!(update.halt().is_some(), "a block halts whoever says it");
}

#[test]
fn an_update_that_describes_the_pipeline_is_no_report() {
    let (update, faults) =
        of(&json!({"pipeline_mode": "full", "pipeline_stages": ["a"], "roles": ["analyst"]}));
    assert_eq!((update.is_of_pipeline, faults.len()), (true, 0));
    let (update, faults) = of(&json!({"pipeline_mode": "full", "task_id": "IMPL-001"}));
    assert_eq!((update.is_of_pipeline, faults.len()), (false, 5));
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_no_fault_tells_a_body(bytes in proptest::collection::vec(any::<u8>(), 0..300), secret in "[a-z ]{41,60}") {
        if let Ok(data) = sketch::read(&bytes) {
            read(&data, "x");
        }
        let mut data = good();
        for key in ["status", "task_id", "verification", "supervision_verdict"] {
            data[key] = json!(secret);
        }
        data["key_findings"] = json!([secret.repeat(4)]);
        for fault in of(&data).1 {
            prop_assert!(!fault.contains(secret.trim()), "{}", fault);
        }
    }
}

/// Found by the fuzzer: what is shown as a blank would have made two words of one.
#[test]
fn a_task_of_more_than_one_word_is_nobody_s_task() {
    for id in ["CHECKP\u{8}NT-001", "IMPL\u{200b}-001", "IMPL 001", "IMPL\n-001"] {
        let (update, faults) = of(&with("task_id", json!(id)));
        assert_eq!(update.task, "", "{id:?}");
        assert!(faults.iter().any(|fault| fault.contains("not of the form TASK-001")), "{faults:?}");
    }
}
