//! Sessions by their files, look by look: what becomes an event, and that it does once.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::model::wording::clock;
use crate::store::journal;
use crate::store::scratch::{Scratch, project};
use crate::system;

mod rules;

const SESSION: &str = ".workflow/.team/TLS-a";

/// A project with a team session, and a source that looks at it.
struct World {
    root: Scratch,
    teams: Teams,
    policy: Policy,
    /// Seconds after the beginning.
    now: u64,
    began: Moment,
}

impl World {
    fn new() -> Self {
        let (root, policy) = (project(), Policy::default());
        let world = Self { root, teams: Teams::default(), policy, now: 0, began: system::clock::now() };
        for folder in [".msg", "artifacts", "wisdom", "explorations"] {
            fs::create_dir_all(world.root.path().join(SESSION).join(folder)).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(SESSION).join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn stamp(&self, seconds: i64) -> String {
        clock(self.began.wall + 1000 * seconds)
    }

    /// Appends a message as the team's tool does.
    fn post(&self, id: u32, from: &str, to: &str, kind: &str, data: &Value) {
        let mut line = json!({"id": format!("MSG-{id:03}"), "ts": self.stamp(-3600), "from": from, "to": to, "type": kind});
        if !data.is_null() {
            line["data"] = data.clone();
        }
        let path = self.path(".msg/messages.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{text}{line}\n")).unwrap();
    }

    /// A report with its artifact.
    fn report(&self, id: u32, from: &str, task: &str, more: &Value) {
        let name = format!("artifacts/{task}-report.md");
        self.put(&name, "# Report\n");
        self.post(id, from, "coordinator", "state_update", &report(task, more));
    }

    fn meta(&self, more: &Value) {
        let mut meta = json!({"status": "active", "updated_at": self.stamp(0), "roles": ["analyst", "planner", "supervisor"]});
        for (key, value) in more.as_object().unwrap() {
            meta[key] = value.clone();
        }
        self.put(".msg/meta.json", &meta.to_string());
    }

    fn moment(&self) -> Moment {
        let after = Duration::from_secs(self.now);
        let wall = self.began.wall + 1000 * self.now as i64;
        Moment { wall, awake: self.began.awake + after, boot: self.began.boot + after }
    }

    fn look_without_noting(&mut self) -> News {
        let ledger = journal::fold(&self.root).unwrap();
        let view = View { root: &self.root, policy: &self.policy, ledger: &ledger, now: self.moment() };
        self.teams.look(&view)
    }

    /// One look, five seconds after the one before, so that files that were written by then are calm.
    fn look(&mut self) -> Vec<String> {
        self.now += 5;
        let news = self.look_without_noting();
        journal::append(&self.root, &news.events).unwrap();
        news.events.iter().filter_map(|event| told(&event.what)).chain(news.faults).collect()
    }

    /// A daemon is started anew.
    fn restart(&mut self) {
        self.teams = Teams::default();
    }
}

fn report(task: &str, more: &Value) -> Value {
    let mut data = json!({
        "status": "task_complete", "task_id": task, "ref": format!("{SESSION}/artifacts/{task}-report.md"),
        "key_findings": ["one"], "decisions": ["kept it because it works"], "verification": "tested"
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        data[key] = value.clone();
    }
    data
}

/// An event in words; how far files were read is left out.
fn told(what: &What) -> Option<String> {
    Some(match what {
        What::Posted(post) => {
            format!("{} {} → {} {} {}", post.line, post.from, post.to, post.kind, post.task).trim().to_owned()
        }
        What::Track(said) => {
            format!("{} {} {}", said.track, said.state.word(), said.reason).trim().to_owned()
        }
        What::Found(found) => {
            format!("{} {} {}", found.rule, found.place.replace(SESSION, "…"), found.who).trim().to_owned()
        }
        What::TrackGone { track } => format!("{track} gone"),
        _ => return None,
    })
}

fn halt(task: &str, verdict: &str) -> Value {
    json!({"supervision_verdict": verdict, "supervision_score": 0.5, "risks_logged": 0, "blocks_detected": u32::from(verdict == "block"), "task_id": task})
}

#[test]
fn a_healthy_session_is_told_message_by_message_and_nothing_is_found() {
    let mut world = World::new();
    assert_eq!(world.look(), [""; 0]);
    world.meta(&json!({}));
    assert_eq!(world.look(), ["team:TLS-a running"]);
    world.post(1, "coordinator", "analyst", "message", &Value::Null);
    world.post(2, "analyst", "coordinator", "progress", &Value::Null);
    world.report(3, "analyst", "RESEARCH-001", &Value::Null);
    world.put("wisdom/learnings.md", "one\n");
    world.put("explorations/explore-api.json", "{}");
    let entry = json!({"angle": "api", "file": "explore-api.json", "created_by": "RESEARCH-001", "timestamp": world.stamp(0)});
    world.put("explorations/cache-index.json", &json!({"entries": [entry]}).to_string());
    assert_eq!(
        world.look(),
        [
            "1 coordinator → analyst message",
            "2 analyst → coordinator progress",
            "3 analyst → coordinator state_update RESEARCH-001"
        ]
    );
    world.meta(
        &json!({"role_state": {"analyst": {"task_id": "RESEARCH-001", "_updated_at": world.stamp(-3599)}}}),
    );
    world.put("wisdom/learnings.md", "one\ntwo\n");
    world.put(
        "tasks.json",
        &json!({"tasks": {"RESEARCH-001": {"status": "completed", "role": "analyst"}}}).to_string(),
    );
    world.now += 100;
    assert_eq!(world.look(), [""; 0]);
    world.restart();
    assert_eq!(world.look(), [""; 0]);
    world.post(4, "coordinator", "all", "shutdown", &Value::Null);
    assert_eq!(world.look(), ["4 coordinator → all shutdown", "team:TLS-a done"]);
    assert_eq!(world.look(), [""; 0]);
}

#[test]
fn a_restart_repeats_nothing_and_misses_nothing() {
    let mut world = World::new();
    world.meta(&json!({}));
    world.post(1, "analyst", "planer", "message", &Value::Null);
    let found = [
        "1 analyst → planer message",
        "team:TLS-a running",
        "undeclared-role …/.msg/messages.jsonl:1 analyst",
    ];
    assert_eq!(world.look(), found);
    world.restart();
    assert_eq!(world.look(), [""; 0]);
    // It is written while nobody looks.
    world.post(2, "analyst", "planner", "message", &Value::Null);
    world.restart();
    assert_eq!(world.look(), ["2 analyst → planner message"]);
    // The journal is rotated: what is known is in its snapshot.
    journal::rotate(&world.root, world.moment().wall, 0).unwrap();
    world.post(2, "planner", "analyst", "message", &Value::Null);
    world.restart();
    assert_eq!(world.look(), ["3 planner → analyst message", "id-duplicate …/.msg/messages.jsonl:3 planner"]);
    assert_eq!(world.look(), [""; 0]);
}

#[test]
fn what_could_not_be_noted_is_found_again() {
    let mut world = World::new();
    world.post(1, "analyst", "coordinator", "message", &Value::Null);
    let first = world.look_without_noting();
    assert!(!first.events.is_empty());
    world.teams.forget();
    assert!(world.teams.again().is_some());
    assert_eq!(world.look_without_noting().events.len(), first.events.len());
    world.teams.forget();
    assert_eq!(world.look(), ["1 analyst → coordinator message", "team:TLS-a running"]);
}

#[test]
fn a_checkpoint_that_blocks_halts_the_track_until_it_is_passed_also_over_a_restart() {
    let mut world = World::new();
    world.meta(&json!({}));
    world.report(1, "supervisor", "CHECKPOINT-001", &halt("CHECKPOINT-001", "block"));
    assert_eq!(
        world.look(),
        [
            "1 supervisor → coordinator state_update CHECKPOINT-001",
            "team:TLS-a blocked supervision_verdict of CHECKPOINT-001 is block; blocks_detected is 1"
        ]
    );
    world.post(2, "coordinator", "all", "message", &Value::Null);
    assert_eq!(world.look(), ["2 coordinator → all message"]);
    world.restart();
    assert_eq!(world.look(), [""; 0]);
    world.report(3, "supervisor", "CHECKPOINT-001", &halt("CHECKPOINT-001", "pass"));
    assert_eq!(
        world.look(),
        ["3 supervisor → coordinator state_update CHECKPOINT-001", "team:TLS-a running"]
    );
}

#[test]
fn a_session_that_was_over_before_it_was_watched_is_taken_as_it_is() {
    let mut world = World::new();
    world.meta(&json!({"status": "completed"}));
    world.post(1, "analyst", "nobody", "message", &Value::Null);
    world.post(1, "analyst", "nobody", "state_update", &json!({"task_id": "RESEARCH-001"}));
    world.post(2, "planner", "nobody", "message", &Value::Null);
    world.put("explorations/cache-index.json", "[]");
    world.put("tasks.json", &json!({"tasks": {"PLAN-001": {"status": "completed"}}}).to_string());
    let found =
        ["2 analyst → nobody state_update RESEARCH-001", "3 planner → nobody message", "team:TLS-a ended"];
    assert_eq!(world.look(), found);
    world.now += 100;
    assert_eq!(world.look(), [""; 0]);
    world.restart();
    assert_eq!(world.look(), [""; 0]);
    // Somebody takes it up again.
    world.meta(&json!({}));
    assert_eq!(world.look(), [""; 0]);
    world.post(4, "planner", "analyst", "message", &Value::Null);
    assert_eq!(world.look()[..2], ["4 planner → analyst message", "team:TLS-a running"]);
}

#[test]
fn a_session_that_rests_for_a_day_is_no_team_at_work() {
    let mut world = World::new();
    world.post(1, "analyst", "coordinator", "message", &Value::Null);
    let log = fs::File::options().append(true).open(world.path(".msg/messages.jsonl")).unwrap();
    log.set_modified(
        std::time::SystemTime::UNIX_EPOCH + Duration::from_millis(world.began.wall as u64 - 90_000_000),
    )
    .unwrap();
    assert_eq!(world.look(), ["1 analyst → coordinator message", "team:TLS-a ended"]);
}

#[test]
fn a_session_that_is_removed_is_gone_at_the_second_look() {
    let mut world = World::new();
    world.post(1, "analyst", "coordinator", "message", &Value::Null);
    world.look();
    let aside = world.root.path().join("aside");
    fs::rename(world.path(""), &aside).unwrap();
    assert_eq!(world.look(), [""; 0]);
    assert!(world.teams.again().is_some());
    fs::rename(&aside, world.path("")).unwrap();
    assert_eq!(world.look(), [""; 0], "it was away for a moment");
    fs::remove_dir_all(world.path("")).unwrap();
    assert_eq!((world.look().len(), world.look()), (0, vec!["team:TLS-a gone".to_owned()]));
    assert_eq!(world.look(), [""; 0]);
    assert!(journal::fold(&world.root).unwrap().tracks.all.is_empty());
}

#[test]
fn a_log_that_was_cleared_is_another_one_and_is_said_so() {
    let mut world = World::new();
    world.report(1, "supervisor", "CHECKPOINT-001", &halt("CHECKPOINT-001", "block"));
    assert_eq!(world.look().len(), 2);
    let line = json!({"id": "MSG-001", "ts": world.stamp(10), "from": "analyst", "type": "message"});
    world.put(".msg/messages.jsonl", &format!("{line}\n"));
    let found = world.look();
    assert_eq!(found[..2], ["1 analyst → coordinator message", "team:TLS-a running"]);
    assert!(
        found[2].ends_with("none of the messages that were read is left; it is read from its beginning"),
        "{found:?}"
    );
    assert_eq!(world.look(), [""; 0]);
}

#[test]
fn folders_of_sessions_are_watched_up_to_a_bound() {
    let mut world = World::new();
    for n in 0..40 {
        let folder = world.root.path().join(format!(".workflow/.team/TLS-{n:02}/.msg"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("messages.jsonl"), "").unwrap();
    }
    world.look();
    assert_eq!(world.teams.folders().len(), 1 + 2 * WATCHED);
    assert!(world.teams.folders()[0].ends_with(Path::new(".workflow/.team")));
    assert_eq!(world.teams.sessions.len(), 40);
}
