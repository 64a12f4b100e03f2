//! subctl's team protocol (`subctl-team-protocol`) as far as one call shows that it was not kept: what its sender is
//! told, as facts, once.

use super::event::{Event, What};
use super::graph::Graph;
use super::judge::LEAD;
use super::moment::millis;
use super::plan::{PlanNews, PlanState};
use super::task::{TaskChange, TaskState};
use super::team::Team;
use super::wording::{MARK, plain};

/// Keys that are remembered of one team at most; when there are more, nothing further is told.
const MOST_TOLD: usize = 512;

/// Something in a call that the protocol says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// Structured JSON that is none of the protocol's messages.
    StatusOverMessage {
        /// Its type; empty if it has none.
        kind: String,
    },
    /// A text without a summary.
    NoSummary,
    /// A frame without the id that request and response share.
    NoRequestId {
        /// The frame's type.
        head: String,
    },
    /// An id where a name is wanted.
    IdInsteadOfName {
        /// The id.
        id: String,
    },
    /// A worker asks for a shutdown.
    ShutdownByWorker,
    /// An agent that is begun outside the team.
    SpawnOutsideTeam {
        /// Its name or kind.
        name: String,
    },
    /// A worker's prompt without some of the six headings.
    PromptLacks {
        /// The worker.
        name: String,
        /// The headings that are missing.
        missing: Vec<&'static str>,
    },
    /// A task went from one state to another that does not follow.
    IllegalTransition {
        /// The task.
        task: String,
        /// How it stood.
        from: TaskState,
        /// How it stands.
        to: TaskState,
    },
    /// The lead set a worker's task to completed.
    CompletedByLead {
        /// The task.
        task: String,
        /// Whose it is.
        owner: String,
    },
    /// A task is blocked, and nothing says by what.
    BlockedWithoutBlocker {
        /// The task.
        task: String,
    },
    /// A task of the same subject is open.
    DuplicateTask {
        /// The new one.
        task: String,
        /// The one that was there.
        other: String,
        /// How that one stands.
        state: TaskState,
    },
    /// A worker made a task.
    CreatedByWorker {
        /// The task.
        task: String,
    },
}

impl Breach {
    /// The rule's name.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::StatusOverMessage { .. } => "status-over-message",
            Self::NoSummary => "summary-missing",
            Self::NoRequestId { .. } => "request-id-missing",
            Self::IdInsteadOfName { .. } => "id-instead-of-name",
            Self::ShutdownByWorker => "shutdown-by-worker",
            Self::SpawnOutsideTeam { .. } => "spawn-outside-team",
            Self::PromptLacks { .. } => "prompt-lacks-headings",
            Self::IllegalTransition { .. } => "illegal-transition",
            Self::CompletedByLead { .. } => "completed-by-lead",
            Self::BlockedWithoutBlocker { .. } => "blocker-missing",
            Self::DuplicateTask { .. } => "duplicate-task",
            Self::CreatedByWorker { .. } => "task-by-worker",
        }
    }

    /// Under which key it is remembered as told to `who`: what is a habit once, what is about one thing once for each.
    pub fn key(&self, who: &str) -> String {
        let case = match self {
            Self::StatusOverMessage { .. }
            | Self::NoSummary
            | Self::ShutdownByWorker
            | Self::CreatedByWorker { .. } => String::new(),
            Self::NoRequestId { head } => head.clone(),
            Self::IdInsteadOfName { id } => id.clone(),
            Self::SpawnOutsideTeam { name } => name.clone(),
            Self::PromptLacks { name, missing } => format!("{name} {}", missing.join(", ")),
            Self::IllegalTransition { task, from, to } => format!("{task} {} {}", from.word(), to.word()),
            Self::CompletedByLead { task, owner } => format!("{task} {owner}"),
            Self::BlockedWithoutBlocker { task } => task.clone(),
            Self::DuplicateTask { task, other, .. } => format!("{task} {other}"),
        };
        plain(format!("subctl {} {who} {case}", self.rule()).trim_end(), 200)
    }

    /// What is told: what was seen, and what the protocol says.
    pub fn words(&self) -> String {
        let short = |text: &str| plain(text, 60);
        match self {
            Self::StatusOverMessage { kind } => {
                let of = if kind.is_empty() {
                    "without a type".to_owned()
                } else {
                    format!("of type {}", short(kind))
                };
                format!(
                    "this message was structured JSON {of}. Structured messages are the shutdown and plan approval \
                     requests and responses only (§3); how work stands is told by TaskUpdate on the task, whose \
                     changes the lead sees by itself (§3.3)."
                )
            }
            Self::NoSummary => {
                "this message is a text and has no summary. A summary of 5 to 10 words belongs to every \
                 text (§2); it is what the recipient sees first."
                    .to_owned()
            }
            Self::NoRequestId { head } => format!(
                "{} carries no request_id. Request and response share one (§3); without it the other side cannot tell \
                 what belongs together.",
                short(head)
            ),
            Self::IdInsteadOfName { id } => format!(
                "\"{}\" is an id. Agents of a team are called by the names that they were begun with (§1, §2).",
                short(id)
            ),
            Self::ShutdownByWorker => {
                "shutdown_request comes from the lead; a worker sends one only if it was asked \
                 to (§3.1). A worker that is done reports to the lead."
                    .to_owned()
            }
            Self::SpawnOutsideTeam { name } => format!(
                "{} was begun without team_name and is outside the team: it has no pane, takes no messages and runs \
                 unseen. Work that writes code belongs to agents of the team (§6.1).",
                short(name)
            ),
            Self::PromptLacks { name, missing } => format!(
                "the prompt of {} has no {}. A worker's prompt has GOAL, CONTEXT, DELIVERABLE, DONE WHEN, REPORT BACK \
                 and CONSTRAINTS (§7).",
                short(name),
                missing.join(", no ")
            ),
            of_tasks => of_tasks.words_on_tasks(),
        }
    }

    fn words_on_tasks(&self) -> String {
        let short = |text: &str| plain(text, 60);
        match self {
            Self::IllegalTransition { task, from, to } => format!(
                "task {} went from {} to {}. What follows is pending → in_progress (before the work begins), \
                 in_progress → completed or blocked, blocked → in_progress; only the lead takes a completed task \
                 back (§4).",
                short(task),
                from.word(),
                to.word()
            ),
            Self::CompletedByLead { task, owner } => format!(
                "task {} was set to completed by the lead; it is {}'s. Only the worker sets this; the lead verifies \
                 and may take it back (§4, §8).",
                short(task),
                if owner.is_empty() { "nobody".to_owned() } else { short(owner) }
            ),
            Self::BlockedWithoutBlocker { task } => format!(
                "task {} is blocked, and metadata.blocker says nothing. A short description of the obstacle belongs \
                 there; it is what the lead reads first (§4).",
                short(task)
            ),
            Self::DuplicateTask { task, other, state } => format!(
                "task {} has the subject of task {}, which is {}. The list (TaskList) tells what is there (§4).",
                short(task),
                short(other),
                state.word()
            ),
            Self::CreatedByWorker { task } => {
                format!(
                    "task {} was made by a worker. The lead makes the tasks; workers update them (§4).",
                    short(task)
                )
            }
            _ => String::new(),
        }
    }
}

/// What an agent is told of its call.
pub fn facts(breaches: &[Breach]) -> String {
    let words: Vec<String> = breaches.iter().map(Breach::words).collect();
    plain(&format!("{MARK} by the subctl team protocol: {}", words.join(" ")), super::wording::MOST)
}

impl Team {
    /// What a call of `actor` on a task breaks, as the list stood before it.
    pub fn task_breaches(&self, actor: &str, change: &TaskChange) -> Vec<Breach> {
        let is_worker = actor != LEAD || self.subctl == "worker";
        let task = change.id.clone();
        let mut found = Vec::new();
        if change.created {
            if is_worker {
                found.push(Breach::CreatedByWorker { task: task.clone() });
            }
            let same = self.tasks.iter().find(|(id, other)| {
                **id != change.id
                    && other.state.is_open()
                    && !other.subject.is_empty()
                    && other.subject == change.subject
            });
            if let Some((other, there)) = same {
                found.push(Breach::DuplicateTask { task, other: other.clone(), state: there.state });
            }
            return found;
        }
        let Some(to) = change.status else { return found };
        let known = self.tasks.get(&change.id);
        let from = known.map(|task| task.state).or(change.from);
        if to == TaskState::Blocked
            && change.blocker.is_empty()
            && known.is_none_or(|task| task.blocker.is_empty())
        {
            found.push(Breach::BlockedWithoutBlocker { task: task.clone() });
        }
        let owner = known.map(|task| task.owner.as_str()).unwrap_or_default();
        let is_others = owner != LEAD || from == Some(TaskState::Pending);
        if to == TaskState::Completed && from.is_some_and(TaskState::is_open) && !is_worker && is_others {
            found.push(Breach::CompletedByLead { task: task.clone(), owner: owner.to_owned() });
        }
        if let Some(from) = from.filter(|from| !follows(*from, to, is_worker)) {
            found.push(Breach::IllegalTransition { task, from, to });
        }
        found
    }

    /// Tells whether an agent was told of this, or too much was told already.
    pub fn was_told(&self, key: &str) -> bool {
        self.told.contains(key) || self.told.len() >= MOST_TOLD
    }
}

/// Tells whether a task may go from one state to the other.
fn follows(from: TaskState, to: TaskState, is_worker: bool) -> bool {
    use TaskState::{Blocked, Completed, Deleted, InProgress, Pending};
    match (from, to) {
        (from, to) if from == to => true,
        (_, Deleted) | (Pending | Blocked, InProgress) | (InProgress, Completed | Blocked) => true,
        (Completed, InProgress | Pending) => !is_worker,
        _ => false,
    }
}

impl Graph {
    /// The team that an event belongs to, and the name of its agent there.
    pub fn team_of(&self, event: &Event) -> Option<(&Team, String)> {
        let (session, name) = self.place(&event.session, &event.agent, &event.name);
        self.teams.get(&session).map(|team| (team, name))
    }

    pub(super) fn note_subctl(&mut self, event: &Event, role: &str) {
        let (session, name) = self.place(&event.session, "", "");
        let team = self.teams.entry(session).or_default();
        // A worker that is a client of its own makes its lead's team one, not its lead a worker.
        let role = if name == LEAD { role } else { "team" };
        if team.subctl.is_empty() || name == LEAD {
            role.clone_into(&mut team.subctl);
        }
    }

    pub(super) fn note_told(&mut self, event: &Event, key: &str) {
        let (session, _) = self.place(&event.session, &event.agent, &event.name);
        let Some(team) = self.teams.get_mut(&session) else { return };
        if matches!(event.what, What::PlanTold { .. }) {
            if let Some(wait) = team.waits.get_mut(key) {
                wait.told = true;
            }
        } else if team.told.len() < MOST_TOLD {
            team.told.insert(key.to_owned());
        }
    }

    pub(super) fn task_event(&mut self, event: &Event) {
        let Some(change) = &event.task else { return };
        let (session, name) = self.place(&event.session, &event.agent, &event.name);
        let rules = std::sync::Arc::clone(self.rules());
        if let Some(team) = self.teams.get_mut(&session) {
            team.change_task(&rules, &name, change, event.at);
        }
    }

    /// The operator has decided on a plan, or an hour passed: the answer to the worker is the lead's to give.
    pub(super) fn decide_plan(&mut self, event: &Event, news: &PlanNews) {
        let rules = std::sync::Arc::clone(self.rules());
        let Some(team) = self.teams.get_mut(&event.session) else { return };
        if team.subctl.is_empty() {
            "team".clone_into(&mut team.subctl);
        }
        if news.status == PlanState::Pending {
            return;
        }
        let is_this = |wait: &&super::node::Wait| {
            wait.operator && wait.request == news.request_id && wait.from == news.worker
        };
        let Some(mut wait) = team.waits.values().find(is_this).cloned() else { return };
        team.close(&wait.key());
        wait.operator = false;
        wait.noted = false;
        wait.decided = Some((news.status, event.at));
        wait.asked = event.at;
        wait.due = Some(event.at.saturating_add(millis(rules.reply_after)));
        team.open(wait);
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
