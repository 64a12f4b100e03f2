//! The flag lies there or not; its wake is told once.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

use super::{claim_wake, clear, is_there, load, store};
use crate::model::nudge::Flag;
use crate::store::scratch::{mode, names, project};

fn flag(count: u32) -> Flag {
    Flag {
        timestamp: 1_000,
        nudge_count: Some(count),
        cause: Some("no_recovery".to_owned()),
        ..Flag::default()
    }
}

#[test]
fn a_flag_is_stored_read_and_cleared() {
    let project = project();
    assert!(!is_there(&project));
    assert_eq!(load(&project), None);
    store(&project, &flag(3)).unwrap();
    assert!(is_there(&project));
    assert_eq!(load(&project), Some(flag(3)));
    assert_eq!(mode(&project.flag()) & 0o600, 0o600);
    assert_eq!(names(&project.own()), ["sessions"]);
    clear(&project).unwrap();
    clear(&project).unwrap();
    assert!(!is_there(&project));
}

#[test]
fn a_flag_that_cannot_be_read_still_lies_there() {
    let project = project();
    let long = vec![b'x'; 100_000];
    let cases: [&[u8]; 5] = [b"", b"{\"timest", &[0; 200], b"[]", &long];
    for bytes in cases {
        fs::write(project.flag(), bytes).unwrap();
        assert!(is_there(&project));
        assert_eq!(load(&project), Some(Flag::default()), "{} bytes", bytes.len());
    }
    fs::remove_file(project.flag()).unwrap();
    symlink(project.in_kiln("nowhere"), project.flag()).unwrap();
    assert!(is_there(&project));
    assert_eq!(load(&project), Some(Flag::default()));
    store(&project, &flag(3)).unwrap();
    assert_eq!(load(&project), Some(flag(3)));
}

#[test]
fn its_wake_belongs_to_exactly_one() {
    let project = project();
    store(&project, &flag(3)).unwrap();
    let root = &project.root;
    let told = thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| claim_wake(root))).collect();
        all.into_iter().map(|one| usize::from(one.join().unwrap())).sum::<usize>()
    });
    assert_eq!(told, 1);
    // The same flag written again wakes nobody again.
    store(&project, &flag(3)).unwrap();
    assert!(!claim_wake(&project));
}

#[test]
fn a_new_flag_wakes_anew_however_the_old_one_went() {
    let project = project();
    let told_once = || {
        store(&project, &flag(3)).unwrap();
        assert!(claim_wake(&project));
        assert!(!claim_wake(&project));
    };
    told_once();
    clear(&project).unwrap();
    told_once();
    fs::remove_file(project.flag()).unwrap();
    told_once();
}
