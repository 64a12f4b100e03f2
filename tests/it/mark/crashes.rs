//! Several marks at once, and marks that are killed.

use std::fs;

use super::{Task, history, launch, said};
use crate::world::{eventually, read_json};

#[test]
fn marks_at_the_same_time_lose_nothing() {
    let task = Task::new("fix").with_evidence();
    let items: Vec<String> = (1..=16).map(|number| format!("- [ ] item {number}\n")).collect();
    let items = items.concat();
    task.put("TASK.md", &items);
    task.marked(&["start"]);
    let attempt = task.signal()["attemptId"].clone();
    let all: Vec<_> = (1..=16).map(|number| launch(task.command(&[&number.to_string()]))).collect();
    for running in all {
        let ran = running.end();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    }
    let numbers: Vec<usize> = (1..=16).collect();
    assert_eq!(task.ticked("TASK.md"), numbers);
    let signal = task.signal();
    let mut ticks = history(&signal);
    ticks.sort_unstable();
    assert_eq!((ticks, &signal["attemptId"]), ((1..=16).collect(), &attempt));
}

#[test]
fn a_step_that_comes_late_does_not_take_an_end_back() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["start"]);
    for _ in 0..10 {
        task.marked(&["start"]);
        let step = launch(task.command(&["2"]));
        let end = launch(task.command(&["complete"]));
        let (step, end) = (step.end(), end.end());
        assert_eq!(end.code, 0, "{end:?}");
        assert!(step.code == 0 || step.err.contains("it says complete already"), "{step:?}");
        assert!(said(&task.signal()).starts_with("complete success fixed"));
    }
}

#[test]
fn readers_see_whole_files_whatever_is_killed_and_the_next_command_makes_it_good() {
    let task = Task::new("fix").with_evidence();
    let items: Vec<String> = (1..=3)
        .map(|number| {
            format!(
                "- [ ] item {number} {}
",
                "x".repeat(20_000)
            )
        })
        .collect();
    let items = items.concat();
    task.put("TASK.md", &items);
    task.marked(&["start"]);
    for round in 0..60 {
        let mut running = launch(task.command(&["2"]));
        // Some die before they begin, some in between, some after their end.
        std::thread::sleep(std::time::Duration::from_micros(round * 400));
        running.kill();
        let signal = task.signal();
        assert!(matches!(said(&signal).split(' ').next(), Some("running")), "{signal}");
        let text = task.text("TASK.md");
        let is_whole = text == items || text == items.replace("- [ ] item 2", "- [x] item 2");
        assert!(is_whole, "{} bytes", text.len());
        if round % 10 == 9 {
            task.put("TASK.md", &items);
        }
    }
    task.marked(&["2"]);
    let signal = task.signal();
    assert_eq!((task.ticked("TASK.md"), history(&signal).last().copied()), (vec![2], Some(2)));
    task.marked(&["complete", "--mark-last", "--skip-checklist"]);
    let left: Vec<String> = crate::world::names(&task.path);
    assert_eq!(
        left,
        ["SIGNAL.json", "TASK.md", "artifacts", "artifacts/learnings.md", "artifacts/report.md", "mark"]
    );
}

#[test]
fn one_that_was_killed_between_its_two_files_is_completed_by_the_next() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["start"]);
    task.marked(&["1"]);
    task.marked(&["2"]);
    // As a kill after the checklist and before the signal leaves it, with both temporary files.
    let ticked = task.text("TASK.md").replace("- [ ] Finish", "- [x] Finish");
    task.put("TASK.md", &ticked);
    task.put("SIGNAL.json.new", "{\"half");
    task.put("TASK.md.new", "# ");
    task.marked(&["complete", "--mark-last"]);
    let signal = task.signal();
    assert_eq!((said(&signal).as_str(), history(&signal)), ("complete success fixed Finish", vec![1, 2, 3]));
    assert!(!task.path.join("SIGNAL.json.new").exists());
}

#[test]
fn a_folder_that_cannot_be_written_says_so_and_what_was_there_stays() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["start"]);
    let before = task.signal();
    // A folder in place of the temporary file: neither can be written.
    fs::create_dir(task.path.join("SIGNAL.json.new")).unwrap();
    fs::write(task.path.join("SIGNAL.json.new/x"), "").unwrap();
    let ran = task.mark(&["1"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("mark: cannot replace ./SIGNAL.json: "), "{}", ran.err);
    assert!(ran.err.ends_with("; item 1 is ticked, run this again\n"), "{}", ran.err);
    assert_eq!(task.signal(), before);
    fs::remove_dir_all(task.path.join("SIGNAL.json.new")).unwrap();
    task.marked(&["1"]);
    assert_eq!(history(&task.signal()), [1]);
}

#[test]
fn a_reader_never_meets_half_a_signal() {
    let task = Task::new("fix");
    task.marked(&["start"]);
    let running: Vec<_> = (0..8).map(|_| launch(task.command(&["1"]))).collect();
    let mut running = running;
    eventually("all marks end", || {
        let value = read_json(&task.path.join("SIGNAL.json")).expect("it is always there");
        assert_eq!(value["status"], "running");
        running.iter_mut().all(|one| !one.is_running())
    });
}
