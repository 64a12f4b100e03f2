//! A failing API: what the client makes of it, what the hook leaves, and that nobody is woken into it.

use serde_json::Value;

use crate::api::Api;
use crate::client::{Client, UNASKED};
use crate::project::Project;
use crate::wait::{wait_for, wait_until};

/// How every text of ours to the model is marked when it wakes.
const WAKE: &str = "KILN ASYNC REWAKE:";

/// How often the client has said that a file appeared.
fn appearances(project: &Project, name: &str) -> usize {
    let is_it = |change: &Value| {
        change["event"] != "unlink" && change["file_path"].as_str().is_some_and(|path| path.ends_with(name))
    };
    project.recorded("FileChanged").iter().filter(|change| is_it(change)).count()
}

/// Puts the lead through one failed turn and the next good one.
fn fail_and_go_on(project: &Project, api: &Api, client: &Client, status: u16, error: &str) {
    let failures = project.recorded("StopFailure").len();
    let before = api.requests().len();
    client.prompt(&format!("@error {status} scripted_{status}"));
    let failure = wait_for("StopFailure", || project.recorded("StopFailure").get(failures).cloned());
    assert_eq!(failure["error"], error, "the client's name for HTTP {status}");
    let note = wait_for("a note for the lead", || project.read_json(".kiln/tmp/pending-nudge.json"));
    assert_eq!(note["nudge_n"], 0, "a note of the API is not counted: {note}");
    let words = "the turn before this one was ended by the API at";
    let text = note["additionalContext"].as_str().unwrap_or_default();
    assert!(text.contains(words) && text.contains(error), "{text}");
    // What could have woken the session has been called, and has declined.
    wait_until("FileChanged for the note", || appearances(project, "pending-nudge.json") > failures);
    client.prompt(&format!("@say WORKS-AGAIN-{status}"));
    let request = api.first_holding(&format!("@say WORKS-AGAIN-{status}"));
    assert_eq!(request.count(text), 1, "{}", request.conversation());
    project.first_recorded("Stop", "last_assistant_message", &format!("WORKS-AGAIN-{status}"));
    assert_eq!(api.requests().len(), before + 2, "one failed turn and one good one after HTTP {status}");
}

#[test]
fn a_failed_turn_leaves_a_note_for_the_next_prompt_and_wakes_nobody() {
    let project = Project::in_flight("[daemon]\ntick = \"1s\"\n").with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    project.first_recorded("Stop", "last_assistant_message", "hello");
    for (status, error) in [(529, "server_error"), (429, "rate_limit"), (402, "unknown")] {
        fail_and_go_on(&project, &api, &client, status, error);
        assert!(!project.has(".kiln/DEADLOCK.flag"), "HTTP {status} needs no person");
    }
    assert!(api.holding(WAKE).is_empty(), "somebody was woken into a failing API");
}

#[test]
fn a_refused_sign_in_is_flagged_at_once_and_wakes_nobody() {
    let project = Project::in_flight("[daemon]\ntick = \"1s\"\n").with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    project.first_recorded("Stop", "last_assistant_message", "hello");
    fail_and_go_on(&project, &api, &client, 403, "authentication_failed");
    let flag = project.read_json(".kiln/DEADLOCK.flag").expect("a flag");
    assert_eq!(flag["source"], "stop_failure", "{flag}");
    assert_eq!(flag["error"], "authentication_failed", "{flag}");
    wait_until("FileChanged for the flag", || appearances(&project, "DEADLOCK.flag") == 1);
    assert!(api.holding(WAKE).is_empty(), "somebody was woken into a failing API");
}

#[test]
fn an_api_that_stays_down_costs_one_request_a_nudge_and_then_the_flag() {
    let settings = "[rule]\nidle_after = \"2s\"\nnudge_every = \"2s\"\n[daemon]\ntick = \"1s\"\n";
    let project = Project::in_flight(settings).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@error 402 scripted_402");
    wait_until("the flag", || project.has(".kiln/DEADLOCK.flag"));
    let flag = project.read_json(".kiln/DEADLOCK.flag").expect("a flag");
    assert_eq!(flag["nudge_count"], 3, "{flag}");
    // The flag itself is told once.
    api.first_holding("DEADLOCK.flag was written");
    client.prompt("@say UP-AGAIN");
    let request = api.first_holding("@say UP-AGAIN");
    assert_eq!(request.count("DEADLOCK.flag was written"), 1, "{}", request.conversation());
    assert_eq!(api.requests().len(), 1 + 3 + 1 + 1, "the prompt, three nudges, the flag, the last prompt");
}
