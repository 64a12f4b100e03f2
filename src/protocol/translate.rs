//! From a hook's payload to the journal's event. `replay` and the hooks use the same translation.

use super::api_error;
use super::payload::Payload;
use super::task;
use crate::model::event::{Event, Message, Spawn, What};
use crate::model::moment::Millis;
use crate::model::wait::BACKGROUND;
use crate::model::wording::{one_line, plain};

/// The longest name, id or word that is taken over from a payload.
const LONGEST: usize = 200;

/// What the process beside a payload knows of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Client<'a> {
    /// The client's process.
    pub pid: Option<i32>,
    /// How it was entered.
    pub entry: &'a str,
}

/// Returns what a payload tells.
pub fn event(payload: &Payload, client: Client<'_>, at: Millis) -> Event {
    let name = bounded(payload.name());
    // An agent without an id is told from the lead by its name.
    let agent = match payload.agent() {
        "" => name.clone(),
        agent => id(agent),
    };
    let what = what(payload, client, at);
    let is_end = matches!(what, What::AgentStop | What::TurnEnd);
    let is_done = matches!(what, What::ToolEnd { failed: false, .. });
    Event {
        session: id(payload.session()),
        agent,
        name,
        heads: if is_end { heads(payload) } else { Vec::new() },
        spawn: payload.spawn().filter(|_| is_done).map(|spawn| Spawn {
            name: bounded(&spawn.name),
            id: id(&spawn.id),
            kind: bounded(&spawn.kind),
            ..spawn
        }),
        stopped: if is_done { bounded(payload.stopped()) } else { String::new() },
        task: task::read(payload).map(Box::new),
        ..Event::of_root(at, what)
    }
}

/// The heads of the closing text; a word that looks like a key is none.
fn heads(payload: &Payload) -> Vec<String> {
    payload.heads().into_iter().filter(|head| bounded(head) == *head).collect()
}

/// A turn that ends with a task in the background is parked: the client goes on by itself when the task ends, so it
/// explains silence as a running tool does, with the same limit. The next prompt ends it.
pub fn background(payload: &Payload, at: Millis) -> Option<Event> {
    let kind = payload.background().filter(|_| payload.event == "Stop")?;
    let what = What::ToolStart {
        tool: format!("{}{BACKGROUND}", plain(kind, 40)),
        id: String::new(),
        timeout_ms: None,
        hash: String::new(),
    };
    Some(Event { what, heads: Vec::new(), ..event(payload, Client::default(), at) })
}

fn what(payload: &Payload, client: Client<'_>, at: Millis) -> What {
    let word = |name: &str| bounded(payload.field(name));
    let call = || id(payload.field("tool_use_id"));
    match payload.event.as_str() {
        "SessionStart" => {
            What::SessionStart { source: word("source"), pid: client.pid, entry: client.entry.to_owned() }
        }
        "SessionEnd" => What::SessionEnd { reason: word("reason") },
        "UserPromptSubmit" => What::Prompt { wake: payload.is_own_wake() },
        "PreToolUse" => What::ToolStart {
            tool: bounded(payload.tool()),
            id: call(),
            timeout_ms: payload.timeout_ms(),
            hash: payload.call_hash(),
        },
        "PostToolUse" | "PostToolUseFailure" => {
            let failed = payload.event == "PostToolUseFailure";
            let message = payload.message().filter(|_| !failed).map(|message| Message {
                to: bounded(&message.to),
                head: bounded(&message.head),
                request_id: id(&message.request_id),
                sender: bounded(&message.sender),
                names: message.names.iter().map(|(key, name)| (bounded(key), bounded(name))).collect(),
                ..message
            });
            What::ToolEnd { tool: bounded(payload.tool()), id: call(), failed, message }
        }
        "SubagentStart" => What::AgentStart,
        "SubagentStop" => What::AgentStop,
        "TeammateIdle" => What::Idle { told: false },
        "PermissionRequest" => What::Permission { tool: bounded(payload.tool()) },
        "Notification" => What::Notice { kind: word("notification_type") },
        "Stop" => What::TurnEnd,
        "StopFailure" => {
            let error = api_error::sort(failure_name(payload), failure_text(payload), at);
            What::ApiError { holds: error.holds(), reset_at: error.reset_at, error: bounded(&error.error) }
        }
        other => What::Other { hook: bounded(other) },
    }
}

/// The client's name for the failure of a turn.
pub fn failure_name(payload: &Payload) -> &str {
    ["error", "error_type"]
        .iter()
        .map(|name| payload.field(name))
        .find(|name| !name.is_empty())
        .unwrap_or("unknown")
}

/// The client's words on the failure of a turn. What it shows in place of the agent's last message is the error.
pub fn failure_text(payload: &Payload) -> &str {
    ["error_details", "last_assistant_message", "error_message"]
        .iter()
        .map(|name| payload.field(name))
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// An id tells one thing from another, so it is never masked: many look like keys, and would all be the same then.
fn id(text: &str) -> String {
    one_line(text, LONGEST)
}

/// Names and words only: bounded, on one line, nothing that looks like a secret.
fn bounded(text: &str) -> String {
    plain(text, LONGEST)
}

#[cfg(test)]
mod tests;
