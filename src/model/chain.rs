//! Chains of waits: from each agent that waits to the one whose move would free it, and the ends they share.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{Facts, agents};
use super::moment::Millis;
use super::node::{Duty, Node, Wait};
use super::signals::Rules;
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
    /// What the signals mean.
    pub rules: &'a Rules,
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
        .filter(|(id, _)| {
            !facts.dead.contains(*id) && !facts.ledger.has_ended(id) && !graph.aliases.contains_key(*id)
        })
        .map(|(session, team)| View { session, team, rules: graph.rules(), holds: BTreeMap::new(), now })
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
        for wait in self
            .team
            .waits
            .values()
            .filter(|wait| wait.operator && wait.due.is_some_and(|due| due > self.now))
        {
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

    /// The table names another recipient, and that one is alive.
    pub fn is_misrouted(&self, wait: &Wait) -> bool {
        let table = self.rules.tables.iter().find(|table| table.name == wait.table);
        let row = self.rules.row(&wait.table, &wait.row);
        table.zip(row).is_some_and(|(table, row)| self.team.is_misrouted(self.rules, table, row, &wait.to))
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

    /// Returns where a chain goes on behind a wait. Whoever owes an answer by a table is not excused by what it is
    /// only likely to wait for, unless it asked for that after it was asked itself.
    ///
    /// Where a message or its answer went astray, the chain ends: that is what has to be mended.
    fn behind(&self, wait: &'a Wait) -> Vec<&'a Wait> {
        if wait.stray.is_some() || self.is_misrouted(wait) {
            return Vec::new();
        }
        let excuses = |next: &&Wait| {
            next.duty > Duty::Free || wait.duty == Duty::Free || (!next.spawn && next.asked >= wait.asked)
        };
        self.waits_of(wait.debtor()).into_iter().filter(excuses).collect()
    }

    /// Finds where all chains end.
    pub fn ends(&self) -> Vec<End<'a>> {
        let all: Vec<&'a Wait> = self.team.out.keys().flat_map(|name| self.waits_of(name)).collect();
        let places: BTreeMap<*const Wait, usize> =
            all.iter().enumerate().map(|(place, wait)| (std::ptr::from_ref(*wait), place)).collect();
        let place = |wait: &&Wait| places.get(&std::ptr::from_ref(*wait)).copied();
        let next: Vec<Vec<usize>> =
            all.iter().map(|wait| self.behind(wait).iter().filter_map(place).collect()).collect();
        let mut back: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
        for (from, to) in next.iter().enumerate() {
            for to in to {
                back[*to].push(from);
            }
        }
        // What one agent asked of several at once is of one age.
        let age_of = |wait: &'a Wait| {
            (wait.from.as_str(), wait.row.as_str(), if wait.duty == Duty::Due { "" } else { &wait.to })
        };
        let mut ages: BTreeMap<(&str, &str, &str), Millis> = BTreeMap::new();
        for wait in &all {
            let age = ages.entry(age_of(wait)).or_default();
            *age = wait.asked.max(*age);
        }
        let end = |last: usize, circle: &[usize]| {
            let behind = reach(&back, last);
            let waits = || behind.iter().chain(circle).map(|place| all[*place]);
            End {
                wait: all[last],
                circle: circle.iter().map(|place| all[*place]).collect(),
                waiters: waits().map(|wait| wait.from.as_str()).collect(),
                latest: waits().filter_map(|wait| ages.get(&age_of(wait))).max().copied().unwrap_or_default(),
            }
        };
        let mut ends: Vec<End<'a>> =
            (0..all.len()).filter(|place| next[*place].is_empty()).map(|place| end(place, &[])).collect();
        for circle in circles(&next) {
            let longest = circle.iter().min_by_key(|place| (all[**place].since, all[**place].debtor()));
            ends.extend(longest.map(|longest| end(*longest, &circle)));
        }
        ends
    }
}

/// Every wait from which a chain leads to this one, and the wait itself.
fn reach(back: &[Vec<usize>], to: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = vec![to];
    while let Some(place) = open.pop() {
        if seen.insert(place) {
            open.extend(&back[place]);
        }
    }
    seen
}

/// Finds circles, each once: a walk without recursion, so that no length of a chain can hurt.
fn circles(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut done = vec![false; next.len()];
    for start in 0..next.len() {
        let mut path: Vec<(usize, usize)> = if done[start] { Vec::new() } else { vec![(start, 0)] };
        while let Some((at, turn)) = path.last_mut() {
            let at = *at;
            let Some(to) = next[at].get(*turn).copied() else {
                done[at] = true;
                path.pop();
                continue;
            };
            *turn += 1;
            match path.iter().position(|(on, _)| *on == to) {
                Some(place) => found.push(path[place..].iter().map(|(on, _)| *on).collect()),
                None if done[to] => {}
                None => path.push((to, 0)),
            }
        }
    }
    found
}
