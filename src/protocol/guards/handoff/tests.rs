//! Messages of the journal, and what they tell of an agent that is about to stop.

use super::*;

const REVIEWER: Who<'_> = Who { session: "s", agent: "a1" };
const BOSS: Who<'_> = Who { session: "s", agent: "k" };

fn event(at: Millis, agent: &str, name: &str, what: What) -> Event {
    Event {
        session: "s".to_owned(),
        agent: agent.to_owned(),
        name: name.to_owned(),
        ..Event::of_root(at, what)
    }
}

fn message(head: &str, to: &str) -> Message {
    Message { to: to.to_owned(), head: head.to_owned(), delivered: true, ..Message::default() }
}

fn sending(message: Message) -> What {
    What::ToolEnd { tool: "SendMessage".to_owned(), id: String::new(), failed: false, message: Some(message) }
}

/// Events of one agent: `|` ends a turn and begins the next, `!HEAD` is not delivered, `HEAD>name` goes to a name.
fn turns(agent: &str, script: &str) -> Vec<Event> {
    let mut events = Vec::new();
    for (place, word) in script.split_whitespace().enumerate() {
        let at = place as Millis;
        if word == "|" {
            events.push(event(at, agent, "sphinx", What::AgentStop));
            events.push(event(at, agent, "sphinx", What::AgentStart));
            continue;
        }
        let (head, to) = word.split_once('>').unwrap_or((word, "krs-one"));
        let sent = Message { delivered: !head.starts_with('!'), ..message(head.trim_start_matches('!'), to) };
        events.push(event(at, agent, "sphinx", sending(sent)));
    }
    events
}

#[test]
fn every_approval_is_paired_with_word_to_the_boss() {
    let table = [
        ("", 0),
        ("APPROVED>coder IMPLEMENTATION_APPROVED", 0),
        ("IMPLEMENTATION_APPROVED APPROVED>coder", 0),
        ("APPROVED>coder", 1),
        ("REJECTED>coder | APPROVED>coder IMPLEMENTATION_APPROVED", 0),
        ("REJECTED>coder | APPROVED>coder", 1),
        ("APPROVED>coder | IMPLEMENTATION_APPROVED", 0),
        ("APPROVED>coder | APPROVED>coder IMPLEMENTATION_APPROVED", 1),
        ("APPROVED>coder | APPROVED>coder", 2),
        ("APPROVED>coder IMPLEMENTATION_APPROVED>team-lead", 1),
        ("APPROVED>coder !IMPLEMENTATION_APPROVED", 1),
        ("!APPROVED>coder", 0),
        ("APPROVED>coder IMPLEMENTATION_APPROVED | ALREADY_APPROVED>coder", 1),
        ("APPROVED>coder IMPLEMENTATION_APPROVED | ALREADY_APPROVED>coder IMPLEMENTATION_APPROVED", 0),
        // What is said once too often pays for no later turn.
        ("APPROVED>coder IMPLEMENTATION_APPROVED IMPLEMENTATION_APPROVED | APPROVED>coder", 1),
    ];
    for (script, wanted) in table {
        let found = unpaired(&turns("a1", script), REVIEWER, &|to| to == "krs-one");
        assert_eq!(found, wanted, "{script}");
    }
}

#[test]
fn what_another_agent_or_session_sends_does_not_count() {
    let mut events = turns("a1", "APPROVED>coder");
    events.extend(turns("a2", "IMPLEMENTATION_APPROVED"));
    events.push(Event { session: "t".to_owned(), ..turns("a1", "IMPLEMENTATION_APPROVED").remove(0) });
    assert_eq!(unpaired(&events, REVIEWER, &|_| true), 1);
}

#[test]
fn an_agent_that_agreed_to_its_end_in_this_turn_is_leaving() {
    let agrees = |approve| Message { approve, ..message("shutdown_response", "team-lead") };
    for (approve, wanted) in [(Some(true), true), (Some(false), false), (None, false)] {
        let events = [event(1, "a1", "sphinx", sending(agrees(approve)))];
        assert_eq!(is_leaving(&events, REVIEWER), wanted, "{approve:?}");
    }
    let mut before = vec![event(1, "a1", "sphinx", sending(agrees(Some(true))))];
    before.push(event(2, "a1", "sphinx", What::AgentStart));
    assert!(!is_leaving(&before, REVIEWER), "an earlier turn");
}

#[test]
fn the_last_check_of_the_archive_counts() {
    let table = [
        ("", Archive::NotAsked),
        ("FINAL_ARCHIVE_CHECK>thoth", Archive::Open),
        ("!FINAL_ARCHIVE_CHECK>thoth", Archive::NotAsked),
        ("FINAL_ARCHIVE_CHECK>thoth ARCHIVE_READY", Archive::Ready),
        ("FINAL_ARCHIVE_CHECK>thoth ARCHIVE_BLOCKED", Archive::Blocked),
        ("FINAL_ARCHIVE_CHECK>thoth ARCHIVE_BLOCKED FINAL_ARCHIVE_CHECK>thoth ARCHIVE_READY", Archive::Ready),
        ("FINAL_ARCHIVE_CHECK>thoth ARCHIVE_READY FINAL_ARCHIVE_CHECK>thoth", Archive::Open),
    ];
    for (script, wanted) in table {
        assert_eq!(archive(&turns("x", script), "s"), wanted, "{script}");
    }
    let complete = turns("k", "BUILD_COMPLETE>team-lead");
    assert!(called_complete(&complete, BOSS));
    assert!(!called_complete(&complete, REVIEWER));
    assert!(!called_complete(&turns("k", "BUILD_COMPLETE>team-lead |"), BOSS), "an earlier turn");
}

/// The boss asks both minds at 0; they answer at the times that are given; it dispatches at another.
fn seam(rakim: Option<Millis>, sentinel: Option<Millis>, dispatched: Millis, turn: bool) -> Vec<String> {
    let mut events = vec![
        event(0, "k", "krs-one", sending(message("ITERATION_UPDATE", "rakim"))),
        event(0, "k", "krs-one", sending(message("ITERATION_UPDATE", "sentinel"))),
    ];
    for (name, at) in [("rakim", rakim), ("sentinel", sentinel)] {
        events.extend(at.map(|at| event(at, name, name, sending(message("READY", "krs-one")))));
    }
    if turn {
        events.push(event(dispatched - 1, "k", "krs-one", What::AgentStart));
    }
    events.push(event(dispatched, "k", "krs-one", sending(message("CYCLE_WORKERS", "team-lead"))));
    if !turn {
        events.push(event(dispatched + 1, "k", "krs-one", What::AgentStart));
    }
    events.sort_by_key(|event| event.at);
    let is_mind = |name: &str| matches!(name, "rakim" | "sentinel");
    unanswered(&events, BOSS, 60_000, &is_mind).into_iter().map(|asked| asked.mind).collect()
}

#[test]
fn a_mind_that_was_passed_over_after_its_time_is_named() {
    let none: [String; 0] = [];
    assert_eq!(seam(Some(5_000), Some(6_000), 70_000, true), none);
    assert_eq!(seam(Some(5_000), None, 70_000, true), ["sentinel"]);
    assert_eq!(seam(None, None, 70_000, true), ["rakim", "sentinel"]);
    assert_eq!(seam(Some(5_000), Some(80_000), 70_000, true), ["sentinel"], "it answered after that");
    assert_eq!(seam(Some(5_000), None, 30_000, true), none, "its time was not over");
    assert_eq!(seam(Some(5_000), None, 70_000, false), none, "told in an earlier turn");
}
