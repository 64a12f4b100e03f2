//! What goes back to the client, in the form that it honours: inside `hookSpecificOutput`, with the event's name.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::Reply;

/// Puts a text into the agent's context at an event.
pub(super) fn context(event: &str, text: &str) -> Reply {
    Reply::Answer(
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string(),
    )
}

/// Puts several texts there, if there are any.
pub(super) fn contexts(event: &str, texts: impl Iterator<Item = String>) -> Reply {
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { Reply::Silence } else { context(event, &texts.join("\n")) }
}

/// Acknowledges a spawn: in the seeds' literal form, which a client passes over, and in the form it honours.
pub(super) fn acknowledgement(event: &str, text: &str) -> Reply {
    let inner = json!({"hookEventName": event, "additionalContext": text});
    Reply::Answer(json!({"additionalContext": text, "hookSpecificOutput": inner}).to_string())
}

/// Denies a tool call, with the reason for the agent.
pub(super) fn deny(event: &str, reason: &str) -> Reply {
    let inner = json!({
        "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason,
    });
    Reply::Answer(json!({"hookSpecificOutput": inner}).to_string())
}

/// Gives an agent feedback on what it did, or keeps it from stopping, with the reason.
pub(super) fn block(reason: &str) -> Reply {
    Reply::Answer(json!({"decision": "block", "reason": reason}).to_string())
}

/// Asks the client to watch files, so that their appearance fires FileChanged.
pub(super) fn watch_paths(event: &str, paths: &[String]) -> Reply {
    let inner: Value = json!({"hookEventName": event, "watchPaths": paths});
    Reply::Answer(json!({"hookSpecificOutput": inner}).to_string())
}

/// Prints an answer. A client that has gone does not want it.
pub(super) fn print(text: &str) {
    let mut stdout = io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush())
        .ok();
}

/// Prints the text of a wake.
pub(super) fn print_wake(text: &str) {
    writeln!(io::stderr(), "{text}").ok();
}
