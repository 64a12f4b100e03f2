//! A permission prompt that waits for a person.

use crate::api::Api;
use crate::client::Client;
use crate::project::Project;
use crate::wait::{wait_for, wait_until};

#[test]
fn an_open_permission_prompt_brings_no_nudge_and_status_says_who_is_asked_what() {
    let settings = "[rule]\nidle_after = \"3s\"\nnudge_every = \"4s\"\n[daemon]\ntick = \"1s\"\n";
    let project = Project::in_flight(settings).with_recorder();
    let api = Api::start();
    let client = Client::open(&project, &api, &["--permission-mode", "default"]);
    client.prompt("@tool Bash {\"command\":\"touch made-with-permission\"}\n@say ANSWERED");
    project.first_recorded("PermissionRequest", "tool_name", "Bash");
    // The daemon gives this reason only when silence alone would have made a nudge.
    wait_until("the daemon to stay quiet for the person's sake", || {
        project.beacon().is_some_and(|beacon| beacon["reason"] == "waits-for-person")
    });
    let status = project.watchdog(&["status"]);
    let said = String::from_utf8_lossy(&status.stdout);
    for part in ["team-lead", "permission", "Bash"] {
        assert!(said.contains(part), "status does not say {part:?}:\n{said}");
    }
    assert!(!project.has(".kiln/tmp/pending-nudge.json"));
    assert!(project.journalled("nudged").is_empty());
    client.press(&["Enter"]);
    wait_for("the permitted tool", || project.read("made-with-permission"));
    project.first_recorded("Stop", "last_assistant_message", "ANSWERED");
}
