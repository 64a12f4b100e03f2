//! Help where certainty is immediate: a message that nobody got, one that went to another agent than its table
//! names, and an agent that goes on although it asked and would have to stop. Each case is told once, to the sender.

use super::Reply;
use super::answer;
use super::scene::Scene;
use crate::model::event::{Message, What};
use crate::model::signals::Reply as Due;
use crate::model::wording;
use crate::store::{asked, journal, signals};

/// The lines of a journal that tell who is there and who plays what.
const WHO: [&str; 5] = ["\"agent_st", "\"session_", "\"spawn\":", "\"names\":", "\"roster\""];

/// Names in one sentence.
const MOST_NAMES: usize = 6;

/// A message was sent.
pub(super) fn sent(scene: &Scene) -> Reply {
    let What::ToolEnd { message: Some(message), .. } = &scene.event.what else { return Reply::Silence };
    if !message.delivered {
        return super::teammate::undeliverable(scene, &message.to);
    }
    // What carries no head falls under no row that could be checked at once.
    if message.head.is_empty() {
        return Reply::Silence;
    }
    let rules = signals::rules(&scene.policy());
    let Ok(ledger) = journal::fold_selected(&scene.root, &WHO, rules) else { return Reply::Silence };
    let graph = &ledger.graph;
    let (session, name) = graph.place(&scene.event.session, &scene.event.agent, &scene.event.name);
    let Some(team) = graph.teams.get(&session) else { return Reply::Silence };
    let to = team.resolve(graph.rules(), &message.to);
    let found = graph.rules().find(&message.head, message.operator, team.known(&name), team.known(&to));
    let Some((table, row)) = found else { return Reply::Silence };
    if team.is_misrouted(graph.rules(), table, row, &to) {
        let meant: Vec<String> = team
            .alive(graph.rules())
            .filter(|name| table.plays_any(team.known(name), &row.to))
            .take(MOST_NAMES)
            .map(|name| graph.display(&session, name))
            .collect();
        note(scene, "misrouted", message);
        let text = wording::misrouted(&message.head, &graph.display(&session, &to), &meant);
        return answer::context(&scene.payload.event, &text);
    }
    if row.reply == Due::Due {
        let what = format!("{}\n{}", message.head, graph.display(&session, &to));
        scene.note_fault(asked::put(&scene.root, &scene.event.session, &scene.event.agent, &what));
    }
    Reply::Silence
}

/// A tool begins: whoever asked and goes on in the same turn is told so.
pub(super) fn goes_on(scene: &Scene) -> Option<String> {
    if scene.payload.event != "PreToolUse" || matches!(scene.payload.tool(), "SendMessage" | "ToolSearch") {
        return None;
    }
    let what = asked::take(&scene.root, &scene.event.session, &scene.event.agent)?;
    let (head, to) = what.split_once('\n')?;
    let message = Message { head: head.to_owned(), to: to.to_owned(), ..Message::default() };
    note(scene, "went-on-after-blocking-send", &message);
    Some(wording::goes_on(head, to, scene.payload.tool()))
}

/// The turn is over, or another begins.
pub(super) fn turn_over(scene: &Scene) {
    asked::forget(&scene.root, &scene.event.session, &scene.event.agent);
}

fn note(scene: &Scene, case: &str, message: &Message) {
    let key = format!("{case} {} {}", message.head, message.to);
    scene.journal(&[scene.of_session(What::Helped { key })]);
}
