//! The log is capped, and what repeats is counted.

use std::fs;

use super::{CAP, Inner};

fn log(folder: &tempfile::TempDir) -> Inner {
    Inner { path: folder.path().join("watchdog.log"), file: None, size: 0, last: String::new(), repeats: 0 }
}

fn total(folder: &tempfile::TempDir) -> u64 {
    fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn f21_all_that_is_ever_logged_stays_below_the_cap_and_the_latest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = log(&folder);
    let filler = "x".repeat(1000);
    for n in 0..20_000 {
        log.take(&format!("2026-12-01T00:00:00Z  INFO line {n} {filler}\n")).unwrap();
        assert!(n % 1000 != 0 || total(&folder) <= CAP);
    }
    assert!(total(&folder) <= CAP);
    assert!(fs::read_to_string(folder.path().join("watchdog.log")).unwrap().contains("line 19999 "));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn f21_a_line_that_repeats_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = log(&folder);
    for second in 0..10_000 {
        log.take(&format!("2026-12-01T00:00:{second:02}Z  WARN the same\n")).unwrap();
    }
    log.take("2026-12-01T00:01:00Z  INFO another\n").unwrap();
    let text = fs::read_to_string(folder.path().join("watchdog.log")).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("was repeated 9999 times"), "{text}");
}

#[test]
fn f21_a_log_that_was_long_before_is_not_begun_anew_by_a_new_daemon_and_still_capped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("watchdog.log");
    fs::write(&path, vec![b'x'; usize::try_from(CAP).unwrap() / 2 - 10]).unwrap();
    let mut log = log(&folder);
    log.take("2026-12-01T00:00:00Z  INFO the first line of the new one\n").unwrap();
    log.take("2026-12-01T00:00:01Z  INFO the second line of the new one\n").unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("second line"));
    assert!(total(&folder) <= CAP + 100);
}
