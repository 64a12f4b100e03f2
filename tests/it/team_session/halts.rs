//! A checkpoint that blocks halts for a person.

use std::fs;

use serde_json::Value;

use watchdog::model::track::State;

use super::{ID, Team};
use crate::world::{World, eventually};

#[test]
fn a_block_halts_the_session_until_the_checkpoint_is_passed_also_over_a_restart() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    let mut team = Team::new(&world);
    team.verdict("CHECKPOINT-001", "block", 2);
    team.is(State::Blocked);
    team.post("coordinator", "all", "message", &Value::Null);
    team.noted();
    assert_eq!(world.run(&["stop"]).code, 0);
    assert_eq!(world.run(&["start"]).code, 0);
    team.publish("executor", "IMPL-001", &Value::Null);
    team.noted();
    assert_eq!(team.state(), Some(State::Blocked), "other work goes on, and the pipeline does not");
    team.verdict("CHECKPOINT-001", "warn", 0);
    team.is(State::Running);
    assert_eq!(team.rules(), [""; 0]);
}

#[test]
fn the_operator_is_told_of_a_halt_once_and_of_the_next_again() {
    let world = World::new("build");
    let notes = world.beside("notes").join("reports");
    let alert = format!(
        "run = [\"/bin/sh\", \"-c\", \"cat >>\\\"$1\\\"\", \"sh\", {:?}]",
        notes.display().to_string()
    );
    let quick = "[daemon]\ntick = \"200ms\"\n[quiet]\ntell_person_after = \"1s\"\n";
    world.settings(&format!("{quick}[[alert]]\non = [\"waiting\"]\n{alert}\n"));
    world.begin();
    let told = || -> Vec<Value> {
        let text = fs::read_to_string(&notes).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let mut team = Team::new(&world);
    team.verdict("CHECKPOINT-001", "block", 1);
    eventually("the operator is told", || told().len() == 1);
    let summary = told()[0]["summary"].as_str().unwrap().to_owned();
    let track = format!("team:{ID} has been halted for a person since ");
    let reason = ": supervision_verdict of CHECKPOINT-001 is block; blocks_detected is 1.";
    assert!(summary.contains(&track) && summary.ends_with(reason), "{summary}");
    assert_eq!(world.run(&["stop"]).code, 0);
    assert_eq!(world.run(&["start"]).code, 0);
    team.verdict("CHECKPOINT-001", "pass", 0);
    team.is(State::Running);
    assert_eq!(told().len(), 1, "it is told once, also over a restart");
    team.verdict("CHECKPOINT-002", "block", 0);
    eventually("the operator is told of the next", || told().len() == 2);
}
