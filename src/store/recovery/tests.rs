//! Clearing a flag: each part once, whatever was interrupted.

use std::fs;
use std::time::Duration;

use super::{Note, recover};
use crate::model::event::What;
use crate::model::nudge::{Flag, Nudge};
use crate::store::pending::Pending;
use crate::store::root::Root;
use crate::store::scratch::{Scratch, project};
use crate::store::{activity_file, flag_file, journal, pending};

/// 2026-12-01T04:10:05Z
const T: i64 = 1_796_098_205;

/// A project that was given up after three nudges, the last of which nobody took.
fn flagged() -> Scratch {
    let project = project();
    let held = activity_file::hold(&project, Duration::from_secs(30)).unwrap();
    let mut loaded = held.load();
    loaded.activity.note_work("PostToolUse:Read", "build", T - 2_000);
    (loaded.activity.last_nudge_ts, loaded.activity.nudge_count) = (T - 601, 3);
    held.store(&mut loaded).unwrap();
    drop(held);
    let nudge =
        Nudge { text: "nudge".to_owned(), number: 3, id: "9-3".to_owned(), wakes: true, ..Nudge::default() };
    pending::stage(&project, &nudge).unwrap();
    let cause = Some("no_recovery".to_owned());
    flag_file::store(&project, &Flag { timestamp: T, nudge_count: Some(3), cause, ..Flag::default() })
        .unwrap();
    project
}

fn recovered(root: &Root, note: Note) -> bool {
    let held = activity_file::hold(root, Duration::from_secs(30)).unwrap();
    recover(root, &held, "ensure", note, (T + 60) * 1000).unwrap()
}

fn notes(root: &Root) -> usize {
    fs::read_to_string(root.state()).unwrap().matches("KILN DEADLOCK RECOVERY").count()
}

#[test]
fn a_flag_is_cleared_with_its_counters_its_message_and_one_note() {
    let project = flagged();
    assert!(recovered(&project, Note::Leave));
    let activity = activity_file::load(&project).unwrap().activity;
    assert_eq!((activity.last_nudge_ts, activity.nudge_count, activity.epoch), (0, 0, 2));
    assert_eq!(activity.last_activity_ts, T - 2_000);
    assert_eq!(pending::look(&project), Pending::Nothing);
    assert!(!flag_file::is_there(&project));
    let whats: Vec<What> = journal::all(&project).unwrap().into_iter().map(|event| event.what).collect();
    assert_eq!(whats, [What::Recovered { by: "ensure".to_owned() }]);
    insta::assert_snapshot!(fs::read_to_string(project.state()).unwrap(), @"
    - **stage**: build

    > [!NOTE]
    > KILN DEADLOCK RECOVERY 2026-12-01T04:11:05Z: DEADLOCK.flag of 2026-12-01T04:10:05Z after 3 nudges (no_recovery) was cleared; nudge counters were reset.
    ");
    // Once it is gone there is nothing to do.
    assert!(!recovered(&project, Note::Leave));
    assert_eq!((notes(&project), journal::all(&project).unwrap().len()), (1, 1));
}

#[test]
fn a_daemon_leaves_no_note_in_a_file_that_an_agent_edits() {
    let project = flagged();
    assert!(recovered(&project, Note::Omit));
    assert_eq!(fs::read_to_string(project.state()).unwrap(), "- **stage**: build\n");
    assert!(!flag_file::is_there(&project));
}

#[test]
fn a_start_that_was_interrupted_after_the_note_leaves_no_second_one() {
    let project = flagged();
    let flag = fs::read(project.flag()).unwrap();
    recovered(&project, Note::Leave);
    fs::write(project.flag(), flag).unwrap();
    assert!(recovered(&project, Note::Leave));
    assert_eq!(notes(&project), 1);
    // Another flag has a note of its own.
    flag_file::store(&project, &Flag { timestamp: T + 9_000, ..Flag::default() }).unwrap();
    recovered(&project, Note::Leave);
    assert_eq!(notes(&project), 2);
}

#[test]
fn a_flag_that_cannot_be_read_is_cleared_like_any_other() {
    let project = flagged();
    fs::write(project.flag(), "stalled").unwrap();
    assert!(recovered(&project, Note::Leave));
    assert!(!flag_file::is_there(&project));
    assert!(
        fs::read_to_string(project.state())
            .unwrap()
            .contains("DEADLOCK.flag of an unknown time (no_recovery)")
    );
}

#[test]
fn a_note_that_cannot_be_left_keeps_no_flag_in_place() {
    let project = flagged();
    fs::remove_file(project.state()).unwrap();
    assert!(recovered(&project, Note::Leave));
    assert!(!flag_file::is_there(&project) && !project.state().exists());
    let faults = journal::all(&project).unwrap();
    assert!(
        faults.iter().any(|event| matches!(&event.what, What::Fault { fault } if fault.contains("STATE.md")))
    );
}
