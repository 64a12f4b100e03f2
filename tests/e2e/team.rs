//! Named teammates on a real client.

use serde_json::{Value, json};

use crate::api::{Api, Request};
use crate::client::{Client, UNASKED};
use crate::project::Project;
use crate::wait::{wait_for, wait_until};

/// Silence is of no matter here.
const CALM: &str = "[daemon]\ntick = \"1s\"\n";

/// Works until the test writes the file `go`.
const HOLD: &str = "@tool Bash {\"command\":\"while [ ! -e go ]; do sleep 0.05; done\"}";

/// A directive that starts a teammate with a script of its own.
fn start(name: &str, script: &str) -> String {
    let input = json!({"name": name, "description": "a teammate", "subagent_type": "general-purpose",
                       "prompt": format!("PROMPT-OF-{name}\n{script}")});
    format!("@tool Agent {input}")
}

/// Directives that send a message; the tool has to be loaded first.
fn send(to: &str) -> String {
    let load = json!({"query": "select:SendMessage"});
    let input =
        json!({"to": to, "summary": "asks for a status", "message": "STATUS_REQUEST: how far is it?"});
    format!("@tool ToolSearch {load}\n@tool SendMessage {input}")
}

/// The requests of a teammate: those that hold its prompt and nothing of the lead's.
fn requests_of(api: &Api, name: &str) -> Vec<Request> {
    let mut requests = api.holding(&format!("PROMPT-OF-{name}"));
    requests.retain(|request| !request.holds("LEAD-IS-DONE"));
    requests
}

fn teammates(project: &Project) -> Vec<String> {
    let activity = project.read_json(".kiln/tmp/activity.json").unwrap_or_default();
    let listed = activity["active_teammates"].as_object().cloned().unwrap_or_default();
    listed.keys().cloned().collect()
}

#[test]
fn two_named_teammates_appear_in_the_activity_and_disappear() {
    let project = Project::in_flight(CALM).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let working = |name| start(name, &format!("{HOLD}\n@say DONE"));
    client.prompt(&format!("{}\n{}\n@say LEAD-IS-DONE", working("ken"), working("ryu")));
    wait_until("two teammates in the activity", || {
        let mut listed = teammates(&project);
        listed.sort();
        listed == ["ken", "ryu"]
    });
    project.write("go", "");
    wait_until("the teammates to go idle", || project.recorded("TeammateIdle").len() == 2);
    wait_until("no teammate in the activity", || teammates(&project).is_empty());
    let told: Vec<Value> =
        project.journalled("idle").into_iter().filter(|line| line["told"] == true).collect();
    assert!(told.is_empty(), "a teammate that was no longer listed was told that it is: {told:?}");
}

#[test]
fn a_message_to_an_unknown_name_brings_the_names_to_its_sender() {
    let project = Project::in_flight(CALM).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let ken = start("ken", &format!("{HOLD}\n@say DONE"));
    let ryu = start("ryu", &format!("{}\n@say DONE", send("team-laed")));
    client.prompt(&format!("{ken}\n{ryu}\n{}\n@say LEAD-IS-DONE", send("kenn")));
    let failed = "was not delivered: no agent of that name is reachable. Names that exist";
    let lead = wait_for("the lead to be told", || {
        let mut told = api.holding(failed).into_iter();
        told.find(|request| request.holds("LEAD-IS-DONE"))
    });
    assert!(lead.holds("the message to \"kenn\""), "{}", lead.conversation());
    assert!(lead.holds("nearest first: ken"), "{}", lead.conversation());
    let ryu = wait_for("the teammate to be told", || {
        requests_of(&api, "ryu").into_iter().find(|request| request.holds(failed))
    });
    assert!(ryu.holds("nearest first: team-lead"), "{}", ryu.conversation());
    assert!(!ryu.holds("the message to \"kenn\""), "the teammate was told of the lead's message");
    project.write("go", "");
}

#[test]
fn the_acknowledgement_of_a_spawn_is_in_the_started_agents_first_request() {
    let project = Project::in_flight(CALM).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt(&format!("{}\n@say LEAD-IS-DONE", start("ken", "@say DONE")));
    let spawned = project.first_recorded("SubagentStart", "agent_type", "ken");
    let id = spawned["agent_id"].as_str().expect("an agent has an id");
    let first = wait_for("the teammate's first request", || requests_of(&api, "ken").into_iter().next());
    let words = format!("SubagentStart: agent_type=ken agent_id={id} — spawn acknowledged");
    assert_eq!(first.count(&words), 1, "{}", first.conversation());
}
