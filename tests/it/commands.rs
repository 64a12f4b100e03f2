//! The commands, as people and scripts see them.

mod alerts;
mod check;
mod config;
mod hostile;
mod json;
mod operator;
mod status;
mod terminal;

use serde_json::{Value, json};

use watchdog::model::event::{Event, What};
use watchdog::store::journal;
use watchdog::system::clock;

use crate::world::{Past, SESSION, World, eventually};

/// Writes an event of some seconds ago into the journal, of an agent (the lead's name is empty).
fn ago(world: &World, seconds: i64, agent: &str, what: What) {
    world.root.prepare().unwrap();
    let at = clock::now().wall - seconds * 1000;
    let (session, name) = (SESSION.to_owned(), agent.to_owned());
    let agent = if name.is_empty() { name.clone() } else { format!("a{name}-1") };
    journal::append(&world.root, &[Event { session, agent, name, ..Event::of_root(at, what) }]).unwrap();
}

fn tool(name: &str) -> What {
    What::ToolStart { tool: name.to_owned(), id: format!("t-{name}"), timeout_ms: None, hash: String::new() }
}

/// A team of three in the middle of its work, some minutes into it. Minutes stay the same while a test runs.
fn team(world: &World, idle: i64) {
    ago(
        world,
        3700,
        "",
        What::SessionStart { source: "startup".to_owned(), pid: None, entry: "cli".to_owned() },
    );
    ago(world, 3610, "", What::Prompt { wake: false });
    ago(world, 1810, "sentinel", What::AgentStart);
    ago(world, 970, "rakim", What::AgentStart);
    ago(world, 910, "sentinel", What::AgentStop);
    world.backdate(&Past { idle, teammates: json!({"rakim": 1}), ..Past::default() });
}

/// Starts a daemon that looks often, and waits until it has come to this reason.
#[track_caller]
fn watched(world: &World, reason: &str) {
    assert_eq!(world.run(&["start", "--set", "daemon.tick=100ms"]).code, 0);
    eventually(reason, || world.beacon().is_some_and(|beacon| beacon.reason == reason));
}

/// What a command printed, with times of day, processes and the project's path replaced.
fn shown(world: &World, text: &str) -> String {
    let text = text.replace(&world.path().display().to_string(), "ROOT");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, digits) = rest.split_at(start);
        let end = digits.find(|c: char| !(c.is_ascii_digit() || ":-".contains(c))).unwrap_or(digits.len());
        let (number, after) = digits.split_at(end);
        out.push_str(before);
        rest = after;
        match number.as_bytes() {
            // A date before a time of day: long ago, or the test ran over midnight.
            [_, _, _, _, b'-', _, _, b'-', ..] => rest = after.trim_start_matches(' '),
            [_, _, b':', _, _, b':', _, _, rest @ ..] => {
                out.push_str("hh:mm:ss");
                out.push_str(std::str::from_utf8(rest).unwrap_or_default());
            }
            _ if out.ends_with("pid ") => out.push_str("PID"),
            _ => out.push_str(number),
        }
    }
    out + rest
}

fn status(world: &World) -> (i32, String) {
    let ran = world.run(&["status"]);
    assert_eq!(ran.err, "");
    (ran.code, shown(world, &ran.out))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
