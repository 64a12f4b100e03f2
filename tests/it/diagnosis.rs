//! Properties of the fold and the diagnosis, over the whole corpus.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use watchdog::model::event::{Event, Message, Spawn, What};
use watchdog::model::ledger::Ledger;
use watchdog::model::node::Duty;
use watchdog::model::policy::Policy;
use watchdog::model::rehearsal::{Happening, Item, Line, rehearse};
use watchdog::model::signals::{Reply, Rules};
use watchdog::protocol::{tables, trace};

fn rules() -> Arc<Rules> {
    Arc::new(Policy::default().rules(tables::built_in()))
}

/// The runs of the corpus, by name.
fn runs() -> Vec<(String, Vec<Item>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut runs: Vec<(String, Vec<Item>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().ends_with(".expected.jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, trace::read(&fs::read(&path).unwrap()).unwrap())
        })
        .collect();
    runs.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(runs.len() >= 40);
    runs
}

fn events(items: &[Item]) -> Vec<Event> {
    let event = |item: &Item| match &item.what {
        Happening::Event(event) => Some((**event).clone()),
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

fn fold(mut ledger: Ledger, events: &[Event]) -> Ledger {
    for event in events {
        ledger.apply(event);
    }
    ledger
}

#[test]
fn folding_in_two_parts_through_a_snapshot_equals_folding_at_once() {
    for (name, items) in runs() {
        let events = events(&items);
        let whole = fold(Ledger::with(rules()), &events);
        for cut in [1, events.len() / 3, events.len() / 2, events.len() - 1] {
            let first = fold(Ledger::with(rules()), &events[..cut]);
            let at = events[cut - 1].at;
            let snapshot = Event::of_root(at, What::Snapshot { ledger: Box::new(first) });
            let line = serde_json::to_vec(&snapshot).unwrap();
            let mut second = Ledger::with(rules());
            second.apply(&serde_json::from_slice(&line).unwrap());
            let second = fold(second, &events[cut..]);
            assert_eq!(second, whole, "{name}, cut at {cut}");
        }
    }
}

fn loud(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.verdict != "quiet").count()
}

/// An answer to every open wait that an answer without a further duty ends, put in before the first word was said.
#[test]
fn an_event_that_resolves_a_wait_never_adds_a_stall() {
    let mut tried = 0;
    for (name, items) in runs() {
        let before = rehearse(&items, Policy::default(), rules());
        let Some(first) = before.iter().find(|line| line.verdict != "quiet") else { continue };
        let known: Vec<Event> = events(&items).into_iter().filter(|event| event.at < first.at).collect();
        let ledger = fold(Ledger::with(rules()), &known);
        let table = rules();
        for (session, team) in &ledger.graph.teams {
            for wait in team.waits.values().filter(|wait| wait.duty == Duty::Due) {
                let Some(row) = table.row(&wait.table, &wait.row) else { continue };
                let is_final = |head: &&String| {
                    let found = table.find(head, false, team.known(&wait.to), team.known(&wait.from));
                    found.is_some_and(|(_, row)| row.reply == Reply::None)
                };
                let Some(head) = row.answers.iter().flat_map(|answer| &answer.heads).find(is_final) else {
                    continue;
                };
                let Some(node) = team.nodes.get(&wait.to) else { continue };
                let message = Message {
                    to: wait.from.clone(),
                    delivered: true,
                    head: head.clone(),
                    request_id: wait.request.clone(),
                    ..Message::default()
                };
                let event = Event {
                    session: session.clone(),
                    agent: node.id.clone(),
                    name: if wait.to == "team-lead" { String::new() } else { wait.to.clone() },
                    ..Event::of_root(
                        first.at - 1,
                        What::ToolEnd {
                            tool: "SendMessage".to_owned(),
                            id: "resolves".to_owned(),
                            failed: false,
                            message: Some(message),
                        },
                    )
                };
                let mut more = items.clone();
                let place = more.partition_point(|item| item.at <= event.at);
                more.insert(place, Item { at: event.at, what: Happening::Event(Box::new(event)) });
                let after = rehearse(&more, Policy::default(), rules());
                assert!(loud(&after) <= loud(&before), "{name}: {head} from {} to {}", wait.to, wait.from);
                tried += 1;
            }
        }
    }
    assert!(tried >= 10, "only {tried} answers were tried");
}

/// 10,000 agents and 100,000 events: what is remembered stays bounded.
#[test]
fn the_graph_stays_bounded() {
    let mut ledger = Ledger::with(rules());
    let mut at = 1_000_000_000_000;
    let mut fold = |agent: usize, what: What, spawn: Option<Spawn>| {
        at += 7;
        let id = if spawn.is_some() { String::new() } else { format!("id{agent}") };
        let name = if spawn.is_some() { String::new() } else { format!("worker-{agent}") };
        ledger.apply(&Event { session: "s".to_owned(), agent: id, name, spawn, ..Event::of_root(at, what) });
    };
    for round in 0..3 {
        for agent in 0..30_000 {
            if agent % 3 == round {
                fold(agent, What::AgentStart, None);
                let to = format!("worker-{}", (agent + 3) % 30_000);
                let message =
                    Message { to, delivered: true, head: "REVIEW_REQUEST".to_owned(), ..Message::default() };
                let what = What::ToolEnd {
                    tool: "SendMessage".to_owned(),
                    id: String::new(),
                    failed: false,
                    message: Some(message),
                };
                fold(agent, what, None);
                fold(agent, What::AgentStop, None);
            }
        }
    }
    let team = &ledger.graph.teams["s"];
    assert!(
        team.nodes.len() <= 32_000 && team.waits.len() <= 20_000,
        "{} {}",
        team.nodes.len(),
        team.waits.len()
    );
    assert!(team.ids.len() <= team.nodes.len());
    assert_eq!(team.out.values().map(std::collections::BTreeSet::len).sum::<usize>(), team.waits.len());
    let session = &ledger.sessions["s"];
    assert!(session.agents.len() <= 100, "{}", session.agents.len());
}
