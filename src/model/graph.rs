//! The wait-for graph: who waits for whom, since when, on what evidence. Folded event by event as a part of the
//! ledger; what a message means is said by the tables of [`Rules`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::diagnosis::SAME_CALLS;
use super::event::{Event, Spawn, What};
use super::judge::LEAD;
use super::moment::Millis;
use super::node::{Node, Run, Wait};
use super::signals::Rules;
use super::team::Team;
use super::wait::is_background;

/// All teams of a root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Graph {
    #[serde(skip)]
    rules: Arc<Rules>,
    /// Teams by their session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub teams: BTreeMap<String, Team>,
    /// Sessions that are a teammate of another: a teammate that runs as a client of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, (String, String)>,
}

/// Earlier ids that are remembered of one name.
const FORMER: usize = 8;

impl Graph {
    /// Begins with these rules.
    pub fn with(rules: Arc<Rules>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Takes new rules; waits that are open stay.
    pub fn set_rules(&mut self, rules: Arc<Rules>) {
        self.rules = rules;
    }

    /// Takes over what another graph knows, under the present rules.
    pub fn take_over(&mut self, other: &Self) {
        self.teams.clone_from(&other.teams);
        self.aliases.clone_from(&other.aliases);
    }

    /// Returns the team and the name of the agent that an event or a ledger's entry is about.
    pub fn place(&self, session: &str, agent: &str, name: &str) -> (String, String) {
        let own = session.to_owned();
        if agent.is_empty() {
            return self.aliases.get(session).cloned().unwrap_or((own, LEAD.to_owned()));
        }
        // An id is one agent's for good; what an event calls it may be its kind.
        let known = self.teams.get(session).and_then(|team| team.ids.get(agent)).cloned();
        let called = if name.is_empty() { agent } else { name };
        (own, known.unwrap_or_else(|| called.to_owned()))
    }

    /// How an agent is called where people and agents read it: `name@session` where two sessions share a name.
    pub fn display(&self, session: &str, name: &str) -> String {
        let called = match self.teams.get(session) {
            Some(team) if name == LEAD && !team.lead.is_empty() => &team.lead,
            _ if name == LEAD => &self.rules.lead,
            _ => name,
        };
        let shared = self.teams.iter().any(|(id, team)| {
            id != session
                && !id.is_empty()
                && !self.aliases.contains_key(id)
                && team.nodes.get(name).is_some_and(|node| node.gone.is_none())
        });
        if !shared {
            return called.to_owned();
        }
        format!("{called}@{}", session.chars().take(8).collect::<String>())
    }

    /// Forgets teams of sessions that have ended.
    pub fn keep(&mut self, is_live: impl Fn(&str) -> bool) {
        self.teams.retain(|id, _| is_live(id));
        self.aliases.retain(|id, (of, _)| is_live(id) && is_live(of));
    }

    /// Folds one more event.
    pub fn apply(&mut self, event: &Event) {
        match &event.what {
            What::SessionStart { source, .. } => self.start(event, source),
            What::SessionEnd { .. } | What::SessionLost => self.end(event),
            What::Noted { key, .. } => {
                if let Some(team) = self.teams.get_mut(&event.session) {
                    team.note(key);
                }
            }
            What::Roster { members, lead } => self.team(&event.session).take_roster(members, lead, event.at),
            What::ToolStart { tool, id, .. } if is_background(tool, id) => {}
            What::Prompt { .. }
            | What::ToolStart { .. }
            | What::ToolEnd { .. }
            | What::AgentStart
            | What::AgentStop
            | What::Idle { .. }
            | What::TurnEnd
            | What::ApiError { .. } => self.agent_event(event),
            _ => {}
        }
    }

    fn team(&mut self, session: &str) -> &mut Team {
        self.teams.entry(session.to_owned()).or_default()
    }

    fn start(&mut self, event: &Event, source: &str) {
        if source == "compact" || event.session.is_empty() {
            return;
        }
        // What ran in a session before it was begun anew does not run any more.
        self.teams.insert(event.session.clone(), Team::default());
        self.team(&event.session)
            .nodes
            .insert(LEAD.to_owned(), Node { since: event.at, teammate: true, ..Node::default() });
    }

    fn end(&mut self, event: &Event) {
        if let Some((session, name)) = self.aliases.remove(&event.session)
            && let Some(team) = self.teams.get_mut(&session)
        {
            team.retire(&name, event.at);
        }
        self.teams.remove(&event.session);
        self.aliases.retain(|_, (of, _)| *of != event.session);
    }

    fn agent_event(&mut self, event: &Event) {
        self.meet_apart(event);
        // What is only ever said of another agent, without saying of which, says nothing of the lead.
        if matches!(event.what, What::AgentStart | What::AgentStop | What::Idle { .. }) && event.is_lead() {
            return;
        }
        // A stop of an agent that was never seen tells nothing of any agent that was.
        if matches!(event.what, What::AgentStop)
            && event.name.is_empty()
            && !self.teams.get(&event.session).is_some_and(|team| team.ids.contains_key(&event.agent))
        {
            return;
        }
        let (session, name) = self.place(&event.session, &event.agent, &event.name);
        let rules = Arc::clone(&self.rules);
        let team = self.team(&session);
        if !team.meet(&name, event) {
            return;
        }
        match &event.what {
            What::Prompt { wake } => {
                team.begin_turn(&name, event.at);
                if !wake && let Some(node) = team.nodes.get_mut(&name) {
                    node.run = None;
                    team.loops.remove(&format!("run {name}"));
                }
            }
            What::AgentStart => {
                team.begin_turn(&name, event.at);
                team.started(&rules, &name, event.at);
            }
            What::ToolStart { tool, hash, id, .. } => {
                team.tool_start(&rules, &name, tool, hash, event.at);
                if matches!(tool.as_str(), "Agent" | "Task") {
                    team.spawning.insert(id.clone(), event.at);
                }
                if tool == "ExitPlanMode" && name != LEAD {
                    team.ask_for_plan(&rules, &name, event.at);
                }
            }
            What::ToolEnd { tool, message, id, .. } => {
                team.tool_end(&name, tool, event.at);
                let began = team.spawning.remove(id).unwrap_or(event.at);
                if let Some(spawn) = &event.spawn {
                    team.spawned(&name, spawn, began, event.at);
                }
                if let Some(message) = message {
                    team.send(&rules, &name, message, event.at);
                }
                if !event.stopped.is_empty() {
                    let (stopped, at) = (team.resolve(&rules, &event.stopped), event.at);
                    team.retire(&stopped, at);
                }
            }
            What::AgentStop | What::TurnEnd | What::Idle { .. } => {
                if matches!(event.what, What::Idle { .. })
                    && let Some(node) = team.nodes.get_mut(&name)
                {
                    node.teammate = true;
                }
                team.end_turn(&rules, &name, &event.heads, &event.agent, event.at);
            }
            What::ApiError { error, .. } => team.fail(&name, error, event.at),
            _ => {}
        }
    }

    /// A teammate that runs as a client of its own is met by the name under which the client routes its messages.
    fn meet_apart(&mut self, event: &Event) {
        let What::ToolEnd { message: Some(message), .. } = &event.what else { return };
        let name = message.sender.as_str();
        let is_new = event.agent.is_empty()
            && !name.is_empty()
            && name != LEAD
            && name != self.rules.lead
            && !self.aliases.contains_key(&event.session);
        if !is_new {
            return;
        }
        let home = self.teams.iter().find(|(id, team)| {
            **id != event.session && team.nodes.get(name).is_some_and(|node| node.apart || node.rostered)
        });
        let Some(home) = home.map(|(id, _)| id.clone()) else {
            // Nobody's teammate: so the lead itself is called.
            return name.clone_into(&mut self.team(&event.session).lead);
        };
        let began = self.teams.remove(&event.session);
        let own = began.and_then(|mut team| team.nodes.remove(LEAD));
        if let Some(node) = self.team(&home).nodes.get_mut(name)
            && let Some(own) = own
        {
            node.turn = own.turn;
            node.printed = own.printed;
        }
        self.aliases.insert(event.session.clone(), (home, name.to_owned()));
    }
}

impl Team {
    /// Makes sure that the agent of an event is known. False = the event is of an incarnation that was replaced.
    fn meet(&mut self, name: &str, event: &Event) -> bool {
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

    fn add(&mut self, name: &str, node: Node) {
        if !node.id.is_empty() {
            self.ids.insert(node.id.clone(), name.to_owned());
        }
        self.nodes.insert(name.to_owned(), node);
        self.forget();
    }

    /// A new incarnation: what the old one waited for is over; what others wait for it for was asked of another.
    fn respawn(&mut self, name: &str, id: &str, at: Millis) {
        self.drop_waits_of(name);
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
    fn rename(&mut self, old: &str, new: &str) {
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

    fn spawned(&mut self, by: &str, spawn: &Spawn, began: Millis, at: Millis) {
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

    fn take_roster(&mut self, members: &[String], lead: &str, at: Millis) {
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

    fn tool_start(&mut self, rules: &Rules, name: &str, tool: &str, hash: &str, at: Millis) {
        self.resume(name, at);
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

    fn tool_end(&mut self, name: &str, tool: &str, at: Millis) {
        self.resume(name, at);
        if tool != "SendMessage"
            && tool != "ToolSearch"
            && let Some(node) = self.nodes.get_mut(name)
        {
            node.turn.tail = false;
        }
    }

    fn fail(&mut self, name: &str, error: &str, at: Millis) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.turn.ended.get_or_insert(at);
        node.turn.sent.clear();
        node.running.clear();
        node.failed = Some((at, error.to_owned()));
    }
}
