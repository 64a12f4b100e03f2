//! Chains of waits: from each agent that waits to the one whose move would free it, and the ends they share.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnosis::printed;
use super::judge::{Facts, LEAD, agents};
use super::moment::Millis;
use super::node::{Duty, Node, Wait};
use super::signals::Rules;
use super::team::Team;
use super::walk;

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
    /// How many wait, at last, for this end.
    pub waiters: usize,
    /// The latest wait that leads here.
    pub latest: Millis,
    place: Option<usize>,
}

/// All chains of a view.
#[derive(Default)]
pub struct Chains<'a> {
    all: Vec<&'a Wait>,
    /// The waits behind each wait, by their places in `all`.
    next: Vec<Vec<usize>>,
    /// Where they end.
    pub ends: Vec<End<'a>>,
}

/// Who moves, or is about to, seen for all agents of a view at once.
pub struct Motion<'a> {
    moves: BTreeSet<&'a str>,
    passes_on: BTreeSet<&'a str>,
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

    /// Finds who moves.
    pub fn motion(&self) -> Motion<'a> {
        let waits = || self.team.waits.values();
        let all: BTreeSet<&'a str> = waits()
            .flat_map(|wait| [wait.from.as_str(), wait.debtor()])
            .chain(self.holds.keys().copied())
            .collect();
        let names: Vec<&'a str> = all.into_iter().collect();
        let place = |name: &str| names.binary_search(&name).ok();
        let (mut next, mut due) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
        let mut is_at_work = Vec::with_capacity(names.len());
        for name in &names {
            let mut waits = self.waits_of(name);
            // The lead's team is at work for it most of the time: that explains no answer that the lead owes.
            waits.retain(|wait| !(wait.spawn && wait.from == LEAD));
            let debtors = |duty: Duty| waits.iter().filter(move |wait| wait.duty >= duty);
            let own = waits.is_empty() && self.node(name).is_some_and(Node::is_at_work);
            is_at_work.push(match self.holds.get(name) {
                Some(Hold::Api { .. }) => false,
                Some(_) => true,
                None => own,
            });
            next.push(debtors(Duty::None).filter_map(|wait| place(wait.debtor())).collect());
            due.push(debtors(Duty::Due).filter_map(|wait| place(wait.debtor())).collect());
        }
        let moves = walk::leading(&next, |place| is_at_work[place]);
        let circle = walk::on_circle(&due);
        let those = |of: &dyn Fn(usize) -> bool| {
            names.iter().enumerate().filter(|(place, _)| of(*place)).map(|(_, name)| *name).collect()
        };
        Motion {
            moves: those(&|place| moves[place]),
            passes_on: those(&|place| !due[place].is_empty() && !circle[place]),
        }
    }

    /// Returns where a chain goes on behind a wait. Whoever owes an answer by a table is not excused by what it is
    /// only likely to wait for, unless it asked for that after it was asked itself.
    ///
    /// Where a message or its answer went astray, the chain ends: that is what has to be mended.
    fn behind(&self, wait: &'a Wait) -> Vec<&'a Wait> {
        if wait.stray.is_some() || self.is_misrouted(wait) {
            return Vec::new();
        }
        // It meant to answer.
        let is_printed = wait.duty == Duty::Due && printed(self.rules, self, wait).is_some();
        let excuses = |next: &&Wait| match (wait.duty, next.duty) {
            (_, Duty::Due) => true,
            (Duty::Due, _) if is_printed => false,
            (Duty::Due | Duty::Never, Duty::Free) => !next.spawn && next.asked >= wait.asked,
            _ => true,
        };
        let is_another_s = |next: &&Wait| next.from != wait.from && self.is_of_another(next);
        self.waits_of(wait.debtor()).into_iter().filter(excuses).filter(|next| !is_another_s(next)).collect()
    }

    /// The lead began the debtor, which has worked for others since: their wait says more.
    pub fn is_of_another(&self, wait: &Wait) -> bool {
        wait.spawn && wait.from == LEAD && self.node(wait.debtor()).is_some_and(|node| node.serves)
    }

    /// Finds all chains and where they end.
    pub fn chains(&self) -> Chains<'a> {
        let all: Vec<&'a Wait> = self.team.out.keys().flat_map(|name| self.waits_of(name)).collect();
        let places: BTreeMap<*const Wait, usize> =
            all.iter().enumerate().map(|(place, wait)| (std::ptr::from_ref(*wait), place)).collect();
        let place = |wait: &&Wait| places.get(&std::ptr::from_ref(*wait)).copied();
        let next: Vec<Vec<usize>> =
            all.iter().map(|wait| self.behind(wait).iter().filter_map(place).collect()).collect();
        let mut ends: Vec<(usize, Vec<usize>)> =
            (0..all.len()).filter(|place| next[*place].is_empty()).map(|place| (place, Vec::new())).collect();
        for circle in walk::circles(&next) {
            let longest =
                circle.iter().min_by_key(|place| (all[**place].since, all[**place].debtor())).copied();
            ends.extend(longest.map(|longest| (longest, circle)));
        }
        let latest = walk::greatest(&next, &ages(&all));
        let owners: BTreeSet<&str> = all.iter().map(|wait| wait.from.as_str()).collect();
        let owners: BTreeMap<&str, usize> = owners.into_iter().zip(0..).collect();
        let owner: Vec<usize> = all.iter().map(|wait| owners[wait.from.as_str()]).collect();
        let asked: Vec<usize> = ends.iter().map(|(place, _)| *place).collect();
        let waiters = walk::owners(&next, &owner, &asked);
        let ends = ends
            .into_iter()
            .zip(waiters)
            .map(|((place, circle), waiters)| End {
                wait: all[place],
                circle: circle.into_iter().map(|place| all[place]).collect(),
                waiters,
                latest: latest[place],
                place: Some(place),
            })
            .collect();
        Chains { all, next, ends }
    }
}

impl<'a> Chains<'a> {
    /// Everybody who waits, at last, for this end.
    pub fn waiters(&self, end: &End<'a>) -> BTreeSet<&'a str> {
        let Some(place) = end.place else { return BTreeSet::from([end.wait.from.as_str()]) };
        walk::all_leading(&self.next, place).into_iter().map(|place| self.all[place].from.as_str()).collect()
    }

    /// The end of the chain that begins with this wait: of several the strongest, the latest.
    pub fn end_of(&self, wait: &Wait) -> Option<&End<'a>> {
        let from = self.all.iter().position(|other| std::ptr::eq(*other, wait))?;
        let reached = walk::all_reached(&self.next, from);
        let ends = self.ends.iter().filter(|end| end.place.is_some_and(|place| reached.contains(&place)));
        ends.max_by_key(|end| (end.strength(), end.latest, end.wait.key()))
    }
}

impl<'a> End<'a> {
    /// The end of a chain of one wait that is not among those that count.
    pub fn of(wait: &'a Wait) -> Self {
        Self { wait, circle: Vec::new(), waiters: 1, latest: wait.asked, place: None }
    }

    /// On what ground one waits here.
    pub fn strength(&self) -> Duty {
        self.circle.iter().map(|wait| wait.duty).max().unwrap_or(self.wait.duty)
    }
}

impl Motion<'_> {
    /// Tells whether an agent, or one that it waits for, is at work.
    pub fn moves(&self, name: &str) -> bool {
        self.moves.contains(name)
    }

    /// Tells whether an agent waits for an answer that is due to it, and not in a circle.
    pub fn passes_on(&self, name: &str) -> bool {
        self.passes_on.contains(name)
    }
}

/// When each wait was asked for; what one agent asked of several at once is of one age.
fn ages(all: &[&Wait]) -> Vec<Millis> {
    let age_of = |wait: &Wait| {
        let to = if wait.duty == Duty::Due { String::new() } else { wait.to.clone() };
        (wait.from.clone(), wait.row.clone(), to)
    };
    let mut ages = BTreeMap::new();
    for wait in all {
        let age: &mut Millis = ages.entry(age_of(wait)).or_default();
        *age = wait.asked.max(*age);
    }
    all.iter().map(|wait| ages[&age_of(wait)]).collect()
}
