//! A log that is written by several at once.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;

/// The clock of these tests lies far ahead, so that every file is calm.
const LATER: Millis = 4_000_000_000_000;

struct Scratch {
    folder: tempfile::TempDir,
    log: Log,
    reading: Reading,
}

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), log: Log::default(), reading: Reading::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("messages.jsonl")
    }

    fn append(&self, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    fn look(&mut self) -> (Vec<String>, Vec<String>) {
        let news = self.log.follow(&self.path(), &mut self.reading, LATER).unwrap().unwrap_or_default();
        told(&news)
    }
}

fn told(news: &News) -> (Vec<String>, Vec<String>) {
    let messages =
        news.messages.iter().map(|(line, message)| format!("{line} {} {}", message.id, message.from));
    let faults = news.faults.iter().map(|(line, from, fault)| format!("{line} {from} {}", fault.rule.word()));
    (messages.collect(), faults.collect())
}

fn line(id: u32, from: &str, more: &str) -> String {
    let ts = format!("2026-01-15T10:{:02}:00.000+00:00", id % 60);
    format!(
        "{{\"id\":\"MSG-{id:03}\",\"ts\":\"{ts}\",\"from\":\"{from}\",\"to\":\"all\",\"type\":\"progress\"{more}}}\n"
    )
}

#[track_caller]
fn check(found: &(Vec<String>, Vec<String>), messages: &[&str], faults: &[&str]) {
    assert_eq!(
        (&found.0[..], &found.1[..]),
        (
            &messages.iter().map(ToString::to_string).collect::<Vec<_>>()[..],
            &faults.iter().map(ToString::to_string).collect::<Vec<_>>()[..]
        )
    );
}

#[test]
fn each_message_is_told_once_and_a_half_one_when_it_is_whole() {
    let mut scratch = Scratch::new();
    check(&scratch.look(), &[], &[]);
    let second = line(2, "b", "");
    scratch.append(&(line(1, "a", "") + &second[..20]));
    check(&scratch.look(), &["1 MSG-001 a"], &[]);
    check(&scratch.look(), &[], &[]);
    assert_eq!(last(&scratch.path()).unwrap().id, "MSG-001");
    scratch.append(&second[20..]);
    check(&scratch.look(), &["2 MSG-002 b"], &[]);
    // Another daemon goes on from what was kept.
    scratch.log = Log::default();
    check(&scratch.look(), &[], &[]);
    scratch.append(&line(3, "a", ""));
    check(&scratch.look(), &["3 MSG-003 a"], &[]);
}

#[test]
fn torn_lines_are_passed_over_and_counted_and_ids_are_held_against_each_other() {
    let mut scratch = Scratch::new();
    let whole = line(3, "c", "");
    let torn = format!("{}{}", &whole[..10], line(2, "b", ""));
    scratch.append(
        &[line(1, "a", ""), torn, "\n".to_owned(), line(4, "a", ""), line(4, "b", ""), line(2, "a", "")]
            .concat(),
    );
    check(
        &scratch.look(),
        &["1 MSG-001 a", "4 MSG-004 a", "5 MSG-004 b", "6 MSG-002 a"],
        &["2  torn-line", "5 b id-duplicate", "6 a id-decreasing"],
    );
    assert_eq!((scratch.reading.torn, scratch.reading.lines), (1, 6));
    scratch.log = Log::default();
    scratch.append(&line(4, "c", ""));
    check(&scratch.look(), &["7 MSG-004 c"], &["7 c id-duplicate"]);
}

#[test]
fn a_log_that_its_tool_writes_anew_goes_on_behind_the_last_message() {
    let mut scratch = Scratch::new();
    scratch.write(&[line(1, "a", ""), line(2, "b", ""), line(3, "c", "")].concat());
    check(&scratch.look(), &["1 MSG-001 a", "2 MSG-002 b", "3 MSG-003 c"], &[]);
    // Somebody read its mailbox: every line is longer.
    let read = ",\"dispatch_status\":\"delivered\"";
    scratch.write(&[line(1, "a", read), line(2, "b", read), line(3, "c", read)].concat());
    check(&scratch.look(), &[], &[]);
    scratch.append(&line(4, "d", ""));
    check(&scratch.look(), &["4 MSG-004 d"], &[]);
    // A message was deleted, and another came meanwhile.
    scratch.write(&[line(1, "a", ""), line(3, "c", ""), line(4, "d", ""), line(5, "e", "")].concat());
    check(&scratch.look(), &["4 MSG-005 e"], &[]);
    // The last ones were deleted: their ids are given again.
    scratch.write(&line(1, "a", ""));
    check(&scratch.look(), &[], &[]);
    scratch.append(&line(2, "x", ""));
    check(&scratch.look(), &["2 MSG-002 x"], &[]);
}

#[test]
fn another_log_is_noticed_and_read_from_its_beginning() {
    let mut scratch = Scratch::new();
    scratch.write(&[line(1, "a", ""), line(2, "b", "")].concat());
    scratch.look();
    let new = line(1, "z", "").replace("2026-01-15", "2026-01-16");
    scratch.write(&new);
    let news = scratch.log.follow(&scratch.path(), &mut scratch.reading, LATER).unwrap().unwrap();
    assert!(news.is_another);
    check(&told(&news), &["1 MSG-001 z"], &[]);
    // And by a rename of another file onto it.
    let other = scratch.folder.path().join("other");
    fs::write(&other, new + &line(2, "y", "").replace("2026-01-15", "2026-01-16")).unwrap();
    fs::rename(other, scratch.path()).unwrap();
    check(&scratch.look(), &["2 MSG-002 y"], &[]);
}

#[test]
fn a_log_that_is_being_written_anew_is_waited_for() {
    let mut scratch = Scratch::new();
    let all = [line(1, "a", ""), line(2, "b", "")].concat();
    scratch.write(&all);
    scratch.look();
    scratch.write("");
    let early = scratch.log.follow(&scratch.path(), &mut scratch.reading, 0).unwrap().unwrap();
    assert_eq!(early, News { again: true, ..News::default() });
    scratch.write(&(all + &line(3, "c", "")));
    check(&scratch.look(), &["3 MSG-003 c"], &[]);
}

#[test]
fn a_large_log_is_read_in_parts_and_none_of_it_twice() {
    let mut scratch = Scratch::new();
    let pad = format!(",\"data\":{{\"x\":\"{}\"}}", "y".repeat(10_000));
    let all: String = (1..=900).map(|id| line(id, "a", &pad)).collect();
    scratch.write(&all);
    assert_eq!(last(&scratch.path()).unwrap().id, "MSG-900");
    let (mut count, mut looks) = (0, 0);
    while let Some(news) = scratch.log.follow(&scratch.path(), &mut scratch.reading, LATER).unwrap() {
        count += news.messages.len();
        looks += 1;
        assert_eq!(news.faults, []);
    }
    assert_eq!((count, looks), (900, 9));
}

/// Real processes that append side by side without a lock, one of them in two halves.
#[test]
fn writers_without_a_lock_lose_no_whole_line() {
    let mut scratch = Scratch::new();
    scratch.write("");
    let path = scratch.path();
    let loop_of = |from: &str, body: &str| {
        let script = format!("i=0; while [ $i -lt 200 ]; do i=$((i+1)); {body}; done");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", from]).arg(&path).stdin(Stdio::null());
        command.spawn().unwrap()
    };
    let whole = r#"printf '{"id":"MSG-%03d","from":"%s","to":"all","type":"progress"}\n' $i "$1" >>"$2""#;
    let halves = r#"printf '{"id":"MSG-%03d","from":"%s",' $i "$1" >>"$2"; printf '"to":"all"}\n' >>"$2""#;
    let mut writers =
        [loop_of("a", whole), loop_of("b", whole), loop_of("c", whole), loop_of("halves", halves)];
    let mut found = Vec::new();
    let mut is_over = false;
    while !is_over {
        is_over = writers.iter_mut().all(|writer| writer.try_wait().unwrap().is_some());
        let news = scratch.log.follow(&path, &mut scratch.reading, 0).unwrap().unwrap_or_default();
        assert!(!news.is_another);
        found.extend(news.messages.into_iter().map(|(line, message)| (line, message.from, message.id)));
    }
    let text = fs::read_to_string(&path).unwrap();
    let wanted: Vec<_> = text
        .lines()
        .enumerate()
        .filter_map(|(place, line)| {
            let value: serde_json::Value = serde_json::from_str(line).ok()?;
            let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
            Some((place as u64 + 1, field("from"), field("id")))
        })
        .collect();
    assert_eq!(found, wanted, "each line that holds a message, once, in order");
    assert_eq!(scratch.reading.lines, text.lines().count() as u64);
    assert_eq!(scratch.reading.torn + found.len() as u64, scratch.reading.lines);
    assert!(found.iter().filter(|(_, from, _)| from != "halves").count() >= 300);
}
