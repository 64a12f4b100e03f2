//! The journal: torn lines, rotation under load, and that folding what is kept gives the same as folding all.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::{Follower, all, append, fold, fold_lines_with, parse, parse_line, rotate, text};
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::store::file::chain;
use crate::store::root::Root;
use crate::store::scratch::{Scratch, give_away, mode, names, project};

/// An event that can be told from all others: a tool call of a session with a number for its id.
fn call(session: &str, number: usize) -> Event {
    let what = What::ToolStart {
        tool: "Read".to_owned(),
        id: number.to_string(),
        timeout_ms: None,
        hash: String::new(),
    };
    Event { session: session.to_owned(), ..Event::of_root(number as i64, what) }
}

/// The numbers of calls, in their order.
fn numbers<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<usize> {
    let number = |event: &Event| match &event.what {
        What::ToolStart { id, .. } => id.parse().ok(),
        _ => None,
    };
    events.into_iter().filter_map(number).collect()
}

fn with(numbers: std::ops::Range<usize>) -> Scratch {
    let project = project();
    for number in numbers {
        append(&project, &[call("s1", number)]).unwrap();
    }
    project
}

fn path(root: &Root) -> std::path::PathBuf {
    root.in_own("journal.jsonl")
}

fn write_raw(root: &Root, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path(root)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn what_is_appended_is_read_in_its_order() {
    let project = with(0..3);
    append(&project, &[call("s1", 3), call("s1", 4)]).unwrap();
    append(&project, &[]).unwrap();
    assert_eq!(numbers(&all(&project).unwrap()), [0, 1, 2, 3, 4]);
    assert_eq!(mode(&path(&project)), 0o600);
    assert_eq!(text(&project).unwrap().split_inclusive(|byte| *byte == b'\n').count(), 5);
}

#[test]
fn a_journal_that_is_not_there_is_empty() {
    let project = project();
    assert_eq!(text(&project).unwrap(), b"");
    assert_eq!(all(&project).unwrap(), []);
    assert_eq!(fold(&project).unwrap(), Ledger::default());
    assert_eq!(Follower::default().follow(&project).unwrap(), []);
    assert!(!rotate(&project, 1, 0).unwrap());
}

#[test]
fn a_journal_that_is_not_ours_is_refused_not_followed() {
    let project = project();
    let victim = project.in_kiln("precious");
    fs::write(&victim, "").unwrap();
    symlink(&victim, path(&project)).unwrap();
    assert!(append(&project, &[call("s1", 1)]).is_err());
    assert!(chain(&text(&project).unwrap_err()).ends_with("it is a symlink"));
    assert_eq!(fs::read(&victim).unwrap(), b"");
    fs::remove_file(path(&project)).unwrap();
    append(&project, &[call("s1", 1)]).unwrap();
    if give_away(&path(&project)) {
        assert!(
            chain(&append(&project, &[call("s1", 2)]).unwrap_err()).ends_with("not a regular file of ours")
        );
        assert!(chain(&fold(&project).unwrap_err()).ends_with("it belongs to another user"));
    }
}

#[test]
fn an_error_names_the_file() {
    let project = project();
    fs::remove_dir_all(project.own()).unwrap();
    let error = chain(&append(&project, &[call("s1", 1)]).unwrap_err());
    assert!(
        error.starts_with(&format!("cannot append to {}: No such file", path(&project).display())),
        "{error}"
    );
}

#[test]
fn a_torn_line_costs_no_other() {
    let line = |number: usize| serde_json::to_string(&call("s1", number)).unwrap();
    let read = |text: String| numbers(&parse(text.as_bytes()).collect::<Vec<_>>());
    let half = &line(1)[..line(1).len() / 2];
    assert_eq!(read(format!("{}\n{half}{}\n{}\n", line(0), line(2), line(3))), [0, 2, 3]);
    assert_eq!(read(format!("{half}{half}{}\n", line(2))), [2]);
    assert_eq!(read(format!("{}\n{half}", line(0))), [0]);
    assert_eq!(read(format!("\n\n{}\n\nnonsense\n{{}}\n[]\n{}\n", line(0), line(1))), [0, 1]);
    assert_eq!(read(format!("{}\u{0}\u{0}\n{}\n", half, line(1))), [1]);
    assert_eq!(parse_line(b""), None);
    assert_eq!(parse_line(b"{\"v\":1}"), None);
}

#[test]
fn every_cut_of_a_line_leaves_the_next_whole() {
    let line = serde_json::to_string(&call("s1", 1)).unwrap();
    for cut in 0..line.len() {
        let text = format!("{}{}\n", &line[..cut], serde_json::to_string(&call("s1", 2)).unwrap());
        assert_eq!(numbers(&parse(text.as_bytes()).collect::<Vec<_>>()), [2], "cut at {cut}");
    }
}

#[test]
fn a_follower_gives_each_line_once_and_waits_for_the_end_of_a_line() {
    let project = with(0..2);
    let mut follower = Follower::default();
    assert_eq!(numbers(&follower.follow(&project).unwrap()), [0, 1]);
    assert_eq!(follower.follow(&project).unwrap(), []);
    let line = serde_json::to_string(&call("s1", 2)).unwrap();
    write_raw(&project, &line.as_bytes()[..20]);
    assert_eq!(follower.follow(&project).unwrap(), []);
    write_raw(&project, &line.as_bytes()[20..]);
    write_raw(&project, b"\n");
    assert_eq!(numbers(&follower.follow(&project).unwrap()), [2]);
    assert_eq!(follower.offset(), text(&project).unwrap().len() as u64);
    assert_eq!(follower.ledger, fold(&project).unwrap());
}

#[test]
fn a_follower_misses_nothing_across_rotations() {
    let project = with(0..3);
    let mut follower = Follower::default();
    follower.follow(&project).unwrap();
    // Between its look and the rotation, and after it.
    append(&project, &[call("s1", 3)]).unwrap();
    assert!(rotate(&project, 50, 0).unwrap());
    append(&project, &[call("s1", 4)]).unwrap();
    assert_eq!(numbers(&follower.follow(&project).unwrap()), [3, 4]);
    assert_eq!(follower.ledger, fold(&project).unwrap());
    assert!(rotate(&project, 60, 0).unwrap());
    assert!(numbers(&follower.follow(&project).unwrap()).is_empty());
    append(&project, &[call("s1", 5)]).unwrap();
    assert_eq!(numbers(&follower.follow(&project).unwrap()), [5]);
    assert_eq!(follower.ledger.sessions["s1"].agents[""].tools.len(), 6);
}

#[test]
fn a_follower_begins_anew_with_a_new_or_shortened_file() {
    let project = with(0..3);
    let mut follower = Follower::default();
    follower.follow(&project).unwrap();
    fs::remove_file(path(&project)).unwrap();
    assert_eq!(follower.follow(&project).unwrap(), []);
    append(&project, &[call("s2", 7)]).unwrap();
    assert_eq!(numbers(&follower.follow(&project).unwrap()), [7]);
    assert_eq!(follower.ledger.sessions.keys().collect::<Vec<_>>(), ["s2"]);
    fs::File::options().write(true).open(path(&project)).unwrap().set_len(0).unwrap();
    append(&project, &[call("s", 8)]).unwrap();
    assert_eq!(numbers(&follower.follow(&project).unwrap()), [8]);
    assert_eq!(follower.ledger.sessions.keys().collect::<Vec<_>>(), ["s"]);
}

#[test]
fn a_rotation_keeps_the_old_text_and_begins_with_all_of_it_folded() {
    let project = with(0..5);
    let (before, ledger) = (text(&project).unwrap(), fold(&project).unwrap());
    assert!(!rotate(&project, 9, before.len() as u64).unwrap());
    assert!(rotate(&project, 9, before.len() as u64 - 1).unwrap());
    assert_eq!(fs::read(project.in_own("journal.1.jsonl")).unwrap(), before);
    let events: Vec<Event> = parse(&text(&project).unwrap()).collect();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].what, What::Snapshot { ledger: Box::new(ledger.clone()) });
    assert_eq!(fold(&project).unwrap(), ledger);
    assert_eq!(mode(&path(&project)), 0o600);
    assert_eq!(names(&project.own()), ["journal.1.jsonl", "journal.jsonl", "sessions"]);
    assert_eq!(numbers(&all(&project).unwrap()), [0, 1, 2, 3, 4]);
}

#[test]
fn a_rotation_that_was_killed_half_way_doubles_nothing_and_is_done_the_next_time() {
    let project = with(0..3);
    fs::hard_link(path(&project), project.in_own("journal.1.jsonl")).unwrap();
    fs::write(project.in_own("journal.1.new"), "left").unwrap();
    assert_eq!(numbers(&all(&project).unwrap()), [0, 1, 2]);
    assert!(rotate(&project, 9, 0).unwrap());
    assert_eq!(numbers(&all(&project).unwrap()), [0, 1, 2]);
}

#[test]
fn a_journal_in_use_is_rotated_another_time() {
    let project = with(0..3);
    let appender = fs::File::open(path(&project)).unwrap();
    appender.lock_shared().unwrap();
    assert!(!rotate(&project, 9, 0).unwrap());
    drop(appender);
    assert!(rotate(&project, 9, 0).unwrap());
}

#[test]
fn an_appender_does_not_wait_for_a_rotation_that_is_stopped() {
    let project = with(0..1);
    let stopped = fs::File::open(path(&project)).unwrap();
    stopped.lock().unwrap();
    append(&project, &[call("s1", 1)]).unwrap();
    assert_eq!(numbers(&all(&project).unwrap()), [0, 1]);
}

/// Appends calls of one session, as hooks do: with a pause after each, so that a rotation gets its turn.
fn write(root: &Root, writer: usize) {
    let session = format!("s{writer}");
    for number in 0..EACH {
        append(root, &[call(&session, writer * EACH + number)]).unwrap();
        // A turn that ends keeps the ledger, and with it the snapshots, small.
        if number % 10 == 9 {
            append(root, &[Event { session: session.clone(), ..Event::of_root(1, What::TurnEnd) }]).unwrap();
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// Rotates as often as it can and follows, until told that all is over. Returns what it saw, and its rotations.
fn rotate_and_follow(root: &Root, is_over: &AtomicBool) -> (Vec<usize>, usize) {
    let (mut rotations, mut follower, mut seen) = (0, Follower::default(), Vec::new());
    loop {
        let last = is_over.load(Ordering::Relaxed);
        rotations += usize::from(rotate(root, 7, 20_000).unwrap());
        seen.extend(numbers(&follower.follow(root).unwrap()));
        if last {
            return (seen, rotations);
        }
    }
}

const WRITERS: usize = 8;
const EACH: usize = 150;

#[test]
fn nothing_is_lost_nor_doubled_when_eight_append_and_one_rotates() {
    let project = project();
    let root = &project.root;
    let is_over = AtomicBool::new(false);
    let (seen, rotations) = thread::scope(|scope| {
        let rotator = scope.spawn(|| rotate_and_follow(root, &is_over));
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(root, writer))).collect();
        let results: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        for result in results {
            result.unwrap();
        }
        rotator.join().unwrap()
    });
    assert!(rotations > 0);
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..WRITERS * EACH).collect::<Vec<_>>());
    // What one writer wrote stays in its order.
    for writer in 0..WRITERS {
        let own: Vec<usize> = seen.iter().copied().filter(|number| number / EACH == writer).collect();
        assert!(own.is_sorted(), "{own:?}");
    }
    let ledger = fold(root).unwrap();
    assert_eq!(ledger.sessions.len(), WRITERS);
    assert!(ledger.sessions.values().all(|session| session.agents[""].tools.is_empty()));
}

#[test]
fn a_hook_folds_only_the_lines_it_needs_and_the_snapshot() {
    let project = with(0..2);
    assert!(rotate(&project, 50, 0).unwrap());
    append(&project, &[call("s2", 2), call("s3", 3)]).unwrap();
    let ledger = fold_lines_with(&project, &["\"s3\""]).unwrap();
    assert_eq!(ledger.sessions.keys().collect::<Vec<_>>(), ["s1", "s3"]);
    assert_eq!(fold_lines_with(&project, &["\"s2\"", "\"s3\""]).unwrap(), fold(&project).unwrap());
    assert_eq!(fold_lines_with(&project, &[]).unwrap().sessions.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn folding_what_is_kept_gives_the_same_as_folding_all(
        kinds in proptest::collection::vec((0..6_u8, 0..3_u8), 1..40), rotations in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let project = project();
        let rotations: Vec<usize> = rotations.iter().map(|place| place.index(kinds.len())).collect();
        let mut unrotated = Ledger::default();
        for (place, (kind, session)) in kinds.iter().enumerate() {
            let mut event = call(&format!("s{session}"), place);
            event.what = match kind {
                0 => What::TurnEnd,
                1 => What::SessionEnd { reason: "other".to_owned() },
                2 => What::Permission { tool: "Read".to_owned() },
                3 => What::Nudged { n: 1, id: String::new(), idle_seconds: 301 },
                4 => What::Prompt { wake: false },
                _ => event.what,
            };
            unrotated.apply(&event);
            append(&project, &[event]).unwrap();
            if rotations.contains(&place) {
                prop_assert!(rotate(&project, 99, 0).unwrap());
            }
        }
        prop_assert_eq!(&fold(&project).unwrap(), &unrotated);
        let mut both = Ledger::default();
        all(&project).unwrap().iter().for_each(|event| both.apply(event));
        prop_assert_eq!(&both, &unrotated);
        let mut follower = Follower::default();
        follower.follow(&project).unwrap();
        prop_assert_eq!(&follower.ledger, &unrotated);
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let project = project();
        write_raw(&project, &bytes);
        prop_assert!(numbers(&all(&project).unwrap()).is_empty());
        append(&project, &[call("s1", 1)]).unwrap();
        prop_assert!(numbers(&all(&project).unwrap()).len() <= 1);
    }
}
