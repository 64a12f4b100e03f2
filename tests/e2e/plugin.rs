//! The hooks as the plugin registers them: a client that loads the plugin's folder, with the program where an installation puts it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::api::Api;
use crate::client::{Client, UNASKED};
use crate::project::{Project, WATCHDOG, remove_handler};

const ONE_NUDGE: &str = "[rule]\nidle_after = \"3s\"\nnudge_every = \"10m\"\n[daemon]\ntick = \"1s\"\n";

/// Copies the plugin beside the project, without one handler: the event, and the word it calls the program with.
fn plugin_without(project: &Project, event: &str, word: &str) {
    let (from, to) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin"), project.scratch().join("plugin"));
    for name in [".claude-plugin/plugin.json", "hooks/hooks.json", "bin/run-watchdog"] {
        fs::create_dir_all(to.join(name).parent().expect("a file lies in a folder")).expect("a new folder");
        fs::copy(from.join(name), to.join(name)).unwrap_or_else(|error| panic!("plugin/{name}: {error}"));
    }
    let text = fs::read(to.join("hooks/hooks.json")).expect("it was copied");
    let mut hooks: Value = serde_json::from_slice(&text).expect("the plugin's hooks are JSON");
    assert_eq!(remove_handler(&mut hooks, event, word), 1, "{event} has one handler that calls {word:?}");
    fs::write(to.join("hooks/hooks.json"), hooks.to_string()).expect("a file in the scratch folder");
}

/// Leaves an idle session to the plugin without one of its handlers, and returns by which way it was woken.
fn woken_without(event: &str, word: &str) -> Vec<Value> {
    let project = Project::in_flight_without_hooks(ONE_NUDGE);
    plugin_without(&project, event, word);
    let bin = project.scratch().join("home/.local/bin");
    fs::create_dir_all(&bin).expect("a new folder");
    symlink(WATCHDOG, bin.join("watchdog")).expect("a new link");
    let api = Api::start();
    let folder = project.scratch().join("plugin").display().to_string();
    let client = Client::open(&project, &api, &[UNASKED, &["--plugin-dir", &folder]].concat());
    client.prompt("@say hello");
    api.first_holding("KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: idle_seconds=");
    project.journalled("claimed").into_iter().map(|line| line["via"].clone()).collect()
}

#[test]
fn the_plugin_wakes_an_idle_session_through_its_bridge() {
    assert_eq!(woken_without("FileChanged", "hook"), ["bridge"]);
}

#[test]
fn the_plugin_wakes_an_idle_session_through_file_changed() {
    assert_eq!(woken_without("Stop", "bridge"), ["FileChanged"]);
}
