//! What a daemon says of itself.

use std::fs;

use super::{APART, Beacon, load, store, touch};
use crate::store::scratch::{mode, project};

#[test]
fn a_beacon_is_stored_and_read() {
    let project = project();
    assert_eq!(load(&project), None);
    let beacon = Beacon {
        v: 1,
        pid: 77,
        start_time: 5,
        watching: "polling (inotify: no watch is left)".to_owned(),
        // Later than any file's modification time: nothing but the beacon speaks.
        last_tick: 4_000_000_000_000,
        until: Some(9),
        seen_activity: Some((1_800_000_000, 3_600_000, 20_000)),
        faults: vec!["activity.json: empty".to_owned()],
        ..Beacon::default()
    };
    store(&project, &beacon).unwrap();
    assert_eq!(load(&project), Some(beacon));
    assert_eq!(mode(&project.in_own("daemon.json")), 0o600);
}

#[test]
fn a_beacon_of_another_version_is_read_as_far_as_it_goes_and_a_broken_one_not_at_all() {
    let project = project();
    let read = |text: &str| {
        fs::write(project.in_own("daemon.json"), text).unwrap();
        load(&project)
    };
    let newer = read(r#"{"v":2,"pid":7,"mood":"good"}"#).map(|beacon| Beacon { touched: None, ..beacon });
    assert_eq!(newer, Some(Beacon { v: 2, pid: 7, ..Beacon::default() }));
    assert!(read("{}").is_some());
    for broken in ["", "{\"pid\":", "null", "{\"pid\":\"seven\"}", &"x".repeat(70_000)] {
        assert_eq!(read(broken), None);
    }
}

#[test]
fn a_daemon_that_cannot_write_says_by_the_file_s_time_that_it_lives() {
    let project = project();
    assert!(touch(&project, 9_000).is_err());
    let tick = 1_800_000_000_000;
    store(&project, &Beacon { last_tick: tick, ..Beacon::default() }).unwrap();
    let touched = |at: i64| {
        touch(&project, at).unwrap();
        load(&project).unwrap().touched
    };
    assert_eq!(touched(tick + 60_000), Some(tick + 60_000));
    // A write takes a moment; its own time says nothing new.
    assert_eq!(touched(tick + APART), None);
    assert_eq!(touched(tick - 5_000), None);
}
