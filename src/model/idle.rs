//! Workers that are rightly idle (`subctl-team-protocol` 5): the task is completed and the lead has acknowledged it, or
//! the worker reported that it is ready for its next task. The third way, waiting for an operator's decision on a plan,
//! is a wait of the graph. Such a worker owes nobody anything; one that is left so is parked.

use serde::{Deserialize, Serialize};

use super::event::Message;
use super::judge::LEAD;
use super::moment::{Millis, millis};
use super::node::{Duty, Wait};
use super::signals::Rules;
use super::task::TaskState;
use super::team::Team;

/// A worker that is rightly idle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Since when.
    pub since: Millis,
    /// By which word.
    pub why: Why,
    /// It was asked to shut down since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
}

/// Why a worker is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Its task is completed, and the lead has acknowledged that.
    Acknowledged,
    /// It said that it is ready for its next task.
    Ready,
}

/// Tools that are no work: they tell of work, or look at the list.
const NO_WORK: [&str; 7] =
    ["SendMessage", "ToolSearch", "TaskUpdate", "TaskCreate", "TaskGet", "TaskList", "ListAgents"];

impl Team {
    /// Tells whether the team is held to subctl's protocol.
    pub fn is_subctl(&self, rules: &Rules) -> bool {
        rules.subctl.unwrap_or(!self.subctl.is_empty())
    }

    /// Tells whether the agent is a worker that is rightly idle by what it or the lead said.
    pub fn is_idle(&self, name: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.gone.is_none() && node.idle.is_some())
    }

    /// Takes what a change of a task means for its owner.
    pub(super) fn mind_idleness(
        &mut self,
        rules: &Rules,
        actor: &str,
        owner: &str,
        state: TaskState,
        is_change: bool,
        at: Millis,
    ) {
        if owner == LEAD {
            return;
        }
        let has_open = self.has_open_task(owner);
        let Some(node) = self.nodes.get_mut(owner) else { return };
        if has_open {
            node.done = None;
            self.stir(owner);
        } else if state == TaskState::Completed && is_change && actor == owner {
            node.done = Some(at);
            // It said that it is ready before.
            if node.idle.as_ref().is_some_and(|idle| !idle.leaving) {
                self.park(rules, owner, at);
            }
        } else if state == TaskState::Completed && actor == LEAD && node.done.is_some() {
            // The lead looked at what is completed and left it so.
            self.acknowledge(rules, owner, at);
        }
    }

    /// A message means something for idleness. Returns true if it asks its recipient for nothing: it acknowledges.
    pub(super) fn mind_message(
        &mut self,
        rules: &Rules,
        from: &str,
        to: &str,
        message: &Message,
        at: Millis,
    ) -> bool {
        if !message.delivered || !self.is_subctl(rules) {
            return false;
        }
        if from != LEAD {
            if to == LEAD && message.ready {
                self.begin_idleness(rules, from, Why::Ready, at);
            }
            return false;
        }
        let Some(node) = self.nodes.get_mut(to) else { return false };
        if message.head == "shutdown_request" {
            if let Some(idle) = &mut node.idle {
                idle.leaving = true;
            }
            self.parked.retain(|(_, name)| name != to);
            return false;
        }
        if node.idle.is_none() && node.done.is_some() && message.head.is_empty() {
            self.acknowledge(rules, to, at);
            return true;
        }
        // The next word of the lead is the next task.
        node.done = None;
        self.stir(to);
        false
    }

    /// The agent works, or has something to do: it is idle no more.
    pub(super) fn stir(&mut self, name: &str) {
        if let Some(node) = self.nodes.get_mut(name)
            && node.idle.take().is_some()
        {
            self.parked.retain(|(_, parked)| parked != name);
        }
    }

    /// A tool begins.
    pub(super) fn stir_by(&mut self, name: &str, tool: &str) {
        if !NO_WORK.contains(&tool) {
            self.stir(name);
        }
    }

    /// From now on it is left idle, unless a task of its own is open.
    fn park(&mut self, rules: &Rules, name: &str, at: Millis) {
        self.parked.retain(|(_, parked)| parked != name);
        if !self.has_open_task(name) {
            self.parked.insert((at.saturating_add(millis(rules.parked_after)), name.to_owned()));
        }
    }

    fn acknowledge(&mut self, rules: &Rules, name: &str, at: Millis) {
        self.begin_idleness(rules, name, Why::Acknowledged, at);
        // The lead knows how it ended: it waits for no further word.
        let is_likely = |wait: &Wait| wait.duty == Duty::Free && wait.from == LEAD;
        let owed = self.owed.get(name).into_iter().flatten();
        let keys: Vec<String> =
            owed.filter(|key| self.waits.get(*key).is_some_and(is_likely)).cloned().collect();
        for key in keys {
            self.close(&key);
        }
        if let Some(lead) = self.nodes.get_mut(LEAD) {
            lead.turn
                .sent
                .iter_mut()
                .filter(|sent| sent.to == name && sent.duty == Duty::Free)
                .for_each(|sent| sent.answered = true);
        }
    }

    fn begin_idleness(&mut self, rules: &Rules, name: &str, why: Why, at: Millis) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.done = None;
        node.idle = Some(Idle { since: at, why, leaving: false });
        self.park(rules, name, at);
    }
}

#[cfg(test)]
mod tests;
