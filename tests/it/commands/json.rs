//! `status --json`: the shape that scripts rely on.

use std::fmt::Write;

use serde_json::{Value, json};

use watchdog::model::event::What;

use super::{ago, parsed, team, tool, watched};
use crate::world::World;

/// A value's shape: every name with the kind of what it holds.
fn shape(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                write!(out, "{}{name}:", "  ".repeat(depth)).unwrap();
                match value {
                    Value::Object(_) => out.push('\n'),
                    Value::Array(list) if list.iter().any(Value::is_object) => out.push_str(" list of\n"),
                    other => writeln!(out, " {}", kind(other)).unwrap(),
                }
                shape(value, depth + 1, out);
            }
        }
        Value::Array(list) => {
            if let Some(first) = list.iter().find(|value| value.is_object()) {
                shape(first, depth, out);
            }
        }
        _ => {}
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "truth",
        Value::Number(_) => "number",
        Value::String(text) if text.len() == 20 && text.ends_with('Z') => "time",
        Value::String(_) => "text",
        Value::Array(list) if list.is_empty() => "empty list",
        Value::Array(_) => "list of texts",
        Value::Object(_) => "object",
    }
}

/// A project in which there is something of everything but a flag.
fn full() -> World {
    let world = World::new("build");
    team(&world, 730);
    ago(&world, 730, "rakim", tool("Bash"));
    ago(&world, 729, "rakim", What::Permission { tool: "Bash".to_owned() });
    let nudge =
        json!({"additionalContext": "x", "timestamp": 1_790_000_000, "nudge_n": 2, "session_id": "s"});
    world.write_pending(&nudge);
    watched(&world, "waits-for-person");
    world
}

#[test]
#[expect(clippy::too_many_lines, reason = "the shape is written out")]
fn its_shape_is_versioned_and_holds_all_that_the_text_says() {
    let world = full();
    let ran = world.run(&["status", "--json"]);
    assert_eq!((ran.code, ran.err.as_str(), ran.out.lines().count()), (0, "", 1));
    let value = parsed(&ran.out);
    assert_eq!(value["v"], 1);
    assert_eq!((&value["exit"], &value["root"]), (&json!(0), &json!(world.path())));
    let mut text = String::new();
    shape(&value, 0, &mut text);
    insta::assert_snapshot!(text, @"
    v: number
    root: text
    at: time
    exit: number
    daemon:
      state: text
      pid: number
      version: text
      since: time
      last_tick: time
      watching: text
      mode: text
    stage: text
    active: truth
    verdict: text
    reason: text
    held:
      who: text
      what: text
      since: time
      session: text
    until: time
    next: text
    activity:
      last_activity: time
      source: text
      idle_seconds: number
      active_teammates: list of texts
      nudge_count: number
      epoch: number
    agents: list of
      session: text
      id: text
      name: text
      state: text
      since: time
      tools: empty list
      asks: null
    sessions:
      living: empty list
      dead: empty list
    diagnosis: null
    waits: list of
      from: text
      to: text
      what: text
      since: time
      kind: text
      due: null
      standing: text
    plans: empty list
    tasks: empty list
    idle: empty list
    recognised:
      home: text
      words: text
      by: list of
        what: text
        why: text
    tracks: empty list
    findings: empty list
    pending:
      n: number
      since: time
      session: text
    flag: null
    faults: empty list
    ");
}

#[test]
fn a_flag_is_in_it_with_its_cause() {
    let world = World::new("build");
    world.write_flag(
        &json!({"timestamp": 1, "source": "stop_failure", "error": "billing_error", "cause": "c"}),
    );
    let ran = world.run(&["status", "--json"]);
    let value = parsed(&ran.out);
    assert_eq!((ran.code, &value["exit"], &value["reason"]), (2, &json!(2), &json!("flagged")));
    assert_eq!(
        value["flag"],
        json!({"since": "1970-01-01T00:00:01Z", "cause": "c", "diagnosis": null, "error": "billing_error"})
    );
}
