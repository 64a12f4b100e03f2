//! The fold of what tracks say.

use super::fold::{MOST, MOST_AGENTS};
use super::found::MOST_FINDINGS;
use super::*;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;

fn said(track: &str, state: State, step: &str) -> Said {
    let text = |text: &str| text.to_owned();
    Said { track: text(track), state, step: text(step), attempt: text("a1"), ..Said::default() }
}

fn posted(line: u64, from: &str) -> What {
    let text = |text: &str| text.to_owned();
    let track = text("team:TLS-x");
    What::Posted(Box::new(Posting {
        track,
        line,
        from: text(from),
        to: text("coordinator"),
        ..Posting::default()
    }))
}

fn found(place: &str) -> What {
    let text = |text: &str| text.to_owned();
    let finding = Finding { track: text("team:TLS-x"), rule: text("ref-without-file"), ..Finding::default() };
    What::Found(Box::new(Finding { place: text(place), fact: text("there is no such file"), ..finding }))
}

fn folded(events: impl IntoIterator<Item = What>) -> Ledger {
    let mut ledger = Ledger::default();
    for (place, what) in events.into_iter().enumerate() {
        ledger.apply(&Event::of_root(1000 * (place as i64 + 1), what));
    }
    ledger
}

fn track(said: Said) -> What {
    What::Track(Box::new(said))
}

#[test]
fn a_track_is_what_it_said_last_and_remembers_since_when() {
    let key = "task:.task/fix/proj-1";
    let ledger = folded([
        track(said(key, State::Running, "reproduce")),
        track(said(key, State::Running, "validate")),
        track(Said { stamp: "2026-06-25T10:05:00Z".to_owned(), ..said(key, State::Running, "validate") }),
    ]);
    let found = ledger.tracks.get(key).unwrap();
    assert_eq!((found.since, found.entered, found.last), (1000, 2000, 3000));
    assert!(ledger.tracks.is_said(&found.said));
    assert!(!ledger.tracks.is_said(&said(key, State::Running, "validate")));
    assert!(ledger.sessions.is_empty() && ledger.last_work == 0, "a track is no agent of a session");
}

#[test]
fn a_new_attempt_inherits_nothing() {
    let key = "task:.task/fix/proj-1";
    let next = Said { attempt: "a2".to_owned(), ..said(key, State::Running, "") };
    let ledger = folded([track(said(key, State::Blocked, "validate")), track(next.clone())]);
    let expected = Track { said: next, since: 2000, entered: 2000, last: 2000, ..Track::default() };
    assert_eq!(ledger.tracks.get(key), Some(&expected));
}

#[test]
fn a_line_of_a_log_is_a_sign_of_life_of_its_session_and_its_writer() {
    let ledger = folded([posted(1, "analyst"), posted(2, "planner"), posted(3, "analyst")]);
    let found = ledger.tracks.get("team:TLS-x").unwrap();
    assert_eq!((found.said.kind, found.said.state), (Kind::Team, State::Running));
    assert_eq!((found.since, found.last, found.line), (1000, 3000, 3));
    let agents: Vec<_> = found.agents.iter().map(|(name, agent)| (name.as_str(), agent.at)).collect();
    assert_eq!(agents, [("analyst", 3000), ("planner", 2000)]);
}

#[test]
fn a_violation_counts_once_and_goes_with_its_track() {
    let mut ledger = folded([posted(1, "analyst"), found("x.md"), found("x.md"), found("y.md")]);
    assert_eq!(ledger.tracks.findings.len(), 2);
    let What::Found(known) = found("x.md") else { unreachable!() };
    assert!(ledger.tracks.is_found(&known));
    ledger.apply(&Event::of_root(9000, What::TrackGone { track: "team:TLS-x".to_owned() }));
    assert!(ledger.tracks.all.is_empty() && ledger.tracks.findings.is_empty());
}

#[test]
fn what_is_kept_no_more_is_still_known_and_counted() {
    let cased = |n: usize| {
        let What::Found(finding) = found("x.md") else { unreachable!() };
        What::Found(Box::new(Finding { case: format!("case {n}"), ..*finding }))
    };
    let count = MOST_FINDINGS + 100;
    let mut ledger = folded((0..count).map(cased));
    assert_eq!((ledger.tracks.findings.len(), ledger.tracks.found), (MOST_FINDINGS, count as u64));
    assert_eq!((ledger.tracks.untold().count(), ledger.tracks.untold_past()), (MOST_FINDINGS, 100));
    let ledger_before = ledger.clone();
    (0..count).for_each(|n| ledger.apply(&Event::of_root(9_000_000, cased(n))));
    assert_eq!(ledger, ledger_before, "none is found twice");
    let snapshot = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&snapshot).unwrap(), ledger);
    // What older versions noted has a place alone.
    ledger.apply(&Event::of_root(9_000_000, found("old.md")));
    let known = |place: &str| {
        let What::Found(finding) = found(place) else { unreachable!() };
        ledger.tracks.is_found(&Finding { case: "new".to_owned(), ..*finding })
    };
    assert!(known("old.md") && !known("x.md"));
}

#[test]
fn tracks_and_findings_are_bounded_and_the_oldest_are_forgotten_first() {
    let mut ledger = folded((0..5000).map(|n| track(said(&format!("task:{n:05}"), State::Done, ""))));
    assert_eq!(ledger.tracks.all.len(), MOST);
    assert_eq!(ledger.tracks.all.keys().next().unwrap(), &format!("task:{:05}", 5000 - MOST));
    assert_eq!(ledger.tracks.forgotten, 1000 * (5000 - MOST as i64));
    for n in 0..3000_i64 {
        ledger
            .apply(&Event::of_root(10_000_000 + n, track(said(&format!("run:{n:05}"), State::Running, ""))));
        ledger.apply(&Event::of_root(10_000_000 + n, found(&format!("{n}.md"))));
        ledger.apply(&Event::of_root(10_000_000 + n, posted(7, &format!("agent-{n}"))));
    }
    assert_eq!(ledger.tracks.all.len(), 2 * MOST);
    assert_eq!(ledger.tracks.findings.len(), MOST_FINDINGS);
    assert_eq!(ledger.tracks.past.len(), 3000 - MOST_FINDINGS);
    assert_eq!(ledger.tracks.get("team:TLS-x").unwrap().agents.len(), MOST_AGENTS);
}

#[test]
fn what_is_kept_of_a_foreign_file_is_one_short_line_without_a_key() {
    let long = "x".repeat(500);
    let text = Said {
        step: "one\ntwo\u{202e}".to_owned(),
        reason: "the token is ghp_0123456789abcdefghijABCDEFGHIJ012345".to_owned(),
        context: long,
        ..said("task:.task/a/b", State::Running, "")
    };
    let text = text.plain();
    assert_eq!(text.step.trim_end(), "one two");
    assert!(!text.reason.contains("0123456789abcdef"), "{}", text.reason);
    assert_eq!(text.context.chars().count(), MOST_TEXT);
}

#[test]
fn the_journal_says_it_in_plain_words() {
    let blocked =
        Said { reason: "no simulator".to_owned(), ..said("task:.task/fix/p-1", State::Blocked, "run") };
    let lines: Vec<String> = [track(blocked), posted(3, "analyst"), found("x.md:2")]
        .into_iter()
        .map(|what| serde_json::to_string(&Event::of_root(7, what)).unwrap())
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"v":1,"at":7,"event":"track","track":"task:.task/fix/p-1","kind":"task","state":"blocked","step":"run","reason":"no simulator","attempt":"a1"}
    {"v":1,"at":7,"event":"posted","track":"team:TLS-x","line":3,"from":"analyst","to":"coordinator"}
    {"v":1,"at":7,"event":"found","track":"team:TLS-x","rule":"ref-without-file","place":"x.md:2","fact":"there is no such file"}
    "#);
    for line in &lines {
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), *line);
    }
}

#[test]
fn a_daemon_takes_over_where_the_one_before_it_stopped_to_watch() {
    let start = || What::DaemonStart { pid: 7, version: "1".to_owned(), kilnless: false };
    let stop = || What::DaemonStop { reason: "a signal".to_owned() };
    let floor = |events: Vec<What>| folded(events).tracks.floor;
    assert_eq!(floor(vec![What::TurnEnd, What::TurnEnd]), 0);
    assert_eq!(floor(vec![What::TurnEnd, start()]), 2000, "the first begins with itself");
    assert_eq!(floor(vec![start(), stop(), What::TurnEnd, start()]), 2000);
    let said = || track(said("task:x", State::Running, ""));
    assert_eq!(floor(vec![start(), said(), What::TurnEnd, start()]), 2000, "one that was killed");
    assert_eq!(floor(vec![start(), said(), What::TurnEnd]), 1000);
}
