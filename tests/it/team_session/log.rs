//! Logs that several processes write at once, without a lock, and that are written anew under way.

use std::process::{Command, Stdio};

use watchdog::model::event::What;
use watchdog::model::track::State;

use super::{ID, Team};
use crate::world::{Running, World, eventually};

/// Appends so many messages as one process, each in one write, or in two halves.
fn writer(team: &Team<'_>, from: &str, count: u32, in_halves: bool) -> Running {
    let line = if in_halves {
        r#"printf '{"id":"MSG-%03d","from":"%s",' $i "$1" >>"$2"; printf '"to":"all","type":"progress"}\n' >>"$2""#
    } else {
        r#"printf '{"id":"MSG-%03d","from":"%s","to":"all","type":"progress"}\n' $i "$1" >>"$2""#
    };
    let script = format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); {line}; done");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", from]).arg(team.log()).stdin(Stdio::null());
    Running(command.spawn().unwrap())
}

#[test]
fn writers_without_a_lock_lose_no_message_and_their_doubled_ids_are_told() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    let team = Team::new(&world);
    let mut writers = [
        writer(&team, "analyst", 150, false),
        writer(&team, "planner", 150, false),
        writer(&team, "executor", 150, false),
        writer(&team, "supervisor", 60, true),
    ];
    eventually("all have written", || writers.iter_mut().all(|writer| !writer.is_running()));
    team.append("{\"id\":\"MSG-999\",\"from\":\"coordinator\",\"to\":\"all\"}\n");
    team.noted();
    let text = std::fs::read_to_string(team.log()).unwrap();
    let whole =
        text.lines().enumerate().filter(|(_, line)| serde_json::from_str::<serde_json::Value>(line).is_ok());
    let wanted: Vec<u64> = whole.map(|(place, _)| place as u64 + 1).collect();
    let posted: Vec<u64> = team.posted().iter().map(|post| post.line).collect();
    assert_eq!(posted, wanted, "each line that holds a message, once, in order");
    let rules = team.rules();
    assert!(rules.iter().any(|rule| rule == "id-duplicate"), "{rules:?}");
    assert!(
        rules.iter().all(|rule| ["id-duplicate", "id-decreasing", "torn-line"].contains(&rule.as_str())),
        "{rules:?}"
    );
    team.is(State::Running);
}

#[test]
fn a_log_that_its_tool_writes_anew_repeats_nothing() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    let mut team = Team::new(&world);
    for _ in 0..3 {
        team.post("analyst", "planner", "message", &serde_json::Value::Null);
    }
    team.noted();
    // Reading a mailbox changes every line in place.
    let text = std::fs::read_to_string(team.log())
        .unwrap()
        .replace("\"delivered\"", "\"delivered\",\"delivered_at\":\"now\"");
    std::fs::write(team.log(), text).unwrap();
    team.post("planner", "analyst", "message", &serde_json::Value::Null);
    team.noted();
    assert_eq!(team.posted().iter().map(|post| post.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
    // A log that was cleared is another one.
    std::fs::remove_file(team.log()).unwrap();
    team.next = 1;
    team.post("planner", "coordinator", "message", &serde_json::Value::Null);
    eventually("the new one is noted", || team.posted().len() == 5);
    assert_eq!(team.posted()[4].line, 1);
    assert_eq!(team.rules(), [""; 0]);
}

#[test]
fn a_link_in_place_of_a_log_is_refused_and_said_so() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    let team = Team::new(&world);
    std::os::unix::fs::symlink("/etc/hostname", team.log()).unwrap();
    world.begin();
    let says = || {
        world
            .beacon()
            .is_some_and(|beacon| beacon.faults.iter().any(|fault| fault.contains("it is a symlink")))
    };
    eventually("the beacon says so", says);
    assert_eq!(world.count(|what| matches!(what, What::Posted(_))), 0);
    std::fs::remove_file(team.log()).unwrap();
    team.append(&format!("{{\"id\":\"MSG-001\",\"from\":\"analyst\",\"summary\":\"{ID}\"}}\n"));
    team.noted();
    eventually("the fault is over", || !says());
}
