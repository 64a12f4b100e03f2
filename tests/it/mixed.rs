//! A project of several kinds at once: Kiln's pipeline, two workers in task folders, a team session. One stalls and the
//! others do not: the verdict names the one.

use std::fs;

use serde_json::{Value, json};

use watchdog::model::event::What;
use watchdog::protocol::worker_mark;

use crate::team_session::Team;
use crate::timed::Timed;
use crate::world::{eventually, eventually_some, put};

/// The four, by the name under which they are told of.
const ALL: [&str; 4] = ["team-lead", "task:.task/fix/p-1", "task:.task/fix/p-2", "team:TLS-api-2026-01-15"];

/// A worker says which step it is at.
fn signal(world: &Timed, track: &str, step: &str) {
    let folder = world.path().join(track.strip_prefix("task:").unwrap());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("TASK.md"), "- [ ] a\n").unwrap();
    let stamp = worker_mark::stamp(world.now().wall);
    let value = json!({"status": "running", "step": step, "timestamp": stamp});
    put(&folder.join("SIGNAL.json"), value.to_string().as_bytes());
}

/// When a track was last heard of, by the journal.
fn heard(world: &Timed, track: &str) -> usize {
    world.count(|what| match what {
        What::Track(said) => said.track == track,
        What::Posted(post) => post.track == track,
        _ => false,
    })
}

/// Who was told of, with the cause.
fn told(world: &Timed) -> Vec<(String, String)> {
    let noted = world.journal().into_iter().filter_map(|event| match event.what {
        What::Noted { cause, root, .. } if cause != "violation" => Some((cause, root)),
        _ => None,
    });
    noted.collect()
}

/// All but one move, every four minutes.
fn move_all_but(world: &Timed, team: &mut Team<'_>, one: &str, step: u32) {
    for name in ALL.into_iter().filter(|name| *name != one) {
        let before = heard(world, name);
        match name {
            "team-lead" => {
                world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": format!("t{step}")}));
                continue;
            }
            task if task.starts_with("task:") => signal(world, task, &format!("step {step}")),
            _ => team.post("analyst", "coordinator", "progress", &Value::Null),
        }
        eventually("it is noted", || heard(world, name) > before);
    }
}

/// Lets all but one move for so many steps of four minutes, and gives the world back as it is then.
fn stalled(one: &str, steps: u32) -> Timed {
    let world = Timed::new("build");
    world.begin();
    world.does("UserPromptSubmit", &json!({"prompt": "go"}));
    signal(&world, ALL[1], "begin");
    signal(&world, ALL[2], "begin");
    let mut team = Team::new(&world);
    team.post("analyst", "coordinator", "progress", &Value::Null);
    eventually("all are seen", || ALL[1..].iter().all(|track| heard(&world, track) > 0));
    for step in 0..steps {
        world.pass(240);
        move_all_but(&world, &mut team, one, step);
    }
    world.looked();
    drop(team);
    world
}

#[test]
fn the_pipeline_stalls_and_is_nudged_by_its_own_rule_while_workers_and_team_go_on() {
    let world = stalled("team-lead", 2);
    let text = world.nudge(1);
    assert!(text.contains("cause=nobody-waits; root=team-lead."), "{text}");
    assert!(!ALL[1..].iter().any(|track| text.contains(track)), "{text}");
    assert_eq!(told(&world), []);
    let status = world.status();
    assert_eq!((&status["verdict"], &status["diagnosis"]["root"]), (&json!("quiet"), &json!("team-lead")));
}

/// The one is told of, once, to the lead by a note and to the operator; no nudge is counted.
fn names_the_one(one: &str) {
    let world = stalled(one, 8);
    eventually("it is told", || !told(&world).is_empty());
    let note = eventually_some("a note is staged", || world.pending());
    let text = note["additionalContext"].as_str().unwrap();
    assert_eq!(note["nudge_n"], 0, "{text}");
    assert!(text.contains(&format!("cause=worker-silent; root={one}.")), "{text}");
    for other in ALL.into_iter().filter(|other| *other != one) {
        assert!(!text.contains(other), "{other}: {text}");
    }
    world.looked();
    assert_eq!(told(&world), [("worker-silent".to_owned(), one.to_owned())]);
    let status = world.status();
    assert_eq!((&status["verdict"], &status["reason"]), (&json!("quiet"), &json!("active")), "{status}");
    assert_eq!(
        status["recognised"]["words"],
        ".kiln (stage build), 2 task folders, team session TLS-api-2026-01-15"
    );
}

#[test]
fn a_worker_stalls_and_is_the_one_that_is_named() {
    names_the_one(ALL[1]);
}

#[test]
fn the_other_worker_stalls_and_is_the_one_that_is_named() {
    names_the_one(ALL[2]);
}

#[test]
fn the_team_session_stalls_and_is_the_one_that_is_named() {
    names_the_one(ALL[3]);
}
