//! Tasks as a list of them is folded: every transition, who may make it, and what a blocked task does to the graph.

use std::fmt::Write;
use std::sync::Arc;

use super::{MOST, TaskChange, TaskState};
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::model::subctl::Breach;
use crate::model::subctl::fixture::rules;
use crate::model::team::Team;

use TaskState::{Blocked, Completed, Deleted, InProgress, Pending};

const STATES: [TaskState; 5] = [Pending, InProgress, Blocked, Completed, Deleted];

fn ledger() -> Ledger {
    let mut ledger = Ledger::with(Arc::new(rules()));
    let start = What::SessionStart { source: "startup".to_owned(), pid: None, entry: String::new() };
    ledger.apply(&event(0, "", start));
    ledger.apply(&event(1, "impl-1", What::AgentStart));
    ledger
}

fn event(at: i64, agent: &str, what: What) -> Event {
    Event {
        session: "s".to_owned(),
        agent: agent.to_owned(),
        name: agent.to_owned(),
        ..Event::of_root(at, what)
    }
}

fn ended(tool: &str) -> What {
    What::ToolEnd { tool: tool.to_owned(), id: String::new(), failed: false, message: None }
}

fn change(ledger: &mut Ledger, at: i64, agent: &str, change: TaskChange) {
    ledger.apply(&Event { task: Some(Box::new(change)), ..event(at, agent, ended("TaskUpdate")) });
}

fn to(id: &str, status: TaskState) -> TaskChange {
    TaskChange { id: id.to_owned(), status: Some(status), ..TaskChange::default() }
}

fn made(id: &str, subject: &str) -> TaskChange {
    TaskChange { created: true, subject: subject.to_owned(), ..to(id, Pending) }
}

fn team(ledger: &Ledger) -> &Team {
    &ledger.graph.teams["s"]
}

fn shown(ledger: &Ledger) -> String {
    let tasks = team(ledger).tasks.iter().map(|(id, task)| {
        format!("{id} {} of {} since {} {}", task.state.word(), task.owner, task.since, task.blocker)
            .trim_end()
            .to_owned()
    });
    tasks.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_transition_is_legal_or_named() {
    let mut table = String::new();
    for (who, agent) in [("worker", "impl-1"), ("lead", "")] {
        for from in STATES {
            for to_state in STATES {
                let mut ledger = ledger();
                // Made by the lead, owned by the worker, brought to its state by whoever may.
                change(&mut ledger, 2, "", TaskChange { owner: "impl-1".to_owned(), ..made("1", "a") });
                change(&mut ledger, 3, "impl-1", TaskChange { blocker: "b".to_owned(), ..to("1", from) });
                let name = if agent.is_empty() { "team-lead" } else { agent };
                let next = TaskChange { blocker: "b".to_owned(), ..to("1", to_state) };
                let rules: Vec<&str> =
                    team(&ledger).task_breaches(name, &next).iter().map(Breach::rule).collect();
                if !rules.is_empty() {
                    writeln!(table, "{who}: {} → {}: {}", from.word(), to_state.word(), rules.join(", "))
                        .unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(table, @r"
    worker: pending → blocked: illegal-transition
    worker: pending → completed: illegal-transition
    worker: in_progress → pending: illegal-transition
    worker: blocked → pending: illegal-transition
    worker: blocked → completed: illegal-transition
    worker: completed → pending: illegal-transition
    worker: completed → in_progress: illegal-transition
    worker: completed → blocked: illegal-transition
    lead: pending → blocked: illegal-transition
    lead: pending → completed: completed-by-lead, illegal-transition
    lead: in_progress → pending: illegal-transition
    lead: in_progress → completed: completed-by-lead
    lead: blocked → pending: illegal-transition
    lead: blocked → completed: completed-by-lead, illegal-transition
    lead: completed → blocked: illegal-transition
    ");
}

#[test]
fn a_task_that_was_never_seen_is_judged_by_what_the_client_says_of_it() {
    let ledger = ledger();
    assert_eq!(team(&ledger).task_breaches("impl-1", &to("9", Completed)), []);
    let told = TaskChange { from: Some(Pending), ..to("9", Completed) };
    assert_eq!(team(&ledger).task_breaches("impl-1", &told)[0].rule(), "illegal-transition");
}

#[test]
fn a_lead_may_complete_what_it_began_itself() {
    let mut ledger = ledger();
    change(&mut ledger, 2, "", made("1", "a"));
    change(&mut ledger, 3, "", to("1", InProgress));
    assert_eq!(team(&ledger).task_breaches("team-lead", &to("1", Completed)), []);
    change(&mut ledger, 4, "", made("2", "b"));
    let rules = team(&ledger).task_breaches("team-lead", &to("2", Completed));
    assert_eq!(
        rules.iter().map(Breach::rule).collect::<Vec<_>>(),
        ["completed-by-lead", "illegal-transition"]
    );
}

#[test]
fn a_duplicate_is_a_task_of_the_same_subject_while_that_is_open() {
    let mut ledger = ledger();
    change(&mut ledger, 2, "", made("1", "a"));
    let duplicates =
        |ledger: &Ledger, change: &TaskChange| team(ledger).task_breaches("team-lead", change).len();
    assert_eq!(duplicates(&ledger, &made("2", "a")), 1);
    assert_eq!(duplicates(&ledger, &made("2", "b")), 0);
    // The hook and the call both tell of the one task.
    assert_eq!(duplicates(&ledger, &made("1", "a")), 0);
    assert_eq!(duplicates(&ledger, &made("2", "")), 0);
    change(&mut ledger, 3, "impl-1", to("1", InProgress));
    change(&mut ledger, 4, "impl-1", to("1", Completed));
    assert_eq!(duplicates(&ledger, &made("2", "a")), 0);
}

#[test]
fn a_blocked_task_without_a_blocker_is_named_once_there_is_none_at_all() {
    let mut ledger = ledger();
    change(&mut ledger, 2, "impl-1", to("1", InProgress));
    let rule = |ledger: &Ledger, change: &TaskChange| {
        team(ledger).task_breaches("impl-1", change).first().map(Breach::rule)
    };
    assert_eq!(rule(&ledger, &to("1", Blocked)), Some("blocker-missing"));
    let with = TaskChange { blocker: "no schema".to_owned(), ..to("1", Blocked) };
    assert_eq!(rule(&ledger, &with), None);
    change(&mut ledger, 3, "impl-1", with);
    assert_eq!(rule(&ledger, &to("1", Blocked)), None);
}

#[test]
fn the_list_is_folded_with_owner_state_and_blocker() {
    let mut ledger = ledger();
    // The event comes first, then the call; the second changes nothing.
    ledger.apply(&Event {
        task: Some(Box::new(made("1", "a"))),
        ..event(10, "", What::Other { hook: "TaskCreated".to_owned() })
    });
    change(&mut ledger, 11, "", made("1", "a"));
    change(&mut ledger, 12, "", made("2", "b"));
    assert_eq!(shown(&ledger), "1 pending of  since 10\n2 pending of  since 12");
    change(&mut ledger, 20, "impl-1", to("1", InProgress));
    change(
        &mut ledger,
        21,
        "",
        TaskChange { id: "2".to_owned(), owner: "@impl-1".to_owned(), ..TaskChange::default() },
    );
    assert_eq!(shown(&ledger), "1 in_progress of impl-1 since 20\n2 pending of impl-1 since 12");
    change(&mut ledger, 30, "impl-1", TaskChange { blocker: "no schema".to_owned(), ..to("1", Blocked) });
    assert_eq!(shown(&ledger), "1 blocked of impl-1 since 30 no schema\n2 pending of impl-1 since 12");
    change(&mut ledger, 40, "impl-1", to("1", InProgress));
    change(&mut ledger, 41, "", to("2", Deleted));
    assert_eq!(shown(&ledger), "1 in_progress of impl-1 since 40");
    // The list was begun anew: the number means another task.
    change(&mut ledger, 50, "", made("1", "c"));
    assert_eq!(shown(&ledger), "1 pending of  since 50");
}

#[test]
fn a_blocked_task_waits_for_a_word_of_the_lead() {
    let waits = |ledger: &Ledger| {
        let waits = team(ledger).waits.values().filter(|wait| wait.row == "task_blocked");
        waits
            .map(|wait| format!("{} > {} {} due {}", wait.from, wait.to, wait.request, wait.due.unwrap()))
            .collect::<Vec<_>>()
    };
    let mut ledger = ledger();
    change(&mut ledger, 2, "impl-1", to("1", InProgress));
    change(&mut ledger, 3, "impl-1", to("1", Blocked));
    assert_eq!(waits(&ledger), ["impl-1 > team-lead 1 due 900003"]);
    // The same once more is no second wait; going on ends it.
    change(&mut ledger, 4, "impl-1", TaskChange { blocker: "x".to_owned(), ..to("1", Blocked) });
    assert_eq!(waits(&ledger), ["impl-1 > team-lead 1 due 900003"]);
    change(&mut ledger, 5, "impl-1", to("1", InProgress));
    assert_eq!(waits(&ledger), Vec::<String>::new());
    // A message of the lead answers it; the task stays blocked until its worker goes on.
    change(&mut ledger, 6, "impl-1", to("1", Blocked));
    let message =
        crate::model::event::Message { to: "impl-1".to_owned(), delivered: true, ..Default::default() };
    let sent = What::ToolEnd {
        tool: "SendMessage".to_owned(),
        id: String::new(),
        failed: false,
        message: Some(message),
    };
    ledger.apply(&event(7, "", sent));
    assert_eq!(waits(&ledger), Vec::<String>::new());
    assert_eq!(team(&ledger).blocked().len(), 1);
    // What the lead itself sets to blocked keeps nobody waiting.
    change(&mut ledger, 8, "", to("2", InProgress));
    change(&mut ledger, 9, "", to("2", Blocked));
    assert_eq!(waits(&ledger), Vec::<String>::new());
}

#[test]
fn the_list_is_bounded_and_what_is_done_goes_first() {
    let mut ledger = ledger();
    for number in 0..MOST {
        change(&mut ledger, 2 + number as i64, "", made(&format!("{number:04}"), &number.to_string()));
    }
    change(&mut ledger, 5000, "impl-1", to("0100", InProgress));
    change(&mut ledger, 5001, "impl-1", to("0100", Completed));
    change(&mut ledger, 5002, "", made("9000", "z"));
    let tasks = &team(&ledger).tasks;
    assert_eq!(tasks.len(), MOST);
    assert!(!tasks.contains_key("0100") && tasks.contains_key("0000") && tasks.contains_key("9000"));
    change(&mut ledger, 5003, "", made("9001", "y"));
    assert!(!team(&ledger).tasks.contains_key("0000"));
}

#[test]
fn a_snapshot_keeps_the_list() {
    let mut ledger = ledger();
    change(&mut ledger, 2, "impl-1", TaskChange { blocker: "b".to_owned(), ..to("1", Blocked) });
    let text = serde_json::to_string(&ledger).unwrap();
    let again: Ledger = serde_json::from_str(&text).unwrap();
    assert_eq!(again.graph.teams["s"].tasks, ledger.graph.teams["s"].tasks);
    assert_eq!(again.graph.teams["s"].waits, ledger.graph.teams["s"].waits);
}
