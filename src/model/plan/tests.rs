//! Whose a record of the queue is, what of it is news, and when it waits for a person.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{LIFE, PlanNews, PlanState, Record, news, session_of, untold, waiting};
use crate::model::diagnosis::diagnose;
use crate::model::event::{Event, Message, What};
use crate::model::judge::{Facts, Reason, Verdict, judge};
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::model::rule::Times;
use crate::model::subctl::fixture::rules;

use PlanState::{Approved, Expired, Pending, Rejected};

const SESSION: &str = "a962de09-9b59";
const ASKED: i64 = 10_000_000;

fn event(at: i64, agent: &str, what: What) -> Event {
    let (agent, name) = (agent.to_owned(), agent.to_owned());
    Event { session: SESSION.to_owned(), agent, name, ..Event::of_root(at, what) }
}

fn start(at: i64) -> Event {
    event(at, "", What::SessionStart { source: "startup".to_owned(), pid: None, entry: "cli".to_owned() })
}

fn asks(at: i64, worker: &str, request: &str) -> Event {
    let message = Message {
        to: "team-lead".to_owned(),
        delivered: true,
        head: "plan_approval_request".to_owned(),
        request_id: request.to_owned(),
        operator: true,
        ..Message::default()
    };
    event(
        at,
        worker,
        What::ToolEnd {
            tool: "SendMessage".to_owned(),
            id: String::new(),
            failed: false,
            message: Some(message),
        },
    )
}

/// A session whose worker impl-1 asked for its plan plan-7, and whose turns are over.
fn ledger() -> Ledger {
    let mut ledger = Ledger::with(Arc::new(rules()));
    ledger.apply(&start(0));
    ledger.apply(&event(1, "", What::Prompt { wake: false }));
    ledger.apply(&event(2, "impl-1", What::AgentStart));
    ledger.apply(&asks(ASKED, "impl-1", "plan-7"));
    ledger.apply(&event(ASKED + 1, "impl-1", What::AgentStop));
    ledger.apply(&event(ASKED + 2, "", What::Prompt { wake: false }));
    ledger.apply(&event(ASKED + 3, "", What::TurnEnd));
    ledger
}

fn record(state: PlanState) -> Record {
    Record {
        request: "plan-7".to_owned(),
        worker: "impl-1".to_owned(),
        team: "backend".to_owned(),
        state,
        created: ASKED,
    }
}

fn apply(ledger: &mut Ledger, at: i64, id: &str, record: &Record) -> bool {
    let Some((session, news)) = news(ledger, &[], id, record) else { return false };
    ledger.apply(&Event { session, ..Event::of_root(at, What::Plan(Box::new(news))) });
    true
}

#[test]
fn a_record_is_of_this_root_only_where_that_is_known() {
    let ledger = ledger();
    let of = |teams: &[&str], record: Record| {
        let teams: Vec<String> = teams.iter().map(ToString::to_string).collect();
        session_of(&ledger, &teams, &record)
    };
    let ours = Some(SESSION.to_owned());
    assert_eq!(of(&[], record(Pending)), ours, "request and worker are those of a message that was seen");
    assert_eq!(of(&[], Record { request: "plan-8".to_owned(), ..record(Pending) }), None);
    assert_eq!(
        of(&[], Record { worker: "impl-2".to_owned(), ..record(Pending) }),
        None,
        "another team's worker"
    );
    let older = Record { created: ASKED - 6 * 60_000, ..record(Pending) };
    assert_eq!(of(&[], older), None, "it was there before our worker asked");
    let other = Record { request: "x".to_owned(), worker: "y".to_owned(), ..record(Pending) };
    assert_eq!(of(&["backend"], other.clone()), ours, "a person named the team");
    assert_eq!(of(&["frontend"], other.clone()), None);
    assert_eq!(
        of(&[], Record { team: "session-a962de09".to_owned(), ..other.clone() }),
        ours,
        "the session's own team"
    );
    assert_eq!(of(&[], Record { team: "session-b0000000".to_owned(), ..other.clone() }), None);
    assert_eq!(of(&[], Record { team: "session-a".to_owned(), ..other }), None);
}

#[test]
fn each_state_is_news_once() {
    for decided in [Approved, Rejected, Expired] {
        let mut ledger = ledger();
        assert!(apply(&mut ledger, ASKED + 10, "id-1", &record(Pending)));
        assert!(!apply(&mut ledger, ASKED + 11, "id-1", &record(Pending)), "it is known");
        assert_eq!(ledger.plans["id-1"].since, ASKED);
        assert!(apply(&mut ledger, ASKED + 20, "id-1", &record(decided)));
        assert!(!apply(&mut ledger, ASKED + 21, "id-1", &record(decided)));
        assert!(ledger.plans.is_empty());
    }
    // What was decided while nobody looked is news while its worker still waits.
    let mut ledger = ledger();
    assert!(apply(&mut ledger, ASKED + 10, "id-1", &record(Approved)));
    assert!(!apply(&mut ledger, ASKED + 11, "id-1", &record(Approved)));
}

#[test]
fn a_pending_plan_waits_for_a_person_for_an_hour_and_not_longer() {
    let mut ledger = ledger();
    apply(&mut ledger, ASKED + 10, "id-1", &record(Pending));
    let dead = BTreeSet::new();
    let all = waiting(&Facts::of_journal("build", &ledger, &dead));
    let shown: Vec<_> =
        all.iter().map(|(key, held, until, told)| (key.as_str(), held.who.as_str(), *until, *told)).collect();
    assert_eq!(shown, [("id-1", "impl-1", ASKED + LIFE, false)], "the message and the record are one plan");
    let verdict = |now: i64| {
        let activity = crate::model::activity::Activity { last_activity_ts: 1, ..Default::default() };
        let times = Times { idle: Duration::from_secs(4000), since_nudge: None };
        let facts = Facts { activity: Some(&activity), times, ..Facts::of_journal("build", &ledger, &dead) };
        judge(&facts, &Policy::default(), Moment { wall: now, awake: Duration::ZERO, boot: Duration::ZERO })
    };
    let held = verdict(ASKED + LIFE - 1);
    assert!(
        matches!(held, Verdict::Quiet { reason: Reason::WaitsForPerson(_), until: Some(until) } if until == ASKED + LIFE),
        "{held:?}"
    );
    assert_eq!(verdict(ASKED + LIFE).word(), "nudge");
    let why = diagnose(&Facts::of_journal("build", &ledger, &dead), ASKED + LIFE + 1);
    assert_eq!((why.cause.word(), why.root.as_str()), ("reply-owed", "team-lead"));
}

#[test]
fn the_operator_is_told_once_of_each_plan() {
    let mut ledger = ledger();
    ledger.apply(&event(3, "impl-2", What::AgentStart));
    ledger.apply(&asks(ASKED + 1000, "impl-2", "plan-8"));
    apply(&mut ledger, ASKED + 10, "id-1", &record(Pending));
    let dead = BTreeSet::new();
    let five = Duration::from_secs(300);
    let at = |ledger: &Ledger, now: i64| {
        let (ripe, next) = untold(&Facts::of_journal("build", ledger, &dead), five, now);
        (ripe.into_iter().map(|(key, held)| format!("{key}: {}", held.who)).collect::<Vec<_>>(), next)
    };
    assert_eq!(at(&ledger, ASKED), (vec![], Some(five + Duration::from_millis(1))));
    assert_eq!(
        at(&ledger, ASKED + 300_000),
        (vec!["id-1: impl-1".to_owned()], Some(Duration::from_millis(1001)))
    );
    for key in ["id-1", "impl-2>team-lead>plan_approval_request>plan-8"] {
        assert!(at(&ledger, ASKED + 400_000).0.iter().any(|told| told.starts_with(key)), "{key}");
        ledger.apply(&event(ASKED + 400_000, "", What::PlanTold { key: key.to_owned() }));
    }
    assert_eq!(at(&ledger, ASKED + 500_000), (vec![], None));
    // After an hour the protocol has decided.
    assert_eq!(at(&ledger, ASKED + LIFE + 2000), (vec![], None));
}

#[test]
fn a_decision_makes_the_answer_the_lead_s_to_give() {
    for (state, word) in [(Approved, "approved"), (Rejected, "rejected"), (Expired, "expired")] {
        let mut ledger = ledger();
        apply(&mut ledger, ASKED + 10, "id-1", &record(Pending));
        apply(&mut ledger, ASKED + 60_000, "id-1", &record(state));
        let dead = BTreeSet::new();
        assert!(
            waiting(&Facts::of_journal("build", &ledger, &dead)).is_empty(),
            "nobody waits for a person any more"
        );
        let wait = ledger.graph.teams[SESSION].waits.values().find(|wait| wait.request == "plan-7").unwrap();
        assert_eq!((wait.operator, wait.due), (false, Some(ASKED + 60_000 + 15 * 60_000)));
        let why = diagnose(&Facts::of_journal("build", &ledger, &dead), ASKED + 120_000);
        assert_eq!((why.cause.word(), why.root.as_str()), ("reply-owed", "team-lead"));
        assert!(
            why.evidence.iter().any(|line| line.starts_with(&format!("the request was {word} at "))),
            "{why:?}"
        );
    }
}

#[test]
fn a_worker_that_has_its_answer_waits_for_nobody_whatever_the_queue_says() {
    let mut ledger = ledger();
    apply(&mut ledger, ASKED + 10, "id-1", &record(Pending));
    let message = Message {
        to: "impl-1".to_owned(),
        delivered: true,
        head: "plan_approval_response".to_owned(),
        request_id: "plan-7".to_owned(),
        approve: Some(true),
        ..Message::default()
    };
    let tool = "SendMessage".to_owned();
    ledger.apply(&event(
        ASKED + 20,
        "",
        What::ToolEnd { tool, id: String::new(), failed: false, message: Some(message) },
    ));
    let dead = BTreeSet::new();
    assert!(waiting(&Facts::of_journal("build", &ledger, &dead)).is_empty());
    assert!(!apply(&mut ledger, ASKED + 30, "id-1", &record(Pending)));
    assert!(apply(&mut ledger, ASKED + 40, "id-1", &record(Approved)), "it is followed to its end");
}

#[test]
fn plans_of_sessions_that_ended_wait_for_nobody_and_their_number_is_bounded() {
    let mut ledger = ledger();
    apply(&mut ledger, ASKED + 10, "id-1", &record(Pending));
    let dead = BTreeSet::from([SESSION.to_owned()]);
    assert!(waiting(&Facts::of_journal("build", &ledger, &dead)).is_empty());
    for number in 0..1000 {
        let news = PlanNews {
            id: format!("id-{number}"),
            request_id: "r".to_owned(),
            worker: "w".to_owned(),
            team: String::new(),
            status: Pending,
            created: ASKED,
        };
        ledger.apply(&event(ASKED + 20, "", What::Plan(Box::new(news))));
    }
    assert_eq!(ledger.plans.len(), super::MOST);
    let again: Ledger = serde_json::from_str(&serde_json::to_string(&ledger).unwrap()).unwrap();
    assert_eq!(again.plans, ledger.plans);
}
