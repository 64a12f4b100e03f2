//! It says why: in the hook's answer, in the nudge, in what an operator types, and in a note while others work.

use std::fs;

use serde_json::{Value, json};

use watchdog::model::event::What;

use crate::world::{Past, Ran, World, eventually, eventually_some};

/// A payload of a teammate.
fn of(world: &World, name: &str, event: &str, more: &Value) -> Value {
    let mut payload = world.event(event, more);
    payload["agent_id"] = json!(format!("a{name}-1"));
    payload["agent_type"] = json!(name);
    payload
}

fn start(world: &World, names: &[&str]) {
    for name in names {
        world.hook(&of(world, name, "SubagentStart", &json!({})));
    }
}

fn stop(world: &World, name: &str, text: &str) {
    world.hook(&of(world, name, "SubagentStop", &json!({"last_assistant_message": text})));
}

fn send(world: &World, from: &str, to: &str, text: &str) -> Ran {
    let more = json!({
        "tool_name": "SendMessage", "tool_use_id": format!("{from}-{to}"),
        "tool_input": {"to": to, "summary": "a few words of preview", "message": text},
        "tool_response": {"success": true, "message": "sent"},
    });
    world.hook(&of(world, from, "PostToolUse", &more))
}

fn edit(world: &World, name: &str) -> Ran {
    let more = json!({"tool_name": "Edit", "tool_use_id": "e1", "tool_input": {"file_path": "a"}});
    world.hook(&of(world, name, "PreToolUse", &more))
}

/// A builder waits for a reviewer that printed its verdict; all of it more than five minutes ago.
fn stalled() -> World {
    let world = World::new("build");
    start(&world, &["coder", "reviewer"]);
    stop(&world, "reviewer", "Ready.");
    send(&world, "coder", "reviewer", "REVIEW_REQUEST: the secret is sk-abcdefghijklmnop");
    stop(&world, "coder", "Waiting.");
    start(&world, &["reviewer"]);
    stop(&world, "reviewer", "APPROVED: it is fine");
    world.backdate(&Past { idle: 400, ..Past::default() });
    world
}

#[test]
fn a_message_to_another_agent_than_the_table_names_is_told_to_its_sender() {
    let world = World::new("build");
    start(&world, &["krs-one", "rakim"]);
    let said = send(&world, "rakim", "team-lead", "READY: state updated").context("PostToolUse");
    assert!(
        said.contains("READY was delivered to team-lead") && said.contains("belongs to krs-one"),
        "{said}"
    );
    assert_eq!(send(&world, "rakim", "krs-one", "READY: state updated"), Ran::silence());
    assert_eq!(world.count(|what| matches!(what, What::Helped { .. })), 1);
    // Once for each case: the same again is told nobody, another signal or another agent is another case.
    assert_eq!(send(&world, "rakim", "team-lead", "READY: once more"), Ran::silence());
    start(&world, &["sentinel"]);
    send(&world, "sentinel", "team-lead", "READY: state updated").context("PostToolUse");
    assert_eq!(world.count(|what| matches!(what, What::Helped { .. })), 2);
}

#[test]
fn a_message_is_nobody_elses_where_nobody_plays_the_role_that_the_table_names() {
    let world = World::new("build");
    start(&world, &["rakim"]);
    assert_eq!(send(&world, "rakim", "team-lead", "READY: state updated"), Ran::silence());
}

#[test]
fn an_agent_that_goes_on_after_asking_is_told_once() {
    let world = World::new("build");
    start(&world, &["coder", "reviewer"]);
    assert_eq!(send(&world, "coder", "reviewer", "REVIEW_REQUEST: please"), Ran::silence());
    assert_eq!(edit(&world, "reviewer"), Ran::silence(), "it asked nobody");
    let said = edit(&world, "coder").context("PreToolUse");
    assert!(said.contains("REVIEW_REQUEST was sent to reviewer") && said.contains("Edit began"), "{said}");
    assert_eq!(edit(&world, "coder"), Ran::silence(), "once");
    // Whoever stops as it should hears nothing when its next turn begins.
    send(&world, "coder", "reviewer", "REVIEW_REQUEST: again");
    stop(&world, "coder", "Waiting.");
    start(&world, &["coder"]);
    assert_eq!(edit(&world, "coder"), Ran::silence());
}

#[test]
fn a_signal_that_nobody_waits_for_keeps_nobody_from_going_on() {
    let world = World::new("build");
    start(&world, &["coder", "thoth"]);
    assert_eq!(send(&world, "coder", "thoth", "LOG: FILE_WRITTEN | a"), Ran::silence());
    assert_eq!(edit(&world, "coder"), Ran::silence());
}

#[test]
fn the_nudge_names_the_cause_and_the_root_and_no_body() {
    let world = stalled();
    assert_eq!(world.run(&["check", "--act"]).code, 0);
    let nudge = world.pending().unwrap();
    let text = nudge["additionalContext"].as_str().unwrap();
    assert!(text.contains("cause=printed-not-sent; root=reviewer."), "{text}");
    assert!(text.contains("coder sent REVIEW_REQUEST to reviewer"), "{text}");
    assert!(
        !text.contains("secret") && !text.contains("it is fine") && text.chars().count() < 2000,
        "{text}"
    );
    let journal = fs::read_to_string(world.root.own().join("journal.jsonl")).unwrap();
    assert!(!journal.contains("secret") && !journal.contains("it is fine"));
}

#[test]
fn the_flag_keeps_the_cause_the_root_and_the_evidence() {
    let world = stalled();
    world.backdate(&Past { idle: 4000, nudged: Some(3000), count: 3, ..Past::default() });
    world.run(&["check", "--act"]);
    let flag = world.flag().unwrap();
    assert_eq!((&flag["why"], &flag["root"]), (&json!("printed-not-sent"), &json!("reviewer")), "{flag}");
    assert!(flag["evidence"][0].as_str().unwrap().contains("REVIEW_REQUEST"), "{flag}");
    assert!(flag["diagnosis"].as_str().unwrap().contains("cause=printed-not-sent"), "{flag}");
}

#[test]
fn status_explain_and_graph_show_who_waits_for_whom() {
    let world = stalled();
    let status = world.run(&["status"]).out;
    assert!(status.contains("coder → reviewer"), "{status}");
    assert!(status.contains("reviewer's turn ended"), "{status}");
    assert!(status.contains("printed-not-sent"), "{status}");
    let status: Value = serde_json::from_str(&world.run(&["status", "--json"]).out).unwrap();
    assert_eq!(status["diagnosis"]["root"], "reviewer", "{status}");
    assert_eq!(status["waits"][0]["what"], "REVIEW_REQUEST", "{status}");
    let explain: Value = serde_json::from_str(&world.run(&["explain", "--json"]).out).unwrap();
    assert_eq!(explain["diagnosis"]["cause"], "printed-not-sent", "{explain}");
    let threshold =
        explain["thresholds"].as_array().unwrap().iter().find(|row| row["name"] == "rule.idle_after");
    assert_eq!(threshold.unwrap()["source"], "built in", "{explain}");
    let text = world.run(&["explain"]).out;
    assert!(text.contains("root:  reviewer") && text.contains("rule.reply_after"), "{text}");
    assert!(world.run(&["graph"]).out.contains("coder → reviewer   REVIEW_REQUEST"));
    assert!(world.run(&["graph", "--format", "dot"]).out.contains("\"coder\" -> \"reviewer\""));
    assert!(world.run(&["graph", "--format", "mermaid"]).out.starts_with("flowchart LR\n"));
}

#[test]
fn history_is_filtered_by_agent_kind_and_time() {
    let world = stalled();
    let lines = |more: &[&str]| {
        let ran = world.run(&[&["history"], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let all = lines(&[]).len();
    assert!(all >= 7);
    let coder = lines(&["--agent", "coder"]);
    assert!(coder.len() < all && coder.iter().all(|line| line.contains("  coder  ")), "{coder:?}");
    let sent = lines(&["--agent", "coder", "--kind", "tool_end"]);
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains("REVIEW_REQUEST"), "{sent:?}");
    assert_eq!(lines(&["--since", "1h"]).len(), all);
    assert_eq!(lines(&["--since", "2199-01-01T00:00:00Z"]).len(), 0);
    let ran = world.run(&["history", "--since", "yesterday"]);
    assert!(ran.code == 1 && ran.err.contains("\"yesterday\" is no time"), "{ran:?}");
}

#[test]
fn a_verdict_of_the_past_is_explained_from_the_journal() {
    let world = World::new("build");
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/a-journal-of-a-stall.jsonl");
    world.root.prepare().unwrap();
    fs::copy(record, world.root.own().join("journal.jsonl")).unwrap();
    let explain = |at: &str| -> Value {
        serde_json::from_str(&world.run(&["explain", "--json", "--at", at]).out).unwrap()
    };
    let before = explain("2026-12-01T00:02:00Z");
    assert_eq!((&before["verdict"], &before["reason"]), (&json!("quiet"), &json!("active")), "{before}");
    let after = explain("2026-12-01T00:05:08Z");
    assert_eq!(after["reason"], "debounce", "{after}");
    assert_eq!(after["diagnosis"]["cause"], "printed-not-sent", "{after}");
    assert_eq!(after["diagnosis"]["root"], "bob", "{after}");
}

const FAST: &str = r#"
name = "fast"
[roles]
boss = ["krs-one"]
mind = ["rakim"]
[[signal]]
head = "ITERATION_UPDATE"
to = ["mind"]
reply = "due"
within = "1s"
log = true
answers = [{ heads = ["READY"], from = ["recipient"], to = ["sender"] }]
"#;

#[test]
fn an_overdue_answer_is_told_to_the_lead_once_and_logged_where_the_table_says_so() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    fs::create_dir(world.root.in_kiln("watchdog.d")).unwrap();
    fs::write(world.root.in_kiln("watchdog.d/fast.toml"), FAST).unwrap();
    world.begin();
    start(&world, &["krs-one", "rakim"]);
    stop(&world, "rakim", "Ready.");
    send(&world, "krs-one", "rakim", "ITERATION_UPDATE: chunk 1");
    stop(&world, "krs-one", "Waiting.");
    let note = eventually_some("a note", || world.pending());
    assert_eq!(note["nudge_n"], 0, "{note}");
    let text = note["additionalContext"].as_str().unwrap();
    assert!(text.contains("cause=unread; root=rakim."), "{text}");
    let log = || fs::read_to_string(world.root.in_kiln("docs/iter-log.md")).unwrap_or_default();
    eventually("the line in the iteration log", || {
        log().contains("rakim has not answered ITERATION_UPDATE of krs-one within 1 s")
    });
    world.hook(&world.event("UserPromptSubmit", &json!({"prompt": "go on"})));
    assert_eq!(world.pending(), None);
    let noted = || world.count(|what| matches!(what, What::Noted { .. }));
    eventually("some more looks", || edit(&world, "krs-one") == Ran::silence() && noted() == 1);
    assert_eq!(log().lines().count(), 1, "{}", log());
    assert_eq!(world.activity()["nudge_count"], 0);
}

#[test]
fn a_table_with_a_mistake_is_refused_with_its_file_and_line() {
    let world = World::new("build");
    fs::create_dir(world.root.in_kiln("watchdog.d")).unwrap();
    fs::write(world.root.in_kiln("watchdog.d/mine.toml"), "name = \"mine\"\n[[signal]]\nhead = \"A\"\n")
        .unwrap();
    let ran = world.run(&["config"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("watchdog.d/mine.toml:2: missing field `reply`"), "{}", ran.err);
}
