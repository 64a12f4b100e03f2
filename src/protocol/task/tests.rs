//! The shapes in which clients tell of tasks, and what is no task.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::read;
use crate::model::task::TaskState;
use crate::protocol::payload;

fn of(value: &Value) -> Option<String> {
    let payload = payload::read(value.to_string().as_bytes()).unwrap();
    let change = read(&payload)?;
    let mut fields = serde_json::to_value(&change).unwrap();
    if change.subject.len() == 8 {
        fields["subject"] = json!("HASH");
    }
    Some(fields.to_string())
}

fn call(tool: &str, input: &Value, response: &Value) -> Value {
    json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response})
}

#[test]
fn a_task_that_is_made_is_read_from_the_call_and_from_the_event() {
    let check = |payload: Value, wanted: &str| assert_eq!(of(&payload).as_deref(), Some(wanted), "{payload}");
    let input =
        json!({"subject": "Write the loader", "description": "secret words", "activeForm": "Writing"});
    let made = r#"{"id":"4","created":true,"status":"pending","subject":"HASH"}"#;
    check(call("TaskCreate", &input, &json!({"task": {"id": "4", "subject": "Write the loader"}})), made);
    check(call("TaskCreate", &input, &json!({"task": {"id": 4}})), made);
    check(call("TaskCreate", &input, &json!({"id": "4"})), made);
    check(call("TaskCreate", &input, &json!("Task #4 created successfully: Write the loader")), made);
    check(
        json!({"hook_event_name": "TaskCreated", "task_id": "4", "task_subject": "Write the loader"}),
        made,
    );
    check(
        json!({"hook_event_name": "TaskCompleted", "task_id": "4", "task_subject": "x", "teammate_name": "impl-1"}),
        r#"{"id":"4","status":"completed"}"#,
    );
}

#[test]
fn an_update_is_read_in_every_generation_of_names() {
    let check = |input: Value, response: Value, wanted: &str| {
        assert_eq!(of(&call("TaskUpdate", &input, &response)).as_deref(), Some(wanted), "{input} {response}");
    };
    let done = json!({"success": true, "taskId": "4", "updatedFields": ["status"]});
    check(
        json!({"taskId": "4", "status": "in_progress"}),
        done.clone(),
        r#"{"id":"4","status":"in_progress"}"#,
    );
    check(
        json!({"task_id": "#4", "status": "completed"}),
        json!("Updated task #4 status"),
        r#"{"id":"4","status":"completed"}"#,
    );
    check(json!({"id": 4, "status": "deleted"}), Value::Null, r#"{"id":"4","status":"deleted"}"#);
    check(
        json!({"taskId": "4", "status": "blocked", "metadata": {"blocker": "  no\nschema \u{1b}[31m "}}),
        done.clone(),
        r#"{"id":"4","status":"blocked","blocker":"no schema  [31m"}"#,
    );
    check(json!({"taskId": "4", "owner": "impl-1"}), done.clone(), r#"{"id":"4","owner":"impl-1"}"#);
    check(
        json!({"taskId": "4", "subject": "New words"}),
        json!({"success": true, "statusChange": {"from": "pending", "to": "in_progress"}}),
        r#"{"id":"4","status":"in_progress","from":"pending","subject":"HASH"}"#,
    );
    // A state that no table knows says nothing of the state.
    check(json!({"taskId": "4", "status": "almost"}), done, r#"{"id":"4"}"#);
}

#[test]
fn what_failed_or_names_no_task_is_none() {
    for payload in [
        call(
            "TaskUpdate",
            &json!({"taskId": "4", "status": "completed"}),
            &json!({"success": false, "error": "Task not found"}),
        ),
        call("TaskUpdate", &json!({"status": "completed"}), &Value::Null),
        call("TaskUpdate", &json!({"taskId": ["4"]}), &Value::Null),
        call("TaskUpdate", &json!({"taskId": -1}), &Value::Null),
        call("TaskCreate", &json!({"subject": "x"}), &json!("Error: bad input")),
        call("TaskCreate", &json!({"subject": "x"}), &Value::Null),
        call("TaskGet", &json!({"taskId": "4"}), &Value::Null),
        json!({"hook_event_name": "PreToolUse", "tool_name": "TaskUpdate", "tool_input": {"taskId": "4", "status": "completed"}}),
        json!({"hook_event_name": "PostToolUseFailure", "tool_name": "TaskUpdate", "tool_input": {"taskId": "4"}}),
        json!({"hook_event_name": "TaskCreated", "task_subject": "x"}),
    ] {
        assert_eq!(of(&payload), None, "{payload}");
    }
}

#[test]
fn a_subject_is_the_same_whatever_its_case_and_blanks() {
    let hash = |subject: &str| super::subject(subject);
    assert_eq!(hash("Write the loader"), hash("  write THE\tloader\n"));
    assert_ne!(hash("Write the loader"), hash("Write theloader"));
    assert_eq!((hash(" \n"), hash("x").len()), (String::new(), 8));
}

#[test]
fn a_blocker_that_looks_like_a_key_is_masked_and_bounded() {
    let secret = "ghp_0123456789abcdefghij";
    let text = format!("the token {secret} is refused {}", "long words ".repeat(60));
    let input = json!({"taskId": "4", "status": "blocked", "metadata": {"blocker": text}});
    let payload = payload::read(call("TaskUpdate", &input, &Value::Null).to_string().as_bytes()).unwrap();
    let change = read(&payload).unwrap();
    assert!(!change.blocker.contains(secret) && change.blocker.contains("[masked]"), "{}", change.blocker);
    assert_eq!(change.blocker.chars().count(), 200);
    assert_eq!(change.status, Some(TaskState::Blocked));
}

proptest! {
    #[test]
    fn any_input_is_read(id in ".*", status in ".*", blocker in ".*", response in ".*") {
        let input = json!({"taskId": id, "status": status, "subject": id, "owner": blocker, "metadata": {"blocker": blocker}});
        for tool in ["TaskUpdate", "TaskCreate"] {
            if let Some(payload) = payload::read(call(tool, &input, &json!(response)).to_string().as_bytes())
                && let Some(change) = read(&payload)
            {
                for text in [&change.id, &change.owner, &change.blocker] {
                    prop_assert!(text.chars().count() <= 200 && !text.contains(char::is_control));
                }
            }
        }
    }
}
