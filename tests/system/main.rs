//! Faults that need a tracer, namespaces or mounts. `tests/system/field` runs these in a mount namespace of their own:
//! whatever is mounted here is gone with it.
#![allow(clippy::unwrap_used)]

mod disk;
mod processes;
mod users;
mod watching;

#[allow(dead_code, unused_imports, reason = "the harness is shared with the integration tests")]
#[path = "../it/timed.rs"]
mod timed;
#[allow(dead_code, unused_imports, reason = "the harness is shared with the integration tests")]
#[path = "../it/world/mod.rs"]
mod world;

use std::process::Command;

/// Runs a tool that must succeed.
#[track_caller]
fn tool(name: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(name).args(arguments).output().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The same command behind another one, with its environment and folder.
fn behind(words: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program()).args(command.get_args()).env_clear();
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            outer.env(name, value);
        }
    }
    outer
}
