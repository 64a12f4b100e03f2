//! Whole runs of a worker.

use serde_json::json;

use super::{Task, history, said};

#[test]
fn a_fix_from_start_to_complete() {
    let task = Task::new("fix");
    task.marked(&["start"]);
    let started = task.signal();
    assert_eq!(said(&started), "running - - started");
    let attempt = started["attemptId"].as_str().unwrap().to_owned();
    assert_eq!((attempt.len(), attempt.matches('-').count()), (36, 4), "a UUID: {attempt}");
    task.marked(&["1"]);
    assert_eq!(said(&task.signal()), "running - - Reproduce the bug");
    task.marked(&["2"]);
    assert_eq!((history(&task.signal()), task.ticked("TASK.md")), (vec![1, 2], vec![1, 2]));
    task.put("artifacts/learnings.md", "- one\n");
    task.put("artifacts/report.md", "done\n");
    task.marked(&["complete", "--mark-last"]);
    let end = task.signal();
    assert_eq!(said(&end), "complete success fixed Finish");
    assert_eq!((&end["attemptId"], history(&end)), (&json!(attempt), vec![1, 2, 3]));
    assert_eq!(end["evidence"], json!({"reportPath": "artifacts/report.md"}));
    let wanted = super::CHECKLIST.replace("- [ ] **", "- [x] **").replace("- [ ] F", "- [x] F");
    assert_eq!(task.text("TASK.md"), wanted, "all else in it stays");
    assert_eq!(
        crate::world::names(&task.path),
        ["SIGNAL.json", "TASK.md", "artifacts", "artifacts/learnings.md", "artifacts/report.md", "mark"]
    );
}

#[test]
fn a_bug_that_does_not_happen_ends_without_a_change() {
    for (options, disposition) in [(&[][..], "not_reproducible"), (&["--already-fixed"], "already_fixed")] {
        let task = Task::new("fix");
        task.put("artifacts/learnings.md", "- one\n");
        task.put("artifacts/no-change-report.md", "it does not happen\n");
        task.marked(&["start"]);
        task.marked(&[&["no-change", "--reason", "it does not happen with forced GC"], options].concat());
        let end = task.signal();
        assert_eq!(said(&end), format!("complete success {disposition} started"));
        assert_eq!(end["evidence"], json!({"reportPath": "artifacts/no-change-report.md"}));
        assert_eq!(end["reason"], json!("it does not happen with forced GC"));
    }
}

#[test]
fn a_commit_in_a_reason_is_kept_and_a_key_is_masked_and_told() {
    let task = Task::new("fix").with_evidence();
    task.put("artifacts/no-change-report.md", "it was fixed before\n");
    let reason =
        "by https://host/org/repo/commit/2414721b194453f058079d897d13c4e377f92dc6 in Checkout2024Flow";
    task.marked(&["no-change", "--already-fixed", "--reason", reason]);
    assert_eq!(task.signal()["reason"], json!(reason));
    let (code, out) = task.probed(&["--json"]);
    assert!(code == 0 && out.contains(reason), "{out}");
    let told =
        |what: &str| format!("mark: something in {what} looks like a key, and is written as [masked]\n");
    let ran = task.mark(&["blocked", "--reason", "API_KEY=abc is refused"]);
    assert_eq!((ran.code, ran.err), (0, told("the reason")));
    assert_eq!(task.signal()["reason"], json!("API_KEY=[masked] is refused"));
    task.put("TASK.md", "- [ ] set TOKEN=abc\n");
    let ran = task.mark(&["1"]);
    assert_eq!((ran.code, ran.err), (0, told("the item's text")));
    assert_eq!(said(&task.signal()), "running - - set TOKEN=[masked]");
}

#[test]
fn a_worker_that_is_blocked_needs_no_evidence_and_can_go_on_later() {
    let task = Task::new("fix");
    task.marked(&["start"]);
    task.marked(&["1"]);
    let before = task.signal();
    task.marked(&["blocked", "--reason", "the simulator is not there"]);
    let blocked = task.signal();
    assert_eq!(said(&blocked), "blocked partial blocked Reproduce the bug");
    assert_eq!(blocked["reason"], json!("the simulator is not there"));
    task.marked(&["2"]);
    let after = task.signal();
    assert_eq!(said(&after), "running - - Fix it");
    assert_eq!((after.get("reason"), &after["attemptId"]), (None, &before["attemptId"]));
}

#[test]
fn a_role_has_its_own_files_while_the_manifest_names_it() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["start"]);
    task.marked(&["complete"]);
    let worker = task.signal();
    task.put("SELF-REVIEW.md", "- [ ] Read the change\n- [ ] Say what is wrong\n");
    task.put("checklist-target.json", "{\n  \"checklist\": \"SELF-REVIEW.md\"\n}\n");
    task.marked(&["start"]);
    task.marked(&["1"]);
    let review = task.signal_of("SELF-REVIEW-SIGNAL.json");
    assert_eq!(said(&review), "running - - Read the change");
    assert_eq!(
        (&review["role"], &review["checklistTiming"]["source"]),
        (&json!("self-review"), &json!("SELF-REVIEW.md"))
    );
    assert_ne!(review["attemptId"], worker["attemptId"]);
    task.put("artifacts/review.md", "nothing is wrong\n");
    task.marked(&["complete", "--mark-last"]);
    let review = task.signal_of("SELF-REVIEW-SIGNAL.json");
    assert_eq!(said(&review), "complete success fixed Say what is wrong");
    assert_eq!(review["evidence"]["reportPath"], json!("artifacts/review.md"));
    assert_eq!(task.ticked("SELF-REVIEW.md"), [1, 2]);
    assert_eq!(
        (task.signal(), task.ticked("TASK.md")),
        (worker, vec![]),
        "the worker's own are as they were"
    );
    // The manifest points back, or is passed over by name.
    task.marked(&["--checklist", "TASK.md", "start"]);
    task.put("checklist-target.json", "{\"checklist\": \"TASK.md\"}");
    task.marked(&["1"]);
    assert_eq!(said(&task.signal()), "running - - Reproduce the bug");
    assert_eq!(task.signal_of("SELF-REVIEW-SIGNAL.json"), review);
}

#[test]
fn a_history_never_outgrows_what_is_read_of_the_file() {
    let task = Task::new("fix").with_evidence();
    let label = "x".repeat(180);
    let tick = json!({"stepNumber": 9, "label": label, "checkedAt": "2026-06-25T10:05:00Z"});
    let all = vec![tick; 1000];
    let before = json!({"status": "running", "checklistTiming": {"schemaVersion": 1, "events": all}, "timestamp": "2026-06-25T10:05:00Z"});
    task.put("SIGNAL.json", &before.to_string());
    for arguments in [&["start"][..], &["1"], &["2"], &["complete", "--mark-last"], &["start"], &["3"]] {
        task.marked(arguments);
        assert!(task.text("SIGNAL.json").len() <= 256 * 1024, "{arguments:?}");
        assert_eq!(task.probed(&[]).0, if arguments[0] == "complete" { 0 } else { 15 });
    }
    let known = history(&task.signal());
    assert!(known.ends_with(&[9, 1, 2, 3]) && known.len() > 500, "the oldest are dropped: {}", known.len());
}

#[test]
fn a_checklist_can_be_named_for_one_command() {
    let task = Task::new("fix").with_evidence();
    task.put("artifacts/review.md", "fine\n");
    task.put("SELF-REVIEW.md", "- [ ] Read\n- [ ] Say\n");
    task.marked(&["--checklist", "SELF-REVIEW.md", "1"]);
    task.marked(&["--checklist", "SELF-REVIEW.md", "complete", "--mark-last"]);
    assert_eq!(said(&task.signal_of("SELF-REVIEW-SIGNAL.json")), "complete success fixed Say");
    assert!(!task.path.join("SIGNAL.json").exists());
}

#[test]
fn an_interrupted_run_is_begun_again_as_another_attempt() {
    let task = Task::new("fix").with_evidence();
    task.put(
        "SIGNAL.json",
        "{\"role\": \"worker\", \"contextId\": \"c-1\", \"prNumber\": 12, \"status\": \"running\", \
         \"timestamp\": \"2026-06-25T10:05:00Z\"}",
    );
    task.marked(&["start"]);
    task.marked(&["1"]);
    let first = task.signal();
    // The worker dies; the next one begins where the checklist stands.
    task.marked(&["start"]);
    let again = task.signal();
    assert_ne!(again["attemptId"], first["attemptId"]);
    for number in ["2", "3", "3"] {
        task.marked(&[number]);
    }
    task.marked(&["complete", "--mark-last"]);
    let end = task.signal();
    assert_eq!(said(&end), "complete success fixed Finish");
    assert_eq!((&end["attemptId"], history(&end)), (&again["attemptId"], vec![1, 2, 3]));
    assert_eq!(
        (&end["role"], &end["contextId"], &end["prNumber"]),
        (&json!("worker"), &json!("c-1"), &json!(12))
    );
    // A rerun with a fresh checklist ticks it once more.
    task.put("TASK.md", super::CHECKLIST);
    task.marked(&["start"]);
    task.marked(&["1"]);
    assert_eq!(history(&task.signal()), [1, 2, 3, 1]);
}

#[test]
fn an_end_can_be_said_again_and_a_step_does_not_take_it_back() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["start"]);
    task.marked(&["complete"]);
    task.refused(
        &["1"],
        "SIGNAL.json: it says complete already, and a step would take that back; \"mark start\" begins a new attempt",
    );
    task.marked(&["complete"]);
    task.marked(&["blocked", "--reason", "the branch is protected"]);
    assert_eq!(said(&task.signal()), "blocked partial blocked started");
}
