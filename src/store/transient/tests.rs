//! What goes with the last session, and what stays.

use std::fs;
use std::time::Duration;

use super::{Daemon, remove, remove_all};
use crate::model::event::{Event, What};
use crate::model::nudge::{Flag, Nudge};
use crate::store::beacon::Beacon;
use crate::store::scratch::{Scratch, names, project};
use crate::store::sessions::Session;
use crate::store::{activity_file, beacon, flag_file, journal, pending, pid_file, sessions};

/// A project in the midst of everything.
fn busy() -> Scratch {
    let project = project();
    let held = activity_file::hold(&project, Duration::from_secs(30)).unwrap();
    held.store(&mut held.load()).unwrap();
    drop(held);
    pid_file::store(&project, pid_file::DAEMON, 77).unwrap();
    pid_file::store(&project, pid_file::BRIDGE, 78).unwrap();
    beacon::store(&project, &Beacon::default()).unwrap();
    fs::write(project.in_own("daemon.json.new"), "what a killed daemon left").unwrap();
    fs::create_dir(project.in_own("bridges")).unwrap();
    fs::write(project.in_own("bridges/s1"), "1").unwrap();
    sessions::store(&project, &Session { session_id: "s1".to_owned(), ..Session::default() }).unwrap();
    pending::stage(&project, &Nudge { text: "nudge".to_owned(), ..Nudge::default() }).unwrap();
    flag_file::store(&project, &Flag::default()).unwrap();
    journal::append(&project, &[Event::of_root(1, What::Resumed)]).unwrap();
    project
}

#[test]
fn a_daemon_s_end_takes_its_marks_and_what_is_staged() {
    let project = busy();
    remove(&project, Daemon::Ends).unwrap();
    assert_eq!(names(&project.tmp()), ["activity.json", "activity.lock", "watchdog"]);
    assert_eq!(names(&project.own()), ["journal.jsonl", "sessions"]);
    assert_eq!(names(&project.sessions()), ["s1.json"]);
    assert!(flag_file::is_there(&project));
    remove(&project, Daemon::Ends).unwrap();
}

#[test]
fn of_a_daemon_that_stays_the_marks_stay_too() {
    let project = busy();
    remove(&project, Daemon::Stays).unwrap();
    assert_eq!(names(&project.tmp()), ["activity.json", "activity.lock", "watchdog", "watchdog.pid"]);
    assert_eq!(names(&project.own()), ["daemon.json", "journal.jsonl", "sessions"]);
}

#[test]
fn the_last_session_takes_the_activity_too_and_never_the_flag_or_the_journal() {
    for is_held in [true, false] {
        let project = busy();
        let held = is_held.then(|| activity_file::hold(&project, Duration::from_secs(30)).unwrap());
        activity_file::note_unstored(&project, 5_000).unwrap();
        remove_all(&project, held, Daemon::Ends).unwrap();
        assert_eq!(names(&project.tmp()), ["activity.lock", "watchdog"]);
        assert_eq!(names(&project.own()), ["journal.jsonl", "sessions"]);
        assert_eq!(names(&project.sessions()), Vec::<String>::new());
        assert!(flag_file::is_there(&project));
        assert_eq!(journal::all(&project).unwrap().len(), 1);
    }
}
