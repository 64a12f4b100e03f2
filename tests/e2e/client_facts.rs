//! What the product relies on in the client, shown without the product: if one of these fails, the client changed.

use serde_json::{Value, json};

use crate::api::Api;
use crate::client::{Client, UNASKED};
use crate::project::Project;
use crate::wait::{wait_for, wait_until};

fn answering(project: &Project, name: &str, answer: &Value) -> Value {
    let script = project.script(name, &format!("cat >/dev/null\ncat <<'ANSWER'\n{answer}\nANSWER"));
    json!({"hooks": [{"type": "command", "command": script, "args": []}]})
}

#[test]
fn a_scripted_turn_uses_a_tool_and_ends() {
    let project = Project::bare().with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@tool Bash {\"command\":\"echo seen-by-the-tool\"}\n@say the turn is over");
    let stop = project.first_recorded("Stop", "last_assistant_message", "the turn is over");
    assert_eq!(stop["cwd"], json!(project.path()));
    assert!(!api.holding("seen-by-the-tool").is_empty());
    assert_eq!(project.recorded("PostToolUse").len(), 1);
}

#[test]
fn a_background_hook_that_ends_with_2_wakes_an_idle_client() {
    let project = Project::bare();
    let script = project.script("wake", "cat >/dev/null\necho 'MARKER of the wake' >&2\nexit 2");
    let handler =
        json!({"type": "command", "command": script, "args": [], "asyncRewake": true, "timeout": 60});
    project.add_hook("Stop", json!({"hooks": [handler]}));
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    let request = api.first_holding("MARKER of the wake");
    assert!(request.holds("<task-notification>"), "{}", request.conversation());
}

#[test]
fn context_reaches_a_started_agent_only_inside_the_hook_specific_output() {
    let project = Project::bare();
    let inner = json!({"hookSpecificOutput":
        {"hookEventName": "SubagentStart", "additionalContext": "CONTEXT inside"}});
    let entry = answering(&project, "inside", &inner);
    project.add_hook("SubagentStart", entry);
    let entry = answering(&project, "bare", &json!({"additionalContext": "CONTEXT bare"}));
    project.add_hook("SubagentStart", entry);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let input =
        json!({"description": "look", "prompt": "@say AGENT-IS-DONE", "subagent_type": "general-purpose"});
    client.prompt(&format!("@tool Agent {input}\n@say LEAD-IS-DONE"));
    let request = api.first_holding("CONTEXT inside");
    assert!(request.holds("@say AGENT-IS-DONE"), "{}", request.conversation());
    assert!(api.holding("CONTEXT bare").is_empty());
}

#[test]
fn a_teammates_closing_text_reaches_the_lead_in_a_turn_that_no_prompt_event_announces() {
    let project = Project::bare().with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let input = json!({"name": "ken", "description": "a teammate", "subagent_type": "general-purpose",
                       "prompt": "@say PRINTED-IN-THE-CLOSING-TEXT"});
    client.prompt(&format!("@tool Agent {input}\n@say LEAD-IS-DONE"));
    let request = wait_for("the lead to hear of it", || {
        api.holding("idle_notification").into_iter().find(|request| request.holds("LEAD-IS-DONE"))
    });
    let told = "\"result\":\"PRINTED-IN-THE-CLOSING-TEXT\"";
    assert!(request.holds(told), "{}", request.conversation());
    wait_until("the end of the lead's second turn", || project.recorded("Stop").len() == 2);
    assert_eq!(project.recorded("UserPromptSubmit").len(), 1);
}
