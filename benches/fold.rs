//! How long the fold takes, and a look at what it gives: 10,000 agents and 100,000 events (the aim is a second), and the
//! same events among ten agents beside it. Prints medians of five; `cargo bench --bench fold`.
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use watchdog::model::diagnosis::diagnose;
use watchdog::model::event::{Event, Message, What};
use watchdog::model::judge::Facts;
use watchdog::model::ledger::Ledger;
use watchdog::model::moment::Millis;
use watchdog::model::overdue::notes;
use watchdog::model::policy::Policy;
use watchdog::model::rule::Times;
use watchdog::protocol::tables;

const EVENTS: usize = 100_000;

/// Agents that come, ask some other for a review four times, and end their turns: waits that nobody ends.
fn events(agents: usize) -> Vec<Event> {
    let turns = EVENTS / 10;
    let mut at: Millis = 1_700_000_000_000;
    let mut events = Vec::with_capacity(EVENTS);
    let mut dice: u64 = 1;
    for turn in 0..turns {
        let own = turn % agents;
        let mut push = |what: What| {
            at += 100;
            let mut event = Event::of_root(at, what);
            "s1".clone_into(&mut event.session);
            event.agent = format!("a{own}");
            event.name = format!("worker-{own}");
            events.push(event);
        };
        push(What::AgentStart);
        for call in 0..4 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let to = (dice >> 33) as usize % (turn + 1).min(agents);
            let id = format!("t{turn}-{call}");
            push(What::ToolStart {
                tool: "SendMessage".to_owned(),
                id: id.clone(),
                timeout_ms: None,
                hash: format!("{dice:x}"),
            });
            push(What::ToolEnd {
                tool: "SendMessage".to_owned(),
                id,
                failed: false,
                message: Some(Message {
                    to: format!("worker-{to}"),
                    delivered: true,
                    head: "REVIEW_REQUEST".to_owned(),
                    hash: format!("{dice:08x}"),
                    ..Message::default()
                }),
            });
        }
        push(What::AgentStop);
    }
    events
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[2]
}

fn main() {
    let rules = Arc::new(Policy::default().rules(tables::built_in()));
    for agents in [10, 10_000] {
        let events = events(agents);
        let mut ledger = Ledger::default();
        let fold = median(|| {
            ledger = Ledger::with(Arc::clone(&rules));
            for event in &events {
                ledger.apply(event);
            }
        });
        let dead = BTreeSet::new();
        let facts = Facts {
            stage: Some("build"),
            activity: None,
            ledger: &ledger,
            flagged: false,
            times: Times { idle: Duration::ZERO, since_nudge: None },
            settling: None,
            dead: &dead,
        };
        let late = events.last().map_or(0, |event| event.at) + 3_600_000;
        let why = median(|| drop(diagnose(&facts, late)));
        let told = median(|| drop(notes(&facts, late)));
        let waits: usize = ledger.graph.teams.values().map(|team| team.waits.len()).sum();
        println!(
            "{agents:>6} agents, {EVENTS} events: fold {fold:?}; {waits} waits: diagnosis {why:?}, notes {told:?}"
        );
    }
}
