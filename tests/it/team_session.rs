//! Team message sessions by the files that a team's tool writes, watched by a real daemon.

mod halts;
mod log;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use watchdog::model::event::{Event, What};
use watchdog::model::track::{Finding, Posting, State};
use watchdog::model::wording::clock;
use watchdog::store::journal;
use watchdog::system;

use crate::world::{World, eventually, put};

const ID: &str = "TLS-api-2026-01-15";

/// A team session in a project, written as its tool does: the log by appending, the record as a whole.
pub(crate) struct Team<'a> {
    world: &'a World,
    record: Value,
    next: u32,
}

impl<'a> Team<'a> {
    /// Makes the session's folders and its record.
    pub(crate) fn new(world: &'a World) -> Self {
        let roles = json!(["analyst", "planner", "executor", "supervisor"]);
        let now = stamp(0);
        let record = json!({"status": "active", "created_at": now, "updated_at": now, "roles": roles, "role_state": {}});
        let team = Self { world, record, next: 1 };
        for folder in [".msg", "artifacts", "wisdom", "explorations"] {
            fs::create_dir_all(team.path(folder)).unwrap();
        }
        team.store();
        team
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path().join(".workflow/.team").join(ID).join(name)
    }

    fn store(&self) {
        put(&self.path(".msg/meta.json"), serde_json::to_string_pretty(&self.record).unwrap().as_bytes());
    }

    fn log(&self) -> PathBuf {
        self.path(".msg/messages.jsonl")
    }

    fn append(&self, text: &str) {
        let mut log = OpenOptions::new().append(true).create(true).open(self.log()).unwrap();
        log.write_all(text.as_bytes()).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Posts a message, and takes a report over into the record.
    fn post(&mut self, from: &str, to: &str, kind: &str, data: &Value) {
        let mut line = json!({
            "id": format!("MSG-{:03}", self.next), "ts": stamp(0), "from": from, "to": to, "type": kind,
            "summary": format!("[{from}] {kind} → {to}: a text that is nobody's business"), "dispatch_status": "delivered"
        });
        if !data.is_null() {
            line["data"] = data.clone();
        }
        self.append(&format!("{line}\n"));
        self.next += 1;
        if kind == "state_update" {
            let mut state = data.clone();
            state["_updated_at"] = json!(stamp(0));
            self.record["role_state"][from] = state;
            self.record["updated_at"] = json!(stamp(0));
            self.store();
        }
    }

    /// Ends a task as the protocol says: the artifact, the report, the wisdom.
    fn publish(&mut self, role: &str, task: &str, more: &Value) {
        self.write(&format!("artifacts/{task}-report.md"), "# Report\n");
        let mut data = json!({
            "status": "task_complete", "task_id": task, "ref": format!(".workflow/.team/{ID}/artifacts/{task}-report.md"),
            "key_findings": ["The router is generated"], "decisions": ["Kept the router because clients depend on it"],
            "verification": "self-validated"
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            data[key] = value.clone();
        }
        self.post(role, "coordinator", "state_update", &data);
        let learnings = self.path("wisdom/learnings.md");
        let mut learnings = OpenOptions::new().append(true).create(true).open(learnings).unwrap();
        writeln!(learnings, "- learnt in {task}").unwrap();
    }

    fn verdict(&mut self, task: &str, verdict: &str, blocks: u32) {
        let more = json!({
            "supervision_verdict": verdict, "supervision_score": 0.4, "risks_logged": 1, "blocks_detected": blocks
        });
        self.publish("supervisor", task, &more);
    }

    /// The messages that the journal has.
    fn posted(&self) -> Vec<Posting> {
        let events = self.world.journal().into_iter();
        events
            .filter_map(|event| if let What::Posted(post) = event.what { Some(*post) } else { None })
            .collect()
    }

    fn lines(&self) -> u64 {
        fs::read_to_string(self.log()).map_or(0, |text| text.lines().count() as u64)
    }

    /// Waits until the daemon has noted the last line.
    #[track_caller]
    fn noted(&self) {
        let lines = self.lines();
        eventually("the last line of the log is noted", || {
            self.posted().last().is_some_and(|post| post.line == lines)
        });
    }

    fn findings(&self) -> Vec<Finding> {
        let events = self.world.journal().into_iter();
        events
            .filter_map(|event| if let What::Found(found) = event.what { Some(*found) } else { None })
            .collect()
    }

    fn rules(&self) -> Vec<String> {
        self.findings().into_iter().map(|found| found.rule).collect()
    }

    fn state(&self) -> Option<State> {
        let ledger = journal::fold(&self.world.root).ok()?;
        Some(ledger.tracks.get(&format!("team:{ID}"))?.said.state)
    }

    #[track_caller]
    fn is(&self, state: State) {
        eventually(&format!("the session is {}", state.word()), || self.state() == Some(state));
    }
}

/// The time as the tool writes it.
fn stamp(seconds: i64) -> String {
    clock(system::clock::now().wall + 1000 * seconds).replace('Z', ".000+00:00")
}

/// What was done about a project besides watching it.
fn told(world: &World) -> Vec<Event> {
    let mut events = world.journal();
    events.retain(|event| {
        matches!(
            event.what,
            What::Nudged { .. } | What::Noted { .. } | What::PersonTold | What::Found(_) | What::Fault { .. }
        )
    });
    events
}

#[test]
fn a_healthy_session_is_followed_from_its_first_message_to_its_last_and_nothing_is_said() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    let mut team = Team::new(&world);
    team.is(State::Running);
    team.post(
        "coordinator",
        "coordinator",
        "state_update",
        &json!({"pipeline_mode": "full", "pipeline_stages": ["analysis", "planning"]}),
    );
    team.post("coordinator", "analyst", "message", &Value::Null);
    team.post("analyst", "coordinator", "progress", &Value::Null);
    team.noted();
    let entry = json!({"angle": "api", "file": "explore-api.json", "created_by": "RESEARCH-001", "timestamp": stamp(0)});
    team.write("explorations/explore-api.json", "{}");
    put(&team.path("explorations/cache-index.json"), json!({"entries": [entry]}).to_string().as_bytes());
    team.publish("analyst", "RESEARCH-001", &Value::Null);
    team.publish("planner", "PLAN-001", &Value::Null);
    team.publish(
        "executor",
        "IMPL-001",
        &json!({"files_modified": ["src/router.ts"], "verification": "tested"}),
    );
    team.verdict("CHECKPOINT-001", "pass", 0);
    let tasks = json!({"RESEARCH-001": {"status": "completed", "role": "analyst"}, "PLAN-001": {"status": "completed", "role": "planner"}});
    put(&team.path("tasks.json"), json!({ "tasks": tasks }).to_string().as_bytes());
    team.noted();
    team.post("coordinator", "all", "shutdown", &Value::Null);
    team.is(State::Done);
    let posted: Vec<String> = team
        .posted()
        .iter()
        .map(|post| format!("{} {} {} {} {}", post.id, post.from, post.to, post.kind, post.task))
        .collect();
    insta::assert_snapshot!(posted.join("\n"), @r"
    MSG-001 coordinator coordinator state_update 
    MSG-002 coordinator analyst message 
    MSG-003 analyst coordinator progress 
    MSG-004 analyst coordinator state_update RESEARCH-001
    MSG-005 planner coordinator state_update PLAN-001
    MSG-006 executor coordinator state_update IMPL-001
    MSG-007 supervisor coordinator state_update CHECKPOINT-001
    MSG-008 coordinator all shutdown 
    ");
    assert_eq!(told(&world), []);
    assert_eq!(world.beacon().unwrap().faults, [""; 0]);
    let text = fs::read_to_string(world.root.in_own("journal.jsonl")).unwrap() + &world.log();
    assert!(!text.contains("nobody's business") && !text.contains("router"), "no text of a message is kept");
}

#[test]
fn each_violation_is_told_once_and_a_restart_repeats_nothing_and_misses_nothing() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    let mut team = Team::new(&world);
    team.write("wisdom/issues.md", "first\n");
    team.post("analyst", "planer", "message", &Value::Null);
    team.post("analyst", "coordinator", "state_update", &json!({"status": "task_complete", "task_id": "RESEARCH-001", "ref": "artifacts/x.md", "key_findings": [], "decisions": [], "verification": "tested"}));
    team.next = 2;
    team.post("planner", "analyst", "message", &Value::Null);
    let found = ["undeclared-role", "ref-without-file", "id-duplicate"];
    eventually("all three are found", || team.rules() == found);
    eventually("the wisdom is known", || {
        journal::fold(&world.root).unwrap().readings.file(&format!("team:{ID}"), "wisdom/issues.md").is_some()
    });
    assert_eq!(world.run(&["stop"]).code, 0);
    // While nobody watches, the log grows and the wisdom shrinks.
    team.post("analyst", "planner", "message", &Value::Null);
    team.write("wisdom/issues.md", "");
    assert_eq!(world.run(&["start"]).code, 0);
    team.noted();
    eventually("the wisdom is found shorter", || team.rules().len() == 4);
    assert_eq!(team.rules()[3], "wisdom-shrank");
    assert_eq!(team.posted().iter().map(|post| post.line).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let places: Vec<String> =
        team.findings().into_iter().map(|found| format!("{} {}", found.place, found.who)).collect();
    let log = format!(".workflow/.team/{ID}/.msg/messages.jsonl");
    let wisdom = format!(".workflow/.team/{ID}/wisdom/issues.md ");
    assert_eq!(
        places,
        [format!("{log}:1 analyst"), format!("{log}:2 analyst"), format!("{log}:3 planner"), wisdom]
    );
}

#[test]
fn a_session_whose_folder_is_removed_is_gone() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\n");
    world.begin();
    let mut team = Team::new(&world);
    team.post("analyst", "planer", "message", &Value::Null);
    team.noted();
    fs::remove_dir_all(team.path("")).unwrap();
    eventually("it is gone", || team.state().is_none());
    assert_eq!(world.count(|what| matches!(what, What::TrackGone { .. })), 1);
}
