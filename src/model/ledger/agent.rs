//! One agent of the ledger: its turn, its open tools, its question to a person.

use serde::{Deserialize, Serialize};

use super::super::event::{Event, What};
use super::super::moment::Millis;
use super::super::wait::{Asked, OpenTool, Question};

/// Open tools of one agent that are remembered at most: calls that are refused by a rule never end.
const MOST_TOOLS: usize = 32;

/// One agent of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Agent {
    /// Its name; empty for the lead.
    #[serde(default)]
    pub name: String,
    /// What it does.
    pub state: State,
    /// Since when, unix milliseconds.
    pub since: Millis,
    /// Its last event, unix milliseconds.
    pub last: Millis,
    /// Its tool calls that have not ended.
    #[serde(default)]
    pub tools: Vec<OpenTool>,
    /// What it asks a person for.
    #[serde(default)]
    pub asked: Option<Asked>,
    /// How often it was told that it is still listed as working, since it last worked.
    #[serde(default)]
    pub idle_told: u32,
    /// The operator has been told that its next turn waits for a person.
    #[serde(default)]
    pub told: bool,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its turn goes on.
    #[default]
    Working,
    /// Its turn is over; a message or prompt would start the next.
    TurnOver,
    /// It will not come back.
    Gone,
}

impl State {
    /// The state in words, as `status` shows it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::TurnOver => "turn over",
            Self::Gone => "gone",
        }
    }
}

impl Agent {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.what {
            What::Prompt { .. } | What::AgentStart => {
                self.end_turn(event.at);
                self.become_state(State::Working, event.at);
            }
            What::ToolStart { tool, id, timeout_ms, .. } => {
                self.start_tool(event.at, tool, id, *timeout_ms);
                // Only the lead asks a person for its plan; what another asks for is the lead's to decide.
                if tool == "ExitPlanMode" && !event.is_lead() {
                    self.answer();
                }
            }
            What::ToolEnd { tool, id, .. } => self.end_tool(event.at, tool, id),
            What::Permission { tool } => self.ask(event.at, Question::Permission(tool.clone())),
            What::AgentStop | What::TurnEnd | What::ApiError { .. } => self.end_turn(event.at),
            What::Idle { told } => {
                self.end_turn(event.at);
                self.idle_told = self.idle_told.saturating_add(u32::from(*told));
            }
            _ => {}
        }
    }

    /// Of the events that mean nothing else, two say that calls are over: refused by a rule, or all of one step.
    pub(super) fn other(&mut self, hook: &str) {
        match hook {
            "PermissionDenied" => self.answer(),
            "PostToolBatch" => {
                self.answer();
                self.tools.clear();
            }
            _ => {}
        }
    }

    pub(super) fn end(&mut self, at: Millis) {
        self.become_state(State::Gone, at);
        self.tools.clear();
        self.asked = None;
    }

    pub(super) fn person_told(&mut self) {
        match &mut self.asked {
            Some(asked) => asked.told = true,
            None => self.told = true,
        }
    }

    fn become_state(&mut self, state: State, at: Millis) {
        if self.state != state {
            self.state = state;
            self.since = at;
            self.told = false;
        }
    }

    /// No call and no question outlives the turn it came up in.
    fn end_turn(&mut self, at: Millis) {
        self.tools.clear();
        self.asked = None;
        self.become_state(State::TurnOver, at);
    }

    fn start_tool(&mut self, at: Millis, tool: &str, id: &str, timeout_ms: Option<u64>) {
        self.become_state(State::Working, at);
        self.idle_told = 0;
        self.answer();
        self.tools.retain(|open| id.is_empty() || open.id != id);
        if self.tools.len() >= MOST_TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(OpenTool { id: id.to_owned(), tool: tool.to_owned(), since: at, timeout_ms });
        match tool {
            "AskUserQuestion" => self.ask(at, Question::Answer),
            "ExitPlanMode" => self.ask(at, Question::Plan),
            _ => {}
        }
    }

    fn end_tool(&mut self, at: Millis, tool: &str, id: &str) {
        self.become_state(State::Working, at);
        self.idle_told = 0;
        let found = if id.is_empty() {
            self.tools.iter().rposition(|open| open.tool == tool)
        } else {
            self.tools.iter().position(|open| open.id == id)
        };
        let ended = found.map(|place| self.tools.remove(place).id);
        let beside = self.asked.as_ref().is_some_and(|asked| {
            ended.as_ref().is_some_and(|ended| !ended.is_empty() && asked.beside.contains(ended))
        });
        if !beside {
            self.answer();
        }
    }

    /// The agent's next event answers a question; a call that hung on it and has not ended by itself was refused.
    fn answer(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.tools.retain(|open| open.id.is_empty() || open.id != asked.call);
        }
    }

    pub(super) fn ask(&mut self, at: Millis, what: Question) {
        let place = match &what {
            Question::Permission(tool) if !tool.is_empty() => {
                self.tools.iter().rposition(|open| open.tool == *tool)
            }
            _ => self.tools.len().checked_sub(1),
        };
        let call = place.map(|place| self.tools[place].id.clone()).unwrap_or_default();
        // Tools that are questions themselves ask for permission too: that is the same question.
        if let Some(asked) = &self.asked
            && asked.call == call
            && matches!(asked.what, Question::Answer | Question::Plan)
        {
            return;
        }
        let what = match (what, place) {
            (Question::Permission(tool), Some(place)) if tool.is_empty() => {
                Question::Permission(self.tools[place].tool.clone())
            }
            (what, _) => what,
        };
        let beside = self.tools.iter().map(|open| open.id.clone()).filter(|id| *id != call).collect();
        self.asked = Some(Asked { since: at, what, call, beside, told: false });
    }
}
