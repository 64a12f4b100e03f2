//! What the lead is told although the pipeline as a whole moves: answers that are overdue, and livelocks. Each once.

use super::chain::{View, views};
use super::diagnosis::{Diagnosis, diagnose_wait, livelocks};
use super::graph::Graph;
use super::judge::Facts;
use super::moment::{Millis, millis};
use super::node::{Duty, Node, Wait};
use super::wording::{clock, plain};

/// Something that the lead is told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Under which key it is remembered as told.
    pub key: String,
    /// Since when it has been so.
    pub since: Millis,
    /// What it is.
    pub diagnosis: Diagnosis,
    /// A line for the pipeline's iteration log.
    pub log: Option<String>,
}

/// Returns what is to be told now, and when there may be more to tell.
pub fn notes(facts: &Facts<'_>, now: Millis) -> (Vec<Note>, Option<Millis>) {
    let graph = &facts.ledger.graph;
    let mut found: Vec<Note> = Vec::new();
    let mut next: Option<Millis> = None;
    for view in views(facts, now) {
        for wait in view.team.waits.values().filter(|wait| wait.duty == Duty::Due && !wait.noted) {
            let due = due(graph, wait);
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
            } else if is_overdue(&view, wait) {
                let log = iteration_log(graph, &view, wait, now);
                let diagnosis = diagnose_wait(graph, &view, wait, now);
                found.push(Note { key: wait.key(), since: wait.since, diagnosis, log });
            }
        }
        let loops = livelocks(graph, &view);
        found.extend(loops.into_iter().map(|(key, since, diagnosis)| Note {
            key,
            since,
            diagnosis,
            log: None,
        }));
    }
    found.sort_by(|a, b| {
        (a.since, &a.diagnosis.session, &a.key).cmp(&(b.since, &b.diagnosis.session, &b.key))
    });
    (found, next)
}

/// When the answer to a wait is overdue.
pub fn due(graph: &Graph, wait: &Wait) -> Millis {
    wait.due.unwrap_or_else(|| wait.since + millis(graph.rules().reply_after))
}

/// The debtor's turn is over, and it does not wait for an agent that is at work.
fn is_overdue(view: &View<'_>, wait: &Wait) -> bool {
    let debtor = wait.debtor();
    let is_at_work = view.node(debtor).is_some_and(Node::is_at_work);
    !is_at_work && !view.moves(debtor)
}

/// The line that the seam asks for.
fn iteration_log(graph: &Graph, view: &View<'_>, wait: &Wait, now: Millis) -> Option<String> {
    let row = graph.rules().row(&wait.table, &wait.row).filter(|row| row.log)?;
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    let within = row.within.map_or(0, |within| within.as_secs());
    Some(format!(
        "- {} WARNING: {} has not answered {} of {} within {within} s\n",
        clock(now),
        call(wait.debtor()),
        plain(&wait.head, 60),
        call(&wait.from)
    ))
}
