//! Help where certainty is immediate: a message that nobody got, one that went to another agent than its table
//! names, and an agent that goes on although it asked and would have to stop. Each case is told once, to the sender.

use super::scene::Scene;
use crate::model::event::What;
use crate::model::signals::Reply as Due;
use crate::model::wording;
use crate::store::{asked, journal, signals};

/// The lines of a journal that tell who is there, who plays what, and what has been told.
const WHO: [&str; 6] = ["\"agent_st", "\"session_", "\"spawn\":", "\"names\":", "\"roster\"", "\"helped\""];

/// Names in one sentence.
const MOST_NAMES: usize = 6;

/// A message was sent.
pub(super) fn sent(scene: &Scene) -> Option<String> {
    let What::ToolEnd { message: Some(message), .. } = &scene.event.what else { return None };
    if !message.delivered {
        return Some(super::teammate::undeliverable(scene, &message.to));
    }
    // What carries no head falls under no row that could be checked at once.
    if message.head.is_empty() {
        return None;
    }
    let rules = signals::rules(&scene.policy());
    let ledger = journal::fold_selected(&scene.root, &WHO, rules).ok()?;
    let graph = &ledger.graph;
    let (session, name) = graph.place(&scene.event.session, &scene.event.agent, &scene.event.name);
    let team = graph.teams.get(&session)?;
    let to = team.resolve(graph.rules(), &message.to);
    let found = graph.rules().find(&message.head, message.operator, team.known(&name), team.known(&to));
    let (table, row) = found?;
    if team.is_misrouted(graph.rules(), table, row, &to) {
        let key = format!("misrouted {name} {} {}", message.head, message.to);
        if team.was_told(&key) {
            return None;
        }
        let meant: Vec<String> = team
            .alive(graph.rules())
            .filter(|name| table.plays_any(team.known(name), &row.to))
            .take(MOST_NAMES)
            .map(|name| graph.display(&session, name))
            .collect();
        scene.journal(&[scene.of_session(What::Helped { key })]);
        return Some(wording::misrouted(&message.head, &graph.display(&session, &to), &meant));
    }
    if row.reply == Due::Due {
        let what = format!("{}\n{}", message.head, graph.display(&session, &to));
        scene.note_fault(asked::put(&scene.root, &scene.event.session, &scene.event.agent, &what));
    }
    None
}

/// A tool begins: whoever asked and goes on in the same turn is told so.
pub(super) fn goes_on(scene: &Scene) -> Option<String> {
    if scene.payload.event != "PreToolUse" || matches!(scene.payload.tool(), "SendMessage" | "ToolSearch") {
        return None;
    }
    let what = asked::take(&scene.root, &scene.event.session, &scene.event.agent)?;
    let (head, to) = what.split_once('\n')?;
    let key = format!("went-on-after-blocking-send {head} {to}");
    scene.journal(&[scene.of_session(What::Helped { key })]);
    Some(wording::goes_on(head, to, scene.payload.tool()))
}

/// The turn is over, or another begins.
pub(super) fn turn_over(scene: &Scene) {
    asked::forget(&scene.root, &scene.event.session, &scene.event.agent);
}
