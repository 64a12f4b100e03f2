//! What the lead is told although the pipeline as a whole moves: answers that are overdue, and livelocks. Each once.

use std::time::Duration;

use super::cause::Diagnosis;
use super::chain::{Motion, View, views};
use super::diagnosis::{diagnose_wait, livelocks};
use super::evidence::parked;
use super::graph::Graph;
use super::judge::{Facts, Reason, Verdict};
use super::moment::{Millis, Moment, millis};
use super::node::{Node, Wait};
use super::policy::Policy;
use super::team::Team;
use super::wording::{clock, plain};

/// A message that came this short a time ago is about to begin its recipient's turn.
const GRACE: Duration = Duration::from_secs(60);
/// Of so many overdue answers of one team the lead is told at one look: the rest is told at the next.
const MOST_AT_ONCE: usize = 16;

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
    let mut later: Vec<Millis> = Vec::new();
    later.extend(graph.teams.values().filter_map(Team::next_note));
    if later.iter().all(|at| *at > now) {
        return (found, later.into_iter().min());
    }
    later.clear();
    for view in views(facts, now) {
        let motion = view.motion();
        let mut told = Vec::new();
        for wait in view.team.dues.iter().filter_map(|(_, key)| view.team.waits.get(key)) {
            match telling(graph, &view, &motion, wait, now) {
                Telling::Never => {}
                Telling::At(at) => later.push(at),
                Telling::Now => told.push(wait),
            }
        }
        if told.len() > MOST_AT_ONCE {
            told.sort_by_key(|wait| (wait.since, wait.key()));
            told.truncate(MOST_AT_ONCE);
            later.push(now);
        }
        let chains = if told.is_empty() { None } else { Some(view.chains()) };
        found.extend(told.into_iter().zip(chains.iter().cycle()).map(|(wait, chains)| Note {
            key: wait.key(),
            since: wait.since,
            diagnosis: diagnose_wait(graph, &view, chains, wait, now),
            log: iteration_log(graph, &view, wait, now),
        }));
        if view.team.is_subctl(graph.rules()) {
            later.extend(view.team.parked.iter().map(|(due, _)| *due).find(|due| *due > now));
            let ripe = view.team.parked.iter().take_while(|(due, _)| *due <= now);
            found.extend(ripe.filter_map(|(_, name)| {
                let (since, diagnosis) = parked(graph, &view, name)?;
                Some(Note { key: format!("parked {name}"), since, diagnosis, log: None })
            }));
        }
        let loops = livelocks(graph, &view).into_iter();
        found.extend(loops.map(|(key, since, diagnosis)| Note { key, since, diagnosis, log: None }));
    }
    found.sort_by(|a, b| {
        (a.since, &a.diagnosis.session, &a.key).cmp(&(b.since, &b.diagnosis.session, &b.key))
    });
    (found, later.into_iter().min())
}

/// Nothing is told where silence is right, where a person has to look, while the API lets nobody answer, and while
/// the whole pipeline is silent: then the nudges speak.
pub fn is_mute(facts: &Facts<'_>, verdict: &Verdict, policy: &Policy, now: Moment) -> bool {
    let holds = facts.ledger.api.as_ref().is_some_and(|api| api.holds && api.until(&policy.quiet) > now.wall);
    let is_exempt =
        facts.stage.is_none_or(|stage| policy.rule.exempt_phases.iter().any(|phase| phase == stage));
    let silent = matches!(
        verdict,
        Verdict::Quiet {
            reason: Reason::NoPipeline
                | Reason::Complete
                | Reason::Flagged
                | Reason::Paused
                | Reason::ExemptPhase(_)
                | Reason::Settling
                | Reason::Debounce
                | Reason::ApiHold(_),
            ..
        } | Verdict::Nudge { .. }
            | Verdict::Escalate { .. }
    );
    holds || is_exempt || silent
}

/// When the answer to a wait is overdue.
pub fn due(graph: &Graph, wait: &Wait) -> Millis {
    wait.due.unwrap_or_else(|| wait.since.saturating_add(millis(graph.rules().reply_after)))
}

/// When an overdue answer is to be told: now, later, or not as long as things stand as they do.
enum Telling {
    Now,
    At(Millis),
    Never,
}

/// The debtor's turn is over, and nothing explains that it does not answer: it is not about to begin a turn for a
/// message that has just come, and it does not itself wait for an agent at work or for an answer that is due (then
/// that one is told of, in its own time).
fn telling(graph: &Graph, view: &View<'_>, motion: &Motion<'_>, wait: &Wait, now: Millis) -> Telling {
    let (debtor, due) = (wait.debtor(), due(graph, wait));
    if due > now {
        return Telling::At(due);
    }
    let is_at_work = view.node(debtor).is_some_and(Node::is_at_work);
    if is_at_work || motion.moves(debtor) || motion.passes_on(debtor) {
        return Telling::Never;
    }
    let fresh = view.node(debtor).and_then(Node::unread).filter(|mail| mail.at > wait.asked);
    match fresh.map(|mail| mail.at + millis(GRACE)) {
        Some(at) if at > now => Telling::At(at),
        _ => Telling::Now,
    }
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
