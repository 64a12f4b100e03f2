//! A queue that grows, is made anew, is broken or not ours; and the one record that is appended.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::store::file::chain;
use crate::store::scratch::give_away;

const ID: &str = "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41";
const OTHER: &str = "6f1c2b3a-1111-4222-8333-444455556666";
/// 2026-05-13T09:00:00Z
const CREATED: Millis = 1_778_662_800_000;
const HOUR: Millis = 60 * 60_000;

struct Queued {
    folder: TempDir,
    path: PathBuf,
}

impl Queued {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan-approvals.jsonl");
        fs::write(&path, text).unwrap();
        Self { folder, path }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn add(&self, text: &str) {
        let mut file = OpenOptions::new().append(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn expire(&self, now: Millis) -> Expiry {
        super::expire(&self.path, ID, now).unwrap()
    }
}

fn line(id: &str, status: &str) -> String {
    let mut record = json!({
        "id": id, "request_id": "plan-7", "worker_name": "impl-1", "team_id": "backend", "plan_summary": "x",
        "plan_body": "the plan itself", "created_at": "2026-05-13T09:00:00.000Z", "status": status,
    });
    if status != "pending" {
        record["decided_at"] = json!("2026-05-13T09:30:00.000Z");
        record["decided_by"] = json!("operator");
    }
    format!("{record}\n")
}

/// The states of the records of [`ID`], in order.
fn states(text: &str) -> Vec<String> {
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = records.filter(|record| record["id"] == ID);
    ours.map(|record| record["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_queue_is_followed_as_it_grows_and_anew_when_it_is_another() {
    let queue = Queued::new("");
    let mut reader = Reader::default();
    let mut state = |id: &str| {
        reader.follow(&queue.path).unwrap();
        reader.queue.records.get(id).map(|(line, record)| (*line, record.state))
    };
    assert_eq!(state(ID), None);
    queue.add(&line(ID, "pending"));
    assert_eq!(state(ID), Some((1, PlanState::Pending)));
    let approved = line(ID, "approved");
    let (half, rest) = approved.split_at(60);
    queue.add(half);
    assert_eq!(state(ID), Some((1, PlanState::Pending)), "a line that is being written is no line yet");
    queue.add(rest);
    assert_eq!(state(ID), Some((2, PlanState::Approved)));
    // Made anew, shorter: nothing of the old one counts.
    fs::write(&queue.path, line(OTHER, "pending")).unwrap();
    assert_eq!((state(ID), state(OTHER)), (None, Some((1, PlanState::Pending))));
    // Replaced by another file.
    let beside = queue.folder.path().join("new");
    fs::write(&beside, [line(ID, "rejected"), line(OTHER, "pending")].concat()).unwrap();
    fs::rename(&beside, &queue.path).unwrap();
    assert_eq!((state(ID), state(OTHER)), (Some((1, PlanState::Rejected)), Some((2, PlanState::Pending))));
    fs::remove_file(&queue.path).unwrap();
    assert_eq!(state(OTHER), None);
}

#[test]
fn a_line_without_an_end_costs_no_more_than_the_longest_that_is_read() {
    let queue = Queued::new(&line(OTHER, "pending"));
    queue.add(&"x".repeat(5 * MOST_LINE));
    let mut reader = Reader::default();
    reader.follow(&queue.path).unwrap();
    queue.add(&format!("yyy\n{}", line(ID, "pending")));
    reader.follow(&queue.path).unwrap();
    assert_eq!(reader.queue.records.keys().collect::<Vec<_>>(), [ID, OTHER]);
    assert_eq!(reader.queue.faults.len(), 1, "{:?}", reader.queue.faults);
    assert!(reader.queue.faults[0].fault.starts_with("longer than"), "{:?}", reader.queue.faults);
}

#[test]
fn a_queue_that_is_not_to_be_trusted_is_refused() {
    let queue = Queued::new(&line(ID, "pending"));
    let link = queue.folder.path().join("link");
    symlink(&queue.path, &link).unwrap();
    let refused = |path: &Path| {
        let read = chain(&Reader::default().follow(path).unwrap_err());
        let before = queue.text();
        let written = super::expire(path, ID, CREATED + 2 * HOUR).map_err(|error| chain(&error));
        assert_eq!(queue.text(), before, "{}", path.display());
        (read, written.is_err())
    };
    let (read, is_refused) = refused(&link);
    assert!(read.ends_with("it is a symlink") && is_refused, "{read}");
    let (read, is_refused) = refused(queue.folder.path());
    assert!(read.ends_with("not a regular file") && is_refused, "{read}");
    if give_away(&queue.path) {
        let (read, is_refused) = refused(&queue.path);
        assert!(read.ends_with("it belongs to another user") && is_refused, "{read}");
    }
}

#[test]
fn an_hour_is_strictly_more_than_sixty_minutes() {
    let queue = Queued::new(&line(ID, "pending"));
    for now in [CREATED - HOUR, CREATED, CREATED + HOUR - 1, CREATED + HOUR] {
        assert_eq!(queue.expire(now), Expiry::Overtaken, "{now}");
    }
    assert_eq!(queue.text(), line(ID, "pending"));
    assert_eq!(queue.expire(CREATED + HOUR + 1), Expiry::Done);
    assert_eq!(states(&queue.text()), ["pending", "expired"]);
}

#[test]
fn one_full_record_is_appended_and_nothing_is_rewritten() {
    let before = [line(OTHER, "pending"), line(ID, "pending"), "nonsense\n".to_owned()].concat();
    let queue = Queued::new(&before);
    assert_eq!(queue.expire(CREATED + 2 * HOUR), Expiry::Done);
    let text = queue.text();
    let added = text.strip_prefix(&before).expect("what was there is as it was");
    assert_eq!(added.matches('\n').count(), 1);
    let record: Value = serde_json::from_str(added).unwrap();
    let mut wanted: Value = serde_json::from_str(&line(ID, "pending")).unwrap();
    wanted["status"] = json!("expired");
    wanted["decided_at"] = json!("2026-05-13T11:00:00.000Z");
    wanted["decided_by"] = json!("auto-timeout");
    wanted["feedback"] = json!("auto-expired");
    assert_eq!(record, wanted);
    // Once is enough.
    assert_eq!(queue.expire(CREATED + 3 * HOUR), Expiry::Overtaken);
    assert_eq!(queue.text(), text);
}

#[test]
fn the_first_decision_stands() {
    for decided in ["approved", "rejected"] {
        let text = [line(ID, "pending"), line(ID, decided)].concat();
        let queue = Queued::new(&text);
        assert_eq!(queue.expire(CREATED + 2 * HOUR), Expiry::Overtaken);
        assert_eq!(queue.text(), text);
    }
    let queue = Queued::new(&line(OTHER, "pending"));
    assert_eq!(queue.expire(CREATED + 2 * HOUR), Expiry::Overtaken, "an id that is not there");
    let gone = queue.folder.path().join("none");
    assert_eq!(super::expire(&gone, ID, CREATED + 2 * HOUR).unwrap(), Expiry::Overtaken);
    assert!(!gone.exists(), "a queue is never made");
}

#[test]
fn a_decision_that_slipped_in_before_our_record_is_found() {
    let ours = line(ID, "expired");
    let text = [line(ID, "pending"), line(OTHER, "approved"), line(ID, "approved"), ours.clone()].concat();
    let queue = Queued::new(&text);
    let file = File::open(&queue.path).unwrap();
    let (from, to) = (line(ID, "pending").len() as u64, (text.len() - ours.len()) as u64);
    let first = slipped_in(&file, ID, from, to).unwrap();
    assert_eq!(first, Some(line(ID, "approved").into_bytes()));
    assert_eq!(slipped_in(&file, OTHER, to, to).unwrap(), None);
    let until_other = from + line(OTHER, "approved").len() as u64;
    assert_eq!(slipped_in(&file, ID, from, until_other).unwrap(), None);
}

#[test]
fn a_torn_line_does_not_take_ours_with_it() {
    let queue = Queued::new(&format!("{}{{\"id\":\"torn", line(ID, "pending")));
    assert_eq!(queue.expire(CREATED + 2 * HOUR), Expiry::Done);
    assert_eq!(states(&queue.text()), ["pending", "expired"]);
}

#[test]
fn many_at_once_append_one_record() {
    for _ in 0..20 {
        let queue = Queued::new(&line(ID, "pending"));
        let outcomes: Vec<Expiry> = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| queue.expire(CREATED + 2 * HOUR))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Expiry::Done).count(), 1, "{outcomes:?}");
        assert_eq!(states(&queue.text()), ["pending", "expired"]);
    }
}

#[test]
fn somebody_who_holds_the_queue_is_waited_for_a_moment_only() {
    let queue = Queued::new(&line(ID, "pending"));
    let holder = File::open(&queue.path).unwrap();
    assert!(lock::lock(&holder, Kind::Exclusive, Duration::ZERO).unwrap());
    assert_eq!(queue.expire(CREATED + 2 * HOUR), Expiry::Busy);
    drop(holder);
    assert_eq!(queue.expire(CREATED + 2 * HOUR), Expiry::Done);
}

#[test]
fn the_queue_lies_where_it_is_set_or_where_subctl_keeps_it() {
    let mut policy = Policy::default();
    assert!(path(&policy).is_none_or(|path| path.ends_with("subctl/plan-approvals.jsonl")));
    "/a/queue.jsonl".clone_into(&mut policy.subctl.plan_queue);
    assert_eq!(path(&policy), Some(PathBuf::from("/a/queue.jsonl")));
}
