//! The file under its lock: nothing lost, broken ones healed, strange ones refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Loaded, add_unstored, forget_unstored, hold, load, note_unstored, prepare_unstored};
use crate::store::root::Root;
use crate::store::scratch::{Scratch, give_away, mode, names, project};

const PATIENT: Duration = Duration::from_secs(30);

/// A project whose file has these bytes and was last modified at second 5,000.
fn with(bytes: &[u8]) -> Scratch {
    let project = project();
    fs::write(project.activity(), bytes).unwrap();
    modified(&project);
    project
}

fn modified(root: &Root) {
    let file = fs::File::options().append(true).open(root.activity()).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(5_000)).unwrap();
}

/// One heartbeat at a second.
fn beat(root: &Root, second: i64) {
    let held = hold(root, PATIENT).unwrap();
    let mut loaded = held.load();
    loaded.activity.note_work("PostToolUse:Read", "build", second);
    held.store(&mut loaded).unwrap();
    assert_eq!(loaded.faults, Vec::<String>::new());
}

fn json(root: &Root) -> Value {
    serde_json::from_slice(&fs::read(root.activity()).unwrap()).unwrap()
}

#[test]
fn a_file_that_is_not_there_reads_as_nothing_ever_seen() {
    let project = project();
    assert_eq!(load(&project), None);
    assert_eq!(hold(&project, PATIENT).unwrap().load(), Loaded::default());
}

#[test]
fn a_write_raises_the_epoch_and_is_readable_for_all() {
    let project = project();
    for epoch in 1..4 {
        beat(&project, 100);
        assert_eq!(json(&project)["epoch"], epoch);
    }
    assert_eq!(mode(&project.activity()) & 0o600, 0o600);
    assert_eq!(names(&project.own()), ["sessions"]);
    assert_eq!(names(&project.tmp()), ["activity.json", "activity.lock", "watchdog"]);
}

#[test]
fn the_modification_time_stands_in_for_a_stamp_without_meaning() {
    let stamp = |bytes: &[u8]| load(&with(bytes)).unwrap().activity.last_activity_ts;
    assert_eq!(stamp(b"{\"last_activity_ts\":4000}"), 4_000);
    let unknown: [&[u8]; 7] = [
        b"",
        b"{\"last_activity_ts\":17133",
        b"[]",
        b"{}",
        b"{\"last_activity_ts\":-5}",
        b"{\"last_activity_ts\":0}",
        b"{\"last_activity_ts\":4000,\"epoch\":1",
    ];
    for bytes in unknown {
        assert_eq!(stamp(bytes), 5_000, "{bytes:?}");
    }
}

#[test]
fn one_heartbeat_heals_a_broken_file_and_keeps_what_can_be_saved() {
    let good = json!({
        "last_activity_ts": 4_000, "last_activity_source": "x", "active_teammates": {"rakim": 1}, "last_nudge_ts": 900,
        "nudge_count": 2, "epoch": 7, "pipeline_phase": "build", "mine": [1],
    })
    .to_string();
    let wide: Vec<u8> = [0xfeff].into_iter().chain(good.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    // What is saved: nudges, epoch, teammates, others' fields. What is broken is kept once.
    let cases: [(&[u8], &str, bool); 11] = [
        (b"", "0 1 {} null", true),
        (b"{\"last_activity_ts\":17133", "0 1 {} null", true),
        (&[0; 200], "0 1 {} null", true),
        (b"[]", "0 1 {} null", true),
        (b"null", "0 1 {} null", true),
        (b"[[[[[[[[[[", "0 1 {} null", true),
        (&good.as_bytes()[..good.len() - 4], "2 8 {\"rakim\":1} null", true),
        (&[good.as_bytes(), b" trailing"].concat(), "2 8 {\"rakim\":1} [1]", true),
        (&[good.as_bytes(), good.as_bytes()].concat(), "2 8 {\"rakim\":1} [1]", true),
        (&["\u{feff}".as_bytes(), good.as_bytes()].concat(), "2 8 {\"rakim\":1} [1]", false),
        (&wide, "2 8 {\"rakim\":1} [1]", false),
    ];
    for (bytes, saved, is_broken) in cases {
        let project = with(bytes);
        assert_eq!(load(&project).unwrap().faults.is_empty(), !is_broken);
        beat(&project, 6_000);
        let healed = json(&project);
        let found = format!(
            "{} {} {} {}",
            healed["nudge_count"], healed["epoch"], healed["active_teammates"], healed["mine"]
        );
        assert_eq!(found, saved, "{}", String::from_utf8_lossy(bytes));
        assert_eq!((&healed["last_activity_ts"], load(&project).unwrap().faults.len()), (&json!(6_000), 0));
        let aside = fs::read(project.in_own("activity.broken")).ok();
        assert_eq!(aside.as_deref(), is_broken.then_some(bytes));
        // What was healed once is not put aside again.
        beat(&project, 6_001);
        assert_eq!(fs::read(project.in_own("activity.broken")).ok(), aside);
        assert_eq!(names(&project.own()).len(), if is_broken { 2 } else { 1 });
    }
}

#[test]
fn fields_of_others_survive() {
    let project = with(br#"{"zeta":{"b":[1.5,null]},"last_activity_ts":4000,"alpha":"x","epoch":"3"}"#);
    beat(&project, 6_000);
    let text = fs::read_to_string(project.activity()).unwrap();
    assert!(
        text.ends_with("\"pipeline_phase\":\"build\",\"zeta\":{\"b\":[1.5,null]},\"alpha\":\"x\"}\n"),
        "{text}"
    );
    assert_eq!(json(&project)["epoch"], 4);
}

#[test]
fn a_link_is_refused_and_then_replaced() {
    let project = project();
    let victim = project.in_kiln("precious.json");
    fs::write(&victim, "{\"last_activity_ts\":1}").unwrap();
    symlink(&victim, project.activity()).unwrap();
    let loaded = load(&project).unwrap();
    assert!(loaded.faults[0].ends_with("it is a symlink"), "{:?}", loaded.faults);
    assert!(loaded.activity.last_activity_ts > 1_000_000);
    beat(&project, 6_000);
    assert!(!project.activity().is_symlink());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "{\"last_activity_ts\":1}");
    assert_eq!(json(&project)["last_activity_ts"], 6_000);
}

#[test]
fn a_file_of_another_user_is_refused_and_then_replaced() {
    let project = with(b"{\"last_activity_ts\":4000,\"nudge_count\":3}");
    if !give_away(&project.activity()) {
        eprintln!("this user may not give a file away");
        return;
    }
    let loaded = load(&project).unwrap();
    assert!(loaded.faults[0].ends_with("it belongs to another user"), "{:?}", loaded.faults);
    assert_eq!((loaded.activity.last_activity_ts, loaded.activity.nudge_count), (5_000, 0));
    beat(&project, 6_000);
    assert_eq!(load(&project).unwrap().faults, Vec::<String>::new());
    assert!(!project.in_own("activity.broken").exists());
}

#[test]
fn a_file_that_is_larger_than_any_of_ours_is_a_fault_not_a_burden() {
    let project = with(&vec![b' '; 4 * 1024 * 1024 + 1]);
    let loaded = load(&project).unwrap();
    assert!(loaded.faults[0].contains("larger than 4194304 bytes"), "{:?}", loaded.faults);
    beat(&project, 6_000);
    assert_eq!(json(&project)["epoch"], 1);
}

#[test]
fn no_update_of_many_at_once_is_lost() {
    let project = project();
    let root = &project.root;
    thread::scope(|scope| {
        for writer in 0..16 {
            scope.spawn(move || {
                for round in 0..10 {
                    let held = hold(root, PATIENT).unwrap();
                    let mut loaded = held.load();
                    loaded.activity.add_teammate(&format!("agent-{writer}-{round}"), 1);
                    held.store(&mut loaded).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let loaded = load(root).unwrap_or_default();
            assert_eq!(loaded.faults, Vec::<String>::new());
        }
    });
    let activity = load(root).unwrap().activity;
    assert_eq!((activity.active_teammates.len(), activity.epoch), (160, 160));
}

#[test]
fn who_cannot_have_the_lock_is_told_which_and_what_to_do() {
    let project = project();
    let _held = hold(&project, PATIENT).unwrap();
    let error = hold(&project, Duration::from_millis(20)).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(
        crate::store::file::chain(&error).replace(&project.path().display().to_string(), "ROOT"),
        @"cannot lock ROOT/.kiln/tmp/activity.lock: another process holds it; if it is stopped, continue or end it"
    );
}

#[test]
fn the_end_of_the_last_session_removes_the_file() {
    let project = with(b"{}");
    let held = hold(&project, PATIENT).unwrap();
    held.remove().unwrap();
    held.remove().unwrap();
    assert_eq!(load(&project), None);
}

#[test]
fn work_that_could_not_be_stored_counts_by_a_file_s_time() {
    let project = with(b"{\"last_activity_ts\":4000,\"epoch\":3}");
    let stamp = || load(&project).unwrap().activity.last_activity_ts;
    prepare_unstored(&project);
    assert_eq!((stamp(), mode(&project.in_own("unstored"))), (4_000, 0o600));
    note_unstored(&project, 4_500).unwrap();
    assert_eq!(stamp(), 4_500);
    // Preparing it again does not forget it; the lock's holder sees the file as it is.
    prepare_unstored(&project);
    let held = hold(&project, PATIENT).unwrap();
    let mut activity = held.load().activity;
    assert_eq!(activity.last_activity_ts, 4_000);
    assert!(add_unstored(&project, &mut activity));
    assert_eq!(activity.last_activity_ts, 4_500);
    drop(held);
    // Later work that could be stored counts alone.
    beat(&project, 6_000);
    assert_eq!(stamp(), 6_000);
    forget_unstored(&project);
    fs::write(project.activity(), "{\"last_activity_ts\":4000}").unwrap();
    assert_eq!(stamp(), 4_000);
    symlink("/etc/passwd", project.in_own("unstored")).unwrap();
    assert_eq!(stamp(), 4_000);
    assert!(note_unstored(&project, 9_000).is_err());
}
