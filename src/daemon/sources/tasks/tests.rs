//! Task folders of a project, looked at as a daemon does, with the journal folded between two looks.

mod bounds;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::*;
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::protocol::worker_mark;
use crate::store::scratch::{Scratch, project};
use crate::system::clock;

const HOUR: Millis = 3_600_000;

/// A project, the daemon's eyes, and its journal, folded. Times are the clock's, moved by `ahead`.
struct Field {
    project: Scratch,
    tasks: Tasks,
    ledger: Ledger,
    ahead: Millis,
    policy: Policy,
}

impl Field {
    /// Of a daemon that has just begun, the first in this project.
    fn new() -> Self {
        let (tasks, ledger, policy) = (Tasks::default(), Ledger::default(), Policy::default());
        let mut field = Self { project: project(), tasks, ledger, ahead: 0, policy };
        field.begin();
        field
    }

    fn now(&self) -> Moment {
        let now = clock::now();
        Moment { wall: now.wall + self.ahead, ..now }
    }

    /// Another daemon takes over.
    fn begin(&mut self) {
        self.tasks = Tasks::default();
        let start = What::DaemonStart { pid: 7, version: "1".to_owned(), kilnless: false };
        self.ledger.apply(&Event::of_root(self.now().wall, start));
    }

    fn stop(&mut self) {
        let stop = What::DaemonStop { reason: "a signal".to_owned() };
        self.ledger.apply(&Event::of_root(self.now().wall, stop));
    }

    fn news(&mut self) -> News {
        let (root, policy, now) = (&self.project.root, &self.policy, self.now());
        self.tasks.look(&View { root, policy, ledger: &self.ledger, now })
    }

    /// Looks, folds what is new, and returns it in short.
    fn look(&mut self) -> Vec<String> {
        let news = self.news();
        assert_eq!(news.faults, [""; 0]);
        news.events.iter().for_each(|event| self.ledger.apply(event));
        news.events.iter().map(short).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.project.root.path().join(name)
    }

    /// Puts a file in place as `mark` does.
    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let temp = path.with_extension("new");
        fs::write(&temp, text).unwrap();
        fs::rename(&temp, &path).unwrap();
    }

    fn signal(&self, name: &str, value: &Value) {
        self.put(name, &value.to_string());
    }

    /// A stamp of so long ago.
    fn ago(&self, millis: Millis) -> String {
        worker_mark::stamp(self.now().wall - millis)
    }
}

fn short(event: &Event) -> String {
    match &event.what {
        What::Track(said) => {
            format!("{} {} {}", said.track, said.state.word(), said.step).trim_end().to_owned()
        }
        What::Found(found) => format!("{} {} {}: {}", found.track, found.rule, found.place, found.fact),
        What::TrackGone { track } => format!("{track} gone"),
        other => format!("{other:?}"),
    }
}

const A: &str = ".task/fix/p-1/SIGNAL.json";

#[test]
fn a_worker_s_run_is_noted_step_by_step_and_once() {
    let mut field = Field::new();
    assert_eq!(field.look(), [""; 0]);
    field.put(".task/fix/p-1/TASK.md", "- [ ] a\n");
    assert_eq!(field.look(), [""; 0]);
    for (value, told) in [
        (json!({"status": "running", "step": "started"}), "task:.task/fix/p-1 running started"),
        (json!({"status": "running", "step": "Reproduce"}), "task:.task/fix/p-1 running Reproduce"),
        (json!({"status": "blocked", "step": "Build", "reason": "x"}), "task:.task/fix/p-1 blocked Build"),
        (json!({"status": "running", "step": "Build"}), "task:.task/fix/p-1 running Build"),
        (json!({"status": "complete", "step": "Build"}), "task:.task/fix/p-1 done Build"),
    ] {
        let mut value = value;
        value["timestamp"] = json!(field.ago(0));
        field.signal(A, &value);
        assert_eq!(field.look(), [told]);
        assert_eq!(field.look(), [""; 0]);
    }
    field.stop();
    field.begin();
    assert_eq!(field.look(), [""; 0], "a daemon that takes over repeats nothing");
}

#[test]
fn a_worker_that_comes_and_ends_between_two_looks_is_not_missed() {
    let mut field = Field::new();
    field.look();
    field.signal(A, &json!({"status": "complete", "timestamp": field.ago(0)}));
    field.signal(".task/fix/p-2/SIGNAL.json", &json!({"status": "failed", "timestamp": field.ago(0)}));
    assert_eq!(field.look(), ["task:.task/fix/p-1 done", "task:.task/fix/p-2 failed"]);
    // One that was there without a signal when the daemon began.
    field.put(".task/fix/p-3/TASK.md", "");
    field.begin();
    field.look();
    field.signal(".task/fix/p-3/SIGNAL.json", &json!({"status": "done", "timestamp": field.ago(0)}));
    assert_eq!(field.look(), ["task:.task/fix/p-3 done"]);
}

#[test]
fn what_was_over_before_it_was_watched_is_no_news_and_no_violation() {
    let mut field = Field::new();
    field.signal(A, &json!({"status": "complete", "timestamp": field.ago(HOUR)}));
    field.signal(".task/fix/p-2/SIGNAL.json", &json!({"status": "blocked", "timestamp": "2020"}));
    // A first daemon that begins well after.
    field.ledger = Ledger::default();
    field.ahead = 60_000;
    field.begin();
    let told = field.look();
    assert_eq!(told[..1], ["task:.task/fix/p-1 ended"]);
    assert_eq!(
        told[1..],
        [
            "task:.task/fix/p-2 invalid-signal .task/fix/p-2/SIGNAL.json:timestamp: timestamp: \"2020\" is not a UTC ISO \
         8601 time such as 2026-06-25T10:05:00Z",
            "task:.task/fix/p-2 ended",
        ]
    );
    assert_eq!(field.look(), [""; 0]);
    field.stop();
    field.begin();
    assert_eq!(field.look(), [""; 0]);
    // Its next attempt is watched like any other.
    field.signal(A, &json!({"status": "complete", "timestamp": field.ago(0)}));
    assert_eq!(field.look(), ["task:.task/fix/p-1 done"]);
}

#[test]
fn each_stale_signal_is_told_once_and_changes_nothing() {
    let mut field = Field::new();
    let (old, late) = (field.ago(HOUR), field.ago(2 * HOUR));
    field.look();
    field.signal(A, &json!({"status": "running", "step": "Build", "timestamp": field.ago(0)}));
    field.look();
    field.signal(A, &json!({"status": "complete", "timestamp": old}));
    let told = field.look();
    assert_eq!(told.len(), 1);
    assert!(
        told[0]
            .starts_with("task:.task/fix/p-1 stale-signal .task/fix/p-1/SIGNAL.json: it says complete of ")
    );
    assert!(told[0].ends_with("; it is not taken"), "{told:?}");
    assert_eq!(field.ledger.tracks.get("task:.task/fix/p-1").unwrap().said.state, State::Running);
    field.signal(A, &json!({"status": "complete", "timestamp": late}));
    assert_eq!(field.look().len(), 1, "it is another one");
    field.signal(A, &json!({"status": "complete", "timestamp": late}));
    assert_eq!(field.look(), [""; 0]);
    // A folder that comes with the signal of an earlier dispatch.
    field.signal(".task/fix/p-2/SIGNAL.json", &json!({"status": "complete", "timestamp": old}));
    let told = field.look();
    assert!(told.len() == 1 && told[0].contains("p-2 stale-signal "), "{told:?}");
    field.ahead = 60_000;
    field.stop();
    field.begin();
    assert_eq!(field.look(), [""; 0]);
    field.signal(A, &json!({"status": "complete", "timestamp": field.ago(0)}));
    field.signal(".task/fix/p-2/SIGNAL.json", &json!({"status": "complete", "timestamp": field.ago(0)}));
    assert_eq!(field.look(), ["task:.task/fix/p-1 done", "task:.task/fix/p-2 done"]);
}

#[test]
fn what_happens_between_two_daemons_is_news_of_the_second() {
    let mut field = Field::new();
    field.signal(A, &json!({"status": "running", "timestamp": field.ago(0)}));
    field.look();
    field.stop();
    field.signal(A, &json!({"status": "complete", "timestamp": field.ago(0)}));
    field.signal(".task/fix/p-2/SIGNAL.json", &json!({"status": "failed", "timestamp": field.ago(0)}));
    let before = field.ago(HOUR);
    field.signal(".task/fix/p-3/SIGNAL.json", &json!({"status": "complete", "timestamp": before}));
    field.ahead = 60_000;
    field.begin();
    let told = field.look();
    assert_eq!(told[..2], ["task:.task/fix/p-1 done", "task:.task/fix/p-2 failed"]);
    assert!(told.len() == 3 && told[2].starts_with("task:.task/fix/p-3 stale-signal "), "{told:?}");
}

#[test]
fn a_terminal_signal_of_another_worker_does_not_end_the_one_at_work() {
    let mut field = Field::new();
    field.look();
    let of = |context: &str, status: &str| json!({"contextId": context, "status": status, "role": "worker"});
    let stamped = |field: &Field, mut value: Value| {
        value["timestamp"] = json!(field.ago(0));
        field.signal(A, &value);
    };
    stamped(&field, of("c-1", "running"));
    field.look();
    stamped(&field, of("c-2", "complete"));
    let told = field.look();
    assert_eq!(
        told,
        [
            "task:.task/fix/p-1 context-mismatch .task/fix/p-1/SIGNAL.json: it is of context c-2 and role worker; at work is \
         context c-1 and role worker"
        ]
    );
    assert_eq!(field.look(), [""; 0]);
    stamped(&field, of("c-1", "complete"));
    assert_eq!(field.look(), ["task:.task/fix/p-1 done"]);
}

#[test]
fn a_broken_file_is_told_by_its_place_and_field_once_it_stays_broken() {
    let mut field = Field::new();
    field.look();
    field.put(A, "{\"status\": \"run");
    assert_eq!(field.look(), [""; 0], "it may not be written to its end yet");
    field.ahead = YOUNG + 1000;
    assert_eq!(
        field.look(),
        ["task:.task/fix/p-1 invalid-signal .task/fix/p-1/SIGNAL.json: not JSON (line 1, column 15)"]
    );
    field.signal(A, &json!({"status": "Complete", "outcome": "x", "timestamp": field.ago(0)}));
    field.ahead *= 2;
    let told = field.look();
    assert_eq!(
        told,
        [
            "task:.task/fix/p-1 invalid-signal .task/fix/p-1/SIGNAL.json:status: status: \"Complete\" is none of running, \
         blocked, complete, failed, done",
            "task:.task/fix/p-1 invalid-signal .task/fix/p-1/SIGNAL.json:outcome: outcome: \"x\" is none of success, failure, \
         partial",
        ]
    );
    // What violates in passing is told beside what is taken.
    field.signal(A, &json!({"status": "running", "prNumber": "x", "timestamp": field.ago(0)}));
    let told = field.look();
    assert!(
        told.len() == 2 && told[0].contains(":prNumber: ") && told[1].ends_with("p-1 running"),
        "{told:?}"
    );
    assert_eq!(field.look(), [""; 0]);
}

#[test]
fn a_file_that_is_invalid_again_is_told_again_unless_only_a_number_differs() {
    let mut field = Field::new();
    field.look();
    let at = |field: &Field, attempt: &str, more: &Value| {
        let mut value = json!({"status": "running", "timestamp": field.ago(0), "attemptId": attempt});
        more.as_object().unwrap().iter().for_each(|(key, found)| value[key] = found.clone());
        field.signal(A, &value);
    };
    let found = |field: &mut Field| {
        let all = field.look().into_iter().filter(|told| told.contains("invalid-signal"));
        all.map(|told| told.rsplit("SIGNAL.json").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (more, wanted) in [
        (json!({"step": 7}), 1),
        (json!({"step": 8}), 0),
        (json!({"reason": 7}), 1),
        (json!({"step": 7, "reason": 7}), 0),
        (json!({"prNumber": "x"}), 1),
        (json!({"timestamp": "2026-06-25 10:05"}), 1),
        (json!({"timestamp": "2026-06-25 10:06"}), 0),
        (json!({}), 0),
    ] {
        at(&field, "a1", &more);
        let told = found(&mut field);
        assert_eq!(told.len(), wanted, "{more}: {told:?}");
        assert_eq!(found(&mut field), [""; 0]);
        field.begin();
        assert_eq!(found(&mut field), [""; 0]);
    }
    at(&field, "a2", &json!({"step": 7}));
    assert_eq!(found(&mut field).len(), 1, "of another attempt it is another violation");
    // More than are told of one file.
    let events: Vec<Value> =
        (0..20).map(|_| json!({"label": 7, "stepNumber": 1, "checkedAt": field.ago(0)})).collect();
    let timing = json!({"checklistTiming": {"schemaVersion": 1, "source": "TASK.md", "events": events}});
    at(&field, "a2", &timing);
    let told = found(&mut field);
    assert_eq!(
        (told.len(), told.last().unwrap().ends_with("12 more of this kind, the first of them here")),
        (9, true),
        "{told:?}"
    );
    assert_eq!(found(&mut field), [""; 0]);
}

#[test]
fn each_role_is_a_track_of_its_own() {
    let mut field = Field::new();
    field.look();
    let stamp = field.ago(0);
    for name in
        ["SIGNAL.json", "SELF-REVIEW-SIGNAL.json", "CI-FIX-SIGNAL.json", "NOT-A.json", "SIGNAL.json.new"]
    {
        field.signal(&format!(".task/fix/p-1/{name}"), &json!({"status": "running", "timestamp": stamp}));
    }
    assert_eq!(
        field.look(),
        [
            "task:.task/fix/p-1#CI-FIX running",
            "task:.task/fix/p-1#SELF-REVIEW running",
            "task:.task/fix/p-1 running",
        ]
    );
}

#[test]
fn what_was_removed_is_gone_and_what_cannot_be_looked_at_is_not() {
    let mut field = Field::new();
    for place in ["p-1", "p-2", "p-3"] {
        let running = json!({"status": "running", "timestamp": field.ago(0)});
        field.signal(&format!(".task/fix/{place}/SIGNAL.json"), &running);
    }
    field.look();
    field.ahead = YOUNG + 1000;
    fs::remove_dir_all(field.path(".task/fix/p-1")).unwrap();
    assert_eq!(field.look(), ["task:.task/fix/p-1 gone"]);
    // A writer that removes the file first.
    fs::remove_file(field.path(".task/fix/p-2/SIGNAL.json")).unwrap();
    assert_eq!(field.look(), [""; 0]);
    field.ahead *= 2;
    assert_eq!(field.look(), ["task:.task/fix/p-2 gone"]);
    fs::set_permissions(field.path(".task"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(field.path(".task")).is_err() {
        assert_eq!(field.look(), [""; 0]);
    }
    fs::set_permissions(field.path(".task"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(field.path(".task"), field.path("gone")).unwrap();
    field.stop();
    field.begin();
    assert_eq!(field.look(), ["task:.task/fix/p-3 gone"]);
}

#[test]
fn a_worker_that_was_silent_for_a_day_when_watching_began_is_over() {
    let mut field = Field::new();
    field.signal(A, &json!({"status": "running", "timestamp": field.ago(0)}));
    field.ledger = Ledger::default();
    field.ahead = ABANDONED - HOUR;
    field.begin();
    assert_eq!(field.look(), ["task:.task/fix/p-1 running"]);
    field.ledger = Ledger::default();
    field.ahead = ABANDONED + HOUR;
    field.begin();
    assert_eq!(field.look(), ["task:.task/fix/p-1 ended"]);
    assert_eq!(field.look(), [""; 0]);
    field.signal(A, &json!({"status": "running", "timestamp": field.ago(0)}));
    assert_eq!(field.look(), ["task:.task/fix/p-1 running"]);
}
