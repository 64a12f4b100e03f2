//! Where a team session stands, from its record and its messages: going on, halted by a checkpoint, over. Pure.
//!
//! A checkpoint that blocks halts the pipeline for a person (`knowledge-transfer-protocols` §4). The halt ends with the
//! next report of that checkpoint that does not block, or with the session. Other messages do not end it: the
//! coordinator announces a halt by messages of its own, and tasks beside the checkpoint go on
//! (`docs/decisions/0020-a-halt-ends-with-its-checkpoint.md`).

use super::team_meta::{Meta, Status};
use super::team_msg::Message;
use crate::model::track::{Halt, Kind, MOST_TEXT, Said, State};
use crate::model::wording::one_line;

/// The type of a session's last message.
pub const SHUTDOWN: &str = "shutdown";
/// What stands between checkpoints that halt at a time, and between their reasons.
const AND: &str = ", ";
const THEN: &str = "; ";
/// Checkpoints that halt at a time, at most.
const MOST: usize = 32;

/// Takes the messages that are new, and what the record says now. `before` is what was said last; none of a session
/// that was not known.
pub fn standing<'a>(
    track: &str,
    before: Option<&Said>,
    messages: impl IntoIterator<Item = &'a Message>,
    meta: &Meta,
) -> Said {
    let mut halts = halts(before.filter(|said| said.state == State::Blocked));
    let mut is_over = before.is_some_and(|said| said.state == State::Done && said.disposition == SHUTDOWN);
    let mut is_at_rest = before.is_some_and(|said| said.state == State::Ended);
    for message in messages {
        is_over = message.kind == SHUTDOWN;
        is_at_rest = false;
        take(&mut halts, message);
    }
    // Whoever puts a session away, or finds it over, is contradicted by nothing but a message.
    if let Some(ended) = before.filter(|_| is_at_rest) {
        return ended.clone();
    }
    let said = Said { track: track.to_owned(), kind: Kind::Team, ..Said::default() };
    let word = |state| Said { state, ..said.clone() };
    match meta.status {
        Some(Status::Archived) => word(State::Ended),
        Some(Status::Completed) => word(State::Done),
        _ if is_over => Said { disposition: SHUTDOWN.to_owned(), ..word(State::Done) },
        _ if !halts.is_empty() => {
            let all = |text: fn(&Halt) -> &str| halts.iter().map(text).collect::<Vec<_>>();
            let (step, reason) = (all(|halt| &halt.task).join(AND), all(|halt| &halt.reason).join(THEN));
            Said { step, reason, halts, ..word(State::Blocked) }.plain()
        }
        _ => said,
    }
}

/// The checkpoints that halt by what was said last. Older versions said them in one text, with the last one's reason.
fn halts(blocked: Option<&Said>) -> Vec<Halt> {
    let Some(said) = blocked else { return Vec::new() };
    if !said.halts.is_empty() {
        return said.halts.clone();
    }
    let tasks = said.step.split(AND).filter(|task| !task.is_empty());
    let halt = |task: &str| Halt { task: task.to_owned(), reason: said.reason.clone(), by: String::new() };
    tasks.map(halt).collect()
}

/// Takes a report. One that says of its checkpoint what was said before changes nothing.
fn take(halts: &mut Vec<Halt>, message: &Message) {
    let Some(update) = message.update.as_ref().filter(|update| !update.is_of_pipeline) else { return };
    let task = if update.task.is_empty() { "a checkpoint" } else { &update.task };
    let known = halts.iter().position(|halt| halt.task == task);
    match (update.halt(), known) {
        (Some(reason), Some(place)) if halts[place].reason == reason => {}
        (Some(reason), known) => {
            let by = one_line(&message.id, MOST_TEXT);
            let halt = Halt { task: task.to_owned(), reason, by };
            match known {
                Some(place) => halts[place] = halt,
                None if halts.len() < MOST => halts.push(halt),
                None => {}
            }
        }
        (None, Some(place)) => drop(halts.remove(place)),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests;
