//! Pid files prove nothing, and nothing in them does harm.

use std::fs;

use super::{BRIDGE, DAEMON, load, remove_if, store};
use crate::store::scratch::{names, project};

#[test]
fn a_pid_is_stored_as_scripts_expect_it_and_removed_by_its_owner() {
    let project = project();
    store(&project, DAEMON, 4321).unwrap();
    let path = project.in_tmp("watchdog.pid");
    assert_eq!(fs::read_to_string(&path).unwrap(), "4321\n");
    assert_eq!(load(&path), Some(4321));
    remove_if(&project, DAEMON, 4322);
    assert_eq!(load(&path), Some(4321));
    remove_if(&project, DAEMON, 4321);
    remove_if(&project, DAEMON, 4321);
    assert_eq!(load(&path), None);
    store(&project, BRIDGE, 7).unwrap();
    assert_eq!(names(&project.tmp()), ["async-rewake-watchdog.pid", "watchdog"]);
}

#[test]
fn no_text_but_a_pid_that_a_process_could_have_is_one() {
    let project = project();
    let path = project.in_tmp(DAEMON);
    let check = |text: &str, pid: Option<i32>| {
        fs::write(&path, text).unwrap();
        assert_eq!(load(&path), pid, "{text:?}");
    };
    check("4321", Some(4321));
    check("4321\n\n", Some(4321));
    for text in [
        "",
        "\n",
        "abc",
        "-1",
        "0",
        "1",
        "4294967295",
        "99999999999999999999",
        "4321\n4322\n",
        "4321 4322",
        " 4321",
        "\u{0}",
        &"9".repeat(100),
    ] {
        check(text, None);
    }
}

#[test]
fn a_folder_in_its_place_is_no_hindrance() {
    let project = project();
    fs::create_dir(project.in_tmp(DAEMON)).unwrap();
    assert_eq!(load(&project.in_tmp(DAEMON)), None);
    store(&project, DAEMON, 4321).unwrap();
    assert_eq!(load(&project.in_tmp(DAEMON)), Some(4321));
    // What somebody keeps in one is kept.
    fs::create_dir(project.in_tmp(BRIDGE)).unwrap();
    fs::write(project.in_tmp(BRIDGE).join("precious"), "x").unwrap();
    store(&project, BRIDGE, 4321).unwrap();
    assert_eq!(load(&project.in_tmp(BRIDGE)), Some(4321));
    assert_eq!(names(&project.in_own("async-rewake-watchdog.pid.folder")), ["precious"]);
}
