//! What operators have suffered: long tools, questions to a person, and nudges that repeat.

use std::fs;

use serde_json::json;
use watchdog::model::event::What;

use super::{OFTEN, Timed};
use crate::world::{Past, eventually, eventually_some, gone};

const MINUTE: i64 = 60;

fn bash(id: &str) -> serde_json::Value {
    json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "make check"}})
}

#[test]
fn f36_a_tool_that_runs_for_twenty_minutes_is_no_stall_and_its_end_begins_the_silence() {
    let world = Timed::new("build");
    world.begin();
    world.does("PreToolUse", &bash("t1"));
    world.pass(20 * MINUTE);
    world.quiet("tool-running");
    world.does("PostToolUse", &bash("t1"));
    world.quiet("active");
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f36_a_failure_ends_a_tool_as_success_does() {
    let world = Timed::new("build");
    world.begin();
    world.does("PreToolUse", &bash("t1"));
    world.does("PostToolUseFailure", &bash("t1"));
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f36_a_tool_that_never_ends_protects_up_to_its_limit_and_is_named_in_the_nudge() {
    let world = Timed::new("build");
    world.begin();
    world.does("PreToolUse", &bash("t1"));
    world.pass(29 * MINUTE);
    world.quiet("tool-running");
    world.pass(151 * MINUTE);
    let text = world.nudge(1);
    assert!(text.contains("Bash running for 3 h 00 min"), "{text}");
}

#[test]
fn f36_one_agents_long_tool_covers_another_that_finished() {
    let world = Timed::new("build");
    world.begin();
    let of = |agent: &str, tool: &str, id: &str| json!({"agent_id": agent, "agent_type": agent, "tool_name": tool, "tool_use_id": id, "tool_input": {}});
    world.does("PreToolUse", &of("a", "Bash", "t1"));
    world.does("PreToolUse", &of("b", "Read", "t2"));
    world.does("PostToolUse", &of("b", "Read", "t2"));
    world.pass(6 * MINUTE);
    world.quiet("tool-running");
    assert_eq!(world.status()["held"]["who"], "a");
}

#[test]
fn f36_of_three_parallel_tools_two_ends_leave_one_running() {
    let world = Timed::new("build");
    world.begin();
    for id in ["t1", "t2", "t3"] {
        world.does("PreToolUse", &bash(id));
    }
    for id in ["t1", "t3"] {
        world.does("PostToolUse", &bash(id));
    }
    world.pass(10 * MINUTE);
    world.quiet("tool-running");
    world.does("PostToolUse", &bash("t2"));
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f36_a_task_in_the_background_explains_silence_from_the_turns_end_up_to_the_limit() {
    let world = Timed::new("build");
    world.begin();
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make", "run_in_background": true},
    });
    world.does("PreToolUse", &call);
    world.does("PostToolUse", &call);
    let tasks = json!([
        {"id": "m1", "type": "teammate", "status": "running", "description": "rakim"},
        {"id": "b1", "type": "shell", "status": "running", "description": "make", "command": "make"},
    ]);
    world.does("Stop", &json!({"stop_hook_active": false, "background_tasks": tasks}));
    world.pass(20 * MINUTE);
    world.quiet("tool-running");
    assert_eq!(world.status()["held"]["what"], "shell in the background");
    world.pass(11 * MINUTE);
    let text = world.nudge(1);
    assert!(text.contains("shell in the background running for 31 min"), "{text}");
}

#[test]
fn f36_a_task_in_the_background_ends_with_the_next_prompt_and_teammates_are_none() {
    let world = Timed::new("build");
    world.begin();
    let stop = |kind: &str, status: &str| {
        let tasks = json!([{"id": "b1", "type": kind, "status": status, "description": "x"}]);
        world.does("Stop", &json!({"background_tasks": tasks}));
    };
    stop("shell", "running");
    world.does("UserPromptSubmit", &json!({"prompt": "<task-notification> it ended </task-notification>"}));
    for (kind, status) in [("teammate", "running"), ("subagent", "running"), ("shell", "completed")] {
        stop(kind, status);
    }
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f37_a_person_who_thinks_in_an_interactive_stage_is_not_nudged_and_the_operator_is_told_once() {
    let world = Timed::new("brainstorm");
    let told = world.beside("told").join("lines");
    let alert =
        format!("[[alert]]\non = [\"waiting\"]\nrun = [\"sh\", \"-c\", \"cat >> {}\"]\n", told.display());
    world.settings(&format!("{OFTEN}{alert}"));
    world.begin();
    world.does("UserPromptSubmit", &json!({"prompt": "ideas, please"}));
    world.does("Stop", &json!({}));
    world.pass(30 * MINUTE);
    world.quiet("waits-for-person");
    let lines = || fs::read_to_string(&told).unwrap_or_default();
    eventually("the operator is told", || lines().contains("\"waiting\""));
    world.pass(30 * MINUTE);
    world.quiet("waits-for-person");
    assert_eq!(lines().lines().count(), 1, "{}", lines());
}

#[test]
fn f37_a_question_of_the_agent_waits_for_its_answer() {
    let world = Timed::new("build");
    world.begin();
    let question = json!({"tool_name": "AskUserQuestion", "tool_use_id": "q", "tool_input": {}});
    world.does("PreToolUse", &question);
    world.pass(30 * MINUTE);
    world.quiet("waits-for-person");
    world.does("PostToolUse", &question);
    world.quiet("active");
}

#[test]
fn f37_a_permission_prompt_is_shown_with_its_tool_and_time_and_ends_with_the_answer() {
    let world = Timed::new("build");
    world.begin();
    world.does("PreToolUse", &bash("t1"));
    world.does("PermissionRequest", &json!({"tool_name": "Bash", "tool_input": {}}));
    world.does("Notification", &json!({"notification_type": "permission_prompt", "message": "may I"}));
    world.pass(30 * MINUTE);
    world.quiet("waits-for-person");
    let status = world.status();
    assert_eq!(status["held"]["what"], "permission: Bash");
    let shown = world.run(&["status"]).out;
    assert!(shown.contains("waits for a person since") && shown.contains("permission: Bash"), "{shown}");
    world.does("PostToolUse", &bash("t1"));
    world.quiet("active");
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f37_a_client_that_says_it_is_idle_does_not_wait_for_a_person() {
    let world = Timed::new("build");
    world.begin();
    world.does("SubagentStart", &json!({"agent_id": "c1", "agent_type": "carpenter"}));
    world.does("Stop", &json!({}));
    for kind in ["idle_prompt", "agent_needs_input"] {
        world.does("Notification", &json!({"notification_type": kind, "message": "idle"}));
    }
    world.pass(30 * MINUTE);
    let text = world.nudge(1);
    assert!(text.contains("carpenter"), "{text}");
}

#[test]
fn f37_a_refusal_ends_the_waiting_with_the_next_event_of_that_agent() {
    let world = Timed::new("build");
    world.begin();
    world.does("PreToolUse", &bash("t1"));
    world.does("PermissionRequest", &json!({"tool_name": "Bash", "tool_input": {}}));
    let read = json!({"tool_name": "Read", "tool_use_id": "t2", "tool_input": {}});
    world.does("PreToolUse", &read);
    world.does("PostToolUse", &read);
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f37_no_waiting_outlives_its_session() {
    let world = Timed::new("build");
    world.begin();
    let other = crate::world::client();
    let asks = |name: &str, more: serde_json::Value| {
        let mut payload = world.event(name, &more);
        payload["session_id"] = json!("other");
        assert_eq!(world.hook_by(&other, &payload).code, 0);
    };
    asks("UserPromptSubmit", json!({"prompt": "go"}));
    asks("PermissionRequest", json!({"tool_name": "Bash", "tool_input": {}}));
    asks("SessionEnd", json!({"reason": "prompt_input_exit"}));
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f38_a_nudge_is_withdrawn_by_work_and_not_injected_afterwards() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &bash("t1"));
    world.pass(6 * MINUTE);
    world.nudge(1);
    world.pass(30);
    world.does(
        "PostToolUse",
        &json!({"agent_id": "c", "agent_type": "c", "tool_name": "Read", "tool_use_id": "x"}),
    );
    assert_eq!(world.pending(), None);
    world.does("PreToolUse", &bash("t2"));
    assert_eq!(world.count(|what| matches!(what, What::Withdrawn { .. })), 1);
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 1);
}

#[test]
fn f38_three_stalls_with_an_hour_of_work_between_are_three_first_nudges() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &bash("t0"));
    for round in 0..3 {
        world.pass(6 * MINUTE);
        let text = world.nudge(1);
        assert!(text.contains("nudge 1 of 3"), "round {round}: {text}");
        for _ in 0..15 {
            world.pass(4 * MINUTE);
            world.does("PostToolUse", &bash("t1"));
        }
        eventually("the episode is closed", || world.activity()["nudge_count"] == 0);
    }
    assert_eq!(world.flag(), None);
}

#[test]
fn f38_nobody_reads_three_nudges_then_the_flag_then_silence() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &bash("t1"));
    world.pass(6 * MINUTE);
    for n in 1..=3 {
        world.nudge(n);
        world.pass(11 * MINUTE);
    }
    gone(daemon);
    assert_eq!(world.flag().unwrap()["nudge_count"], 3);
    // Whoever starts a daemon beside the flag gets one that keeps quiet.
    assert_eq!(world.run(&["start"]).code, 0);
    for _ in 0..4 {
        world.pass(30 * MINUTE);
        assert_eq!(world.judged().reason, "flagged");
    }
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 3);
    assert_eq!(world.count(|what| matches!(what, What::Escalated { .. })), 1);
}

#[test]
fn f38_one_nudge_wakes_once_however_often_the_bridge_is_started() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &bash("t1"));
    world.pass(6 * MINUTE);
    world.nudge(1);
    let mut woken = Vec::new();
    for _ in 0..5 {
        let mut command = world.as_client("bridge", &world.client);
        command.env("WATCHDOG_TEST_CLOCK", world.clock());
        let payload = world.event("Stop", &json!({})).to_string();
        let bridge = crate::world::launch_with(command, payload.as_bytes());
        // Only the newest stays, so each either wakes, or is there and leaves when the next one comes.
        let mark = world.root.in_tmp("async-rewake-watchdog.pid");
        let line = format!("{}\n", bridge.pid());
        eventually_some("it wakes or waits", || {
            let waits = fs::read_to_string(&mark).is_ok_and(|text| text == line);
            (waits || world.pending().is_none()).then_some(())
        });
        woken.push(bridge);
    }
    world.stage("complete");
    let codes: Vec<i32> = woken.into_iter().map(|bridge| bridge.end().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 2).count(), 1, "{codes:?}");
    assert_eq!(world.count(|what| matches!(what, What::Claimed { .. })), 1);
}

#[test]
fn f38_a_flag_is_cleared_by_work_that_goes_on_and_the_next_stall_is_seen() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &bash("t1"));
    world.pass(6 * MINUTE);
    for n in 1..=3 {
        world.nudge(n);
        world.pass(11 * MINUTE);
    }
    gone(daemon);
    // The next daemon gives the session a tick to move first; on a slow machine its first work takes a while.
    world.settings("[daemon]\ntick = \"5s\"\n");
    let start = world.hook(&world.event("SessionStart", &json!({"source": "resume"})));
    assert_eq!(start.code, 0);
    assert_eq!(world.flag(), None);
    assert_eq!(world.state_text().matches("KILN DEADLOCK RECOVERY").count(), 1);
    world.does("PostToolUse", &bash("t2"));
    world.pass(6 * MINUTE);
    assert!(world.nudge(1).contains("nudge 1 of 3"));
}

#[test]
fn f38_a_daemon_that_sees_work_beside_a_flag_clears_it_without_a_note() {
    let world = Timed::new("build");
    world.begin();
    let now = world.now().seconds();
    world.write_flag(&json!({"timestamp": now, "nudge_count": 3, "last_activity_source": "x"}));
    for _ in 0..8 {
        world.does("PostToolUse", &bash("t1"));
        world.pass(4 * MINUTE);
    }
    world.does("PostToolUse", &bash("t1"));
    eventually("the flag is cleared", || world.flag().is_none());
    assert!(!world.state_text().contains("RECOVERY"));
}

#[test]
fn f38_a_new_daemon_goes_on_with_the_episode_of_the_old_one() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &bash("t1"));
    world.pass(6 * MINUTE);
    world.nudge(1);
    crate::world::signal(daemon, rustix::process::Signal::KILL);
    gone(daemon);
    assert_eq!(world.run(&["start"]).code, 0);
    world.daemon();
    assert_eq!(world.judged().reason, "debounce");
    assert_eq!(world.pending().unwrap()["nudge_n"], 1);
    world.pass(11 * MINUTE);
    world.nudge(2);
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 2);
}

#[test]
fn f38_what_others_left_staged_is_taken_at_its_meaning() {
    let world = Timed::new("build");
    world.begin();
    // The shape of the protocol's own scripts, and one that has the text alone.
    for nudge in [
        json!({"additionalContext": "from a script", "timestamp": 1, "nudge_n": 0}),
        json!({"additionalContext": "from a script"}),
    ] {
        world.write_pending(&nudge);
        let ran = world.hook(&world.event("PreToolUse", &bash("t1")));
        assert_eq!(ran.context("PreToolUse"), "from a script");
        world.does("PreToolUse", &bash("t2"));
    }
    world.backdate(&Past { idle: 10, ..Past::default() });
    world.quiet("active");
}

#[test]
fn f37_a_dialog_that_was_dismissed_hides_no_stall_for_ever() {
    let world = Timed::with("build", &format!("{OFTEN}[quiet]\nperson_limit = \"2h\"\n"));
    world.begin();
    world.does("PreToolUse", &bash("t1"));
    world.does("PermissionRequest", &json!({"tool_name": "Bash", "tool_input": {}}));
    // Dismissed: nothing more is ever heard of it.
    world.pass(119 * MINUTE);
    world.quiet("waits-for-person");
    world.pass(2 * MINUTE);
    let text = world.nudge(1);
    assert!(text.contains("has asked a person for permission: Bash since"), "{text}");
}
