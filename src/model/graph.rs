//! The wait-for graph: who waits for whom, since when, on what evidence. Folded event by event as a part of the
//! ledger; what a message means is said by the tables of [`Rules`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Event, What};
use super::judge::LEAD;
use super::node::Node;
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

    /// Tells whether this agent was begun anew under its name, with another id.
    pub fn is_replaced(&self, session: &str, id: &str, name: &str) -> bool {
        let team = self.teams.get(session).filter(|_| !id.is_empty());
        let node = team.and_then(|team| team.nodes.get(self.called(session, id, name)));
        node.is_some_and(|node| node.former.iter().any(|former| former == id))
    }

    /// The name of an agent that is not the lead. An id is one agent's for good; what an event calls it may be its kind.
    fn called<'a>(&'a self, session: &str, agent: &'a str, name: &'a str) -> &'a str {
        let known = self.teams.get(session).and_then(|team| team.ids.get(agent));
        known.map_or(if name.is_empty() { agent } else { name }, String::as_str)
    }

    /// Returns the team and the name of the agent that an event or a ledger's entry is about.
    pub fn place(&self, session: &str, agent: &str, name: &str) -> (String, String) {
        let own = session.to_owned();
        if agent.is_empty() {
            return self.aliases.get(session).cloned().unwrap_or((own, LEAD.to_owned()));
        }
        (own, self.called(session, agent, name).to_owned())
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
            What::Subctl { role } => self.note_subctl(event, role),
            What::Plan(news) => self.decide_plan(event, news),
            What::PlanTold { key } | What::Helped { key } => self.note_told(event, key),
            What::Other { .. } if event.task.is_some() => self.task_event(event),
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

    /// What is only ever said of another agent, without saying of which, says nothing of the lead; and a stop of an
    /// agent that was never seen tells nothing of any agent that was.
    fn is_of_nobody(&self, event: &Event) -> bool {
        if matches!(event.what, What::AgentStart | What::AgentStop | What::Idle { .. }) && event.is_lead() {
            return true;
        }
        let is_known =
            || self.teams.get(&event.session).is_some_and(|team| team.ids.contains_key(&event.agent));
        matches!(event.what, What::AgentStop) && event.name.is_empty() && !is_known()
    }

    fn agent_event(&mut self, event: &Event) {
        self.meet_apart(event);
        if self.is_of_nobody(event) {
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
                team.call_ended(&rules, &name, event, tool, id, message.as_ref());
                self.task_event(event);
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
