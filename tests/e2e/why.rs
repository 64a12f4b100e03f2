//! The nudge that a real model receives names the cause and the agent whose move would free the team.

use serde_json::json;

use crate::api::{Api, Request};
use crate::client::{Client, UNASKED};
use crate::project::Project;

/// One nudge after a short silence, and no second one within the test.
const ONE_NUDGE: &str = "[rule]\nidle_after = \"4s\"\nnudge_every = \"10m\"\n[daemon]\ntick = \"1s\"\n";

/// Works until the test writes the file `go`.
const HOLD: &str = "@tool Bash {\"command\":\"while [ ! -e go ]; do sleep 0.05; done\"}";

/// A directive that starts a teammate with a script of its own.
fn start(name: &str, script: &str) -> String {
    let input = json!({"name": name, "description": "a teammate", "subagent_type": "general-purpose", "prompt": script});
    format!("@tool Agent {input}")
}

/// Directives that send a message; the tool has to be loaded first.
fn send(to: &str, text: &str) -> String {
    let load = json!({"query": "select:SendMessage"});
    let input = json!({"to": to, "summary": "asks for something", "message": text});
    format!("@tool ToolSearch {load}\n@tool SendMessage {input}")
}

/// Runs a lead with these teammates, and returns the request with which it receives the nudge.
fn nudged(teammates: &[(&str, String)]) -> (Request, String) {
    let project = Project::in_flight(ONE_NUDGE);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let started: Vec<String> = teammates.iter().map(|(name, script)| start(name, script)).collect();
    client.prompt(&format!("{}\n@say LEAD-IS-DONE", started.join("\n")));
    project.write("go", "");
    let request = api.first_holding("KILN DEADLOCK WATCHDOG: idle_seconds=");
    let conversation = request.conversation();
    (request, conversation)
}

#[test]
fn two_teammates_that_wait_for_each_other() {
    let asks = |other: &str| {
        format!("{HOLD}\n{}\n@say I wait for {other}", send(other, "Which interface do you expect?"))
    };
    let (request, text) = nudged(&[("ken", asks("ryu")), ("ryu", asks("ken"))]);
    assert!(request.holds("cause=circular-wait; root="), "{text}");
    assert!(request.holds("ken waits for ryu") && request.holds("ryu waits for ken"), "{text}");
}

#[test]
fn a_teammate_that_prints_its_answer() {
    let (request, text) = nudged(&[("ken", format!("{HOLD}\n@say RESULT: all of it passes"))]);
    assert!(request.holds("cause=printed-not-sent; root=ken."), "{text}");
}

#[test]
fn a_teammate_that_writes_to_a_name_that_nobody_has() {
    let asks = format!("{HOLD}\n{}\n@say I wait for kenn", send("kenn", "Please review it."));
    let (request, text) =
        nudged(&[("ken", format!("{HOLD}\n{}\n@say done", send("team-lead", "I am here."))), ("ryu", asks)]);
    assert!(request.holds("cause=misaddressed; root=ryu."), "{text}");
    assert!(request.holds("nearest first: ken"), "{text}");
}
