//! Which signals are taken, and what is noted of them.

use serde_json::{Value, json};

use super::*;
use crate::model::track::task_folder;
use crate::model::track::{Finding, Found};
use crate::protocol::worker_signal;

/// 2026-06-25T10:00:00Z
const TEN: Millis = 1_782_381_600_000;
const HOUR: Millis = 3_600_000;

fn signal(value: &Value) -> Signal {
    worker_signal::read(value.to_string().as_bytes()).signal.unwrap()
}

fn at(millis: Millis) -> String {
    worker_mark::stamp(millis)
}

fn track(value: &Value, since: Millis) -> Track {
    Track { said: said("task:x", &signal(value)), since, entered: since, last: since, ..Track::default() }
}

#[test]
fn a_key_names_the_folder_and_the_role() {
    for (file, wanted) in [
        ("SIGNAL.json", Some("task:.task/fix/p-1")),
        ("SELF-REVIEW-SIGNAL.json", Some("task:.task/fix/p-1#SELF-REVIEW")),
        ("CI-FIX-SIGNAL.json", Some("task:.task/fix/p-1#CI-FIX")),
        ("-SIGNAL.json", None),
        ("XSIGNAL.json", None),
        ("SIGNAL.json.new", None),
        ("signal.json", None),
    ] {
        let key = key(".task/fix/p-1", file);
        assert_eq!(key.as_deref(), wanted, "{file}");
        if let Some(key) = key {
            assert_eq!(task_folder(&key).as_deref(), Some(".task/fix/p-1"));
        }
    }
    let long = key(&"x/".repeat(300), "SIGNAL.json").unwrap();
    assert_eq!((long.chars().count(), task_folder(&long), task_folder("team:x")), (MOST_TEXT, None, None));
}

#[test]
fn no_two_files_share_a_key_and_a_key_leads_back_to_its_folder() {
    let folders = ["a", "a#SELF-REVIEW", "a b", "a\nb", "a%0Ab", "a%", "a%23", "a…", "ä\u{202e}#", "#"];
    let mut keys = std::collections::BTreeSet::new();
    for folder in folders {
        for file in ["SIGNAL.json", "SELF-REVIEW-SIGNAL.json", "X#Y-SIGNAL.json", "X\n-SIGNAL.json"] {
            let key = key(folder, file).unwrap();
            assert_eq!(task_folder(&key).as_deref(), Some(folder), "{key}");
            assert!(key.chars().all(|c| !c.is_control()), "{key}");
            assert!(keys.insert(key.clone()), "{key}");
        }
    }
    assert_eq!(key("a#SELF-REVIEW", "SIGNAL.json").unwrap(), "task:a%23SELF-REVIEW");
    assert_eq!(task_folder("task:50%é").as_deref(), Some("50%é"), "as an older journal has it");
}

#[test]
fn a_signal_becomes_what_its_track_says() {
    let value = json!({
        "role": "worker", "contextId": "c-1", "attemptId": "a-1", "status": "blocked", "step": "run\nit",
        "reason": "no simulator", "timestamp": "2026-06-25T10:00:00Z",
    });
    insta::assert_snapshot!(serde_json::to_string(&said("task:x", &signal(&value))).unwrap(), @r#"{"track":"task:x","kind":"task","state":"blocked","role":"worker","step":"run it","reason":"no simulator","outcome":"partial","disposition":"blocked","stamp":"2026-06-25T10:00:00.000Z","context":"c-1","attempt":"a-1"}"#);
    for (status, state) in [
        ("running", State::Running),
        ("complete", State::Done),
        ("done", State::Done),
        ("failed", State::Failed),
        ("done-partial", State::Blocked),
    ] {
        let said = said("task:x", &signal(&json!({"status": status})));
        assert_eq!((said.state, said.stamp.as_str()), (state, ""), "{status}");
    }
}

#[test]
fn a_terminal_signal_of_an_unknown_worker_is_taken_from_the_folder_s_floor_on() {
    for (stamp, floor, is_taken) in [
        (TEN, TEN, true),
        (TEN, TEN + 999, true),
        (TEN, TEN + 1000, false),
        (TEN - 1, TEN, false),
        (TEN + HOUR, TEN, true),
    ] {
        let value = json!({"status": "complete", "timestamp": at(stamp)});
        let verdict = judge(None, &signal(&value), floor, TEN + HOUR);
        assert_eq!(verdict == Verdict::Taken, is_taken, "{stamp} {floor}: {verdict:?}");
    }
}

#[test]
fn a_worker_that_runs_is_taken_whatever_its_stamp() {
    for value in [json!({"status": "running"}), json!({"status": "running", "timestamp": at(0)})] {
        assert_eq!(judge(None, &signal(&value), TEN, TEN), Verdict::Taken);
        let known = track(&json!({"status": "complete", "timestamp": at(TEN)}), TEN);
        assert_eq!(judge(Some(&known), &signal(&value), TEN, TEN), Verdict::Taken);
    }
}

#[test]
fn the_floor_of_a_known_worker_is_its_own() {
    let known = track(&json!({"status": "running", "attemptId": "a-1", "timestamp": at(TEN)}), TEN + 500);
    let ends = |stamp: Millis, attempt: &str| {
        let value = json!({"status": "complete", "attemptId": attempt, "timestamp": at(stamp)});
        judge(Some(&known), &signal(&value), TEN + 10 * HOUR, TEN + 20 * HOUR) == Verdict::Taken
    };
    // The folder's own floor is that of unknown workers.
    assert!(ends(TEN + 1000, "a-1") && ends(TEN, "a-1") && ends(TEN + 1000, "") && ends(TEN + 1000, "a-2"));
    assert!(!ends(TEN - 1, "a-1") && !ends(TEN - HOUR, "") && !ends(TEN - HOUR, "a-0"));
    // Nothing is older than what was said last.
    let known = Track { since: TEN - 5 * HOUR, ..known };
    let old = json!({"status": "complete", "attemptId": "a-0", "timestamp": at(TEN - HOUR)});
    let verdict = judge(Some(&known), &signal(&old), 0, TEN + HOUR);
    let told = "it says complete of 2026-06-25T09:00:00Z, before this attempt was watched, from 2026-06-25T10:00:00Z";
    assert_eq!(verdict, Verdict::Stale(told.to_owned()));
}

#[test]
fn a_terminal_signal_without_a_strict_stamp_is_stale() {
    for timestamp in [json!(null), json!("yesterday"), json!("2026-06-25T12:00:00+02:00")] {
        let value = json!({"status": "failed", "timestamp": timestamp});
        let verdict = judge(None, &signal(&value), 0, TEN);
        let told = "it says failed, and has no UTC ISO 8601 timestamp that would show of which attempt";
        assert_eq!(verdict, Verdict::Stale(told.to_owned()));
    }
}

#[test]
fn a_floor_ahead_of_a_clock_that_was_set_back_binds_nobody() {
    let value = json!({"status": "complete", "timestamp": at(TEN - 2 * HOUR)});
    assert_eq!(judge(None, &signal(&value), TEN, TEN - HOUR), Verdict::Taken);
    let known = track(&json!({"status": "running", "timestamp": at(TEN)}), TEN);
    assert_eq!(judge(Some(&known), &signal(&value), 0, TEN - HOUR), Verdict::Taken);
}

#[test]
fn only_the_worker_at_work_can_end() {
    let of = |status: &str, attempt: &str, role: &str, context: &str| json!({"status": status, "attemptId": attempt, "role": role, "contextId": context, "timestamp": at(TEN)});
    let known = track(&of("running", "a-1", "worker", "c-1"), TEN);
    for (attempt, role, context, is_taken) in [
        ("a-1", "worker", "c-1", true),
        ("a-1", "other", "c-1", true),
        ("a-1", "worker", "c-2", false),
        ("", "", "c-2", false),
        ("", "other", "", false),
        ("", "", "", true),
        ("a-2", "worker", "c-2", true),
    ] {
        let value = of("complete", attempt, role, context);
        let verdict = judge(Some(&known), &signal(&value), 0, TEN);
        assert_eq!(verdict == Verdict::Taken, is_taken, "{value}: {verdict:?}");
    }
    let told = "it is of context c-2 and role none; at work is context c-1 and role worker";
    let stranger = judge(Some(&known), &signal(&of("complete", "", "", "c-2")), 0, TEN);
    assert_eq!(stranger, Verdict::Mismatch(told.to_owned()));
    // One that has ended is not at work: the next one in the folder may be another.
    let ended = track(&of("complete", "", "", "c-1"), TEN);
    assert_eq!(judge(Some(&ended), &signal(&of("complete", "", "", "c-2")), 0, TEN), Verdict::Taken);
}

#[test]
fn a_probe_is_informed_by_what_a_daemon_knows() {
    let value = |status: &str, context: &str, stamp| json!({"status": status, "contextId": context, "timestamp": at(stamp)});
    let tracks = |value: &Value, since| {
        let all = [("task:x".to_owned(), track(value, since))].into();
        Tracks { all, ..Tracks::default() }
    };
    let ask = |tracks: &Tracks, found: &Value, asked: Question| {
        informed(asked, tracks, "task:x", &signal(found), TEN + HOUR)
    };
    let none = Question::default;
    let end = value("complete", "c-2", TEN + 5_500);
    // Nobody watches, or it was not seen yet.
    assert_eq!(ask(&Tracks::default(), &end, none()), none());
    // One is at work.
    let at_work = tracks(&value("running", "c-1", TEN), TEN + 500);
    let wanted = Question { context: "c-1".to_owned(), floor: Some(TEN), ..none() };
    assert_eq!(ask(&at_work, &end, none()), wanted);
    let asked = Question { role: "worker".to_owned(), floor: Some(7), ..none() };
    assert_eq!(ask(&at_work, &end, asked.clone()), asked, "what was asked stays");
    // Its end was taken when it was first seen, a little later than it was written.
    let taken = tracks(&end, TEN + 9_000);
    assert_eq!(ask(&taken, &end, none()), Question { floor: Some(TEN + 5_000), ..none() });
    // It was over before it was watched.
    let mut over = tracks(&end, TEN + 9_000);
    over.all.get_mut("task:x").unwrap().said.state = State::Ended;
    assert_eq!(ask(&over, &end, none()), Question { floor: Some(TEN + 9_000), ..none() });
    // It came with the signal of an earlier dispatch.
    let finding = Finding { track: "task:x".to_owned(), rule: STALE.to_owned(), ..Finding::default() };
    let told = Tracks { findings: vec![Found { at: TEN + 7_777, finding }], ..Tracks::default() };
    assert_eq!(ask(&told, &end, none()), Question { floor: Some(TEN + 7_000), ..none() });
    // A clock that was set back.
    let ahead = tracks(&value("running", "", TEN), TEN + 2 * HOUR);
    assert_eq!(ask(&ahead, &end, none()), none());
}
