//! A checkpoint that blocks halts for a person.

use serde_json::Value;

use watchdog::model::track::State;

use super::Team;
use crate::world::World;

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
