//! What the journal's messages tell of an agent whose turn is about to end: approvals without word to the boss, a build
//! that was called complete too early, a mind that did not answer and of which nothing was noted. Messages only: the text
//! of a closing answer reaches nobody.

use crate::model::event::{Event, Message, What};
use crate::model::moment::Millis;

/// One agent of one session.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The agent's id.
    pub agent: &'a str,
}

impl Who<'_> {
    fn is(self, event: &Event) -> bool {
        event.session == self.session && event.agent == self.agent
    }
}

/// The messages of one agent that were delivered.
fn sent<'a>(events: &'a [Event], who: Who<'a>) -> impl DoubleEndedIterator<Item = (Millis, &'a Message)> {
    events.iter().filter(move |event| who.is(event)).filter_map(delivered)
}

fn delivered(event: &Event) -> Option<(Millis, &Message)> {
    match &event.what {
        What::ToolEnd { message: Some(message), failed: false, .. } if message.delivered => {
            Some((event.at, message))
        }
        _ => None,
    }
}

/// The events of the present turn: all since the last one that began or ended a turn of this agent.
fn of_turn<'a>(events: &'a [Event], who: Who<'_>) -> &'a [Event] {
    let is_bound = |event: &Event| who.is(event) && matches!(event.what, What::AgentStart | What::AgentStop);
    let start = events.iter().rposition(is_bound).map_or(0, |place| place + 1);
    &events[start..]
}

/// Approvals of a reviewer that are not paired with IMPLEMENTATION_APPROVED to the boss.
///
/// Word to the boss may come before the approval of the same turn. What is said once too often pays for no later turn.
pub fn unpaired(events: &[Event], who: Who<'_>, is_boss: &dyn Fn(&str) -> bool) -> u32 {
    let (mut open, mut credit) = (0_u32, 0_u32);
    for event in events.iter().filter(|event| who.is(event)) {
        if matches!(event.what, What::AgentStart | What::AgentStop) {
            credit = 0;
        }
        let Some((_, message)) = delivered(event) else { continue };
        match message.head.as_str() {
            "APPROVED" | "ALREADY_APPROVED" if credit > 0 => credit -= 1,
            "APPROVED" | "ALREADY_APPROVED" => open += 1,
            "IMPLEMENTATION_APPROVED" if is_boss(&message.to) && open > 0 => open -= 1,
            "IMPLEMENTATION_APPROVED" if is_boss(&message.to) => credit += 1,
            _ => {}
        }
    }
    open
}

/// Tells whether the agent agreed to its end in this turn: nothing may hold it up.
pub fn is_leaving(events: &[Event], who: Who<'_>) -> bool {
    sent(of_turn(events, who), who)
        .any(|(_, message)| message.head == "shutdown_response" && message.approve == Some(true))
}

/// What stands of the last check of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    /// Nobody asked for it.
    NotAsked,
    /// It was asked for and not answered.
    Open,
    /// The archivist answered ARCHIVE_BLOCKED.
    Blocked,
    /// The archivist answered ARCHIVE_READY.
    Ready,
}

/// Tells what stands of the last FINAL_ARCHIVE_CHECK of a session, by any of its agents.
pub fn archive(events: &[Event], session: &str) -> Archive {
    let mut state = Archive::NotAsked;
    for (_, message) in events.iter().filter(|event| event.session == session).filter_map(delivered) {
        state = match message.head.as_str() {
            "FINAL_ARCHIVE_CHECK" => Archive::Open,
            "ARCHIVE_READY" => Archive::Ready,
            "ARCHIVE_BLOCKED" => Archive::Blocked,
            _ => state,
        };
    }
    state
}

/// Tells whether the boss called the build complete in this turn.
pub fn called_complete(events: &[Event], boss: Who<'_>) -> bool {
    sent(of_turn(events, boss), boss).any(|(_, message)| message.head == "BUILD_COMPLETE")
}

/// A mind that did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Its name.
    pub mind: String,
    /// The signal that was sent to it.
    pub head: String,
    /// When.
    pub asked: Millis,
}

/// Minds whose answer the boss did not wait for any longer: it dispatched in this turn, more than `within` after it asked.
pub fn unanswered(
    events: &[Event],
    boss: Who<'_>,
    within: Millis,
    is_mind: &dyn Fn(&str) -> bool,
) -> Vec<Unanswered> {
    let dispatch = |(_, message): &(Millis, &Message)| {
        matches!(
            message.head.as_str(),
            "CYCLE_WORKERS" | "REQUEST_WORKERS" | "MILESTONE_COMPLETE" | "BUILD_COMPLETE"
        )
    };
    let Some((dispatched, _)) = sent(of_turn(events, boss), boss).find(dispatch) else { return Vec::new() };
    let mut open: Vec<Unanswered> = Vec::new();
    for event in events.iter().filter(|event| event.session == boss.session) {
        let Some((at, message)) = delivered(event).filter(|(at, _)| *at <= dispatched) else { continue };
        let asks = matches!(message.head.as_str(), "ITERATION_UPDATE" | "MILESTONE_TRANSITION");
        if boss.is(event) && asks && is_mind(&message.to) {
            open.retain(|asked| asked.mind != message.to);
            open.push(Unanswered { mind: message.to.clone(), head: message.head.clone(), asked: at });
        } else if message.head == "READY" {
            open.retain(|asked| asked.mind != event.name);
        }
    }
    open.retain(|asked| dispatched.saturating_sub(asked.asked) > within);
    open
}

#[cfg(test)]
mod tests;
