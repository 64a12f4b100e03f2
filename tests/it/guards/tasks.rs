//! Critical tasks are made with their metadata, and done with their proof.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{APPROVED, CHUNK, TDD, by, call, send};
use crate::world::{Ran, World};

/// An event of task 7, which is in the client's list: without metadata, unless a test has put some there.
fn task(world: &World, event: &str, subject: &str, description: &str) -> Ran {
    if !list(world).join("7.json").exists() {
        listed(world, "7", &json!({}));
    }
    told(world, event, subject, description)
}

fn told(world: &World, event: &str, subject: &str, description: &str) -> Ran {
    let more = json!({
        "task_id": "7", "task_subject": subject, "task_description": description, "teammate_name": "krs-one",
        "team_name": "session-5e55",
    });
    world.guarded(&world.event(event, &more))
}

#[track_caller]
fn refused(ran: &Ran, lines: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    let found: Vec<&str> = ran.err.lines().skip(1).map(|line| line.trim_start_matches("- ")).collect();
    assert_eq!(found.len(), lines.len(), "{}", ran.err);
    for (line, start) in found.iter().zip(lines) {
        assert!(line.starts_with(start), "{line} does not begin with {start}");
    }
}

/// A call of TaskUpdate is under way: this is no turn's end.
fn updating(world: &World) {
    let input = json!({"taskId": "7", "status": "completed"});
    world.guarded(&call(world, "krs-one", "PreToolUse", "TaskUpdate", &input));
}

#[test]
fn a_critical_task_without_milestone_chunk_and_role_is_not_made() {
    let world = World::new("build");
    let ran = task(&world, "TaskCreated", "Implement the parser", "category: implementation");
    assert!(ran.err.starts_with("KILN GUARD: task 7 (implementation) was not made.\n"), "{ran:?}");
    refused(
        &ran,
        &["task 7: milestone_id is missing", "task 7: chunk_id is missing", "task 7: role is missing"],
    );
    let ran = task(&world, "TaskCreated", "Review chunk 2", "milestone_id: 1");
    refused(
        &ran,
        &[
            "task 7: role is missing; a review task has `role: {who does it}` in its metadata, or as a line of its description",
        ],
    );
    let whole = "category: implementation\nmilestone_id: 1\nchunk_id: 2\nrole: builder";
    assert_eq!(task(&world, "TaskCreated", "Implement the parser", whole), Ran::silence());
    assert_eq!(task(&world, "TaskCreated", "Read the docs", "a review of what is there"), Ran::silence());
    let of = |fact: &str| ("task_created".to_owned(), "task 7".to_owned(), fact.to_owned());
    assert_eq!(world.refusals(), [of("milestone_id, chunk_id, role"), of("role")]);
}

#[test]
fn an_implementation_is_done_with_its_review() {
    let world = World::new("build");
    updating(&world);
    let done = |description: &str| {
        task(&world, "TaskCompleted", "x", &format!("category: implementation\n{description}"))
    };
    refused(&done(""), &["task 7: review_task_id is missing"]);
    assert_eq!(done("review_task_id: 8"), Ran::silence());
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    world.put(&format!("{CHUNK}/review.md"), &APPROVED.replace("verdict: APPROVED", "verdict: REJECTED"));
    let with = format!("review_task_id: 8\nverdict_path: {CHUNK}/review.md");
    refused(
        &done(&with),
        &["task 7: verdict_path leads to .kiln/archive/milestone-1/chunk-2/review.md, which says REJECTED"],
    );
    world.put(&format!("{CHUNK}/review.md"), APPROVED);
    assert_eq!(done(&with), Ran::silence());
    refused(&done("review_task_id: 8\nopen_blocking_tasks: 1"), &["task 7: open_blocking_tasks is \"1\""]);
}

#[test]
fn a_review_is_done_with_a_verdict_that_is_in_order() {
    let world = World::new("build");
    updating(&world);
    let done = |path: &str| {
        task(
            &world,
            "TaskCompleted",
            "Review chunk 2",
            &format!("milestone_id: 1\nrole: reviewer\nverdict_path: {path}"),
        )
    };
    let review = format!("{CHUNK}/review.md");
    refused(&done("N/A"), &["task 7: verdict_path is missing"]);
    refused(&done(&review), &["task 7: verdict_path leads to no file"]);
    refused(&done("/etc/passwd"), &["task 7: verdict_path leads out of the project"]);
    world.put(&review, "verdict: fine\n");
    refused(
        &done(&review),
        &["task 7: verdict_path leads to .kiln/archive/milestone-1/chunk-2/review.md, whose verdict"],
    );
    world.put(&review, APPROVED);
    refused(&done(&review), &["task 7: verdict_path leads to"]);
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    assert_eq!(done(&review), Ran::silence());
}

#[test]
fn qa_is_done_with_the_tribunal_s_verdict() {
    let world = World::new("build");
    updating(&world);
    let done = || task(&world, "TaskCompleted", "QA of milestone 1", "qa_verdict_path: .kiln/archive/qa.md");
    refused(&task(&world, "TaskCompleted", "QA of milestone 1", ""), &["task 7: qa_verdict_path is missing"]);
    refused(&done(), &["task 7: qa_verdict_path leads to no file"]);
    world.put(".kiln/archive/qa.md", "undecided\n");
    refused(&done(), &["task 7: qa_verdict_path leads to .kiln/archive/qa.md, which says neither"]);
    for verdict in ["QA_PASS", "QA_FAIL: two findings"] {
        world.put(".kiln/archive/qa.md", &format!("verdict: {verdict}\n"));
        assert_eq!(done(), Ran::silence(), "{verdict}");
    }
}

#[test]
fn the_build_is_complete_when_the_archive_is() {
    let world = World::new("build");
    updating(&world);
    let done = |description: &str| task(&world, "TaskCompleted", "BUILD_COMPLETE", description);
    let proof = "final_archive_check: pass\nopen_blocking_tasks: 0";
    refused(
        &done(""),
        &[
            "task 7: final_archive_check is missing",
            "task 7: open_blocking_tasks is missing",
            ".kiln/archive: chunks",
        ],
    );
    world.put(&format!("{CHUNK}/review.md"), APPROVED);
    refused(
        &done(proof),
        &[
            ".kiln/archive/milestone-1/chunk-2: review.md is not in order: tdd_evidence_path",
            ".kiln/archive/milestone-1/chunk-2: tdd-evidence.md is missing",
        ],
    );
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    assert_eq!(done(proof), Ran::silence());
    // The last word on each chunk counts, and what it stands on.
    let last = format!("{CHUNK}/fix-1-review.md");
    world.put(&last, &APPROVED.replace("verdict: APPROVED", "verdict: REJECTED"));
    refused(&done(proof), &[".kiln/archive/milestone-1/chunk-2: fix-1-review.md says REJECTED"]);
    std::fs::remove_file(world.path().join(&last)).expect("a review");
    world.put(&format!("{CHUNK}/tdd-evidence.md"), "testable: yes\n");
    refused(
        &done(proof),
        &[".kiln/archive/milestone-1/chunk-2: tdd-evidence.md is not in order: no_test_waiver"],
    );
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    assert_eq!(done(proof), Ran::silence());
    // What the metadata says does not stand against what thoth said.
    send(&world, "krs-one", "thoth", &json!("FINAL_ARCHIVE_CHECK: milestone_count=1, chunk_count=1"));
    refused(&done(proof), &["task 7: FINAL_ARCHIVE_CHECK was sent and is not answered"]);
    send(&world, "thoth", "krs-one", &json!("ARCHIVE_BLOCKED: review.md of chunk 2"));
    refused(&done(proof), &["task 7: FINAL_ARCHIVE_CHECK was answered with ARCHIVE_BLOCKED"]);
    send(&world, "thoth", "krs-one", &json!("ARCHIVE_READY"));
    assert_eq!(done(proof), Ran::silence());
    world.put(".kiln/archive/qa.md", "verdict: QA_FAIL\n");
    let failed = format!("{proof}\nqa_verdict_path: .kiln/archive/qa.md");
    refused(&done(&failed), &["task 7: qa_verdict_path leads to .kiln/archive/qa.md, which says QA_FAIL"]);
}

#[test]
fn a_turn_s_end_is_refused_twice_and_a_deliberate_update_always() {
    let world = World::new("build");
    let end = || task(&world, "TaskCompleted", "Review chunk 2", "").code;
    assert_eq!([end(), end(), end(), end()], [2, 2, 0, 0], "an agent that waits must be able to stop");
    updating(&world);
    assert_eq!([end(), end(), end()], [2, 2, 2]);
    let input = json!({"taskId": "7", "status": "completed"});
    world.guarded(&call(&world, "krs-one", "PostToolUseFailure", "TaskUpdate", &input));
    assert_eq!(end(), 0);
    // What is wrong has changed: it is told anew.
    let other = task(
        &world,
        "TaskCompleted",
        "Review chunk 2",
        "verdict_path: none/review.md\nopen_blocking_tasks: 2",
    );
    assert_eq!(other.code, 2);
}

#[test]
fn each_task_guard_has_its_own_setting_and_needs_a_pipeline() {
    let world = World::with("build", "[guards]\ntask_created = false\n");
    assert_eq!(task(&world, "TaskCreated", "Review chunk 2", ""), Ran::silence());
    assert_eq!(task(&world, "TaskCompleted", "Review chunk 2", "").code, 2);
    world.settings("[guards]\ntask_completed = false\n");
    assert_eq!(task(&world, "TaskCompleted", "Review chunk 2", ""), Ran::silence());
    assert_eq!(task(&world, "TaskCreated", "Review chunk 2", "").code, 2);
    world.stage("complete");
    assert_eq!(task(&world, "TaskCreated", "Review chunk 2", ""), Ran::silence());
    world.stage("build");
    let plain =
        by(&world, "krs-one", "TaskCreated", &json!({"task_id": "7", "task_subject": "Review chunk 2"}));
    assert_eq!(world.hook(&plain), Ran::silence(), "a hook without guards");
}

/// Where the client of the session keeps its tasks.
fn list(world: &World) -> PathBuf {
    world.beside("home/.claude/tasks/session-5e55-lea")
}

/// Puts a task into the client's own list, as it was seen to keep it.
pub(super) fn listed(world: &World, id: &str, metadata: &Value) {
    let task = json!({
        "id": id, "subject": "Review chunk 2", "description": "", "activeForm": "Reviewing", "status": "pending",
        "blocks": [], "blockedBy": [], "metadata": metadata,
    });
    std::fs::write(list(world).join(format!("{id}.json")), task.to_string()).expect("a task");
}

#[test]
fn metadata_are_read_from_the_client_s_list_of_tasks() {
    let world = World::new("build");
    updating(&world);
    refused(
        &task(&world, "TaskCreated", "Review chunk 2", ""),
        &["task 7: milestone_id is missing", "task 7: role is missing"],
    );
    listed(&world, "7", &json!({"milestone_id": 1, "role": "reviewer"}));
    assert_eq!(task(&world, "TaskCreated", "Review chunk 2", ""), Ran::silence());
    refused(&task(&world, "TaskCompleted", "Review chunk 2", ""), &["task 7: verdict_path is missing"]);
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    let path = world.put(&format!("{CHUNK}/review.md"), APPROVED);
    listed(&world, "7", &json!({"milestone_id": 1, "role": "reviewer", "verdict_path": path}));
    assert_eq!(task(&world, "TaskCompleted", "Review chunk 2", ""), Ran::silence());
    // A file that is valid and holds none is seen to hold none.
    std::fs::write(list(&world).join("7.json"), r#"{"id": "7", "subject": "Review chunk 2"}"#)
        .expect("a task");
    refused(&task(&world, "TaskCompleted", "Review chunk 2", ""), &["task 7: verdict_path is missing"]);
}

#[test]
fn a_list_that_cannot_be_looked_at_holds_up_no_task() {
    let world = World::new("build");
    updating(&world);
    let file = list(&world).join("7.json");
    let kinds: [(&str, &dyn Fn()); 8] = [
        ("no folder", &|| std::fs::remove_dir(list(&world)).expect("a folder")),
        ("missing", &|| drop(list(&world))),
        ("a pipe", &|| {
            let made = std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo");
            assert!(made.success());
        }),
        ("a folder", &|| std::fs::create_dir(&file).expect("a folder")),
        ("empty", &|| std::fs::write(&file, "").expect("a file")),
        ("half a file", &|| std::fs::write(&file, "{\"metadata\": {\"verd").expect("a file")),
        ("another file", &|| std::fs::write(&file, "[7]").expect("a file")),
        ("too long", &|| std::fs::write(&file, " ".repeat(300 * 1024)).expect("a file")),
    ];
    for (number, (kind, make)) in kinds.into_iter().enumerate() {
        make();
        for (nth, (event, subject)) in [
            ("TaskCreated", "Review chunk 2"),
            ("TaskCompleted", "Review chunk 2"),
            ("TaskCompleted", "Implement chunk 2"),
            ("TaskCompleted", "QA of milestone 1"),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(told(&world, event, subject, ""), Ran::silence(), "{kind}: {event} {subject}");
            let noted =
                world.faults().iter().filter(|fault| fault.starts_with("a guard lets pass: ")).count();
            assert_eq!(noted, 5 * number + nth + 1, "{kind}: {:?}", world.faults());
        }
        // What the payload itself says is seen all the same.
        let open =
            told(&world, "TaskCompleted", "Implement chunk 2", &format!("open_blocking_tasks: {number}1"));
        assert_eq!(open.code, 2, "{kind}");
        std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir(&file)).ok();
    }
}

/// The call that makes a task may be under way before the client has written it down.
#[test]
fn a_task_that_is_not_in_the_list_yet_is_made() {
    let world = World::new("build");
    let metadata = json!({"milestone_id": 1, "chunk_id": 2, "role": "builder"});
    let input = json!({"subject": "Implement chunk 2", "description": "", "metadata": metadata});
    assert_eq!(world.guarded(&call(&world, "krs-one", "PreToolUse", "TaskCreate", &input)), Ran::silence());
    assert_eq!(told(&world, "TaskCreated", "Implement chunk 2", ""), Ran::silence());
}

#[test]
fn what_the_completing_call_itself_sets_counts_while_it_is_under_way() {
    let world = World::new("build");
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    world.put(&format!("{CHUNK}/review.md"), APPROVED);
    let update = |event: &str, more: &Value| {
        let mut input = json!({"taskId": "7", "status": "completed"});
        for (key, value) in more.as_object().into_iter().flatten() {
            input[key] = value.clone();
        }
        world.guarded(&call(&world, "sphinx", event, "TaskUpdate", &input));
    };
    let done = || task(&world, "TaskCompleted", "Review chunk 2", "");
    let path = format!("{CHUNK}/review.md");
    for more in
        [json!({"metadata": {"verdict_path": path}}), json!({"description": format!("verdict_path: {path}")})]
    {
        update("PreToolUse", &more);
        assert_eq!(done(), Ran::silence(), "{more}");
        update("PostToolUse", &more);
        update("PreToolUse", &json!({}));
        refused(&done(), &["task 7: verdict_path is missing"]);
        update("PostToolUse", &json!({}));
    }
    let marks = world.root.in_own("tasks");
    assert_eq!(
        std::fs::read_dir(marks).expect("a folder").count(),
        0,
        "nothing is left of a call that is over"
    );
}
