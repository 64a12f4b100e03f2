//! Critical tasks: which they are, what they lack when they are made and when they are done.

use serde_json::{Value, json};

use super::*;
use crate::protocol::payload;

fn read(more: &Value) -> Task {
    let mut value = json!({"hook_event_name": "TaskCreated", "task_id": "7"});
    for (key, field) in more.as_object().unwrap() {
        value[key] = field.clone();
    }
    seen(&payload::read(value.to_string().as_bytes()).unwrap())
}

/// A task whose metadata were seen; there are none.
fn seen(payload: &Payload) -> Task {
    Task::of(payload, &Fields::default(), Some(&Fields::default()))
}

fn task(subject: &str, description: &str) -> Task {
    read(&json!({"task_subject": subject, "task_description": description}))
}

fn fields(found: &[Violation]) -> Vec<&str> {
    found.iter().map(|found| found.field.as_str()).collect()
}

#[test]
fn critical_tasks_are_told_by_category_and_subject() {
    let table = [
        ("anything", "category: implementation", Some(Kind::Implementation)),
        ("anything", "- **category**: Review", Some(Kind::Review)),
        ("anything", "category: qa", Some(Kind::Qa)),
        ("anything", "category: milestone_qa", Some(Kind::Qa)),
        ("anything", "category: build-complete", Some(Kind::BuildComplete)),
        ("anything", "category: research", None),
        ("Review chunk 2", "category: research", None),
        ("implementation: parser", "", Some(Kind::Implementation)),
        ("[review] parser", "", Some(Kind::Review)),
        ("QA: milestone 1", "", Some(Kind::Qa)),
        ("BUILD_COMPLETE", "", Some(Kind::BuildComplete)),
        ("Build complete", "", Some(Kind::BuildComplete)),
        ("Implement chunk-3 of the parser", "", Some(Kind::Implementation)),
        ("Review chunk 3", "", Some(Kind::Review)),
        ("QA of milestone 2", "", Some(Kind::Qa)),
        // Only what is done to a chunk or a milestone is a step of the build.
        ("Review the plan", "", None),
        ("Implement the login page", "", None),
        ("QA is a long word", "", None),
        // The description tells a story.
        ("Write notes", "The review of chunk 3 found a verdict, then we implement chunk 4.", None),
        ("", "", None),
    ];
    for (subject, description, wanted) in table {
        assert_eq!(task(subject, description).kind(), wanted, "{subject}: {description}");
    }
}

#[test]
fn a_critical_task_says_milestone_chunk_and_role_when_it_is_made() {
    let whole = "category: implementation\nmilestone_id: 1\nchunk_id: 2\nrole: builder\n";
    assert_eq!(task("parser", whole).created(), []);
    let table = [
        ("parser", "category: implementation", vec!["milestone_id", "chunk_id", "role"]),
        ("parser", "category: review\nmilestone: 1\nrole: reviewer", vec!["chunk_id"]),
        ("Review chunk-2 of milestone-1", "role: reviewer", vec![]),
        ("Review chunk 2", "role: reviewer", vec!["milestone_id"]),
        ("Review chunk", "milestone 1, role: reviewer", vec!["chunk_id", "role"]),
        ("x", "category: qa\nmilestone_id: 1\nrole: judge", vec![]),
        ("x", "category: qa\nrole: judge", vec!["milestone_id"]),
        ("x", "category: build_complete\nmilestone_id: 4", vec!["role"]),
        (
            "x",
            "category: implementation\nmilestone_id: {id}\nchunk_id: N/A\nrole: none",
            vec!["milestone_id", "chunk_id", "role"],
        ),
        ("Write notes", "no metadata at all", vec![]),
    ];
    for (subject, description, wanted) in table {
        assert_eq!(fields(&task(subject, description).created()), wanted, "{subject}: {description}");
    }
}

#[test]
fn each_kind_needs_its_own_proof() {
    let proof = |field, path: &str, wants| Proof { field, path: path.to_owned(), wants };
    let table = [
        ("category: implementation", vec!["review_task_id"], vec![]),
        ("category: implementation\nreview_task_id: 8", vec![], vec![]),
        (
            "category: implementation\nreview_task_id: 8\nverdict_path: a/review.md",
            vec![],
            vec![proof("verdict_path", "a/review.md", Wants::Approval)],
        ),
        ("category: implementation\nreview_task_id: N/A", vec!["review_task_id"], vec![]),
        ("category: review", vec!["verdict_path"], vec![]),
        (
            "category: review\nverdict_path: `a/review.md`",
            vec![],
            vec![proof("verdict_path", "a/review.md", Wants::Verdict)],
        ),
        ("category: qa", vec!["qa_verdict_path"], vec![]),
        (
            "category: qa\nqa_verdict_path: a/qa.md\nopen_blocking_tasks: 2",
            vec!["open_blocking_tasks"],
            vec![proof("qa_verdict_path", "a/qa.md", Wants::QaVerdict)],
        ),
        ("category: build_complete", vec!["final_archive_check", "open_blocking_tasks"], vec![]),
        ("category: build_complete\nfinal_archive_check: pass\nopen_blocking_tasks: 0", vec![], vec![]),
        (
            "category: build_complete\nfinal_archive_check: ARCHIVE_READY\nopen_blocking_tasks: none",
            vec![],
            vec![],
        ),
        (
            "category: build_complete\nfinal_archive_check: blocked\nopen_blocking_tasks: 0",
            vec!["final_archive_check"],
            vec![],
        ),
        (
            "category: build_complete\nfinal_archive_check: pass\nopen_blocking_tasks: 3, 4",
            vec!["open_blocking_tasks"],
            vec![],
        ),
        (
            "category: build_complete\nfinal_archive_check: pass\nopen_blocking_tasks: 0\nqa_verdict_path: a/qa.md",
            vec![],
            vec![proof("qa_verdict_path", "a/qa.md", Wants::QaPass)],
        ),
        ("category: research", vec![], vec![]),
    ];
    for (description, wanted, proofs) in table {
        let (found, files) = task("x", description).completed();
        assert_eq!((fields(&found), files), (wanted, proofs), "{description}");
    }
}

#[test]
fn metadata_are_taken_the_latest_first_and_only_what_guards_ask_for() {
    let read = |text: &str| metadata(&crate::protocol::sketch::read(text.as_bytes()).unwrap());
    let listed = read(
        r#"{"Milestone_id": 1, "role": "builder", "token": "hunter2", "open_blocking_tasks": [], "chunk_id": "a\nb"}"#,
    );
    let found: Vec<(&str, &str)> = listed.iter().collect();
    assert_eq!(
        found,
        [("chunk_id", "a b"), ("milestone_id", "1"), ("open_blocking_tasks", "0"), ("role", "builder")]
    );
    assert_eq!(read("7"), Fields::default());
    let update = read(r#"{"role": "reviewer", "verdict_path": "a.md"}"#);
    let value =
        json!({"hook_event_name": "TaskCompleted", "task_description": "role: nobody\ncategory: review"});
    let payload = payload::read(value.to_string().as_bytes()).unwrap();
    let task = Task::of(&payload, &update, Some(&listed));
    assert_eq!((task.says(&["role"]), task.says(&["milestone_id"])), (Some("reviewer"), Some("1")));
    assert_eq!(task.kind(), Some(Kind::Review));
    let call = json!({"taskId": "7", "metadata": {"role": "reviewer"}, "description": "Notes: x\nverdict_path: a.md\nrole: y"});
    let call = crate::protocol::sketch::read(call.to_string().as_bytes()).unwrap();
    assert_eq!(set_by(&call).iter().collect::<Vec<_>>(), [("role", "reviewer"), ("verdict_path", "a.md")]);
}

#[test]
fn metadata_that_were_not_seen_are_not_called_missing() {
    let table = [
        ("Implement chunk 3", "", vec![]),
        ("Review chunk 3", "", vec![]),
        ("QA of milestone 3", "", vec![]),
        ("BUILD_COMPLETE", "", vec![]),
        // What is written in the payload is seen.
        ("Implement chunk 3", "open_blocking_tasks: 2", vec!["open_blocking_tasks"]),
        ("BUILD_COMPLETE", "final_archive_check: blocked", vec!["final_archive_check"]),
    ];
    for (subject, description, wanted) in table {
        let value = json!({"hook_event_name": "TaskCompleted", "task_id": "7", "task_subject": subject, "task_description": description});
        let payload = payload::read(value.to_string().as_bytes()).unwrap();
        let unseen = Task::of(&payload, &Fields::default(), None);
        assert_eq!(fields(&unseen.created()), Vec::<&str>::new(), "{subject}");
        assert_eq!(fields(&unseen.completed().0), wanted, "{subject}: {description}");
        assert!(!seen(&payload).completed().0.is_empty(), "{subject}");
    }
    let value = json!({"hook_event_name": "TaskCreated", "task_subject": "Review chunk 3", "metadata": {"role": "x"}});
    let payload = payload::read(value.to_string().as_bytes()).unwrap();
    let shown = Task::of(&payload, &Fields::default(), None);
    assert_eq!(fields(&shown.created()), ["milestone_id"], "metadata that a client shows are seen");
}

#[test]
fn metadata_that_a_client_shows_counts_as_lines_do() {
    let shown = read(&json!({
        "task_subject": "parser",
        "task_metadata": {"category": "implementation", "milestone_id": 1, "chunk_id": 2, "role": "builder", "review_task_id": "8"},
    }));
    assert_eq!(shown.kind(), Some(Kind::Implementation));
    assert_eq!(shown.created(), []);
    assert_eq!(shown.completed(), (Vec::new(), Vec::new()));
}

#[test]
fn recorded_tasks_are_read() {
    let recorded = |text: &str| seen(&payload::read(text.as_bytes()).unwrap());
    let created = recorded(include_str!("../../../../tests/payloads/TaskCreated.json"));
    assert_eq!((created.kind(), fields(&created.created())), (Some(Kind::Review), vec!["role"]));
    let completed = recorded(include_str!("../../../../tests/payloads/TaskCompleted.json"));
    assert_eq!(
        (completed.place().as_str(), fields(&completed.completed().0)),
        ("task 2", vec!["verdict_path"])
    );
}

#[test]
fn what_is_missing_is_said_exactly() {
    let found = task("parser", "category: review\nmilestone_id: 1").created();
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    task 7: chunk_id is missing; a review task has `chunk_id: {id}` in its metadata, or as a line of its description
    task 7: role is missing; a review task has `role: {who does it}` in its metadata, or as a line of its description
    ");
    let (found, _) = task("x", "category: build_complete\nfinal_archive_check: no").completed();
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    task 7: final_archive_check is "no"; it is `pass` once thoth has answered ARCHIVE_READY
    task 7: open_blocking_tasks is missing; a build-complete task is done with `open_blocking_tasks: 0` in its metadata, or as a line of its description
    "#);
}
