//! What is watched, what is looked at, and what is not missed in between.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_file_that_is_not_to_be_trusted_is_a_fault_as_long_as_it_lies_there() {
    let mut field = Field::new();
    field.put(".task/fix/p-1/TASK.md", "");
    field.put("elsewhere.json", "{\"status\": \"complete\"}");
    symlink(field.path("elsewhere.json"), field.path(A)).unwrap();
    for _ in 0..3 {
        let news = field.news();
        assert!(news.events.is_empty() && news.faults.len() == 1, "{news:?}");
        assert!(news.faults[0].ends_with("SIGNAL.json: it is a symlink"), "{news:?}");
    }
    field.put(A, &" ".repeat(300_000));
    assert!(field.news().faults[0].ends_with("larger than 262144 bytes"));
    field.signal(A, &json!({"status": "running", "timestamp": field.ago(0)}));
    assert_eq!(field.look(), ["task:.task/fix/p-1 running"]);
}

#[test]
fn what_the_journal_could_not_take_is_said_again() {
    let mut field = Field::new();
    field.look();
    field.signal(A, &json!({"status": "complete", "timestamp": field.ago(0)}));
    field.ahead = YOUNG + 1000;
    for _ in 0..3 {
        assert_eq!(field.news().events.len(), 1, "nothing of it was folded");
    }
    assert_eq!(field.look(), ["task:.task/fix/p-1 done"]);
    assert_eq!(field.look(), [""; 0]);
}

#[test]
fn a_change_within_one_tick_of_the_file_system_s_clock_is_seen() {
    let mut field = Field::new();
    field.look();
    for round in 0..200 {
        // In place, of the same length.
        fs::create_dir_all(field.path(".task/fix/p-1")).unwrap();
        let text =
            json!({"status": "running", "step": format!("{round:03}"), "timestamp": "2026-06-25T10:05:00Z"});
        fs::write(field.path(A), text.to_string()).unwrap();
        assert_eq!(field.look(), [format!("task:.task/fix/p-1 running {round:03}")]);
    }
}

#[test]
fn folders_without_an_end_are_watched_and_those_above_them() {
    let mut field = Field::new();
    let stamp = field.ago(0);
    for (name, status) in [("p-1", "complete"), ("p-2", "running"), ("p-3", "blocked"), ("p-4", "running")] {
        field
            .signal(&format!(".task/fix/{name}/SIGNAL.json"), &json!({"status": status, "timestamp": stamp}));
    }
    field.put(".task/dev/p-5/TASK.md", "");
    fs::create_dir_all(field.path(".task/empty")).unwrap();
    field.look();
    let root = field.project.root.path().to_owned();
    let short = |folders: Vec<PathBuf>| -> Vec<String> {
        folders.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
    };
    let names = short(field.tasks.folders());
    let above = [".task", ".task/dev", ".task/empty", ".task/fix"];
    assert_eq!(names[..4], above);
    let at_work: BTreeSet<&str> = names[4..6].iter().map(String::as_str).collect();
    assert_eq!(at_work, BTreeSet::from([".task/fix/p-2", ".task/fix/p-4"]), "those at work come first");
    assert_eq!(names[6..], [".task/dev/p-5"]);
    // A worker may run again where one has ended: the newest first, after all others.
    let mut spare = short(field.tasks.spare());
    spare.sort();
    assert_eq!(spare, [".task/fix/p-1", ".task/fix/p-3"]);
    // The clock of a file system goes by the ticks of the kernel.
    let wanted = [".task/fix/p-3", ".task/fix/p-1"];
    for _ in 0..10_000 {
        field.signal(".task/fix/p-3/SIGNAL.json", &json!({"status": "failed", "timestamp": field.ago(0)}));
        field.look();
        if short(field.tasks.spare()) == wanted {
            break;
        }
    }
    assert_eq!(short(field.tasks.spare()), wanted);
}

#[test]
fn other_places_are_a_setting() {
    let mut field = Field::new();
    field.policy.tasks.folders = vec!["temp/tasks/*/run-*".to_owned(), ".task/*/*".to_owned()];
    let running = json!({"status": "running", "timestamp": field.ago(0)});
    for place in
        ["temp/tasks/fix/run-1", "temp/tasks/fix/other", ".task/fix/p-1", "deep/temp/tasks/fix/run-2"]
    {
        field.signal(&format!("{place}/SIGNAL.json"), &running);
    }
    assert_eq!(field.look(), ["task:.task/fix/p-1 running", "task:temp/tasks/fix/run-1 running"]);
}

#[test]
fn strange_names_of_folders_are_tracks_of_their_own_that_stay() {
    let mut field = Field::new();
    for place in
        ["a/SIGNAL.json", "a/SELF-REVIEW-SIGNAL.json", "a#SELF-REVIEW/SIGNAL.json", "b\nc/SIGNAL.json"]
    {
        let path = format!(".task/fix/{place}");
        field
            .signal(&path, &json!({"status": "running", "step": place, "timestamp": "2026-06-25T10:05:00Z"}));
    }
    let said = field.look();
    assert_eq!(said.len(), 4, "{said:?}");
    field.ahead = YOUNG + 1000;
    for _ in 0..5 {
        assert_eq!(field.look(), [""; 0]);
    }
    assert_eq!(field.ledger.tracks.all.len(), 4);
    fs::remove_dir_all(field.path(".task/fix/b\nc")).unwrap();
    assert_eq!(field.look(), ["task:.task/fix/b%0Ac gone"]);
}

#[test]
fn a_worker_that_cannot_be_watched_is_a_fault() {
    use std::os::unix::ffi::OsStrExt;
    let mut field = Field::new();
    let complete = json!({"status": "complete", "timestamp": field.ago(0)});
    field.signal("elsewhere/flow/p-1/SIGNAL.json", &complete);
    field.signal(".task/fix/p-1/SIGNAL.json", &complete);
    field.look();
    // A second name of a folder that is watched, and folders without a worker, hide nothing.
    symlink("p-1", field.path(".task/fix/latest")).unwrap();
    symlink("fix", field.path(".task/same")).unwrap();
    symlink("/usr", field.path(".task/usr")).unwrap();
    assert_eq!(field.news().faults, [""; 0]);
    fs::remove_file(field.path(".task/same")).unwrap();
    symlink("../../elsewhere/flow/p-1", field.path(".task/fix/p-2")).unwrap();
    symlink("../elsewhere/flow", field.path(".task/flow")).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"p-\xff");
    fs::create_dir(field.path(".task/fix").join(name)).unwrap();
    fs::write(field.path(".task/fix").join(name).join("TASK.md"), "").unwrap();
    let mut faults = field.news().faults;
    faults.sort();
    assert_eq!(
        faults,
        [
            ".task/fix/p-2: it is a link, so no worker behind it is watched; put the folder itself there",
            ".task/fix/p-\u{fffd}: its name is not UTF-8, so no worker in it is watched; rename it",
            ".task/flow: it is a link, so no worker behind it is watched; put the folder itself there",
        ]
    );
}

#[test]
fn more_folders_than_are_looked_at_are_a_fault() {
    let mut field = Field::new();
    assert_eq!(field.tasks.most, 10_000);
    field.tasks.most = 3;
    for name in ["p-1", "p-2", "p-3"] {
        field.signal(&format!(".task/fix/{name}/SIGNAL.json"), &json!({"status": "running"}));
    }
    assert_eq!(field.news().faults, [""; 0]);
    field.put(".task/fix/p-4/TASK.md", "");
    let faults = field.news().faults;
    assert_eq!(faults, [".task/*/*: there are more than 3 task folders; move finished ones elsewhere"]);
}
