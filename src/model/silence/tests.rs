//! Tracks that do not move.

use std::collections::BTreeSet;

use super::*;
use crate::model::event::{Event, What};
use crate::model::track::{Finding, Halt, Posting, Said};

const MINUTE: Millis = 60_000;
const KEY: &str = "task:.task/fix/proj-1";

fn said(state: State) -> Said {
    let text = |text: &str| text.to_owned();
    Said {
        track: text(KEY),
        state,
        step: text("validate"),
        stamp: text("2026-06-25T10:05:00Z"),
        ..Said::default()
    }
}

fn track(minute: Millis, said: Said) -> Event {
    Event::of_root(minute * MINUTE, What::Track(Box::new(said)))
}

fn of_session(minute: Millis, session: &str, what: What) -> Event {
    Event { session: session.to_owned(), ..Event::of_root(minute * MINUTE, what) }
}

fn works_in(minute: Millis, session: &str, folder: &str) -> Event {
    of_session(minute, session, What::WorksIn { folder: folder.to_owned() })
}

fn ended(minute: Millis, session: &str) -> Event {
    of_session(minute, session, What::SessionEnd { reason: "other".to_owned() })
}

fn folded(events: impl IntoIterator<Item = Event>) -> Ledger {
    let mut ledger = Ledger::default();
    events.into_iter().for_each(|event| ledger.apply(&event));
    ledger
}

fn facts<'a>(ledger: &'a Ledger, dead: &'a BTreeSet<String>) -> Facts<'a> {
    Facts::of_journal("working", ledger, dead)
}

/// The causes at a minute, and the minute at which there may be another.
fn at(ledger: &Ledger, minute: Millis) -> (Vec<&'static str>, Option<Millis>) {
    let dead = BTreeSet::new();
    let (found, next) = troubles(&facts(ledger, &dead), minute * MINUTE);
    (found.iter().map(|trouble| trouble.cause.word()).collect(), next.map(|next| next / MINUTE))
}

#[test]
fn a_track_that_runs_is_silent_after_half_an_hour_and_one_that_is_over_never() {
    let running = folded([track(0, said(State::Running))]);
    assert_eq!(at(&running, 29), (vec![], Some(30)));
    assert_eq!(at(&running, 30), (vec!["worker-silent"], None));
    for state in [State::Done, State::Failed, State::Ended] {
        assert_eq!(at(&folded([track(0, said(state))]), 900), (vec![], None), "{}", state.word());
    }
    let moved = folded([
        track(0, said(State::Running)),
        track(20, Said { step: String::new(), ..said(State::Running) }),
    ]);
    assert_eq!(at(&moved, 40), (vec![], Some(50)));
    let woken = folded([track(0, said(State::Running)), Event::of_root(480 * MINUTE, What::Woke)]);
    assert_eq!(at(&woken, 500), (vec![], Some(510)), "a night is no silence");
}

#[test]
fn an_agent_is_gone_only_where_the_journal_says_which_it_was() {
    let context = |session: &str| Said { context: session.to_owned(), ..said(State::Running) };
    let start = of_session(0, "s1", What::Prompt { wake: false });
    for (what, events, expected) in [
        (
            "its context ended",
            vec![start.clone(), track(1, context("s1")), ended(2, "s1")],
            vec!["worker-gone"],
        ),
        ("another ended", vec![start.clone(), track(1, context("s2")), ended(2, "s1")], vec![]),
        ("no context is known", vec![start.clone(), track(1, said(State::Running)), ended(2, "s1")], vec![]),
        (
            "a session in its folder ended",
            vec![works_in(0, "s1", ".task/fix/proj-1"), track(1, said(State::Running)), ended(2, "s1")],
            vec!["worker-gone"],
        ),
        (
            "below its folder",
            vec![works_in(0, "s1", ".task/fix/proj-1/src"), track(1, said(State::Running)), ended(2, "s1")],
            vec!["worker-gone"],
        ),
        (
            "in the folder beside",
            vec![works_in(0, "s1", ".task/fix/proj-12"), track(1, said(State::Running)), ended(2, "s1")],
            vec![],
        ),
        (
            "another in its folder lives",
            vec![
                works_in(0, "s1", ".task/fix/proj-1"),
                works_in(1, "s2", ".task/fix/proj-1"),
                track(1, said(State::Running)),
                ended(2, "s1"),
            ],
            vec![],
        ),
        (
            "it ended before this attempt",
            vec![works_in(0, "s1", ".task/fix/proj-1"), ended(1, "s1"), track(2, said(State::Running))],
            vec![],
        ),
        (
            "it came to its end",
            vec![
                start,
                track(1, context("s1")),
                track(2, Said { state: State::Done, ..context("s1") }),
                ended(3, "s1"),
            ],
            vec![],
        ),
    ] {
        let ledger = folded(events);
        assert_eq!(at(&ledger, 4).0, expected, "{what}");
        let is_blind =
            explains_until(&facts(&ledger, &BTreeSet::new()), KEY, ledger.tracks.get(KEY).unwrap());
        assert!(expected.is_empty() || is_blind.is_none(), "{what}: whoever is gone explains nothing");
    }
    let waits = folded([of_session(0, "s1", What::TurnEnd), track(1, context("s1")), ended(2, "s1")]);
    assert_eq!(at(&waits, 2), (vec![], Some(3)), "its last signal may be on its way");
}

#[test]
fn each_is_told_once_until_it_moves_and_a_new_attempt_inherits_nothing() {
    let mut ledger = folded([track(0, said(State::Running))]);
    let after = Duration::from_secs(300);
    let told = |ledger: &Ledger, minute: Millis| {
        let dead = BTreeSet::new();
        let (notes, next) = notes(&facts(ledger, &dead), after, minute * MINUTE);
        let keys: Vec<String> = notes.into_iter().map(|note| note.key).collect();
        (keys, next.map(|next| next / MINUTE))
    };
    let noted = |ledger: &mut Ledger, minute: Millis, key: &str| {
        let text = String::new;
        let what = What::Noted { key: key.to_owned(), cause: text(), root: text(), words: text() };
        ledger.apply(&Event::of_root(minute * MINUTE, what));
    };
    let silent = format!("worker-silent {KEY}");
    assert_eq!(told(&ledger, 31), (vec![silent.clone()], None));
    noted(&mut ledger, 31, &silent);
    assert_eq!(told(&ledger, 600), (vec![], None));
    ledger.apply(&track(601, said(State::Running)));
    assert_eq!(told(&ledger, 602), (vec![], Some(631)));
    assert_eq!(told(&ledger, 631).0, std::slice::from_ref(&silent));
    noted(&mut ledger, 631, &silent);
    ledger.apply(&track(632, Said { attempt: "a2".to_owned(), ..said(State::Running) }));
    assert_eq!(told(&ledger, 662).0, [silent]);
    ledger.apply(&track(663, said(State::Blocked)));
    assert_eq!(told(&ledger, 664), (vec![], Some(668)), "a person has a while to see for themselves");
    assert_eq!(told(&ledger, 668).0, [format!("waits-for-person {KEY}")]);
}

/// One of each trouble.
fn troubled() -> Ledger {
    let finding = Finding {
        track: KEY.to_owned(),
        rule: "stale-signal".to_owned(),
        place: ".task/x.json".to_owned(),
        ..Finding::default()
    };
    let found =
        What::Found(Box::new(Finding { fact: "the stamp lies before this attempt".to_owned(), ..finding }));
    let post = |line, from: &str| {
        let posting =
            Posting { track: "team:TLS-x".to_owned(), line, from: from.to_owned(), ..Posting::default() };
        Event::of_root(line as Millis * MINUTE, What::Posted(Box::new(posting)))
    };
    let halted = Said {
        track: "team:TLS-y".to_owned(),
        kind: Kind::Team,
        state: State::Blocked,
        reason: "supervision_verdict is block".to_owned(),
        ..Said::default()
    };
    let gone =
        Said { track: "task:.task/fix/gone".to_owned(), context: "s1".to_owned(), ..said(State::Running) };
    folded([
        track(0, said(State::Running)),
        Event::of_root(0, found),
        post(1, "analyst"),
        track(2, halted),
        of_session(2, "s1", What::TurnEnd),
        track(3, gone),
        ended(4, "s1"),
        track(
            5,
            Said { track: "task:b".to_owned(), reason: "no simulator".to_owned(), ..said(State::Blocked) },
        ),
    ])
}

#[test]
fn the_words_name_the_track_its_step_and_since_when() {
    let ledger = troubled();
    let dead = BTreeSet::new();
    let facts = facts(&ledger, &dead);
    let (all, _) = troubles(&facts, 60 * MINUTE);
    let shown: Vec<String> = all
        .iter()
        .map(|trouble| trouble.diagnosis(&facts))
        .map(|why| {
            format!(
                "{} {:?}: {}\n  {}",
                why.cause.word(),
                why.confidence,
                why.words,
                why.evidence.join("\n  ")
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    worker-gone High: task:.task/fix/gone runs (step validate), and its agent ended at 1970-01-01T00:04:00Z without a terminal signal.
      its last signal says running (step validate), stamped 2026-06-25T10:05:00Z
    worker-silent Medium: task:.task/fix/proj-1 runs (step validate), and has said nothing since 1970-01-01T00:00:00Z.
      its last signal says running (step validate), stamped 2026-06-25T10:05:00Z
      .task/x.json: the stamp lies before this attempt [stale-signal]
    worker-silent Medium: team:TLS-x runs, and has said nothing since 1970-01-01T00:01:00Z.
      its last message is a message of analyst at 1970-01-01T00:01:00Z
    team-halted High: team:TLS-y has been halted for a person since 1970-01-01T00:02:00Z: supervision_verdict is block.
      team:TLS-y has been halted for a person since 1970-01-01T00:02:00Z: supervision_verdict is block
    waits-for-person High: task:b has been blocked (step validate) and waits for a person since 1970-01-01T00:05:00Z: no simulator.
      its last signal says blocked (step validate), stamped 2026-06-25T10:05:00Z
    ");
    let worst = worst(&facts, 60 * MINUTE).unwrap();
    assert_eq!((worst.cause, worst.root.as_str()), (Cause::WorkerGone, "task:.task/fix/gone"));
    assert_eq!(blocked(&facts, 60 * MINUTE).unwrap().cause, Cause::TeamHalted);
}

const TEAM: &str = "team:TLS-y";

#[test]
fn each_halt_keeps_its_reason_and_its_time_and_is_told_once() {
    let halts = |all: &[(&str, &str)]| Said {
        track: TEAM.to_owned(),
        kind: Kind::Team,
        state: if all.is_empty() { State::Running } else { State::Blocked },
        step: all.iter().map(|(task, _)| *task).collect::<Vec<_>>().join(", "),
        halts: all
            .iter()
            .map(|(task, by)| Halt {
                task: (*task).to_owned(),
                reason: format!("{task} blocks"),
                by: (*by).to_owned(),
            })
            .collect(),
        ..Said::default()
    };
    let mut ledger = Ledger::default();
    let mut at = |minute: Millis, what: Option<What>| {
        if let Some(what) = what {
            ledger.apply(&Event::of_root(minute * MINUTE, what));
        }
        let dead = BTreeSet::new();
        let (told, _) = notes(&facts(&ledger, &dead), Duration::from_secs(60), minute * MINUTE);
        for note in &told {
            let noted = What::Noted {
                key: note.key.clone(),
                cause: String::new(),
                root: String::new(),
                words: String::new(),
            };
            ledger.apply(&Event::of_root(minute * MINUTE, noted));
        }
        let told: Vec<String> = told.into_iter().map(|note| note.diagnosis.words).collect();
        let all = blocked(&facts(&ledger, &dead), minute * MINUTE).map(|why| why.words).unwrap_or_default();
        (told.join(" "), all)
    };
    let said = |all: &[(&str, &str)]| Some(What::Track(Box::new(halts(all))));
    let words = |all: &[(&str, u32)]| {
        let all: Vec<String> = all
            .iter()
            .map(|(task, minute)| format!("since 1970-01-01T00:{minute:02}:00Z: {task} blocks"))
            .collect();
        format!("{TEAM} has been halted for a person {}.", all.join("; "))
    };
    let (one, both) = (words(&[("C-1", 1)]), words(&[("C-1", 1), ("C-2", 4)]));
    assert_eq!(at(1, said(&[("C-1", "MSG-001")])), (String::new(), one.clone()));
    assert_eq!(at(2, None), (one.clone(), one.clone()));
    let post = Posting { track: TEAM.to_owned(), line: 2, from: "planner".to_owned(), ..Posting::default() };
    assert_eq!(at(3, Some(What::Posted(Box::new(post)))), (String::new(), one.clone()), "a word in between");
    assert_eq!(at(4, said(&[("C-1", "MSG-001"), ("C-2", "MSG-003")])), (String::new(), both.clone()));
    assert_eq!(at(5, None), (words(&[("C-2", 4)]), both), "only the one that is new is told");
    assert_eq!(
        at(6, said(&[("C-1", "MSG-001")])),
        (String::new(), one.clone()),
        "the other goes on as it was"
    );
    assert_eq!(at(50, None), (String::new(), one));
    // The same checkpoint halts again.
    let again = words(&[("C-1", 51)]);
    assert_eq!(at(51, said(&[("C-1", "MSG-009")])), (String::new(), again.clone()));
    assert_eq!(at(52, None), (again.clone(), again));
    assert_eq!(at(53, said(&[])), (String::new(), String::new()));
}

#[test]
fn a_silent_team_says_whose_turn_it_is() {
    let post = |minute: Millis, line: u64, from: &str, to: &str, kind: &str| {
        let text = ToOwned::to_owned;
        let posting = Posting {
            track: text("team:TLS-x"),
            line,
            from: text(from),
            to: text(to),
            kind: text(kind),
            ..Posting::default()
        };
        Event::of_root(minute * MINUTE, What::Posted(Box::new(posting)))
    };
    let ledger = folded([
        post(0, 1, "coordinator", "analyst", "message"),
        post(1, 2, "analyst", "coordinator", "state_update"),
        post(2, 3, "coordinator", "planner", "message"),
    ]);
    let dead = BTreeSet::new();
    let facts = facts(&ledger, &dead);
    let (all, _) = troubles(&facts, 40 * MINUTE);
    insta::assert_snapshot!(all[0].diagnosis(&facts).evidence.join("\n"), @r"
    its last message is a message of coordinator at 1970-01-01T00:02:00Z
    it is the turn of planner: coordinator addressed it at 1970-01-01T00:02:00Z, and it has posted nothing so far
    ");
}
