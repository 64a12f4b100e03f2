//! What a daemon says of itself.

use std::fs;

use super::{Beacon, load, store};
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
    assert_eq!(read(r#"{"v":2,"pid":7,"mood":"good"}"#), Some(Beacon { v: 2, pid: 7, ..Beacon::default() }));
    assert_eq!(read("{}"), Some(Beacon::default()));
    for broken in ["", "{\"pid\":", "null", "{\"pid\":\"seven\"}", &"x".repeat(70_000)] {
        assert_eq!(read(broken), None);
    }
}
