//! What folding the journal gives: sessions, agents with their state, open tools, what waits for a person, the
//! API's state, the open episode. The same fold serves the daemon, `status` and a recorded file.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Event, What};
use super::graph::Graph;
use super::moment::Millis;
use super::plan::Plans;
use super::reading::Readings;
use super::signals::Rules;
use super::track::Tracks;
use super::wait::ApiHold;

mod agent;
mod session;

pub use agent::{Agent, State};

/// Ended sessions that are remembered at most.
const REMEMBERED: usize = 16;
/// Sessions that have not ended, at most: clients that run without a person do not always say that they end.
const MOST_LIVE: usize = 64;

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
    /// Who waits for whom.
    #[serde(default)]
    pub graph: Graph,
    /// What is watched beside the pipeline, and what violates its protocol.
    #[serde(default)]
    pub tracks: Tracks,
    /// Plans that wait for an operator's decision.
    #[serde(default, skip_serializing_if = "Plans::is_empty")]
    pub plans: Plans,
    /// The root has no `.kiln/`: its stage comes from what is watched, and tracks are its work.
    #[serde(default)]
    pub kilnless: bool,
    /// When the machine last slept or its clock was set, as far as a daemon saw it, unix milliseconds; 0 = never.
    #[serde(default)]
    pub woke: Millis,
    /// How far the files of team sessions were read.
    #[serde(default)]
    pub readings: Readings,
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
    /// The folder that it works in, relative to the root; empty if that is the root, outside, or unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// When it ended, unix milliseconds.
    #[serde(default)]
    pub ended: Option<Millis>,
    /// Its agents by id; the lead's id is empty.
    #[serde(default)]
    pub agents: BTreeMap<String, Agent>,
}

/// From the first nudge to recovery or escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// The first nudge, unix milliseconds.
    pub since: Millis,
    /// The last nudge, unix milliseconds.
    #[serde(default)]
    pub last: Millis,
    /// Nudges staged so far.
    pub nudges: u32,
    /// When work was seen again, unix milliseconds.
    #[serde(default)]
    pub resumed: Option<Millis>,
}

impl Ledger {
    /// Begins with these rules.
    pub fn with(rules: Arc<Rules>) -> Self {
        Self { graph: Graph::with(rules), ..Self::default() }
    }

    /// Takes over a snapshot; the rules are the present ones.
    fn take_over(&mut self, snapshot: &Self) {
        let mut graph = std::mem::take(&mut self.graph);
        self.clone_from(snapshot);
        graph.take_over(&snapshot.graph);
        self.graph = graph;
    }

    /// Folds one more event.
    pub fn apply(&mut self, event: &Event) {
        self.note_work(event);
        self.graph.apply(event);
        self.note_plan(event);
        match &event.what {
            What::Snapshot { ledger } => self.take_over(ledger),
            What::SessionStart { source, pid, entry } => self.start_session(event, source, *pid, entry),
            What::WorksIn { folder } => self.session(event).folder.clone_from(folder),
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
            What::Track(said) => self.tracks.say(event.at, said),
            What::Posted(post) => {
                self.tracks.post(event.at, post);
                self.readings.post(event.at, post);
            }
            What::TrackGone { track } => {
                self.tracks.gone(track);
                self.readings.gone(track);
            }
            What::Read(reading) => self.readings.read(event.at, reading),
            What::Explored(exploration) => self.readings.explored(event.at, exploration),
            What::Found(finding) => self.tracks.find(event.at, finding),
            What::Noted { key, .. } => self.tracks.noted(event.at, key),
            What::Woke => self.woke = event.at,
            What::DaemonStart { kilnless, .. } => {
                self.kilnless = *kilnless;
                self.tracks.begin(event.at);
            }
            What::DaemonStop { .. } => self.tracks.watch(event.at),
            What::Claimed { .. }
            | What::Withdrawn { .. }
            | What::WouldAct { .. }
            | What::Fault { .. }
            | What::Helped { .. }
            | What::Guarded { .. }
            | What::Roster { .. }
            | What::Subctl { .. }
            | What::Plan(_)
            | What::PlanTold { .. }
            | What::Unknown => {}
            What::ApiError { error, holds, reset_at } => {
                self.api_failed(event, error, *holds, *reset_at);
                self.in_session(event);
            }
            _ => self.in_session(event),
        }
        if self.api.as_ref().is_some_and(|api| proves_the_api_answers(event, api)) {
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
                episode.last = at;
                episode.resumed = None;
            }
            _ => self.episode = Some(Episode { since: at, last: at, nudges: n, resumed: None }),
        }
    }

    fn person_told(&mut self, event: &Event) {
        let session = self.sessions.get_mut(&event.session);
        let agent = session.and_then(|session| session.agents.get_mut(&event.agent));
        if let Some(agent) = agent {
            agent.person_told();
        }
    }

    fn api_failed(&mut self, event: &Event, error: &str, holds: bool, reset_at: Option<Millis>) {
        let mut by = self.api.take().map(|api| api.by).unwrap_or_default();
        by.retain(|session, _| self.sessions.contains_key(session));
        let own = by.entry(event.session.clone()).or_default();
        *own = own.saturating_add(1);
        let failures = by.values().copied().max().unwrap_or(1);
        self.api = Some(ApiHold { since: event.at, error: error.to_owned(), failures, by, reset_at, holds });
    }

    /// What comes late of a session that has ended does not begin it anew: it would never end again.
    fn in_session(&mut self, event: &Event) {
        if self.has_ended(&event.session) && !matches!(event.what, What::Prompt { .. }) {
            return;
        }
        let is_new = !self.sessions.contains_key(&event.session);
        self.session(event).apply(event);
        if is_new {
            self.forget();
        }
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
        let goes_on = matches!(source, "compact" | "");
        if !goes_on {
            self.idle_since = None;
        }
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
        // Whatever agents the session had, they lived in a client or a conversation that is no more.
        if !goes_on {
            session.agents.clear();
        }
        self.forget();
    }

    fn end_session(&mut self, event: &Event) {
        if let Some(session) = self.sessions.get_mut(&event.session) {
            session.end(event.at);
        }
        self.idle_since = None;
        // What was done is over with the last session; the next has done nothing yet.
        if self.live().all(|(id, _)| id.is_empty()) {
            self.last_work = 0;
        }
        self.forget();
    }

    /// Keeps the ledger bounded: of the sessions that ended, the latest few are remembered, and of the others those
    /// that were heard of last.
    fn forget(&mut self) {
        if self.sessions.len() <= REMEMBERED {
            return;
        }
        let ended = self.sessions.iter().filter_map(|(id, session)| Some((session.ended?, id.clone())));
        let live = self.live().map(|(id, session)| (session.last(), id.clone()));
        let too_many = |mut all: Vec<(Millis, String)>, most: usize| {
            all.sort();
            all.truncate(all.len().saturating_sub(most));
            all
        };
        let mut forgotten = too_many(ended.collect(), REMEMBERED);
        forgotten.extend(too_many(live.collect(), MOST_LIVE));
        for (_, id) in forgotten {
            self.sessions.remove(&id);
        }
    }
}

/// Tells whether a client session runs without a person at it.
pub fn is_print_mode(entry: &str) -> bool {
    entry.starts_with("sdk")
}

/// A tool call of another agent that comes this soon after a failure may be of an answer from before it.
const OLD_ANSWER: Millis = 60_000;

/// A tool call or the regular end of a turn can only follow an answer of the API. The end of a subagent proves
/// nothing: the API may have ended it too.
fn proves_the_api_answers(event: &Event, api: &ApiHold) -> bool {
    match event.what {
        What::TurnEnd => true,
        What::ToolStart { .. } => event.is_lead() || event.at.saturating_sub(api.since) >= OLD_ANSWER,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
