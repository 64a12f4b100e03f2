//! A session's record and its tasks.

use proptest::prelude::*;
use serde_json::json;

use super::{Meta, Published, Status, Task, read, tasks};

fn words(bytes: &[u8]) -> Vec<String> {
    let faults = read(bytes).1;
    faults.into_iter().map(|fault| format!("{}: {}", fault.rule.word(), fault.fact)).collect()
}

#[test]
fn a_record_of_the_tool_is_read() {
    let file = json!({
        "status": "active", "created_at": "2026-01-15T10:00:00Z", "updated_at": "2026-01-15T10:30:00.000+00:00",
        "pipeline_mode": "full", "pipeline_stages": ["analysis"], "roles": ["analyst", "planner"],
        "role_state": {"analyst": {"task_id": "RESEARCH-001", "status": "task_complete", "_updated_at": "2026-01-15T10:30:00.000+00:00"}}
    });
    let (meta, faults) = read(file.to_string().as_bytes());
    let meta = meta.expect("a record");
    assert_eq!(faults, []);
    assert_eq!((meta.status, meta.updated), (Some(Status::Active), Some(1_768_473_000_000)));
    assert_eq!(meta.roles, ["analyst", "planner"]);
    let published = Published { updated: Some(1_768_473_000_000), task: "RESEARCH-001".to_owned() };
    assert_eq!(meta.published.get("analyst"), Some(&published));
    assert!(meta.knows("planner") && !meta.knows("tester"));
}

#[test]
fn what_a_record_does_not_say_is_no_fault() {
    assert_eq!(read(b"{}"), (Some(Meta::default()), Vec::new()));
    assert!(Meta::default().knows("anyone"), "where no role was declared every one is");
    let odd = br#"{"roles":{"a":1},"role_state":[1],"updated_at":7}"#;
    assert_eq!(read(odd), (Some(Meta::default()), Vec::new()));
}

#[test]
fn a_status_is_one_of_three_and_a_record_is_an_object() {
    for (word, status) in
        [("active", Status::Active), ("completed", Status::Completed), ("archived", Status::Archived)]
    {
        let (meta, faults) = read(json!({ "status": word }).to_string().as_bytes());
        assert_eq!((meta.expect("a record").status, faults.len()), (Some(status), 0));
    }
    let fault = "session-status: status is \"paused\", none of active, completed, archived";
    assert_eq!(words(br#"{"status":"paused"}"#), [fault]);
    for broken in ["", "{", "[]", "{\"status\": \"act", "\u{0}"] {
        assert_eq!(words(broken.as_bytes()), ["meta-unreadable: meta.json is no JSON object"], "{broken}");
    }
}

#[test]
fn the_older_files_fill_what_is_missing_and_nothing_else() {
    let mut meta = Meta::default();
    meta.add_session(br#"{"roles":[{"name":"analyst","prefix":"RESEARCH"},{"prefix":"x"}],"team_name":"t"}"#);
    meta.add_shared(br#"{"pipeline_mode":"full","analyst":{"task_id":"RESEARCH-001"},"list":[1]}"#);
    assert_eq!(meta.roles, ["analyst"]);
    assert_eq!(meta.published["analyst"].task, "RESEARCH-001");
    let before = meta.clone();
    meta.add_session(br#"{"roles":["other"]}"#);
    meta.add_shared(br#"{"other":{"task_id":"x"}}"#);
    meta.add_session(b"{");
    meta.add_shared(b"[");
    assert_eq!(meta, before);
}

#[test]
fn tasks_are_read_by_id_and_as_a_list() {
    let task =
        |id: &str, role: &str, is_completed| Task { id: id.to_owned(), role: role.to_owned(), is_completed };
    let by_id = json!({"session_id": "TLS-x", "tasks": {
        "RESEARCH-001": {"role": "analyst", "status": "completed", "deps": [], "wave": 1},
        "PLAN-001": {"status": "in_progress"}
    }});
    let wanted = [task("RESEARCH-001", "analyst", true), task("PLAN-001", "", false)];
    assert_eq!(tasks(by_id.to_string().as_bytes()), wanted);
    let list = json!({"tasks": [
        {"id": "RESEARCH-001", "owner": "analyst", "status": "completed"}, {"task_id": "PLAN-001", "status": "failed"}, {"status": "completed"}, 7
    ]});
    assert_eq!(tasks(list.to_string().as_bytes()), wanted);
    assert_eq!(tasks(b"{}"), []);
    assert_eq!(tasks(b"{"), []);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
        tasks(&bytes);
        Meta::default().add_session(&bytes);
        Meta::default().add_shared(&bytes);
    }
}
