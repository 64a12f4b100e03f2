//! Where a team session stands, from its record and its messages: going on, halted by a checkpoint, over. Pure.
//!
//! A checkpoint that blocks halts the pipeline for a person (`knowledge-transfer-protocols` §4). The halt ends with the
//! next report of that checkpoint that does not block, or with the session. Other messages do not end it: the
//! coordinator announces a halt by messages of its own, and tasks beside the checkpoint go on
//! (`docs/decisions/0020-a-halt-ends-with-its-checkpoint.md`).

use super::team_meta::{Meta, Status};
use super::team_msg::Message;
use crate::model::track::{Kind, Said, State};

/// The type of a session's last message.
pub const SHUTDOWN: &str = "shutdown";
/// What stands between checkpoints that halt at a time.
const AND: &str = ", ";

/// Takes the messages that are new, and what the record says now. `before` is what was said last; none of a session
/// that was not known.
pub fn standing<'a>(
    track: &str,
    before: Option<&Said>,
    messages: impl IntoIterator<Item = &'a Message>,
    meta: &Meta,
) -> Said {
    let mut halts = Halts::of(before.filter(|said| said.state == State::Blocked));
    let mut is_over = before.is_some_and(|said| said.state == State::Done && said.disposition == SHUTDOWN);
    let mut is_at_rest = before.is_some_and(|said| said.state == State::Ended);
    for message in messages {
        is_over = message.kind == SHUTDOWN;
        is_at_rest = false;
        halts.take(message);
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
        _ if !halts.tasks.is_empty() => {
            Said { step: halts.tasks.join(AND), reason: halts.reason, ..word(State::Blocked) }.plain()
        }
        _ => said,
    }
}

/// The checkpoints that halt.
struct Halts {
    tasks: Vec<String>,
    reason: String,
}

impl Halts {
    fn of(blocked: Option<&Said>) -> Self {
        let tasks = blocked.map_or("", |said| said.step.as_str());
        Self {
            tasks: tasks.split(AND).filter(|task| !task.is_empty()).map(str::to_owned).collect(),
            reason: blocked.map_or_else(String::new, |said| said.reason.clone()),
        }
    }

    fn take(&mut self, message: &Message) {
        let Some(update) = message.update.as_ref().filter(|update| !update.is_of_pipeline) else { return };
        let task = if update.task.is_empty() { "a checkpoint" } else { &update.task };
        let before = self.tasks.len();
        self.tasks.retain(|other| other != task);
        if let Some(reason) = update.halt() {
            self.tasks.push(task.to_owned());
            self.reason = reason;
        } else if self.tasks.len() != before
            && let Some(other) = self.tasks.last()
        {
            self.reason = format!("supervision_verdict of {other} is block");
        }
    }
}

#[cfg(test)]
mod tests;
