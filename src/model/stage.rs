//! The stage of a root without `.kiln/`: it has no `STATE.md`, so the stage comes from what is watched.

use super::ledger::{Ledger, Session, State};
use super::node::{Duty, Wait};
use super::track;

/// A track runs, an agent is in the middle of a turn, or one waits for another.
pub const WORKING: &str = "working";
/// Nothing runs any more, and a track waits for a person.
pub const BLOCKED: &str = "blocked";
/// Nothing runs, and a session is open: its next turn is its person's.
pub const AWAITING_USER: &str = "awaiting_user";
/// Every track is over, and no session is open.
pub const COMPLETE: &str = "complete";
/// There is no track and no session.
pub const IDLE: &str = "idle";

/// Says the stage. `is_there` tells whether a session's client has not ended, or not by its own word.
pub fn of(ledger: &Ledger, is_there: impl Fn(&str) -> bool) -> &'static str {
    let states = || ledger.tracks.all.values().map(|track| track.said.state);
    if states().any(|state| !state.is_terminal()) {
        return WORKING;
    }
    let mut sessions = ledger.live().filter(|(id, _)| is_there(id)).peekable();
    let is_open = sessions.peek().is_some();
    if sessions.any(|(id, session)| is_at_work(session) || is_owed(ledger, id)) {
        return WORKING;
    }
    if states().any(|state| state == track::State::Blocked) {
        return BLOCKED;
    }
    match (is_open, states().next().is_some()) {
        (true, _) => AWAITING_USER,
        (false, true) => COMPLETE,
        (false, false) => IDLE,
    }
}

fn is_at_work(session: &Session) -> bool {
    session.agents.values().any(|agent| agent.state == State::Working || agent.asked.is_some())
}

/// An agent waits for another. What a lead whose turn is over is only likely to owe is left out: without a pipeline it
/// is its person who reads what was reported last, and says what comes next.
fn is_owed(ledger: &Ledger, session: &str) -> bool {
    let lead = super::judge::LEAD;
    let counts = |wait: &Wait| wait.duty != Duty::Free || wait.debtor() != lead;
    ledger.graph.teams.get(session).is_some_and(|team| team.waits.values().any(counts))
}

#[cfg(test)]
mod tests;
