//! A nudge reaches an idle session in each of its three ways, and with all three it is told once.

use serde_json::Value;

use crate::api::Api;
use crate::client::{Client, UNASKED};
use crate::project::Project;
use crate::wait::wait_until;

/// How a nudge begins, and how a wake does.
const NUDGE: &str = "KILN DEADLOCK WATCHDOG: idle_seconds=";
const WAKE: &str = "KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: idle_seconds=";

/// One nudge after a short silence, and no second one within the test.
const ONE_NUDGE: &str = "[rule]\nidle_after = \"3s\"\nnudge_every = \"10m\"\n[daemon]\ntick = \"1s\"\n";

/// The ways in which messages were claimed, in order. Says how long the first waited for it.
fn claims(project: &Project) -> Vec<Value> {
    let (staged, claimed) = (project.journalled("nudged"), project.journalled("claimed"));
    if let (Some(staged), Some(claimed)) = (staged.first(), claimed.first()) {
        let at = |line: &Value| line["at"].as_i64().expect("a line of the journal has its time");
        println!(
            "measured: {} ms from staging the nudge to its claim by {}",
            at(claimed) - at(staged),
            claimed["via"]
        );
    }
    claimed.into_iter().map(|line| line["via"].clone()).collect()
}

/// Sends one more prompt, and returns how often its request holds the nudge and the wake.
fn told(client: &Client, api: &Api) -> (usize, usize) {
    client.prompt("@say LAST-ANSWER");
    let request = api.first_holding("@say LAST-ANSWER");
    (request.count(NUDGE), request.count(WAKE))
}

#[test]
fn an_idle_session_is_woken_through_file_changed_alone() {
    let project = Project::in_flight(ONE_NUDGE).without("Stop", "bridge");
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    let request = api.first_holding(WAKE);
    assert!(request.holds("<task-notification>"), "{}", request.conversation());
    assert_eq!(claims(&project), ["FileChanged"]);
    assert_eq!(told(&client, &api), (1, 1));
}

#[test]
fn an_idle_session_is_woken_through_the_bridge_alone() {
    let project = Project::in_flight(ONE_NUDGE).without("FileChanged", "hook");
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    let request = api.first_holding(WAKE);
    assert!(request.holds("<task-notification>"), "{}", request.conversation());
    assert_eq!(claims(&project), ["bridge"]);
    assert_eq!(told(&client, &api), (1, 1));
}

#[test]
fn a_session_whose_turn_failed_is_woken_through_the_bridge_alone() {
    let project = Project::in_flight(ONE_NUDGE).without("FileChanged", "hook");
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@error 500 scripted_500");
    api.first_holding(WAKE);
    assert_eq!(claims(&project), ["bridge"]);
}

#[test]
fn where_nothing_wakes_the_next_prompt_takes_the_nudge() {
    let project = Project::in_flight(ONE_NUDGE).without("FileChanged", "hook").without("Stop", "bridge");
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    wait_until("a staged nudge", || project.has(".kiln/tmp/pending-nudge.json"));
    assert_eq!(told(&client, &api), (1, 0));
    assert_eq!(claims(&project), ["UserPromptSubmit"]);
    assert!(!project.has(".kiln/tmp/pending-nudge.json"));
}

#[test]
fn with_all_three_ways_the_model_sees_the_nudge_once() {
    let project = Project::in_flight(ONE_NUDGE);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    api.first_holding(WAKE);
    assert_eq!(told(&client, &api), (1, 1));
    assert_eq!(claims(&project).len(), 1);
}

/// Sends a prompt at the moment at which the nudge is staged.
fn race(project: &Project) {
    let api = Api::start();
    let client = Client::open(project, &api, UNASKED);
    client.prompt("@say hello");
    let racing = "@tool Bash {\"command\":\"true\"}\n@say RACED";
    client.write(racing);
    wait_until("a nudge", || !project.journalled("nudged").is_empty());
    client.send(racing);
    wait_until("the nudge to be told", || !api.holding(NUDGE).is_empty());
    api.first_holding("@say RACED");
    assert_eq!(told(&client, &api).0, 1);
    assert_eq!(claims(project).len(), 1);
}

#[test]
fn a_prompt_that_races_all_the_wakes_shows_the_nudge_once() {
    race(&Project::in_flight(ONE_NUDGE));
}

#[test]
fn a_prompt_that_races_file_changed_shows_the_nudge_once() {
    race(&Project::in_flight(ONE_NUDGE).without("Stop", "bridge"));
}
