//! Hooks that are registered, checked and taken out while a session is open.

use serde_json::json;

use crate::api::Api;
use crate::client::{Client, UNASKED};
use crate::project::Project;
use crate::wait::{wait_for, wait_until};

const CALM: &str = "[daemon]\ntick = \"1s\"\n";

#[test]
fn a_session_that_runs_already_picks_the_hooks_up_and_drops_them_again() {
    let project = Project::in_flight_without_hooks(CALM);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say BEFORE");
    api.first_holding("@say BEFORE");
    assert!(!project.has(".kiln/tmp"), "somebody watches without hooks");

    project.install();
    // The client reads its settings again when their file changes; that takes it a moment.
    let mut turns = 0;
    let mut is_heard = || {
        turns += 1;
        let before = project.journalled("tool_end").len();
        write_a_file(&project, &api, &client, &format!("{turns}.txt"));
        project.journalled("tool_end").len() > before
    };
    wait_until("a hook that is called", &mut is_heard);
    // Writing a file is what starts a daemon where a session began without hooks.
    wait_for("a daemon", || project.beacon());

    let removed = project.watchdog(&["uninstall"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    wait_until("a turn without hooks", || !is_heard());
}

/// Lets the lead write a file, and waits until the model has heard that it is written.
fn write_a_file(project: &Project, api: &Api, client: &Client, name: &str) {
    let input = json!({"file_path": project.path().join(name), "content": "text"});
    client.prompt(&format!("@tool Write {input}\n@say WRITTEN"));
    wait_until("the model to hear of the file", || api.holding(&format!("/{name}")).len() >= 2);
    assert!(project.has(name));
}

#[test]
fn doctor_finds_nothing_wrong_in_an_open_session() {
    let project = Project::in_flight(CALM);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    wait_until("a turn that ended", || !project.journalled("turn_end").is_empty());
    let doctor = project.watchdog(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success(), "{said}\n{}", String::from_utf8_lossy(&doctor.stderr));
}
