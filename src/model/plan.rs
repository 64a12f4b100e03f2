//! Plans that wait for an operator's decision, as the queue of a subctl team holds them (`subctl-team-protocol` 3.2).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::{Event, What};
use super::judge::{Facts, Held};
use super::ledger::Ledger;
use super::moment::{Millis, duration, millis};
use super::node::Wait;
use super::wait::Question;

/// A request that has been pending for longer than this is rejected by itself, with the feedback `auto-expired`.
pub const LIFE: Millis = 60 * 60_000;
/// A record may carry a stamp this much older than the message that asked: two clocks, two files.
const SLACK: Millis = 5 * 60_000;
/// Pending plans that are remembered at most.
const MOST: usize = 256;

/// What a record says of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// Nobody has decided.
    Pending,
    /// The operator said yes.
    Approved,
    /// The operator said no.
    Rejected,
    /// An hour passed.
    Expired,
}

impl PlanState {
    /// Reads the queue's word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Pending, Self::Approved, Self::Rejected, Self::Expired]
            .into_iter()
            .find(|state| state.word() == word)
    }

    /// The queue's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
        }
    }
}

/// One record of the queue, without the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The id that request and response share.
    pub request: String,
    /// The worker that asked.
    pub worker: String,
    /// Its team, as subctl calls it.
    pub team: String,
    /// What was decided.
    pub state: PlanState,
    /// When it was asked, unix milliseconds.
    pub created: Millis,
}

/// What is new in the queue about a plan of this root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNews {
    /// The record's id.
    pub id: String,
    /// The id that request and response share.
    pub request_id: String,
    /// The worker that asked.
    pub worker: String,
    /// Its team, as subctl calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// What was decided.
    pub status: PlanState,
    /// When it was asked, unix milliseconds.
    pub created: Millis,
}

/// A plan that is pending.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The session of its team.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The id that request and response share.
    pub request: String,
    /// The worker that asked.
    pub worker: String,
    /// Its team, as subctl calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// When it was asked, unix milliseconds; not after it was first seen.
    pub since: Millis,
    /// The worker has got a response all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// The operator has been told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// The pending plans of a root, by the id of their record.
pub type Plans = BTreeMap<String, Plan>;

impl Ledger {
    /// Takes what an event says of plans.
    pub(super) fn note_plan(&mut self, event: &Event) {
        match &event.what {
            What::Plan(news) => take(&mut self.plans, event.at, &event.session, news),
            What::PlanTold { key } => {
                if let Some(plan) = self.plans.get_mut(key) {
                    plan.told = true;
                }
            }
            What::ToolEnd { message: Some(message), .. }
                if message.delivered && message.head == "plan_approval_response" =>
            {
                answer(&mut self.plans, &event.session, &message.request_id);
            }
            _ => {}
        }
    }
}

/// Takes what is new of a plan. What is decided is no longer kept.
fn take(plans: &mut Plans, at: Millis, session: &str, news: &PlanNews) {
    if news.status != PlanState::Pending {
        plans.remove(&news.id);
        return;
    }
    if !plans.contains_key(&news.id) && plans.len() >= MOST {
        return;
    }
    let plan = plans.entry(news.id.clone()).or_insert_with(|| Plan {
        session: session.to_owned(),
        request: news.request_id.clone(),
        worker: news.worker.clone(),
        team: news.team.clone(),
        ..Plan::default()
    });
    plan.since = news.created.min(at);
}

/// A response reached a worker: it no longer waits for this plan.
fn answer(plans: &mut Plans, session: &str, request: &str) {
    for plan in plans.values_mut().filter(|plan| plan.session == session && plan.request == request) {
        plan.answered = true;
    }
}

/// Tells whose plan a record is: the session of this root that asked for it. None = it is not known to be of this root.
///
/// Request ids are made by workers and are unique only within a team, and every team of the user has its plans in the
/// one queue. So a record is of this root where the journal saw the message that asked (request id and worker are the
/// same, and the record is not older), where its team is the one that a client derives from a session of this root
/// (`session-` and the first eight characters), or where a person named its team in `subctl.teams`.
pub fn session_of(ledger: &Ledger, teams: &[String], record: &Record) -> Option<String> {
    if let Some(session) = asked(ledger, record) {
        return Some(session.clone());
    }
    let short = record.team.strip_prefix("session-").filter(|short| short.len() == 8);
    if let Some(short) = short
        && let Some((session, _)) = ledger.live().find(|(id, _)| id.starts_with(short))
    {
        return Some(session.clone());
    }
    teams
        .contains(&record.team)
        .then(|| ledger.lead_session(|_| true).map(ToOwned::to_owned).unwrap_or_default())
}

/// What the journal should be told of a record; nothing if it knows, or if the record is of another project.
pub fn news(ledger: &Ledger, teams: &[String], id: &str, record: &Record) -> Option<(String, PlanNews)> {
    let known = ledger.plans.get(id);
    let is_news = match record.state {
        PlanState::Pending => known.is_none() && ledger.plans.len() < MOST,
        _ => known.is_some() || asked(ledger, record).is_some(),
    };
    if !is_news {
        return None;
    }
    let session = match known {
        Some(plan) => plan.session.clone(),
        None => session_of(ledger, teams, record)?,
    };
    let news = PlanNews {
        id: id.to_owned(),
        request_id: record.request.clone(),
        worker: record.worker.clone(),
        team: record.team.clone(),
        status: record.state,
        created: record.created,
    };
    Some((session, news))
}

/// The session of a worker that still waits for an operator's decision on this record.
fn asked<'a>(ledger: &'a Ledger, record: &Record) -> Option<&'a String> {
    let is_this = |wait: &Wait| {
        wait.operator
            && wait.request == record.request
            && wait.from == record.worker
            && record.created >= wait.since.saturating_sub(SLACK)
    };
    ledger.graph.teams.iter().find(|(_, team)| team.waits.values().any(is_this)).map(|(session, _)| session)
}

/// Plans that a person has to decide on, of sessions that live: the key under which the operator is told once, who
/// waits since when, until when it explains silence, and whether the operator was told.
pub fn waiting(facts: &Facts<'_>) -> Vec<(String, Held, Millis, bool)> {
    let (ledger, graph) = (facts.ledger, &facts.ledger.graph);
    let held = |session: &str, worker: &str, since| Held {
        who: graph.display(session, worker),
        session: session.to_owned(),
        agent: String::new(),
        what: Question::Plan.words(),
        since,
    };
    let is_live = |session: &str| !facts.dead.contains(session) && !ledger.has_ended(session);
    let queued =
        ledger.plans.iter().filter(|(_, plan)| !plan.answered && is_live(&plan.session)).map(|(id, plan)| {
            (
                id.clone(),
                held(&plan.session, &plan.worker, plan.since),
                plan.since.saturating_add(LIFE),
                plan.told,
            )
        });
    let is_queued = |session: &str, request: &str| {
        ledger.plans.values().any(|plan| plan.session == session && plan.request == request)
    };
    let asked = graph.teams.iter().filter(|(id, _)| is_live(id)).flat_map(|(session, team)| {
        let waits = team.waits.values().filter(|wait| wait.operator && !is_queued(session, &wait.request));
        waits.filter_map(move |wait| {
            Some((wait.key(), held(session, &wait.from, wait.since), wait.due?, wait.told))
        })
    });
    queued.chain(asked).collect()
}

/// Plans of which the operator is to be told now, each with its key, and how long until there is another.
pub fn untold(facts: &Facts<'_>, after: Duration, now: Millis) -> (Vec<(String, Held)>, Option<Duration>) {
    let all = waiting(facts).into_iter().filter(|(_, _, until, told)| !told && *until > now);
    let due = |held: &Held| held.since.saturating_add(millis(after));
    let (ripe, green): (Vec<_>, Vec<_>) =
        all.map(|(key, held, ..)| (key, held)).partition(|(_, held)| due(held) <= now);
    let next = green.iter().map(|(_, held)| due(held)).min();
    (ripe, next.map(|next| duration(next.saturating_sub(now)) + Duration::from_millis(1)))
}

#[cfg(test)]
mod tests;
