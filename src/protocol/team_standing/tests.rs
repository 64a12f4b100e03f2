//! A session from its first message to its last.

use serde_json::json;

use super::*;
use crate::protocol::team_msg;

fn message(from: &str, kind: &str, data: &serde_json::Value) -> Message {
    let line = json!({"from": from, "type": kind, "data": data}).to_string();
    team_msg::read(line.as_bytes()).0.expect("a message")
}

fn checkpoint(task: &str, verdict: &str, blocks: u32) -> Message {
    let data = json!({"status": "task_complete", "task_id": task, "supervision_verdict": verdict, "blocks_detected": blocks});
    message("supervisor", "state_update", &data)
}

fn plain(from: &str, kind: &str) -> Message {
    message(from, kind, &json!({"task_id": "IMPL-001"}))
}

/// Feeds messages one look at a time and tells each standing.
#[track_caller]
fn check(messages: &[Message], meta: &Meta, wanted: &[&str]) {
    let mut said: Option<Said> = None;
    let mut found = Vec::new();
    for message in messages {
        let next = standing("team:a", said.as_ref(), [message], meta);
        found.push([next.state.word(), &next.step, &next.reason].join(" ").trim().to_owned());
        said = Some(next);
    }
    assert_eq!(found, wanted);
    // The same, all at one look.
    let last = standing("team:a", None, messages, meta);
    assert_eq!(Some(last), said);
}

#[test]
fn a_block_halts_until_the_checkpoint_is_passed() {
    let halted = "blocked CHECKPOINT-001 supervision_verdict of CHECKPOINT-001 is block";
    check(
        &[
            plain("analyst", "progress"),
            checkpoint("CHECKPOINT-001", "block", 0),
            plain("coordinator", "message"),
            plain("executor", "state_update"),
            checkpoint("CHECKPOINT-001", "block", 0),
            checkpoint("CHECKPOINT-001", "warn", 0),
            checkpoint("CHECKPOINT-002", "pass", 0),
        ],
        &Meta::default(),
        &["running", halted, halted, halted, halted, "running", "running"],
    );
}

#[test]
fn counted_blocks_halt_whatever_the_verdict_and_each_checkpoint_on_its_own() {
    check(
        &[
            checkpoint("CHECKPOINT-001", "pass", 2),
            checkpoint("CHECKPOINT-002", "block", 1),
            checkpoint("CHECKPOINT-002", "pass", 0),
            checkpoint("CHECKPOINT-001", "pass", 0),
        ],
        &Meta::default(),
        &[
            "blocked CHECKPOINT-001 blocks_detected of CHECKPOINT-001 is 2",
            "blocked CHECKPOINT-001, CHECKPOINT-002 blocks_detected of CHECKPOINT-001 is 2; supervision_verdict of CHECKPOINT-002 is block; blocks_detected is 1",
            "blocked CHECKPOINT-001 blocks_detected of CHECKPOINT-001 is 2",
            "running",
        ],
    );
}

#[test]
fn a_checkpoint_that_halts_anew_is_another_halt_and_one_that_says_the_same_is_not() {
    let by =
        |said: &Said| said.halts.iter().map(|halt| format!("{} {}", halt.task, halt.by)).collect::<Vec<_>>();
    let report = |id: &str, task: &str, verdict: &str, blocks: u32| Message {
        id: id.to_owned(),
        ..checkpoint(task, verdict, blocks)
    };
    let next = |said: Option<&Said>, message: Message| standing("team:a", said, [&message], &Meta::default());
    let first = next(None, report("MSG-001", "CHECKPOINT-001", "pass", 2));
    let both = next(Some(&first), report("MSG-002", "CHECKPOINT-002", "block", 0));
    assert_eq!(by(&both), ["CHECKPOINT-001 MSG-001", "CHECKPOINT-002 MSG-002"]);
    let same = next(Some(&both), report("MSG-003", "CHECKPOINT-001", "pass", 2));
    assert_eq!(same, both);
    for verdict in ["pass", "warn"] {
        assert_eq!(next(Some(&both), report("MSG-004", "CHECKPOINT-002", verdict, 0)), first);
    }
    let other = next(Some(&both), report("MSG-005", "CHECKPOINT-001", "block", 2));
    assert_eq!(by(&other), ["CHECKPOINT-001 MSG-005", "CHECKPOINT-002 MSG-002"]);
    let none = next(Some(&first), report("MSG-006", "CHECKPOINT-001", "pass", 0));
    assert_eq!(
        by(&next(Some(&none), report("MSG-007", "CHECKPOINT-001", "pass", 2))),
        ["CHECKPOINT-001 MSG-007"]
    );
    // As an older version noted it.
    let older = Said { halts: Vec::new(), ..first.clone() };
    assert_eq!(next(Some(&older), plain("coordinator", "message")).reason, first.reason);
}

#[test]
fn a_session_is_over_by_its_record_or_its_last_message() {
    let with = |status| Meta { status: Some(status), ..Meta::default() };
    let shutdown = || plain("coordinator", "shutdown");
    let messages = [plain("analyst", "progress"), shutdown(), plain("analyst", "progress"), shutdown()];
    check(&messages, &with(Status::Active), &["running", "done", "running", "done"]);
    check(&messages, &Meta::default(), &["running", "done", "running", "done"]);
    check(&messages[..2], &with(Status::Completed), &["done", "done"]);
    check(&messages[..2], &with(Status::Archived), &["ended", "ended"]);
    let halted = [checkpoint("CHECKPOINT-001", "block", 0), shutdown()];
    check(
        &halted,
        &Meta::default(),
        &["blocked CHECKPOINT-001 supervision_verdict of CHECKPOINT-001 is block", "done"],
    );
}

#[test]
fn what_was_said_stands_while_nothing_comes() {
    let none: [&Message; 0] = [];
    let stands = |state: State, disposition: &str| {
        let said = Said {
            track: "team:a".to_owned(),
            kind: Kind::Team,
            state,
            disposition: disposition.to_owned(),
            ..Said::default()
        };
        standing("team:a", Some(&said), none, &Meta::default()).state
    };
    assert_eq!(stands(State::Running, ""), State::Running);
    assert_eq!(stands(State::Done, "shutdown"), State::Done);
    assert_eq!(stands(State::Ended, ""), State::Ended, "over before it was watched");
    assert_eq!(stands(State::Done, ""), State::Running, "its record says no more that it is completed");
    assert_eq!(standing("team:a", None, none, &Meta::default()).state, State::Running);
}
