//! However long a journal is, what is believed of it stays small.

use super::super::{MOST_LIVE, REMEMBERED};
use super::*;

/// A fixed sequence that looks like chance: what matters is that ids never come to an end.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn random_event(chance: &mut Chance, at: i64) -> Event {
    let (session, agent, call) = (chance.below(4000), chance.below(50_000), chance.below(100_000));
    let tool = if chance.below(3) == 0 { "Bash" } else { "Read" };
    let id = if chance.below(4) == 0 { String::new() } else { format!("t{call}") };
    let what = match chance.below(12) {
        0 => session_start("startup", None),
        1 if chance.below(4) == 0 => ended(),
        2 => What::AgentStop,
        3 => prompt(),
        4 => permission(tool),
        5 => notice("permission_prompt"),
        6 => idle(true),
        7 => failure("overloaded", true),
        8 => tool_end(tool, &id),
        9 => What::AgentStart,
        _ => tool_start(tool, &id),
    };
    let agent = if chance.below(3) == 0 { String::new() } else { format!("a{agent}") };
    let name = if agent.is_empty() { String::new() } else { format!("coder-{agent}") };
    Event { session: format!("s{}", session / 100), agent, name, ..Event::of_root(at, what) }
}

#[test]
fn after_a_hundred_thousand_events_of_ever_new_agents_the_ledger_is_small() {
    let (mut chance, mut ledger) = (Chance(7), Ledger::default());
    for at in 0..100_000 {
        ledger.apply(&random_event(&mut chance, at));
        if at % 1000 == 0 {
            let agents = ledger.sessions.values().map(|session| session.agents.len()).max();
            assert!(agents <= Some(129), "{agents:?}");
        }
    }
    let tools = ledger.sessions.values().flat_map(|s| s.agents.values()).map(|agent| agent.tools.len()).max();
    assert!(tools <= Some(32), "{tools:?}");
    let size = serde_json::to_vec(&ledger).unwrap().len();
    assert!(size < 1024 * 1024, "{size}");
}

#[test]
fn of_sessions_without_number_those_heard_of_last_are_remembered() {
    let mut ledger = Ledger::default();
    for place in 0..10_000_i64 {
        let id = format!("s{place}");
        let of = |what| Event { session: id.clone(), ..Event::of_root(place * 10, what) };
        ledger.apply(&of(prompt()));
        if place % 2 == 0 {
            ledger.apply(&of(ended()));
        }
    }
    assert_eq!(ledger.live().count(), MOST_LIVE);
    assert_eq!(ledger.sessions.len(), MOST_LIVE + REMEMBERED);
    assert!(ledger.sessions.contains_key("s9999") && ledger.sessions.contains_key("s9998"));
    assert!(!ledger.sessions.contains_key("s1"));
}

#[test]
fn the_lead_is_never_forgotten() {
    let mut ledger = folded([(LEAD, tool_start("Agent", "t1"))]);
    for place in 0..1000 {
        let agent = format!("a{place}");
        let of = |what| Event {
            session: "s1".to_owned(),
            agent: agent.clone(),
            ..Event::of_root(9000 + place, what)
        };
        ledger.apply(&of(What::AgentStart));
    }
    assert_eq!(ledger.sessions["s1"].agents.len(), 128);
    assert_eq!(ledger.sessions["s1"].agents[""].tools.len(), 1);
}

#[test]
fn of_calls_that_never_end_the_latest_are_kept() {
    let ledger = folded((0..100).map(|place| (LEAD, tool_start("Bash", &format!("t{place}")))));
    let tools = &ledger.sessions["s1"].agents[""].tools;
    assert_eq!((tools.len(), tools[31].id.as_str()), (32, "t99"));
}
