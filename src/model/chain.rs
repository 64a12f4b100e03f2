//! Chains of waits: from each agent that waits to the one whose move would free it, and the ends they share.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{Facts, agents};
use super::moment::Millis;
use super::node::{Duty, Node, Wait};
use super::team::Team;

/// What holds an agent outside its team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// A tool is running.
    Tool {
        /// The tool.
        tool: String,
        /// Since when.
        since: Millis,
    },
    /// A person is asked.
    Person {
        /// For what.
        what: String,
        /// Since when.
        since: Millis,
    },
    /// The API ended its turn.
    Api {
        /// With which error.
        error: String,
        /// When.
        since: Millis,
    },
}

/// One session's team at one moment.
pub struct View<'a> {
    /// Its session.
    pub session: &'a str,
    /// The team.
    pub team: &'a Team,
    /// Who is held by what.
    pub holds: BTreeMap<&'a str, Hold>,
    now: Millis,
}

/// Where chains of waits end.
#[derive(Debug, Clone)]
pub struct End<'a> {
    /// The last wait of the chain, or the one of a circle whose debtor has owed longest.
    pub wait: &'a Wait,
    /// The waits of the circle, in order; empty if it is none.
    pub circle: Vec<&'a Wait>,
    /// Everybody who waits, at last, for this end.
    pub waiters: BTreeSet<&'a str>,
    /// The latest wait that leads here.
    pub latest: Millis,
}

/// Returns the views of all teams that live.
pub fn views<'a>(facts: &'a Facts<'a>, now: Millis) -> Vec<View<'a>> {
    let graph = &facts.ledger.graph;
    let mut views: Vec<View<'a>> = graph
        .teams
        .iter()
        .filter(|(id, _)| !facts.dead.contains(*id) && !facts.ledger.has_ended(id) && !graph.aliases.contains_key(*id))
        .map(|(session, team)| View { session, team, holds: BTreeMap::new(), now })
        .collect();
    for (session, id, agent) in agents(facts) {
        let (place, name) = graph.place(session, id, &agent.name);
        let Some(view) = views.iter_mut().find(|view| view.session == place) else { continue };
        let Some((name, _)) = view.team.nodes.get_key_value(&name) else { continue };
        let tool = agent.tools.iter().min_by_key(|tool| tool.since);
        let hold = match (&agent.asked, tool) {
            (Some(asked), _) => Hold::Person { what: asked.what.words(), since: asked.since },
            (None, Some(tool)) => Hold::Tool { tool: tool.tool.clone(), since: tool.since },
            (None, None) => continue,
        };
        view.holds.insert(name, hold);
    }
    for view in &mut views {
        view.hold_by_graph();
    }
    views
}

impl<'a> View<'a> {
    /// What the graph itself tells of ends outside the team.
    fn hold_by_graph(&mut self) {
        for (name, node) in &self.team.nodes {
            if let Some((since, error)) = &node.failed {
                self.holds.entry(name).or_insert_with(|| Hold::Api { error: error.clone(), since: *since });
            }
        }
        for wait in self.team.waits.values().filter(|wait| wait.operator && wait.due.is_some_and(|due| due > self.now)) {
            let hold = Hold::Person { what: "approval of a plan".to_owned(), since: wait.since };
            self.holds.entry(&wait.from).or_insert(hold);
        }
    }

    /// Returns an agent of the team.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        self.team.nodes.get(name)
    }

    /// Returns what an agent waits for: what is owed to it before what a table says nobody owes, and both before
    /// what is only likely. One that is held by something outside waits for that alone.
    pub fn waits_of(&self, name: &str) -> Vec<&'a Wait> {
        if self.holds.contains_key(name) {
            return Vec::new();
        }
        let all: Vec<&Wait> = self.team.waits_of(name).collect();
        let Some(most) = all.iter().map(|wait| wait.duty).max() else { return all };
        if most < Duty::Due && self.node(name).is_some_and(Node::is_at_work) {
            return Vec::new();
        }
        all.into_iter().filter(|wait| wait.duty == most).collect()
    }

    /// Tells whether an agent, or one that it waits for, is at work.
    pub fn moves(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            match self.holds.get(name) {
                Some(Hold::Api { .. }) => continue,
                Some(_) => return true,
                None => {}
            }
            let waits = self.waits_of(name);
            if waits.is_empty() && self.node(name).is_some_and(Node::is_at_work) {
                return true;
            }
            open.extend(waits.into_iter().map(Wait::debtor));
        }
        false
    }

    /// Finds where all chains end.
    pub fn ends(&self) -> Vec<End<'a>> {
        let waiters: Vec<&'a str> = self.team.out.keys().map(String::as_str).collect();
        let mut edges: BTreeMap<&'a str, Vec<&'a Wait>> = BTreeMap::new();
        let mut back: BTreeMap<&'a str, Vec<&'a str>> = BTreeMap::new();
        for name in waiters {
            let waits = self.waits_of(name);
            for wait in &waits {
                back.entry(wait.debtor()).or_default().push(&wait.from);
            }
            edges.insert(name, waits);
        }
        let last = |wait: &&&'a Wait| edges.get(wait.debtor()).is_none_or(Vec::is_empty);
        let mut ends: Vec<End<'a>> = Vec::new();
        for wait in edges.values().flatten().filter(last) {
            ends.push(End { wait, circle: Vec::new(), waiters: reach(&back, &wait.from), latest: 0 });
        }
        for circle in circles(&edges) {
            let Some(first) = circle.iter().min_by_key(|wait| (wait.since, wait.debtor())) else { continue };
            let mut waiters = reach(&back, &first.from);
            waiters.extend(circle.iter().map(|wait| wait.from.as_str()));
            ends.push(End { wait: first, circle, waiters, latest: 0 });
        }
        for end in &mut ends {
            let waits = end.waiters.iter().filter_map(|name| edges.get(name)).flatten();
            end.latest = waits.map(|wait| wait.asked).max().unwrap_or(end.wait.asked);
        }
        ends
    }
}

/// Everybody from whom a chain leads to this agent, and the agent itself.
fn reach<'a>(back: &BTreeMap<&'a str, Vec<&'a str>>, to: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![to];
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            open.extend(back.get(name).into_iter().flatten());
        }
    }
    seen
}

/// Finds circles, each once: a walk without recursion, so that no length of a chain can hurt.
fn circles<'a>(edges: &BTreeMap<&'a str, Vec<&'a Wait>>) -> Vec<Vec<&'a Wait>> {
    let mut found = Vec::new();
    let mut done: BTreeSet<&'a str> = BTreeSet::new();
    for start in edges.keys() {
        let mut path: Vec<(&'a str, usize, Option<&'a Wait>)> = vec![(start, 0, None)];
        while let Some((name, next, _)) = path.last_mut() {
            let name = *name;
            if done.contains(name) {
                path.pop();
                continue;
            }
            let wait = edges.get(name).and_then(|waits| waits.get(*next)).copied();
            *next += 1;
            let Some(wait) = wait else {
                done.insert(name);
                path.pop();
                continue;
            };
            match path.iter().position(|(on, ..)| *on == wait.debtor()) {
                Some(place) => {
                    let mut circle: Vec<&Wait> = path[place + 1..].iter().filter_map(|(_, _, wait)| *wait).collect();
                    circle.push(wait);
                    found.push(circle);
                }
                None => path.push((wait.debtor(), 0, Some(wait))),
            }
        }
    }
    found
}
