//! When a worker is rightly idle, when it is not, and what is said of one that is left so.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Why;
use crate::model::diagnosis::diagnose;
use crate::model::event::{Event, Message, What};
use crate::model::judge::Facts;
use crate::model::ledger::Ledger;
use crate::model::overdue;
use crate::model::signals::Rules;
use crate::model::subctl::fixture::rules;
use crate::model::task::{TaskChange, TaskState};

/// A team of a lead and two workers whose turns are over.
struct World {
    ledger: Ledger,
    now: i64,
}

impl World {
    fn new(subctl: Option<bool>) -> Self {
        let rules = Rules { subctl, ..rules() };
        let mut world = Self { ledger: Ledger::with(Arc::new(rules)), now: 1000 };
        world.add("", What::SessionStart { source: "startup".to_owned(), pid: None, entry: String::new() });
        world.add("", What::Prompt { wake: false });
        for worker in ["impl-1", "impl-2"] {
            world.turn(worker);
        }
        world
    }

    fn event(&mut self, agent: &str, what: What) -> Event {
        self.now += 1000;
        let (session, agent, name) = ("s".to_owned(), agent.to_owned(), agent.to_owned());
        Event { session, agent, name, ..Event::of_root(self.now, what) }
    }

    fn add(&mut self, agent: &str, what: What) {
        let event = self.event(agent, what);
        self.ledger.apply(&event);
    }

    fn turn(&mut self, agent: &str) {
        self.add(agent, What::AgentStart);
        self.add(agent, What::AgentStop);
        self.add(agent, What::Idle { told: false });
    }

    fn task(&mut self, agent: &str, id: &str, status: TaskState) {
        let what =
            What::ToolEnd { tool: "TaskUpdate".to_owned(), id: String::new(), failed: false, message: None };
        let event = self.event(agent, what);
        let change = TaskChange { id: id.to_owned(), status: Some(status), ..TaskChange::default() };
        self.ledger.apply(&Event { task: Some(Box::new(change)), ..event });
    }

    fn done(&mut self, agent: &str, id: &str) {
        self.task(agent, id, TaskState::InProgress);
        self.task(agent, id, TaskState::Completed);
    }

    fn send(&mut self, from: &str, to: &str, more: Message) {
        let message = Message { to: to.to_owned(), delivered: true, ..more };
        let tool = "SendMessage".to_owned();
        self.add(from, What::ToolEnd { tool, id: String::new(), failed: false, message: Some(message) });
    }

    fn tool(&mut self, agent: &str, tool: &str) {
        let what = What::ToolStart {
            tool: tool.to_owned(),
            id: String::new(),
            timeout_ms: None,
            hash: String::new(),
        };
        self.add(agent, what);
    }

    fn why(&self, name: &str) -> Option<Why> {
        self.ledger.graph.teams["s"].nodes[name].idle.as_ref().map(|idle| idle.why)
    }

    /// What the lead is told at this moment.
    fn notes(&self, later: i64) -> Vec<String> {
        let dead = BTreeSet::new();
        let facts = Facts::of_journal("build", &self.ledger, &dead);
        let notes = overdue::notes(&facts, self.now + later).0;
        notes
            .into_iter()
            .map(|note| format!("{}: {} {}", note.key, note.diagnosis.cause.word(), note.diagnosis.words))
            .collect()
    }
}

fn ready() -> Message {
    Message { ready: true, ..Message::default() }
}

fn head(head: &str) -> Message {
    Message { head: head.to_owned(), request_id: "r-1".to_owned(), ..Message::default() }
}

const MINUTES: i64 = 60_000;

#[test]
fn a_worker_is_idle_once_its_task_is_completed_and_the_lead_has_acknowledged() {
    let mut world = World::new(Some(true));
    world.done("impl-1", "1");
    assert_eq!(world.why("impl-1"), None, "nobody has acknowledged");
    world.send("", "impl-2", Message::default());
    assert_eq!(world.why("impl-1"), None, "a word to another acknowledges nothing");
    world.send("", "impl-1", Message::default());
    assert_eq!(world.why("impl-1"), Some(Why::Acknowledged));
    // A look of the lead at the task that leaves it completed is a word too.
    world.done("impl-2", "2");
    world.task("", "2", TaskState::Completed);
    assert_eq!(world.why("impl-2"), Some(Why::Acknowledged));
}

#[test]
fn a_worker_is_idle_once_it_says_that_it_is_ready_for_its_next_task() {
    let mut world = World::new(Some(true));
    world.send("impl-1", "impl-2", ready());
    assert_eq!(world.why("impl-1"), None, "the lead has not been told");
    world.send("impl-1", "team-lead", ready());
    assert_eq!(world.why("impl-1"), Some(Why::Ready));
    world.task("impl-2", "2", TaskState::InProgress);
    world.send("impl-2", "team-lead", ready());
    assert_eq!(world.why("impl-2"), Some(Why::Ready), "whatever its task says");
    assert!(world.notes(10 * MINUTES).iter().all(|note| !note.contains("parked impl-2")), "its task is open");
    world.task("impl-2", "2", TaskState::Completed);
    assert_eq!(world.why("impl-2"), Some(Why::Ready));
    assert!(world.notes(10 * MINUTES).iter().any(|note| note.contains("parked impl-2")));
    world.task("impl-2", "3", TaskState::InProgress);
    assert_eq!(world.why("impl-2"), None, "it goes on");
}

#[test]
fn idleness_ends_with_work_a_new_task_or_the_next_word() {
    let idle = || {
        let mut world = World::new(Some(true));
        world.done("impl-1", "1");
        world.send("", "impl-1", Message::default());
        world.add("impl-1", What::AgentStart);
        for tool in ["SendMessage", "TaskList", "TaskGet", "ToolSearch"] {
            world.tool("impl-1", tool);
        }
        assert_eq!(world.why("impl-1"), Some(Why::Acknowledged), "looking at the list is no work");
        world
    };
    let mut world = idle();
    world.tool("impl-1", "Edit");
    assert_eq!(world.why("impl-1"), None);
    let mut world = idle();
    world.send("", "impl-1", Message::default());
    assert_eq!(world.why("impl-1"), None);
    let mut world = idle();
    world.task("impl-1", "2", TaskState::InProgress);
    assert_eq!(world.why("impl-1"), None);
    let mut world = idle();
    world.task("", "1", TaskState::InProgress);
    assert_eq!(world.why("impl-1"), None, "the lead has taken its task back");
    // The word after "ready" is the next task, not an acknowledgement.
    let mut world = World::new(Some(true));
    world.done("impl-1", "1");
    world.send("impl-1", "team-lead", ready());
    world.send("", "impl-1", Message::default());
    assert_eq!(world.why("impl-1"), None);
}

#[test]
fn an_idle_worker_owes_nothing_and_one_that_is_not_does() {
    let waits = |world: &World| world.ledger.graph.teams["s"].owed.get("impl-1").map_or(0, BTreeSet::len);
    let mut world = World::new(Some(true));
    world.send("", "impl-1", Message::default());
    world.add("", What::TurnEnd);
    assert_eq!(waits(&world), 1, "the lead may wait for a word");
    world.done("impl-1", "1");
    world.add("", What::Prompt { wake: false });
    world.send("", "impl-1", Message::default());
    world.add("", What::TurnEnd);
    assert_eq!(waits(&world), 0, "it was acknowledged");
    let dead = BTreeSet::new();
    let why = diagnose(&Facts::of_journal("build", &world.ledger, &dead), world.now);
    assert_eq!((why.cause.word(), why.root.as_str()), ("nobody-waits", "team-lead"), "{why:?}");
    assert!(why.evidence.iter().any(|line| line.starts_with("impl-1 has been idle since")), "{why:?}");
    // The next word is a task again.
    world.add("", What::Prompt { wake: false });
    world.send("", "impl-1", Message::default());
    world.add("", What::TurnEnd);
    assert_eq!(waits(&world), 1);
}

#[test]
fn the_lead_is_told_once_of_a_worker_that_is_left_idle() {
    let mut world = World::new(Some(true));
    world.done("impl-1", "1");
    world.send("", "impl-1", Message::default());
    assert_eq!(world.notes(10 * MINUTES - 1), Vec::<String>::new());
    let told = ["parked impl-1: parked-worker impl-1 is idle and has neither a task nor a shutdown_request."];
    assert_eq!(world.notes(10 * MINUTES), told);
    let (key, cause) = ("parked impl-1".to_owned(), "parked-worker".to_owned());
    world.add("", What::Noted { key, cause, root: "team-lead".to_owned(), words: String::new() });
    assert_eq!(world.notes(60 * MINUTES), Vec::<String>::new());
    // The next time is another case.
    world.tool("impl-1", "Edit");
    world.add("impl-1", What::AgentStop);
    world.send("impl-1", "team-lead", ready());
    assert_eq!(world.notes(10 * MINUTES), told);
}

#[test]
fn a_worker_that_was_asked_to_shut_down_is_not_parked() {
    let mut world = World::new(Some(true));
    world.send("impl-1", "team-lead", ready());
    world.send("", "impl-1", head("shutdown_request"));
    assert!(world.ledger.graph.teams["s"].is_idle("impl-1"));
    assert!(world.notes(10 * MINUTES).iter().all(|note| !note.contains("parked")));
    world.send("impl-1", "team-lead", Message { approve: Some(true), ..head("shutdown_response") });
    assert!(!world.ledger.graph.teams["s"].is_idle("impl-1"), "it is gone");
    assert_eq!(world.ledger.graph.teams["s"].parked.len(), 0);
}

#[test]
fn other_teams_hear_nothing_of_it() {
    for subctl in [None, Some(false)] {
        let mut world = World::new(subctl);
        world.done("impl-1", "1");
        world.send("", "impl-1", Message::default());
        world.send("impl-2", "team-lead", ready());
        assert_eq!((world.why("impl-1"), world.why("impl-2")), (None, None), "{subctl:?}");
        assert_eq!(world.notes(30 * MINUTES).iter().filter(|note| note.contains("parked")).count(), 0);
    }
    // What makes it one: the environment of its session.
    let mut world = World::new(None);
    world.add("", What::Subctl { role: "lead".to_owned() });
    world.send("impl-2", "team-lead", ready());
    assert_eq!(world.why("impl-2"), Some(Why::Ready));
}
