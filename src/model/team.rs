//! One session's team: its agents, their turns, their waits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::judge::LEAD;
use super::moment::Millis;
use super::node::{Duty, Node, Sent, ToAndFro, Turn, Wait};
use super::signals::{Known, Rules};
use super::task::Task;

/// Agents that are remembered of one team at most, but for those that wait or are waited for.
const MOST_AGENTS: usize = 12_000;
/// Waits that are remembered of one team at most.
const MOST_WAITS: usize = 20_000;

/// One session's team.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Team {
    /// Its agents by name; the lead is [`LEAD`].
    pub nodes: BTreeMap<String, Node>,
    /// Names by id.
    pub ids: BTreeMap<String, String>,
    /// Open waits by their key.
    pub waits: BTreeMap<String, Wait>,
    /// Keys of waits by who waits.
    pub out: BTreeMap<String, BTreeSet<String>>,
    /// Keys of waits by who was asked.
    pub owed: BTreeMap<String, BTreeSet<String>>,
    /// Waits by how soon they are given up if there are too many: the least certain first, then the oldest.
    pub ages: BTreeSet<(Duty, Millis, String)>,
    /// Waits of which the lead has not been told, by when they are overdue.
    pub dues: BTreeSet<(Millis, String)>,
    /// Keys of livelocks of which the lead has not been told.
    pub loops: BTreeSet<String>,
    /// Keys of waits for the start of agents.
    pub starting: BTreeSet<String>,
    /// Who reviews whom.
    pub pairs: BTreeMap<String, String>,
    /// Roles that signals gave by name.
    pub given: BTreeMap<String, String>,
    /// The same heads to and fro, by both names.
    pub fro: BTreeMap<String, ToAndFro>,
    /// Calls that begin agents, by id, since when.
    pub spawning: BTreeMap<String, Millis>,
    /// What the lead is called; empty = as the settings say.
    pub lead: String,
    /// The tasks of its list, by id.
    pub tasks: BTreeMap<String, Task>,
    /// Idle workers of which the lead has not been told, by when it is.
    pub parked: BTreeSet<(Millis, String)>,
    /// How it is known to be a subctl team: lead or worker (what the session is), or team; empty = it is not.
    pub subctl: String,
    /// Keys of what its agents were told at once.
    pub told: BTreeSet<String>,
}

impl Team {
    /// What is known of an agent when its role is asked for.
    pub fn known<'a>(&'a self, name: &'a str) -> Known<'a> {
        Known {
            name,
            kind: self.nodes.get(name).map_or("", |node| &node.kind),
            given: self.given.get(name).map_or("", String::as_str),
        }
    }

    /// Returns the agent that a sender means by what it wrote; what fits nobody is returned as it is.
    pub fn resolve(&self, rules: &Rules, to: &str) -> String {
        let to = to.trim().trim_start_matches('@');
        let to = to.strip_prefix("kiln:").unwrap_or(to);
        if self.nodes.contains_key(to) {
            return to.to_owned();
        }
        let is_lead =
            to == LEAD || to == "main" || to == rules.lead || (!self.lead.is_empty() && to == self.lead);
        if is_lead {
            return LEAD.to_owned();
        }
        if let Some(name) = self.ids.get(to) {
            return name.clone();
        }
        match to.split_once('@') {
            Some((name, _)) if name == LEAD || self.nodes.contains_key(name) => name.to_owned(),
            _ => to.to_owned(),
        }
    }

    /// Tells whether an agent of this name was ever alive.
    pub fn was_alive(&self, rules: &Rules, name: &str) -> bool {
        name == LEAD || self.nodes.contains_key(name) || rules.members.iter().any(|member| member == name)
    }

    /// Tells whether an agent of this name is alive.
    pub fn is_alive(&self, rules: &Rules, name: &str) -> bool {
        match self.nodes.get(name) {
            Some(node) => node.gone.is_none(),
            None => self.was_alive(rules, name),
        }
    }

    /// When there may next be something to tell the lead of; none = nothing is due to anybody.
    pub fn next_note(&self) -> Option<Millis> {
        let has_loop = !self.loops.is_empty();
        let first = self.dues.first().into_iter().chain(self.parked.first()).map(|(due, _)| *due).min();
        if has_loop { Some(Millis::MIN) } else { first }
    }

    /// Names of all agents that are alive, the lead first.
    pub fn alive<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = &'a str> {
        let seen = self.nodes.iter().filter(|(name, node)| *name != LEAD && node.gone.is_none());
        let set = rules.members.iter().filter(|name| !self.nodes.contains_key(*name));
        std::iter::once(LEAD).chain(seen.map(|(name, _)| name.as_str())).chain(set.map(String::as_str))
    }

    /// The open waits of an agent.
    pub fn waits_of<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Wait> {
        self.out.get(name).into_iter().flatten().filter_map(|key| self.waits.get(key))
    }

    pub(super) fn begin_turn(&mut self, name: &str, at: Millis) {
        let vain: Vec<String> =
            self.waits_of(name).filter(|wait| wait.duty == Duty::Never).map(Wait::key).collect();
        for key in vain {
            self.close(&key);
        }
        let Some(node) = self.nodes.get_mut(name) else { return };
        let free = std::mem::take(&mut node.turn.sent);
        let was_open = node.turn.ended.is_none() && node.turn.began > 0;
        node.turn = Turn { began: at, ..Turn::default() };
        node.printed.clear();
        node.raced = None;
        node.failed = None;
        node.gone = None;
        if !node.id.is_empty() && !node.running.contains(&node.id) {
            let id = node.id.clone();
            node.running.push(id);
        }
        if was_open {
            // The end of the turn before was never seen.
            self.open_free(name, &free);
        }
    }

    /// Work of an agent whose turn was over begins the next one.
    pub(super) fn resume(&mut self, name: &str, at: Millis) {
        let is_open = self.nodes.get(name).is_some_and(Node::is_at_work);
        let is_gone = self.nodes.get(name).is_some_and(|node| node.gone.is_some());
        if !is_open && !is_gone {
            self.begin_turn(name, at);
        }
    }

    pub(super) fn end_turn(&mut self, rules: &Rules, name: &str, heads: &[String], id: &str, at: Millis) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.running.retain(|running| running != id && *running != node.id);
        if !node.running.is_empty() {
            return;
        }
        if !heads.is_empty() {
            node.printed = heads.to_vec();
        }
        if node.turn.ended.is_some() || node.turn.began == 0 {
            node.turn.ended.get_or_insert(at);
            return;
        }
        node.turn.ended = Some(at);
        let (tail, sent) = (node.turn.tail, std::mem::take(&mut node.turn.sent));
        let parent = if node.teammate { String::new() } else { node.parent.clone() };
        self.open_free(name, &sent);
        self.open_vain(rules, name, &sent, tail);
        if !parent.is_empty() {
            self.hand_back(&parent, name);
        }
    }

    /// A turn that ended after messages that no table knows may wait for their recipients.
    /// What the lead was told on the way to asking another is a report.
    fn open_free(&mut self, name: &str, sent: &[Sent]) {
        let asks =
            |sent: &Sent| sent.to != LEAD && !sent.spawn && matches!(sent.duty, Duty::Free | Duty::Due);
        let last = sent.iter().rposition(asks).unwrap_or(0);
        let open = |sent: &&Sent| sent.duty == Duty::Free && !sent.answered && sent.to != name;
        let is_report = |place: usize, sent: &Sent| sent.to == LEAD && place < last;
        let all = sent.iter().enumerate().filter(|(place, sent)| open(sent) && !is_report(*place, sent));
        for (_, sent) in all {
            self.open(Wait { duty: Duty::Free, ..self.wait_for(name, sent) });
        }
    }

    /// A turn that sent nothing but messages that nobody answers, and stopped after the last of them, waits in vain.
    fn open_vain(&mut self, rules: &Rules, name: &str, sent: &[Sent], tail: bool) {
        if !tail || sent.is_empty() || sent.iter().any(|sent| sent.duty != Duty::Never) {
            return;
        }
        let is_log = |sent: &&Sent| {
            rules.row(&sent.table, &sent.row).is_some_and(|row| row.head == "LOG" || row.head == "ARCHIVE")
        };
        let last = sent.iter().rev().find(|sent| !is_log(sent)).or(sent.last());
        if let Some(sent) = last {
            self.open(Wait { duty: Duty::Never, ..self.wait_for(name, sent) });
        }
    }

    fn wait_for(&self, name: &str, sent: &Sent) -> Wait {
        Wait {
            from: name.to_owned(),
            to: sent.to.clone(),
            to_id: self.nodes.get(&sent.to).map(|node| node.id.clone()).unwrap_or_default(),
            table: sent.table.clone(),
            row: sent.row.clone(),
            head: sent.head.clone(),
            hash: sent.hash.clone(),
            since: sent.at,
            asked: sent.at,
            seen_from: sent.seen_from,
            delivered: sent.delivered,
            unconfirmed: sent.unconfirmed,
            spawn: sent.spawn,
            ..Wait::default()
        }
    }

    /// The result of an agent that takes no messages goes back by itself.
    fn hand_back(&mut self, parent: &str, name: &str) {
        let key = Wait { from: parent.to_owned(), to: name.to_owned(), ..Wait::default() }.key();
        self.close(&key);
        if let Some(node) = self.nodes.get_mut(parent) {
            for sent in node.turn.sent.iter_mut().filter(|sent| sent.to == name) {
                sent.answered = true;
            }
        }
    }

    /// Opens a wait; one that is open already stays, asked once more.
    pub(super) fn open(&mut self, mut wait: Wait) {
        let key = wait.key();
        if let Some(before) = self.waits.get(&key) {
            // An answer was due to the same question already, unless it never arrived.
            if before.delivered && before.to_id == wait.to_id {
                wait.since = before.since;
                wait.due = before.due;
                wait.noted = before.noted;
            }
        }
        self.close(&key);
        if self.waits.len() >= MOST_WAITS
            && let Some((_, _, oldest)) = self.ages.first().cloned()
        {
            self.close(&oldest);
        }
        if let Some(due) = wait.due.filter(|_| !wait.noted) {
            self.dues.insert((due, key.clone()));
        }
        self.ages.insert((wait.duty, wait.since, key.clone()));
        self.out.entry(wait.from.clone()).or_default().insert(key.clone());
        self.owed.entry(wait.to.clone()).or_default().insert(key.clone());
        self.waits.insert(key, wait);
    }

    pub(super) fn close(&mut self, key: &str) -> Option<Wait> {
        let wait = self.waits.remove(key)?;
        self.starting.remove(key);
        self.ages.remove(&(wait.duty, wait.since, key.to_owned()));
        self.dues.remove(&(wait.due.unwrap_or_default(), key.to_owned()));
        for (index, name) in [(&mut self.out, &wait.from), (&mut self.owed, &wait.to)] {
            if let Some(keys) = index.get_mut(name) {
                keys.remove(key);
                if keys.is_empty() {
                    index.remove(name);
                }
            }
        }
        Some(wait)
    }

    pub(super) fn drop_waits_of(&mut self, name: &str) {
        let keys: Vec<String> = self.out.get(name).into_iter().flatten().cloned().collect();
        for key in keys {
            self.close(&key);
        }
        self.break_off(name, "");
    }

    /// An agent ended for good.
    pub(super) fn retire(&mut self, name: &str, at: Millis) {
        self.drop_waits_of(name);
        self.stir(name);
        if let Some(node) = self.nodes.get_mut(name) {
            node.gone.get_or_insert(at);
            node.turn.ended.get_or_insert(at);
            node.turn.sent.clear();
            node.running.clear();
            node.run = None;
        }
        self.loops.remove(&format!("run {name}"));
    }

    /// The agent goes on after asking, in the same turn.
    pub(super) fn go_on(&mut self, name: &str, tool: &str) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.turn.tail = false;
        let began = node.turn.began;
        if !node.turn.sent.iter().any(|sent| sent.duty == Duty::Due) {
            return;
        }
        for key in self.out.get(name).into_iter().flatten() {
            if let Some(wait) = self.waits.get_mut(key)
                && wait.duty == Duty::Due
                && wait.asked >= began
                && wait.went_on.is_empty()
            {
                tool.clone_into(&mut wait.went_on);
            }
        }
    }

    /// Something other than the same heads happens to the agent.
    pub(super) fn break_off(&mut self, name: &str, but: &str) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        if node.partner.is_empty() || node.partner == but {
            return;
        }
        let partner = std::mem::take(&mut node.partner);
        let key = fro_key(name, &partner);
        self.fro.remove(&key);
        self.loops.remove(&format!("heads {key}"));
        if let Some(other) = self.nodes.get_mut(&partner)
            && other.partner == name
        {
            other.partner.clear();
        }
    }

    /// The lead was told of something.
    pub(super) fn note(&mut self, key: &str) {
        if let Some(wait) = self.waits.get_mut(key) {
            wait.noted = true;
            self.dues.remove(&(wait.due.unwrap_or_default(), key.to_owned()));
        }
        if let Some(name) = key.strip_prefix("run ")
            && let Some(run) = self.nodes.get_mut(name).and_then(|node| node.run.as_mut())
        {
            run.noted = true;
        }
        self.loops.remove(key);
        if let Some(name) = key.strip_prefix("parked ") {
            self.parked.retain(|(_, parked)| parked != name);
        }
        if let Some(pair) = key.strip_prefix("heads ")
            && let Some(fro) = self.fro.get_mut(pair)
        {
            fro.noted = true;
        }
    }

    pub(super) fn forget(&mut self) {
        // Not at every new agent: a look at all of them costs as much as there are.
        if self.nodes.len() <= MOST_AGENTS || !self.nodes.len().is_multiple_of(512) {
            return;
        }
        let idle = self.nodes.iter().filter(|(name, node)| {
            *name != LEAD
                && !node.is_at_work()
                && !self.out.contains_key(*name)
                && !self.owed.contains_key(*name)
        });
        let mut oldest: Vec<(bool, Millis, String)> =
            idle.map(|(name, node)| (node.gone.is_none(), node.turn.began, name.clone())).collect();
        oldest.sort();
        for (_, _, name) in oldest.into_iter().take(MOST_AGENTS / 8) {
            self.nodes.remove(&name);
            self.given.remove(&name);
        }
        let nodes = &self.nodes;
        self.ids.retain(|_, name| nodes.contains_key(name));
    }
}

/// Names an exchange by both its ends.
pub(super) fn fro_key(a: &str, b: &str) -> String {
    if a < b { format!("{a} {b}") } else { format!("{b} {a}") }
}
