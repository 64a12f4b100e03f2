//! What a client's hook delivers on stdin. Every field is optional but the event's name; unknown events, fields and
//! values are kept or passed over, never an error. `docs/hooks.md` lists what is read.

use std::hash::{DefaultHasher, Hasher};

use super::message;
use super::sketch::{self, Sketch};
use crate::model::event::{Message, Spawn};
use crate::model::wording::WAKE_MARK;

/// One delivery of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// The event's name, such as `PreToolUse`.
    pub event: String,
    fields: Sketch,
}

/// Reads a payload. None = not JSON, not an object, or no event is named: nothing happened that could be told.
pub fn read(bytes: &[u8]) -> Option<Payload> {
    let fields = sketch::read(bytes).ok()?;
    let event = fields.get("hook_event_name").word()?.to_owned();
    Some(Payload { event, fields })
}

impl Payload {
    /// Makes a payload of a value that was read elsewhere, such as a line of a trace.
    pub fn of(fields: Sketch) -> Option<Self> {
        let event = fields.get("hook_event_name").word()?.to_owned();
        Some(Self { event, fields })
    }

    /// All that was read.
    pub(super) fn fields(&self) -> &Sketch {
        &self.fields
    }

    /// The text of a field at the top level; empty if there is none.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).text()
    }

    /// A field at the top level, whatever it holds.
    pub fn value(&self, name: &str) -> &Sketch {
        self.fields.get(name)
    }

    /// The session's id; empty if there is none.
    pub fn session(&self) -> &str {
        self.field("session_id")
    }

    /// The agent's id; empty for the lead. Only events inside a subagent or teammate carry one.
    pub fn agent(&self) -> &str {
        match self.field("agent_id") {
            "" => self.fields.get("teammate").get("id").text(),
            id => id,
        }
    }

    /// The agent's name without a leading `kiln:`; empty for the lead. `agent_type` without an id names the kind of
    /// the main agent, so it does not count, except where an event is only ever about another agent.
    pub fn name(&self) -> &str {
        let about_another = matches!(self.event.as_str(), "SubagentStart" | "SubagentStop" | "TeammateIdle");
        let name = match (self.field("teammate_name"), self.agent().is_empty() && !about_another) {
            ("", true) => "",
            ("", false) => match self.field("agent_type") {
                "" => self.fields.get("teammate").get("name").text(),
                name => name,
            },
            (name, _) => name,
        };
        bare(name)
    }

    /// The tool's name; empty if there is none.
    pub fn tool(&self) -> &str {
        self.field("tool_name")
    }

    /// What `activity.json` calls this event: its name, with the tool's behind a colon.
    pub fn source(&self) -> String {
        match self.tool() {
            "" => self.event.clone(),
            tool => format!("{}:{tool}", self.event),
        }
    }

    /// The call's own time limit, milliseconds. A limit of more than a day is none.
    pub fn timeout_ms(&self) -> Option<u64> {
        const DAY: f64 = 86_400_000.0;
        let number = self.fields.get("tool_input").get("timeout").number()?;
        (number > 0.0 && number <= DAY).then_some(number as u64)
    }

    /// Short hash of tool and input: equal calls have equal hashes.
    pub fn call_hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.tool().as_bytes());
        self.fields.get("tool_input").digest(&mut hasher);
        format!("{:08x}", hasher.finish() >> 32)
    }

    /// The message that this call of `SendMessage` sent.
    pub fn message(&self) -> Option<Message> {
        (self.tool() == "SendMessage")
            .then(|| message::read(self.fields.get("tool_input"), self.fields.get("tool_response")))
    }

    /// The kind of the first task that still runs in the background when the lead's turn ends. Teammates and subagents
    /// are none: what they do is seen by their own events.
    pub fn background(&self) -> Option<&str> {
        self.fields.get("background_tasks").list().iter().find_map(|task| {
            let kind = task.get("type").word()?;
            let is_other = !matches!(kind, "teammate" | "subagent");
            (is_other && task.get("status").text() == "running").then_some(kind)
        })
    }

    /// Heads of signals in the text that the turn ended with.
    pub fn heads(&self) -> Vec<String> {
        message::heads(self.field("last_assistant_message"))
    }

    /// The agent that this call began. An agent without a name hands its result back by itself, and so does one
    /// that the call waited for.
    pub fn spawn(&self) -> Option<Spawn> {
        if !matches!(self.tool(), "Agent" | "Task") {
            return None;
        }
        let (input, response) = (self.fields.get("tool_input"), self.fields.get("tool_response"));
        let status = response.get("status").text();
        let refused = matches!(response.get("success").truth(), Some(false)) || status == "failed";
        let given = response.get("name").word().or_else(|| input.get("name").word());
        let kind =
            [input.get("subagent_type"), response.get("agent_type")].iter().find_map(|kind| kind.word());
        let name = bare(given.or(kind)?);
        let pane = response.get("tmux_pane_id").text();
        (!refused && !name.is_empty()).then(|| Spawn {
            name: name.to_owned(),
            id: ["agent_id", "agentId"]
                .iter()
                .find_map(|key| response.get(key).word())
                .unwrap_or_default()
                .to_owned(),
            kind: bare(kind.unwrap_or_default()).to_owned(),
            teammate: status == "teammate_spawned" || (given.is_some() && status != "completed"),
            apart: pane.starts_with('%') || response.get("is_splitpane").truth() == Some(true),
        })
    }

    /// The agent that this call ended, by name or id.
    pub fn stopped(&self) -> &str {
        let input = self.fields.get("tool_input");
        match self.tool() {
            "TaskStop" | "KillShell" => {
                ["task_id", "shell_id"].iter().find_map(|key| input.get(key).word()).unwrap_or_default()
            }
            _ => "",
        }
    }

    /// Tells whether a prompt is our own wake: an automated notification that carries our mark.
    pub fn is_own_wake(&self) -> bool {
        let prompt = self.field("prompt");
        prompt.trim_start().starts_with("<task-notification>") && prompt.contains(WAKE_MARK)
    }
}

/// Takes the plugin's prefix from an agent's name.
pub fn bare(name: &str) -> &str {
    name.trim().strip_prefix("kiln:").unwrap_or(name.trim())
}

#[cfg(test)]
mod tests;
