//! From a hook's payload to the journal's event. `replay` and the hooks use the same translation.

use super::api_error;
use super::payload::Payload;
use crate::model::event::{Event, VERSION, What};
use crate::model::moment::Millis;
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
    let what = what(payload, client);
    Event { v: VERSION, at, session: id(payload.session()), agent, name, what }
}

fn what(payload: &Payload, client: Client<'_>) -> What {
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
            let message = payload.message().filter(|_| !failed).map(|mut message| {
                message.to = bounded(&message.to);
                message.head = bounded(&message.head);
                message.request_id = id(&message.request_id);
                message
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
            let error = api_error::sort(failure_name(payload), failure_text(payload));
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
