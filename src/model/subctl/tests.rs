//! The words for each case, and under which key it is remembered.

use super::{Breach, facts};
use crate::model::event::{Event, What};
use crate::model::graph::Graph;
use crate::model::task::TaskState;

fn all() -> Vec<Breach> {
    let name = |name: &str| name.to_owned();
    vec![
        Breach::StatusOverMessage { kind: name("progress") },
        Breach::StatusOverMessage { kind: String::new() },
        Breach::NoSummary,
        Breach::NoRequestId { head: name("shutdown_response") },
        Breach::IdInsteadOfName { id: name("a962de09-9b59-43f1-a753-19aed7fa0800") },
        Breach::ShutdownByWorker,
        Breach::SpawnOutsideTeam { name: name("impl-1") },
        Breach::PromptLacks { name: name("impl-1"), missing: vec!["GOAL", "CONSTRAINTS"] },
        Breach::IllegalTransition { task: name("3"), from: TaskState::Pending, to: TaskState::Completed },
        Breach::CompletedByLead { task: name("3"), owner: name("impl-1") },
        Breach::BlockedWithoutBlocker { task: name("3") },
        Breach::DuplicateTask { task: name("4"), other: name("3"), state: TaskState::InProgress },
        Breach::CreatedByWorker { task: name("4") },
    ]
}

#[test]
fn each_case_is_told_as_a_fact_with_its_rule() {
    let lines: Vec<String> =
        all().iter().map(|breach| format!("{}\n  {}", breach.key("impl-1"), breach.words())).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    subctl status-over-message impl-1
      this message was structured JSON of type progress. Structured messages are the shutdown and plan approval requests and responses only (§3); how work stands is told by TaskUpdate on the task, whose changes the lead sees by itself (§3.3).
    subctl status-over-message impl-1
      this message was structured JSON without a type. Structured messages are the shutdown and plan approval requests and responses only (§3); how work stands is told by TaskUpdate on the task, whose changes the lead sees by itself (§3.3).
    subctl summary-missing impl-1
      this message is a text and has no summary. A summary of 5 to 10 words belongs to every text (§2); it is what the recipient sees first.
    subctl request-id-missing impl-1 shutdown_response
      shutdown_response carries no request_id. Request and response share one (§3); without it the other side cannot tell what belongs together.
    subctl id-instead-of-name impl-1 a962de09-9b59-43f1-a753-19aed7fa0800
      "a962de09-9b59-43f1-a753-19aed7fa0800" is an id. Agents of a team are called by the names that they were begun with (§1, §2).
    subctl shutdown-by-worker impl-1
      shutdown_request comes from the lead; a worker sends one only if it was asked to (§3.1). A worker that is done reports to the lead.
    subctl spawn-outside-team impl-1 impl-1
      impl-1 was begun without team_name and is outside the team: it has no pane, takes no messages and runs unseen. Work that writes code belongs to agents of the team (§6.1).
    subctl prompt-lacks-headings impl-1 impl-1 GOAL, CONSTRAINTS
      the prompt of impl-1 has no GOAL, no CONSTRAINTS. A worker's prompt has GOAL, CONTEXT, DELIVERABLE, DONE WHEN, REPORT BACK and CONSTRAINTS (§7).
    subctl illegal-transition impl-1 3 pending completed
      task 3 went from pending to completed. What follows is pending → in_progress (before the work begins), in_progress → completed or blocked, blocked → in_progress; only the lead takes a completed task back (§4).
    subctl completed-by-lead impl-1 3 impl-1
      task 3 was set to completed by the lead; it is impl-1's. Only the worker sets this; the lead verifies and may take it back (§4, §8).
    subctl blocker-missing impl-1 3
      task 3 is blocked, and metadata.blocker says nothing. A short description of the obstacle belongs there; it is what the lead reads first (§4).
    subctl duplicate-task impl-1 4 3
      task 4 has the subject of task 3, which is in_progress. The list (TaskList) tells what is there (§4).
    subctl task-by-worker impl-1
      task 4 was made by a worker. The lead makes the tasks; workers update them (§4).
    "#);
}

#[test]
fn what_is_told_is_one_line_of_bounded_length_and_no_command() {
    let text = facts(&all());
    assert!(text.starts_with("KILN DEADLOCK WATCHDOG: by the subctl team protocol: "));
    assert!(text.chars().count() <= 2000 && !text.contains('\n'));
    for word in ["must", "should", "please", "do not", "you "] {
        assert!(!text.to_lowercase().contains(word), "{word}: {text}");
    }
    let hostile = Breach::SpawnOutsideTeam { name: "x\u{1b}[31m\n".repeat(100) };
    assert!(!facts(std::slice::from_ref(&hostile)).contains(char::is_control));
    assert!(hostile.key("y\n").chars().count() <= 200 && !hostile.key("y\n").contains(char::is_control));
}

#[test]
fn what_was_told_is_remembered_and_bounded() {
    let mut graph = Graph::default();
    let event = |what| Event { session: "s".to_owned(), ..Event::of_root(0, what) };
    graph.apply(&event(What::Prompt { wake: false }));
    for number in 0..1000 {
        let key = format!("subctl duplicate-task team-lead {number}");
        graph.apply(&event(What::Helped { key: key.clone() }));
        assert!(graph.teams["s"].was_told(&key));
    }
    assert_eq!(graph.teams["s"].told.len(), 512);
    graph.apply(&event(What::Helped { key: "misrouted READY rakim".to_owned() }));
    assert!(
        !graph.teams["s"].told.contains("misrouted READY rakim"),
        "what is told of other tables is not kept"
    );
}

#[test]
fn a_team_is_known_by_its_session_s_role() {
    let mut graph = Graph::default();
    let event = |what| Event { session: "s".to_owned(), ..Event::of_root(0, what) };
    graph.apply(&event(What::Prompt { wake: false }));
    assert_eq!(graph.teams["s"].subctl, "");
    graph.apply(&event(What::Subctl { role: "worker".to_owned() }));
    assert_eq!(graph.teams["s"].subctl, "worker");
    graph.apply(&event(What::Subctl { role: "lead".to_owned() }));
    assert_eq!(graph.teams["s"].subctl, "lead");
}
