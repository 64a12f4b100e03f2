//! The tasks of a team's list, as the calls of TaskCreate and TaskUpdate tell of them (`subctl-team-protocol` 4): who
//! owns which, how it stands, what blocks it. Subjects are known by their hash alone.

use serde::{Deserialize, Serialize};

use super::judge::LEAD;
use super::moment::Millis;
use super::node::{Duty, Wait};
use super::signals::Rules;
use super::team::Team;

/// The table and the row of the wait that a blocked task opens.
pub const BLOCKED: (&str, &str) = ("subctl", "task_blocked");
/// Tasks of one team that are remembered at most.
const MOST: usize = 512;

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Nobody has begun.
    #[default]
    Pending,
    /// A worker is at it.
    InProgress,
    /// A worker met an obstacle.
    Blocked,
    /// The work has landed.
    Completed,
    /// It was taken off the list.
    Deleted,
}

impl TaskState {
    /// Reads the tool's word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Pending, Self::InProgress, Self::Blocked, Self::Completed, Self::Deleted]
            .into_iter()
            .find(|state| state.word() == word)
    }

    /// The tool's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }

    /// Tells whether work on it is still to come.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress | Self::Blocked)
    }
}

/// What one call says of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskChange {
    /// Its id in the list.
    pub id: String,
    /// It was made by this call.
    #[serde(skip_serializing_if = "is_false")]
    pub created: bool,
    /// How it stands from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// How the client says that it stood before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<TaskState>,
    /// Whose it is from now on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Short hash of its subject.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// What blocks it, plain and bounded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub blocker: String,
}

/// A task of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// How it stands.
    pub state: TaskState,
    /// Since when.
    pub since: Millis,
    /// Whose it is; empty = nobody's yet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Short hash of its subject; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// What blocks it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub blocker: String,
}

impl Team {
    /// Tasks that are blocked, the oldest first.
    pub fn blocked(&self) -> Vec<(&String, &Task)> {
        let mut all: Vec<_> =
            self.tasks.iter().filter(|(_, task)| task.state == TaskState::Blocked).collect();
        all.sort_by_key(|(id, task)| (task.since, *id));
        all
    }

    /// Tells whether a task of this agent is still open.
    pub fn has_open_task(&self, name: &str) -> bool {
        self.tasks.values().any(|task| task.owner == name && task.state.is_open())
    }

    /// Takes what a call of `actor` says of a task.
    pub(super) fn change_task(&mut self, rules: &Rules, actor: &str, change: &TaskChange, at: Millis) {
        let owner = if change.owner.is_empty() { String::new() } else { self.resolve(rules, &change.owner) };
        if change.status == Some(TaskState::Deleted) {
            self.tasks.remove(&change.id);
            return self.unblock(&change.id);
        }
        let before = self.tasks.get(&change.id).cloned();
        let is_new = before.as_ref().is_none_or(|task| {
            // An id that is given once more belongs to a list that was begun anew.
            change.created && !change.subject.is_empty() && task.subject != change.subject
        });
        let mut task = before.filter(|_| !is_new).unwrap_or(Task {
            state: change.from.unwrap_or_default(),
            since: at,
            ..Task::default()
        });
        let was = task.state;
        // The hook and the call both tell of a task that is made.
        let state = change.status.filter(|_| is_new || !change.created).unwrap_or(was);
        if state != was {
            (task.state, task.since) = (state, at);
        }
        if !change.subject.is_empty() {
            task.subject.clone_from(&change.subject);
        }
        if !owner.is_empty() {
            task.owner = owner;
        } else if task.owner.is_empty()
            && matches!(state, TaskState::InProgress | TaskState::Blocked | TaskState::Completed)
        {
            // Whoever begins a task claims it.
            actor.clone_into(&mut task.owner);
        }
        if state != TaskState::Blocked {
            task.blocker.clear();
        } else if !change.blocker.is_empty() {
            task.blocker.clone_from(&change.blocker);
        }
        let owner = task.owner.clone();
        self.tasks.insert(change.id.clone(), task);
        self.forget_tasks();
        match state {
            TaskState::Blocked if was != TaskState::Blocked => self.block(rules, &owner, &change.id, at),
            TaskState::Blocked => {}
            _ => self.unblock(&change.id),
        }
        if self.is_subctl(rules) {
            self.mind_idleness(rules, actor, &owner, state, state != was, at);
        }
    }

    /// A worker that met an obstacle waits for the lead.
    fn block(&mut self, rules: &Rules, owner: &str, id: &str, at: Millis) {
        if owner == LEAD || !self.nodes.contains_key(owner) {
            return;
        }
        self.open(Wait {
            from: owner.to_owned(),
            to: LEAD.to_owned(),
            duty: Duty::Due,
            table: BLOCKED.0.to_owned(),
            row: BLOCKED.1.to_owned(),
            head: BLOCKED.1.to_owned(),
            request: id.to_owned(),
            since: at,
            asked: at,
            seen_from: at,
            delivered: true,
            due: Some(at.saturating_add(super::moment::millis(rules.reply_after))),
            ..Wait::default()
        });
    }

    fn unblock(&mut self, id: &str) {
        let is_this = |wait: &Wait| wait.table == BLOCKED.0 && wait.row == BLOCKED.1 && wait.request == id;
        let lead = self.owed.get(LEAD).into_iter().flatten();
        let keys: Vec<String> =
            lead.filter(|key| self.waits.get(*key).is_some_and(is_this)).cloned().collect();
        for key in keys {
            self.close(&key);
        }
    }

    /// Keeps the list bounded: what is done goes first, then the oldest.
    fn forget_tasks(&mut self) {
        if self.tasks.len() > MOST
            && let Some(oldest) = self
                .tasks
                .iter()
                .min_by_key(|(id, task)| (task.state.is_open(), task.since, *id))
                .map(|(id, _)| id.clone())
        {
            self.tasks.remove(&oldest);
            self.unblock(&oldest);
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
