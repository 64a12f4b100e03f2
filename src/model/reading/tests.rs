//! What is remembered of the files of sessions.

use super::*;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;

fn reading(track: &str, file: &str, bytes: u64) -> Reading {
    Reading {
        track: track.to_owned(),
        file: file.to_owned(),
        bytes,
        hash: "h".to_owned(),
        ..Reading::default()
    }
}

fn posting(from: &str, task: &str, line: u64) -> Posting {
    let text = ToOwned::to_owned;
    let (track, kind) = (text("team:a"), text(if task.is_empty() { "progress" } else { STATE_UPDATE }));
    Posting { track, line, from: text(from), kind, task: text(task), sent: 1000, ..Posting::default() }
}

fn exploration(angle: &str, by: &str) -> What {
    What::Explored(Exploration { track: "team:a".to_owned(), angle: angle.to_owned(), by: by.to_owned() })
}

fn folded(events: Vec<What>) -> Ledger {
    let mut ledger = Ledger::default();
    for (place, what) in events.into_iter().enumerate() {
        ledger.apply(&Event::of_root(1 + place as i64, what));
    }
    ledger
}

#[test]
fn the_last_word_on_a_file_counts_and_goes_with_its_session() {
    let read = |bytes| What::Read(Box::new(reading("team:a", "messages.jsonl", bytes)));
    let ledger = folded(vec![
        read(10),
        read(20),
        exploration("x", "R-1"),
        exploration("y", "R-2"),
        exploration("y", ""),
    ]);
    assert_eq!(ledger.readings.file("team:a", "messages.jsonl").map(|reading| reading.bytes), Some(20));
    let explored: Vec<_> =
        ledger.readings.of("team:a").expect("files").explored.clone().into_iter().collect();
    assert_eq!(explored, [("x".to_owned(), "R-1".to_owned())]);
    let gone =
        What::Read(Box::new(Reading { hash: String::new(), ..reading("team:a", "messages.jsonl", 0) }));
    assert_eq!(folded(vec![read(10), gone]).readings.file("team:a", "messages.jsonl"), None);
    assert_eq!(
        folded(vec![read(10), What::TrackGone { track: "team:a".to_owned() }]).readings,
        Readings::default()
    );
}

#[test]
fn another_log_knows_nothing_of_the_one_before_it() {
    let post = |from, task, line| What::Posted(Box::new(posting(from, task, line)));
    let posts = vec![post("analyst", "RESEARCH-001", 1), post("planner", "", 2), post("analyst", "", 3)];
    let ledger = folded(posts.clone());
    let files = ledger.readings.of("team:a").expect("files");
    assert_eq!(files.posted["analyst"], Report { sent: 1000, line: 1 });
    assert_eq!(files.posted["planner"], Report::default());
    assert!(files.reported.contains("RESEARCH-001"));
    let anew = What::Read(Box::new(reading("team:a", LOG, 0)));
    let ledger = folded(posts.into_iter().chain([anew]).collect());
    let files = ledger.readings.of("team:a").expect("files");
    assert!(files.posted.is_empty() && files.reported.is_empty());
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut readings = Readings::default();
    for n in 0..300 {
        readings.read(n, &reading(&format!("team:{n:03}"), "messages.jsonl", 1));
        readings.read(n, &reading("team:all", &format!("wisdom/{n:03}.md"), 1));
        let angle =
            Exploration { track: "team:all".to_owned(), angle: format!("a{n}"), by: "R-1".to_owned() };
        readings.explored(n, &angle);
    }
    assert_eq!(readings.tracks().count(), MOST_TRACKS);
    assert!(readings.of("team:299").is_some() && readings.of("team:000").is_none());
    assert_eq!(readings.of("team:all").expect("files").read.len(), MOST_FILES);
    let mut one = reading("team:a", "messages.jsonl", 1);
    for n in 0..1000 {
        one.note_mark(&n.to_string());
        readings.post(n, &posting(&(n % 200).to_string(), &format!("IMPL-{n}"), n as u64));
    }
    let files = readings.of("team:a").expect("files");
    assert_eq!((one.tail.len(), files.posted.len(), files.reported.len()), (TAIL, MOST_ROLES, 1000));
    assert_eq!(one.tail.last().map(String::as_str), Some("999"));
}

#[test]
fn a_line_of_the_journal_reads_as_it_was_written() {
    let mut one = reading("team:a", "messages.jsonl", 1);
    one.note_mark("00aa11bb");
    one.ids.get_or_insert_default().note(7);
    for what in [What::Read(Box::new(one)), exploration("x", ""), exploration("x", "R-1")] {
        let event = Event::of_root(7, what);
        let line = serde_json::to_string(&event).expect("a line");
        assert_eq!(serde_json::from_str::<Event>(&line).expect("an event"), event, "{line}");
    }
}
