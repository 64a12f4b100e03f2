//! What folding the journal gives: sessions, agents with their state, open tools, what waits for a person, the
//! API's state, the open episode. The same fold serves the daemon, `status` and a recorded file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::{Event, What};
use super::moment::Millis;
use super::wait::{ApiHold, Asked, OpenTool, Question};

/// Ended sessions that are remembered at most, and agents of a session that are gone.
const REMEMBERED: usize = 16;

/// All that the journal tells of one root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// Sessions by id.
    #[serde(default)]
    pub sessions: BTreeMap<String, Session>,
    /// The last sign of work other than a teammate going idle, unix milliseconds; 0 = none.
    #[serde(default)]
    pub last_work: Millis,
    /// The first of the teammates that went idle since then: a chain of them, with nothing between, is one sign
    /// of work and not one each, or two agents that keep each other's turn ending would look alive for ever.
    #[serde(default)]
    pub idle_since: Option<Millis>,
    /// The open episode: from the first nudge to recovery or escalation.
    #[serde(default)]
    pub episode: Option<Episode>,
    /// The API's last failure, until an answer of it is seen.
    #[serde(default)]
    pub api: Option<ApiHold>,
    /// The operator asked for quiet until then, unix milliseconds.
    #[serde(default)]
    pub paused_until: Option<Millis>,
    /// The stage that was last noted; empty = none.
    #[serde(default)]
    pub stage: String,
}

/// One client session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Session {
    /// When it was first seen, unix milliseconds.
    pub since: Millis,
    /// Its client's process, if known.
    #[serde(default)]
    pub pid: Option<i32>,
    /// How the client was entered; empty if unknown.
    #[serde(default)]
    pub entry: String,
    /// When it ended, unix milliseconds.
    #[serde(default)]
    pub ended: Option<Millis>,
    /// Its agents by id; the lead's id is empty.
    #[serde(default)]
    pub agents: BTreeMap<String, Agent>,
}

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

/// From the first nudge to recovery or escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// The first nudge, unix milliseconds.
    pub since: Millis,
    /// Nudges staged so far.
    pub nudges: u32,
    /// When work was seen again, unix milliseconds.
    #[serde(default)]
    pub resumed: Option<Millis>,
}

impl Ledger {
    /// Folds one more event.
    pub fn apply(&mut self, event: &Event) {
        self.note_work(event);
        match &event.what {
            What::Snapshot { ledger } => self.clone_from(ledger),
            What::SessionStart { source, pid, entry } => self.start_session(event, source, *pid, entry),
            What::SessionEnd { .. } | What::SessionLost => self.end_session(event),
            What::Nudged { n, .. } => self.nudged(event.at, *n),
            What::Resumed => {
                if let Some(episode) = &mut self.episode {
                    episode.resumed.get_or_insert(event.at);
                }
            }
            What::Closed | What::Escalated { .. } | What::Recovered { .. } => self.episode = None,
            What::Paused { until } => self.paused_until = Some(*until),
            What::Unpaused => self.paused_until = None,
            What::Stage { stage } => stage.clone_into(&mut self.stage),
            What::PersonTold => self.person_told(event),
            What::Claimed { .. }
            | What::Withdrawn { .. }
            | What::WouldAct { .. }
            | What::DaemonStart { .. }
            | What::DaemonStop { .. }
            | What::Fault { .. }
            | What::Unknown => {}
            What::ApiError { error, holds, reset_at } => {
                self.api_failed(event.at, error, *holds, *reset_at);
                self.session(event).agent(event).end_turn(event.at);
            }
            _ => self.session(event).apply(event),
        }
        if self.api.is_some() && proves_the_api_answers(event) {
            self.api = None;
        }
    }

    /// Returns the sessions that have not ended.
    pub fn live(&self) -> impl Iterator<Item = (&String, &Session)> {
        self.sessions.iter().filter(|(_, session)| session.ended.is_none())
    }

    /// Returns the session that a nudge belongs to, among those for which `is_live` holds: one that a person
    /// entered before one that a program did, one with teammates before one without, the oldest first. A teammate
    /// that runs as a client of its own starts after its lead and has no teammates.
    pub fn lead_session(&self, is_live: impl Fn(&str) -> bool) -> Option<&str> {
        self.live()
            .filter(|(id, _)| !id.is_empty() && is_live(id))
            .min_by_key(|(_, session)| {
                let teammates = session.agents.keys().any(|id| !id.is_empty());
                (is_print_mode(&session.entry), !teammates, session.since)
            })
            .map(|(id, _)| id.as_str())
    }

    /// Returns how often the teammate was told that it is still listed as working, since it last worked.
    pub fn idle_told(&self, session: &str, agent: &str) -> u32 {
        self.sessions
            .get(session)
            .and_then(|session| session.agents.get(agent))
            .map_or(0, |agent| agent.idle_told)
    }

    /// Tells whether another agent of this name (not the one with this id) is in the middle of a turn.
    pub fn another_runs(&self, name: &str, id: &str) -> bool {
        self.live()
            .flat_map(|(_, session)| &session.agents)
            .any(|(key, agent)| key != id && agent.name == name && agent.state == State::Working)
    }

    /// Tells whether the session has ended, by its own word or without one.
    pub fn has_ended(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|session| session.ended.is_some())
    }

    fn note_work(&mut self, event: &Event) {
        if matches!(event.what, What::Idle { .. }) {
            self.idle_since.get_or_insert(event.at);
        } else if event.is_work() {
            self.last_work = event.at;
            self.idle_since = None;
        }
    }

    fn nudged(&mut self, at: Millis, n: u32) {
        if n == 0 {
            return;
        }
        match &mut self.episode {
            Some(episode) if n > 1 => {
                episode.nudges = n;
                episode.resumed = None;
            }
            _ => self.episode = Some(Episode { since: at, nudges: n, resumed: None }),
        }
    }

    fn person_told(&mut self, event: &Event) {
        let session = self.sessions.get_mut(&event.session);
        let agent = session.and_then(|session| session.agents.get_mut(&event.agent));
        if let Some(asked) = agent.and_then(|agent| agent.asked.as_mut()) {
            asked.told = true;
        }
    }

    fn api_failed(&mut self, at: Millis, error: &str, holds: bool, reset_at: Option<Millis>) {
        let failures = self.api.as_ref().map_or(0, |api| api.failures) + 1;
        self.api = Some(ApiHold { since: at, error: error.to_owned(), failures, reset_at, holds });
    }

    fn session(&mut self, event: &Event) -> &mut Session {
        let session = self
            .sessions
            .entry(event.session.clone())
            .or_insert_with(|| Session { since: event.at, ..Session::default() });
        session.ended = None;
        session
    }

    /// A client has one session at a time: a start ends whatever the same process had before.
    fn start_session(&mut self, event: &Event, source: &str, pid: Option<i32>, entry: &str) {
        for (id, other) in &mut self.sessions {
            if pid.is_some() && other.pid == pid && *id != event.session {
                other.end(event.at);
            }
        }
        let session = self.session(event);
        session.pid = pid.or(session.pid);
        if !entry.is_empty() {
            entry.clone_into(&mut session.entry);
        }
        if !matches!(source, "compact" | "") {
            session.agents.remove("");
        }
        self.forget();
    }

    fn end_session(&mut self, event: &Event) {
        if let Some(session) = self.sessions.get_mut(&event.session) {
            session.end(event.at);
        }
        self.forget();
    }

    /// Keeps the ledger bounded: of the sessions that ended, the latest few are remembered.
    fn forget(&mut self) {
        let mut ended: Vec<(Millis, String)> =
            self.sessions.iter().filter_map(|(id, session)| Some((session.ended?, id.clone()))).collect();
        ended.sort();
        for (_, id) in ended.iter().rev().skip(REMEMBERED) {
            self.sessions.remove(id);
        }
    }
}

impl Session {
    fn end(&mut self, at: Millis) {
        self.ended.get_or_insert(at);
        for agent in self.agents.values_mut() {
            agent.become_state(State::Gone, at);
            agent.tools.clear();
            agent.asked = None;
        }
    }

    fn agent(&mut self, event: &Event) -> &mut Agent {
        let agent = self
            .agents
            .entry(event.agent.clone())
            .or_insert_with(|| Agent { since: event.at, ..Agent::default() });
        if !event.name.is_empty() {
            event.name.clone_into(&mut agent.name);
        }
        agent.last = event.at;
        agent
    }

    fn apply(&mut self, event: &Event) {
        if let What::Notice { kind } = &event.what {
            return self.notice(event, kind);
        }
        // A stop of an agent that was never seen tells nothing of any agent that was.
        if matches!(event.what, What::AgentStop)
            && event.name.is_empty()
            && !self.agents.contains_key(&event.agent)
        {
            return;
        }
        self.agent(event).apply(event);
        self.forget();
    }

    /// A prompt that the client shows without saying whose it is belongs to the agent that asked, else to the lead.
    fn notice(&mut self, event: &Event, kind: &str) {
        let what = match kind {
            "permission_prompt" => Question::Permission(String::new()),
            "elicitation_dialog" | "elicitation_url_dialog" => Question::Answer,
            _ => return,
        };
        if self.agents.values().any(|agent| agent.asked.is_some()) {
            return;
        }
        let lead =
            self.agents.entry(String::new()).or_insert_with(|| Agent { since: event.at, ..Agent::default() });
        lead.ask(event.at, what);
    }

    fn forget(&mut self) {
        while self.agents.values().filter(|agent| agent.state != State::Working).count() > 4 * REMEMBERED {
            let oldest = self
                .agents
                .iter()
                .filter(|(id, agent)| !id.is_empty() && agent.state != State::Working)
                .min_by_key(|(_, agent)| agent.last)
                .map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { return };
            self.agents.remove(&oldest);
        }
    }
}

impl Agent {
    fn apply(&mut self, event: &Event) {
        match &event.what {
            What::Prompt { .. } | What::AgentStart => {
                self.end_turn(event.at);
                self.become_state(State::Working, event.at);
            }
            What::ToolStart { tool, id, timeout_ms, .. } => self.start_tool(event.at, tool, id, *timeout_ms),
            What::ToolEnd { tool, id, .. } => self.end_tool(event.at, tool, id),
            What::Permission { tool } => self.ask(event.at, Question::Permission(tool.clone())),
            What::AgentStop | What::TurnEnd => self.end_turn(event.at),
            What::Idle { told } => {
                self.end_turn(event.at);
                self.idle_told += u32::from(*told);
            }
            _ => {}
        }
    }

    fn become_state(&mut self, state: State, at: Millis) {
        if self.state != state {
            self.state = state;
            self.since = at;
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

    fn ask(&mut self, at: Millis, what: Question) {
        let place = match &what {
            Question::Permission(tool) if !tool.is_empty() => {
                self.tools.iter().rposition(|open| open.tool == *tool)
            }
            _ => self.tools.len().checked_sub(1),
        };
        let call = place.map(|place| self.tools[place].id.clone()).unwrap_or_default();
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

/// Tells whether a client session runs without a person at it.
pub fn is_print_mode(entry: &str) -> bool {
    entry.starts_with("sdk")
}

/// A tool call or the regular end of a turn can only follow an answer of the API.
fn proves_the_api_answers(event: &Event) -> bool {
    matches!(event.what, What::ToolStart { .. } | What::TurnEnd | What::AgentStop)
}
