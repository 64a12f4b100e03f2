//! The verdict on one root at one moment: quiet, with its reason and its end; nudge; or escalate.
//!
//! The judge asks the rule, then looks for a reason to stay quiet that needs more than `activity.json`. With
//! nothing but `activity.json` there is no such reason, and the rule decides alone.

use std::collections::BTreeSet;
use std::time::Duration;

use super::activity::Activity;
use super::ledger::{Agent, Ledger, State};
use super::moment::{Millis, Moment, millis};
use super::plan;
use super::policy::Policy;
use super::rule::{self, Answer, Times};
use super::stall::effective_stamp;
use super::wait::{Asked, Question};
use super::wording::clock;
use super::{silence, stage, track};

/// What is known of one root at one moment.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The pipeline's stage; none = there is no pipeline.
    pub stage: Option<&'a str>,
    /// The last sign of work; none = nothing was ever seen.
    pub activity: Option<&'a Activity>,
    /// What the journal tells.
    pub ledger: &'a Ledger,
    /// The flag lies there.
    pub flagged: bool,
    /// Silence, and time since the last nudge.
    pub times: Times,
    /// The watcher has just begun, or its own clock jumped, stopped or slept: how long to wait before judging.
    pub settling: Option<Duration>,
    /// Sessions whose client is gone without a word.
    pub dead: &'a BTreeSet<String>,
}

#[cfg(test)]
impl<'a> Facts<'a> {
    /// What is known of a root in which nothing but the journal tells anything.
    pub(crate) fn of_journal(stage: &'a str, ledger: &'a Ledger, dead: &'a BTreeSet<String>) -> Self {
        let times = Times { idle: Duration::ZERO, since_nudge: None };
        Self { stage: Some(stage), activity: None, ledger, flagged: false, times, settling: None, dead }
    }
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Quiet {
        /// Why.
        reason: Reason,
        /// When to look again at the latest, unix milliseconds; none = only a change ends it.
        until: Option<Millis>,
    },
    /// Stalled: stage this nudge.
    Nudge {
        /// Which of the episode, from 1.
        n: u32,
        /// Silence so far.
        idle: Duration,
    },
    /// Stalled, and all nudges are used up: write the flag.
    Escalate {
        /// Nudges before.
        nudges: u32,
        /// Silence so far.
        idle: Duration,
    },
}

/// Why nothing is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// There is no pipeline, or its file names no stage.
    NoPipeline,
    /// The pipeline is complete.
    Complete,
    /// The flag lies there: a person has to look.
    Flagged,
    /// The operator asked for quiet.
    Paused,
    /// Silence is no stall in this phase.
    ExemptPhase(String),
    /// Work was seen.
    Active,
    /// A nudge was staged a short time ago.
    Debounce,
    /// The watcher has just begun, or its own clock jumped, stopped or slept.
    Settling,
    /// A tool is running within its limit.
    ToolRunning(Held),
    /// A person is asked.
    WaitsForPerson(Held),
    /// A worker whose tools nobody sees runs, and was heard of lately.
    WorkerRunning(Held),
    /// The API said "wait".
    ApiHold(Held),
}

/// Who is held by what, since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The agent's name, `team-lead` for the lead.
    pub who: String,
    /// Its session.
    pub session: String,
    /// Its id; empty for the lead.
    pub agent: String,
    /// The tool, the question, or the API's error.
    pub what: String,
    /// Since when, unix milliseconds.
    pub since: Millis,
}

impl Held {
    /// What the operator is told of one who waits for a person.
    pub fn words(&self) -> String {
        format!("{} has waited for a person since {} ({})", self.who, clock(self.since), self.what)
    }
}

impl Verdict {
    /// One word for logs, `--json` and the beacon: quiet, nudge, escalate.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Quiet { .. } => "quiet",
            Self::Nudge { .. } => "nudge",
            Self::Escalate { .. } => "escalate",
        }
    }

    /// The reason by its name; `stalled` when the verdict is not quiet.
    pub fn reason_word(&self) -> &'static str {
        match self {
            Self::Quiet { reason, .. } => reason.word(),
            Self::Nudge { .. } | Self::Escalate { .. } => "stalled",
        }
    }
}

impl Reason {
    /// The reason's name in JSON and in the documents.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoPipeline => "no-pipeline",
            Self::Complete => "complete",
            Self::Flagged => "flagged",
            Self::Paused => "paused",
            Self::ExemptPhase(_) => "exempt-phase",
            Self::Active => "active",
            Self::Debounce => "debounce",
            Self::Settling => "settling",
            Self::ToolRunning(_) => "tool-running",
            Self::WaitsForPerson(_) => "waits-for-person",
            Self::WorkerRunning(_) => "worker-running",
            Self::ApiHold(_) => "api-hold",
        }
    }
}

/// Judges.
pub fn judge(facts: &Facts<'_>, policy: &Policy, now: Moment) -> Verdict {
    let quiet = |reason, until| Verdict::Quiet { reason, until };
    let Some(stage) = facts.stage else { return quiet(Reason::NoPipeline, None) };
    if stage == "complete" {
        return quiet(Reason::Complete, None);
    }
    if facts.flagged {
        return quiet(Reason::Flagged, None);
    }
    if let Some(until) = facts.ledger.paused_until.filter(|until| *until > now.wall) {
        return quiet(Reason::Paused, Some(until));
    }
    let Some(activity) = facts.activity else { return quiet(Reason::Active, None) };
    let activity = activity.by(effective_stamp(activity, facts.ledger).min(now.seconds()));
    // Stamps are whole seconds: what the rule says it will say at a whole second.
    let later = |more: Duration| Some((now.seconds() * 1000).saturating_add(millis(more)));
    let (verdict, idle) = match rule::ask(&activity, stage, facts.times, &policy.rule) {
        Answer::Exempt => {
            let phase = if rule::exempts(stage, &policy.rule) { stage } else { &activity.pipeline_phase };
            return quiet(Reason::ExemptPhase(phase.to_owned()), None);
        }
        Answer::Active(more) => return quiet(Reason::Active, later(more)),
        Answer::Debounce(more) => return quiet(Reason::Debounce, later(more)),
        Answer::Nudge(n) => (Verdict::Nudge { n, idle: facts.times.idle }, facts.times.idle),
        Answer::Escalate => {
            let nudges = rule::nudges_so_far(&activity, &policy.rule);
            (Verdict::Escalate { nudges, idle: facts.times.idle }, facts.times.idle)
        }
    };
    debug_assert!(idle > policy.rule.idle_after);
    if let Some(more) = facts.settling {
        return quiet(Reason::Settling, Some(now.wall.saturating_add(millis(more))));
    }
    held(facts, policy, stage, now.wall).unwrap_or(verdict)
}

/// Looks for a reason to stay quiet: a person, a tool, the API.
fn held(facts: &Facts<'_>, policy: &Policy, stage: &str, now: Millis) -> Option<Verdict> {
    if let Some((held, until)) = waiting(facts, policy, stage, now) {
        return Some(Verdict::Quiet { reason: Reason::WaitsForPerson(held), until: Some(until) });
    }
    if let Some((held, until)) = plan(facts, now) {
        return Some(Verdict::Quiet { reason: Reason::WaitsForPerson(held), until: Some(until) });
    }
    if let Some((held, until)) = tool(facts, policy, now) {
        return Some(Verdict::Quiet { reason: Reason::ToolRunning(held), until: Some(until) });
    }
    if let Some(verdict) = tracks(facts, policy, stage, now) {
        return Some(verdict);
    }
    let api = facts.ledger.api.as_ref().filter(|api| api.holds)?;
    let until = api.until(&policy.quiet);
    let lead = facts.ledger.lead_session(|id| !facts.dead.contains(id)).unwrap_or_default();
    (until > now).then(|| Verdict::Quiet {
        reason: Reason::ApiHold(Held {
            who: facts.ledger.graph.display(lead, LEAD),
            session: lead.to_owned(),
            agent: String::new(),
            what: api.error.clone(),
            since: api.since,
        }),
        until: Some(until),
    })
}

/// Returns whoever has waited longest for a person, and whether the journal says that the operator was told.
pub fn person(facts: &Facts<'_>, policy: &Policy, stage: &str) -> Option<(Held, bool)> {
    asked(facts).min_by_key(|(held, _)| held.since).or_else(|| interactive(facts, policy, stage))
}

/// Returns the oldest question that still explains silence, and until when it does. A dialog that was dismissed leaves no
/// event behind it: without a limit its question would hide every stall to come.
fn waiting(facts: &Facts<'_>, policy: &Policy, stage: &str, now: Millis) -> Option<(Held, Millis)> {
    asked(facts)
        .chain(interactive(facts, policy, stage))
        .map(|(held, _)| {
            let until = held.since.saturating_add(millis(policy.quiet.person_limit));
            (held, until)
        })
        .filter(|(_, until)| *until > now)
        .min_by_key(|(held, _)| held.since)
}

fn asked<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = (Held, bool)> + use<'a> {
    agents(facts).filter_map(|(session, id, agent)| {
        let Asked { since, what, told, .. } = agent.asked.as_ref()?;
        Some((held_by(facts, session, id, agent, what.words(), *since), *told))
    })
}

/// In an interactive phase a lead whose turn is over waits for its person.
fn interactive(facts: &Facts<'_>, policy: &Policy, stage: &str) -> Option<(Held, bool)> {
    if !policy.rule.interactive_phases.iter().any(|phase| phase == stage) {
        return None;
    }
    let session = facts.ledger.lead_session(|id| !facts.dead.contains(id))?;
    let lead = facts.ledger.sessions.get(session)?.agents.get("")?;
    let held = || held_by(facts, session, "", lead, Question::Turn.words(), lead.since);
    (lead.state == State::TurnOver).then(|| (held(), lead.told))
}

/// Without `.kiln/` the tracks are the pipeline: one that runs and was heard of lately explains silence, as a tool does; where
/// nothing runs any more, one that waits for a person does. Kiln's own rule knows neither.
fn tracks(facts: &Facts<'_>, policy: &Policy, stage: &str, now: Millis) -> Option<Verdict> {
    if !facts.ledger.kilnless {
        return None;
    }
    let held = |key: &str, what: &str, since| Held {
        who: key.to_owned(),
        session: String::new(),
        agent: String::new(),
        what: what.to_owned(),
        since,
    };
    let all = facts.ledger.tracks.all.iter();
    let running = all
        .clone()
        .filter_map(|(key, track)| Some((silence::explains_until(facts, key, track)?, key, track)));
    if let Some((until, key, track)) =
        running.filter(|(until, ..)| *until > now).max_by_key(|(until, ..)| *until)
    {
        let reason = Reason::WorkerRunning(held(key, &track.said.step, track.last));
        return Some(Verdict::Quiet { reason, until: Some(until) });
    }
    let mut blocked =
        all.filter(|(_, track)| stage == stage::BLOCKED && track.said.state == track::State::Blocked);
    let (key, track) = blocked.next()?;
    let last = track.halted.iter().map(|halted| halted.since).max().unwrap_or(track.entered);
    let until = last.saturating_add(millis(policy.quiet.person_limit));
    let reason = Reason::WaitsForPerson(held(key, &track.said.reason, track.entered));
    (until > now).then_some(Verdict::Quiet { reason, until: Some(until) })
}

/// Returns the running tool that explains silence for longest, and until when.
fn tool(facts: &Facts<'_>, policy: &Policy, now: Millis) -> Option<(Held, Millis)> {
    agents(facts)
        .flat_map(|(session, id, agent)| {
            agent.tools.iter().map(move |tool| {
                (
                    held_by(facts, session, id, agent, tool.tool.clone(), tool.since),
                    tool.explains_until(&policy.quiet),
                )
            })
        })
        .filter(|(_, until)| *until > now)
        .max_by_key(|(_, until)| *until)
}

/// Returns every agent of every session that lives; of one that was begun anew under its name the last incarnation,
/// which inherits nothing.
pub fn agents<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = (&'a str, &'a str, &'a Agent)> {
    let (dead, graph) = (facts.dead, &facts.ledger.graph);
    let all = facts.ledger.live().filter(move |(id, _)| !dead.contains(*id)).flat_map(|(id, session)| {
        session.agents.iter().map(move |(key, agent)| (id.as_str(), key.as_str(), agent))
    });
    all.filter(move |(session, id, agent)| !graph.is_replaced(session, id, &agent.name))
}

/// What the lead is called where a name is wanted.
pub const LEAD: &str = "team-lead";

/// Returns an agent's name: its own, or `team-lead` for the lead, or its id where it has none.
pub fn name_of(id: &str, agent: &Agent) -> String {
    match (id, agent.name.as_str()) {
        ("", _) => LEAD.to_owned(),
        (id, "") => id.to_owned(),
        (_, name) => name.to_owned(),
    }
}

fn held_by(facts: &Facts<'_>, session: &str, id: &str, agent: &Agent, what: String, since: Millis) -> Held {
    let graph = &facts.ledger.graph;
    let (team, name) = graph.place(session, id, &agent.name);
    Held { who: graph.display(&team, &name), session: session.to_owned(), agent: id.to_owned(), what, since }
}

/// An operator's decision on a plan is a person's, until the request expires.
fn plan(facts: &Facts<'_>, now: Millis) -> Option<(Held, Millis)> {
    let all = plan::waiting(facts).into_iter().map(|(_, held, until, _)| (held, until));
    all.filter(|(_, until)| *until > now).min_by_key(|(held, _)| held.since)
}

#[cfg(test)]
mod tests;
