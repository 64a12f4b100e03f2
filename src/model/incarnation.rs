//! Who an agent is: it is met, begun, begun anew under the same name, called by another; and what it does by itself.

use super::diagnosis::SAME_CALLS;
use super::event::{Event, Message, Spawn, What};
use super::judge::LEAD;
use super::moment::Millis;
use super::node::{Node, Run, Sent, Wait};
use super::signals::Rules;
use super::team::Team;

/// Earlier ids that are remembered of one name.
const FORMER: usize = 8;

impl Team {
    /// Makes sure that the agent of an event is known. False = the event is of an incarnation that was replaced.
    pub(super) fn meet(&mut self, name: &str, event: &Event) -> bool {
        let begins = matches!(event.what, What::AgentStart);
        let id = event.agent.as_str();
        // Where a name is all there is, it is no id.
        let id = if id == event.name { "" } else { id };
        let Some(node) = self.nodes.get(name) else {
            let node = Node { id: id.to_owned(), since: event.at, teammate: name == LEAD, ..Node::default() };
            self.add(name, node);
            return true;
        };
        if id.is_empty() {
            return true;
        }
        if node.former.iter().any(|former| former == id) {
            return false;
        }
        let is_same = node.id.is_empty() || node.id == id;
        let replaces = !is_same && begins && (!node.is_at_work() || node.gone.is_some());
        if replaces {
            self.respawn(name, id, event.at);
        } else if let Some(node) = self.nodes.get_mut(name) {
            if node.id.is_empty() {
                id.clone_into(&mut node.id);
                self.ids.insert(id.to_owned(), name.to_owned());
            } else if begins {
                // The same agent comes back.
                node.gone = None;
                self.ids.insert(id.to_owned(), name.to_owned());
            }
        }
        true
    }

    pub(super) fn add(&mut self, name: &str, node: Node) {
        if !node.id.is_empty() {
            self.ids.insert(node.id.clone(), name.to_owned());
        }
        self.nodes.insert(name.to_owned(), node);
        self.forget();
    }

    /// A new incarnation: what the old one waited for is over; what others wait for it for was asked of another.
    pub(super) fn respawn(&mut self, name: &str, id: &str, at: Millis) {
        self.drop_waits_of(name);
        self.stir(name);
        self.loops.remove(&format!("run {name}"));
        let mut former = Vec::new();
        if let Some(old) = self.nodes.remove(name) {
            former = old.former;
            if !old.id.is_empty() {
                former.push(old.id);
            }
            let more = former.len().saturating_sub(FORMER);
            former.drain(..more);
        }
        self.add(name, Node { id: id.to_owned(), since: at, former, ..Node::default() });
    }

    /// An agent that was met under its kind turns out to have a name of its own.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        let Some(node) = self.nodes.remove(old) else { return };
        let keys: Vec<String> = [&self.out, &self.owed]
            .into_iter()
            .flat_map(|index| index.get(old).cloned().unwrap_or_default())
            .collect();
        for wait in keys.iter().filter_map(|key| self.close(key)).collect::<Vec<_>>() {
            let call = |name: String| if name == old { new.to_owned() } else { name };
            self.open(Wait { from: call(wait.from.clone()), to: call(wait.to.clone()), ..wait });
        }
        self.ids.insert(node.id.clone(), new.to_owned());
        self.nodes.insert(new.to_owned(), node);
    }

    pub(super) fn spawned(&mut self, by: &str, spawn: &Spawn, began: Millis, at: Millis) {
        let name = spawn.name.as_str();
        if let Some(called) = self.ids.get(&spawn.id).filter(|called| *called != name).cloned() {
            self.rename(&called, name);
        }
        let is_new = match self.nodes.get(name) {
            None => true,
            Some(node) => {
                let other = !spawn.id.is_empty() && !node.id.is_empty() && node.id != spawn.id;
                // The start of the agent may have been seen before the end of the call that began it.
                other
                    || (node.gone.is_some() && node.since < began)
                    || (node.since < began && spawn.teammate && spawn.id.is_empty())
            }
        };
        if is_new {
            self.respawn(name, &spawn.id, began);
        }
        let Some(node) = self.nodes.get_mut(name) else { return };
        if node.id.is_empty() && !spawn.id.is_empty() {
            node.id.clone_from(&spawn.id);
            self.ids.insert(spawn.id.clone(), name.to_owned());
        }
        node.kind.clone_from(&spawn.kind);
        node.teammate |= spawn.teammate;
        node.apart |= spawn.apart;
        if !spawn.teammate {
            by.clone_into(&mut node.parent);
        }
        self.note_spawn(by, name, began, at);
    }

    fn note_spawn(&mut self, by: &str, name: &str, began: Millis, at: Millis) {
        let answered = self.nodes.get(name).is_some_and(|node| {
            let is_back = !node.teammate && node.turn.began >= began && node.turn.ended.is_some();
            is_back || node.turn.answered.iter().any(|who| who == by)
        });
        if let Some(node) = self.nodes.get_mut(by) {
            node.turn.tail = false;
            node.turn.sent.push(Sent {
                to: name.to_owned(),
                at,
                seen_from: began,
                delivered: true,
                spawn: true,
                answered,
                ..Sent::default()
            });
        }
    }

    pub(super) fn take_roster(&mut self, members: &[String], lead: &str, at: Millis) {
        lead.clone_into(&mut self.lead);
        let names: Vec<String> = self.nodes.keys().cloned().collect();
        for name in names {
            let left = self.nodes.get(&name).is_some_and(|node| node.rostered && node.gone.is_none())
                && !members.contains(&name);
            if left {
                self.retire(&name, at);
            }
        }
        for name in members.iter().filter(|name| *name != lead && *name != LEAD) {
            if !self.nodes.contains_key(name) {
                self.add(name, Node { since: at, teammate: true, ..Node::default() });
            }
            if let Some(node) = self.nodes.get_mut(name) {
                node.rostered = true;
                node.teammate = true;
            }
        }
    }

    pub(super) fn tool_start(&mut self, rules: &Rules, name: &str, tool: &str, hash: &str, at: Millis) {
        self.resume(name, at);
        self.stir_by(name, tool);
        let is_message = matches!(tool, "SendMessage" | "ToolSearch");
        if !is_message {
            self.go_on(name, tool);
            self.break_off(name, "");
        }
        let Some(node) = self.nodes.get_mut(name) else { return };
        if tool == "ToolSearch" {
            return;
        }
        self.loops.remove(&format!("run {name}"));
        let goes_on = node.run.as_ref().is_some_and(|run| run.hash == hash && run.tool == tool);
        match &mut node.run {
            Some(run) if goes_on => run.count += 1,
            run => {
                let counts = !hash.is_empty() && !rules.polling.contains(tool);
                *run = counts.then(|| Run {
                    tool: tool.to_owned(),
                    hash: hash.to_owned(),
                    count: 1,
                    since: at,
                    noted: false,
                });
            }
        }
        if node.run.as_ref().is_some_and(|run| run.count >= SAME_CALLS && !run.noted) {
            self.loops.insert(format!("run {name}"));
        }
    }

    /// A call ended: it may have begun an agent, sent a message, ended an agent.
    pub(super) fn call_ended(
        &mut self,
        rules: &Rules,
        name: &str,
        event: &Event,
        tool: &str,
        id: &str,
        message: Option<&Message>,
    ) {
        self.tool_end(name, tool, event.at);
        let began = self.spawning.remove(id).unwrap_or(event.at);
        if let Some(spawn) = &event.spawn {
            self.spawned(name, spawn, began, event.at);
        }
        if let Some(message) = message {
            self.send(rules, name, message, event.at);
        }
        if !event.stopped.is_empty() {
            let stopped = self.resolve(rules, &event.stopped);
            self.retire(&stopped, event.at);
        }
    }

    fn tool_end(&mut self, name: &str, tool: &str, at: Millis) {
        self.resume(name, at);
        if tool != "SendMessage"
            && tool != "ToolSearch"
            && let Some(node) = self.nodes.get_mut(name)
        {
            node.turn.tail = false;
        }
    }

    pub(super) fn fail(&mut self, name: &str, error: &str, at: Millis) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.turn.ended.get_or_insert(at);
        node.turn.sent.clear();
        node.running.clear();
        node.failed = Some((at, error.to_owned()));
    }
}
