//! The stage of a root without `.kiln/`, by what is watched.

use super::*;
use crate::model::event::{Event, Message, What};
use crate::model::track::{Said, State as Stand};

fn track(state: Stand) -> Event {
    let said = Said { track: format!("task:.task/a/{}", state.word()), state, ..Said::default() };
    Event::of_root(1, What::Track(Box::new(said)))
}

fn of_lead(at: i64, what: What) -> Event {
    Event { session: "s1".to_owned(), ..Event::of_root(at, what) }
}

fn of_worker(at: i64, what: What) -> Event {
    let (agent, name) = ("a1".to_owned(), "coder".to_owned());
    Event { agent, name, ..of_lead(at, what) }
}

fn sent(to: &str) -> What {
    let message = Some(Message { to: to.to_owned(), delivered: true, ..Message::default() });
    What::ToolEnd { tool: "SendMessage".to_owned(), id: "t1".to_owned(), failed: false, message }
}

/// The lead asked the worker, and both turns are over.
fn asked() -> Vec<Event> {
    let prompt = What::Prompt { wake: false };
    let turns = [of_lead(1, prompt), of_worker(2, What::AgentStart), of_worker(3, What::AgentStop)];
    let mut all = turns.to_vec();
    all.extend([of_lead(4, sent("coder")), of_lead(5, What::TurnEnd)]);
    all
}

/// The worker reported to the lead, which read it and stopped.
fn reported() -> Vec<Event> {
    let start = of_worker(2, What::AgentStart);
    let report = [start, of_worker(3, sent("team-lead")), of_worker(4, What::AgentStop)];
    let read = [of_lead(5, What::Prompt { wake: true }), of_lead(6, What::TurnEnd)];
    [of_lead(1, What::Prompt { wake: false })].into_iter().chain(report).chain(read).collect()
}

#[test]
fn the_stage_says_what_is_watched() {
    let turn = || vec![of_lead(1, What::Prompt { wake: false })];
    let over = || vec![of_lead(1, What::Prompt { wake: false }), of_lead(2, What::TurnEnd)];
    let ended =
        || vec![of_lead(1, What::TurnEnd), of_lead(2, What::SessionEnd { reason: "other".to_owned() })];
    let permission =
        || vec![of_lead(1, What::TurnEnd), of_lead(2, What::Permission { tool: "Bash".to_owned() })];
    let none: Vec<Event> = Vec::new();
    for (what, tracks, session, expected) in [
        ("nothing", vec![], none.clone(), IDLE),
        ("a session that is over", vec![], ended(), IDLE),
        ("one track runs", vec![Stand::Running, Stand::Done, Stand::Blocked], none.clone(), WORKING),
        ("one track runs beside a session at rest", vec![Stand::Running], over(), WORKING),
        ("all are over", vec![Stand::Done, Stand::Failed, Stand::Ended], none.clone(), COMPLETE),
        ("all are over, and so is the session", vec![Stand::Done], ended(), COMPLETE),
        ("one of those left is blocked", vec![Stand::Done, Stand::Blocked], none.clone(), BLOCKED),
        ("one is blocked, a session at rest", vec![Stand::Blocked], over(), BLOCKED),
        ("one is blocked, a session at work", vec![Stand::Blocked], turn(), WORKING),
        ("all are over, a session at rest", vec![Stand::Done], over(), AWAITING_USER),
        ("a session at work", vec![], turn(), WORKING),
        ("a session at rest", vec![], over(), AWAITING_USER),
        ("a session that asks its person", vec![], permission(), WORKING),
        ("an agent waits for another", vec![], asked(), WORKING),
        ("the lead has read the report", vec![], reported(), AWAITING_USER),
    ] {
        let mut ledger = Ledger::default();
        tracks.into_iter().map(track).chain(session).for_each(|event| ledger.apply(&event));
        assert_eq!(of(&ledger, |id| id == "s1"), expected, "{what}: {ledger:?}");
    }
}

#[test]
fn a_session_whose_client_is_not_there_counts_for_nothing() {
    let mut ledger = Ledger::default();
    ledger.apply(&of_lead(1, What::Prompt { wake: false }));
    assert_eq!(of(&ledger, |_| false), IDLE);
}
