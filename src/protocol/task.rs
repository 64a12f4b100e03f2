//! Calls of TaskCreate and TaskUpdate, and the events TaskCreated and TaskCompleted: what they say of a task. Of a
//! subject only a hash is taken; of what blocks a task a short text, since it is what the lead reads first.

use std::hash::{DefaultHasher, Hasher};

use super::payload::Payload;
use super::sketch::Sketch;
use crate::model::task::{TaskChange, TaskState};
use crate::model::wording::{one_line, plain};

/// The longest id, name and blocker that is taken over.
const LONGEST: usize = 200;

/// Reads what a payload says of a task. None = nothing: another tool, a call that failed, or no task is named.
pub fn read(payload: &Payload) -> Option<TaskChange> {
    let fields = payload.fields();
    match (payload.event.as_str(), payload.tool()) {
        ("PostToolUse", "TaskCreate") => created(fields.get("tool_input"), fields.get("tool_response")),
        ("PostToolUse", "TaskUpdate") => updated(fields.get("tool_input"), fields.get("tool_response")),
        ("TaskCreated", _) => {
            let subject = subject(fields.get("task_subject").text());
            let id = id(fields.get("task_id"))?;
            Some(TaskChange {
                id,
                created: true,
                status: Some(TaskState::Pending),
                subject,
                ..TaskChange::default()
            })
        }
        ("TaskCompleted", _) => {
            let id = id(fields.get("task_id"))?;
            Some(TaskChange { id, status: Some(TaskState::Completed), ..TaskChange::default() })
        }
        _ => None,
    }
}

fn created(input: &Sketch, response: &Sketch) -> Option<TaskChange> {
    let answered = id(response.get("task").get("id"))
        .or_else(|| id(response.get("id")))
        .or_else(|| id(response.get("taskId")))
        .or_else(|| spoken(response.text()))?;
    let subject = subject(input.get("subject").text());
    let owner = word(input.get("owner").text());
    Some(TaskChange {
        id: answered,
        created: true,
        status: Some(TaskState::Pending),
        owner,
        subject,
        ..TaskChange::default()
    })
}

fn updated(input: &Sketch, response: &Sketch) -> Option<TaskChange> {
    if response.get("success").truth() == Some(false) {
        return None;
    }
    let id = ["taskId", "task_id", "id"].iter().find_map(|name| id(input.get(name)))?;
    let change = response.get("statusChange");
    let status = TaskState::of(input.get("status").text()).or_else(|| TaskState::of(change.get("to").text()));
    Some(TaskChange {
        id,
        created: false,
        status,
        from: TaskState::of(change.get("from").text()),
        owner: word(input.get("owner").text()),
        subject: subject(input.get("subject").text()),
        blocker: word(input.get("metadata").get("blocker").text()),
    })
}

/// An id is a text or a whole number.
fn id(value: &Sketch) -> Option<String> {
    match value {
        Sketch::Text(text) => {
            Some(one_line(text.trim().trim_start_matches('#'), LONGEST)).filter(|id| !id.is_empty())
        }
        Sketch::Number(number) if *number >= 0.0 && *number < 1e15 && number.fract() == 0.0 => {
            Some(format!("{number:.0}"))
        }
        _ => None,
    }
}

/// The id in an answer in words, such as `Task #4 created successfully: …`.
fn spoken(text: &str) -> Option<String> {
    let rest = text.strip_prefix("Task #")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(15).collect();
    (!digits.is_empty()).then_some(digits)
}

fn word(text: &str) -> String {
    plain(text.trim(), LONGEST)
}

/// Short hash of a subject: what differs in case and blanks alone is the same.
fn subject(text: &str) -> String {
    let mut words = text.split_whitespace().map(str::to_lowercase).peekable();
    if words.peek().is_none() {
        return String::new();
    }
    let mut hasher = DefaultHasher::new();
    for word in words {
        hasher.write(word.as_bytes());
        hasher.write_u8(b' ');
    }
    format!("{:08x}", hasher.finish() >> 32)
}

#[cfg(test)]
mod tests;
