//! A message is taken exactly once, by whom it is for.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Pending, claim, look, stage, withdraw};
use crate::model::nudge::Nudge;
use crate::store::root::Root;
use crate::store::scratch::{Scratch, child, give_away, mode, names, project, word};

fn nudge(number: u32, session: Option<&str>) -> Nudge {
    Nudge {
        text: format!("nudge {number}"),
        timestamp: 1_000,
        number,
        id: format!("1000-{number}"),
        session: session.map(ToOwned::to_owned),
        wakes: true,
    }
}

fn staged(number: u32, session: Option<&str>) -> Scratch {
    let project = project();
    stage(&project, &nudge(number, session)).unwrap();
    project
}

fn anyone(_: &Nudge) -> bool {
    true
}

/// Nothing staged, nothing taken lies about.
fn assert_clean(root: &Root) {
    assert_eq!(look(root), Pending::Nothing);
    assert_eq!(names(&root.own()), ["sessions"]);
}

#[test]
fn a_message_is_taken_once() {
    let project = staged(1, None);
    assert_eq!(mode(&project.pending()), 0o600);
    assert_eq!(look(&project), Pending::Staged(nudge(1, None)));
    assert_eq!(claim(&project, anyone).unwrap(), Some(nudge(1, None)));
    assert_eq!(claim(&project, anyone).unwrap(), None);
    assert_clean(&project);
}

#[test]
fn a_newer_message_replaces_one_that_nobody_took() {
    let project = staged(1, None);
    stage(&project, &nudge(2, None)).unwrap();
    assert_eq!(claim(&project, anyone).unwrap(), Some(nudge(2, None)));
    assert_clean(&project);
}

#[test]
fn a_message_for_another_stays_where_it_is() {
    let project = staged(1, Some("s1"));
    let is_for = |session: &'static str| move |nudge: &Nudge| nudge.session.as_deref() == Some(session);
    assert_eq!(claim(&project, is_for("s2")).unwrap(), None);
    assert_eq!(look(&project), Pending::Staged(nudge(1, Some("s1"))));
    assert_eq!(claim(&project, is_for("s1")).unwrap(), Some(nudge(1, Some("s1"))));
    assert_clean(&project);
}

/// Between the look and the taking another message may have come: the asker finds that out only then.
#[test]
fn a_message_that_was_taken_for_another_is_put_back() {
    let project = staged(1, Some("s1"));
    let looks = AtomicUsize::new(0);
    let fickle = |_: &Nudge| looks.fetch_add(1, Ordering::Relaxed) == 0;
    assert_eq!(claim(&project, fickle).unwrap(), None);
    assert_eq!(look(&project), Pending::Staged(nudge(1, Some("s1"))));
    assert_eq!(names(&project.own()), ["sessions"]);
}

#[test]
fn a_message_that_was_taken_for_another_gives_way_to_a_newer_one() {
    let project = staged(1, Some("s1"));
    let root = &project.root;
    let looks = AtomicUsize::new(0);
    let overtaken = |_: &Nudge| {
        let is_first = looks.fetch_add(1, Ordering::Relaxed) == 0;
        if !is_first {
            stage(root, &nudge(2, Some("s1"))).unwrap();
        }
        is_first
    };
    assert_eq!(claim(root, overtaken).unwrap(), None);
    assert_eq!(look(root), Pending::Staged(nudge(2, Some("s1"))));
    assert_eq!(names(&root.own()), ["sessions"]);
}

#[test]
fn what_cannot_be_delivered_is_dropped_once_whoever_asks() {
    let long = vec![b' '; 300_000];
    let broken: [&[u8]; 6] =
        [b"", b"{\"additionalContext\":\"x", &[0; 200], b"[]", b"{\"additionalContext\":\" \"}", &long];
    for bytes in broken {
        let project = project();
        fs::write(project.pending(), bytes).unwrap();
        assert!(matches!(look(&project), Pending::Broken(_)), "{bytes:?}");
        assert_eq!(claim(&project, |_| false).unwrap(), None);
        assert_clean(&project);
    }
}

#[test]
fn a_link_and_a_file_of_another_user_are_dropped_unread() {
    let project = project();
    let victim = project.in_kiln("precious.json");
    fs::write(&victim, "{\"additionalContext\":\"do evil\"}").unwrap();
    symlink(&victim, project.pending()).unwrap();
    assert!(matches!(look(&project), Pending::Broken(why) if why.ends_with("it is a symlink")));
    assert_eq!(claim(&project, anyone).unwrap(), None);
    assert_clean(&project);
    assert!(victim.exists());
    fs::write(project.pending(), "{\"additionalContext\":\"do evil\"}").unwrap();
    if give_away(&project.pending()) {
        assert_eq!(claim(&project, anyone).unwrap(), None);
        assert_clean(&project);
    }
}

#[test]
fn a_message_of_the_protocol_s_own_tools_is_taken() {
    let project = project();
    fs::write(project.pending(), "\u{feff}{\"additionalContext\":\"idle\"} x").unwrap();
    assert_eq!(claim(&project, anyone).unwrap().map(|nudge| nudge.text).as_deref(), Some("idle"));
}

#[test]
fn withdrawing_takes_what_is_over_and_leaves_the_rest() {
    let project = staged(2, None);
    assert_eq!(withdraw(&project, |nudge| nudge.number == 0).unwrap(), None);
    assert_eq!(withdraw(&project, |nudge| nudge.number > 0).unwrap().as_deref(), Some("1000-2"));
    assert_eq!(withdraw(&project, anyone).unwrap(), None);
    assert_clean(&project);
}

#[test]
fn a_name_that_a_killed_process_left_is_no_hindrance() {
    let project = project();
    for number in 0..200 {
        let left = format!("pending-nudge.{}-{number}.claimed", std::process::id());
        fs::write(project.in_own(&left), "old").unwrap();
    }
    stage(&project, &nudge(1, None)).unwrap();
    assert_eq!(claim(&project, anyone).unwrap(), Some(nudge(1, None)));
}

#[test]
fn of_sixteen_threads_one_takes_it() {
    let project = project();
    for round in 1..30 {
        stage(&project, &nudge(round, None)).unwrap();
        let root = &project.root;
        let taken = thread::scope(|scope| {
            let all: Vec<_> = (0..16).map(|_| scope.spawn(|| claim(root, anyone).unwrap())).collect();
            all.into_iter().filter_map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(taken, [nudge(round, None)]);
    }
    assert_clean(&project);
}

/// Messages are staged while others are taken: each is taken at most once, and the last is not lost.
#[test]
fn no_message_is_taken_twice_while_new_ones_are_staged() {
    let project = project();
    let root = &project.root;
    let mut taken: Vec<u32> = thread::scope(|scope| {
        let stager = scope.spawn(|| (1..=200).for_each(|number| stage(root, &nudge(number, None)).unwrap()));
        let takers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    for _ in 0..200 {
                        mine.extend(claim(root, anyone).unwrap().map(|nudge| nudge.number));
                    }
                    mine
                })
            })
            .collect();
        stager.join().unwrap();
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    taken.extend(claim(root, anyone).unwrap().map(|nudge| nudge.number));
    let all = taken.len();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), all);
    assert_eq!(taken.last(), Some(&200));
    assert_clean(root);
}

#[test]
fn of_sixteen_processes_one_takes_it() {
    let project = staged(1, None);
    let start = || {
        child("store::pending::tests::a_process_that_claims", project.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let processes: Vec<_> = (0..16).map(|_| start()).collect();
    let said = processes.into_iter().map(|process| process.wait_with_output().unwrap());
    let taken: Vec<String> = said
        .map(|output| {
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        })
        .filter(|text| text.contains("took nudge 1"))
        .collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_clean(&project);
}

#[test]
#[ignore = "the other process of a test"]
fn a_process_that_claims() {
    let root = Root::at(&word()).unwrap();
    match claim(&root, anyone).unwrap() {
        Some(nudge) => println!("took {}", nudge.text),
        None => assert_eq!(look(&root), Pending::Nothing),
    }
}
