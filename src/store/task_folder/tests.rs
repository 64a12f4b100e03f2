//! Task folders on a real disk.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::protocol::worker_terminal::Ending;
use crate::store::scratch::mode;

struct Task {
    top: TempDir,
    folder: TaskFolder,
}

impl Task {
    fn new(flow: &str) -> Self {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join(".task").join(flow).join("proj-1");
        fs::create_dir_all(path.join("artifacts")).unwrap();
        fs::create_dir(path.join("inputs")).unwrap();
        fs::write(path.join(TASK), "- [ ] one\n").unwrap();
        Self { top, folder: TaskFolder::at(&path) }
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn signal(&self) -> String {
        self.folder.target(None).unwrap().signal
    }
}

#[test]
fn the_files_are_those_of_the_manifest_or_the_worker_s_own() {
    let task = Task::new("fix");
    assert_eq!(task.signal(), "SIGNAL.json");
    assert_eq!(task.folder.target(Some("CI-FIX.md")).unwrap().signal, "CI-FIX-SIGNAL.json");
    task.put(MANIFEST, "{\"checklist\": \"SELF-REVIEW.md\"}");
    assert_eq!(task.signal(), "SELF-REVIEW-SIGNAL.json");
    assert_eq!(task.folder.target(Some("TASK.md")).unwrap().signal, "SIGNAL.json");
    task.put(MANIFEST, "{");
    let error = task.folder.target(None).unwrap_err();
    assert_eq!(
        error,
        "checklist-target.json: not JSON (line 1, column 1); mend or remove it, or name the file with --checklist"
    );
    fs::remove_file(task.folder.path().join(MANIFEST)).unwrap();
    fs::rename(task.folder.path().join(TASK), task.folder.path().join(CHECKLIST)).unwrap();
    let target = task.folder.target(None).unwrap();
    assert_eq!((target.checklist.as_str(), target.signal.as_str()), (CHECKLIST, "SIGNAL.json"));
}

#[test]
fn a_checklist_keeps_its_permissions_and_what_others_wrote_meanwhile() {
    let task = Task::new("fix");
    let path = task.folder.path().join(TASK);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    let before = task.folder.checklist(TASK).unwrap().unwrap();
    task.folder.store_checklist(TASK, &before, b"- [x] one\n").unwrap();
    assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (&b"- [x] one\n"[..], 0o664));
    let error = task.folder.store_checklist(TASK, &before, b"- [x] one\n").unwrap_err();
    assert!(chain(&error).ends_with("another program has just written it; run this again"), "{error}");
    fs::remove_file(&path).unwrap();
    symlink("/etc/hosts", &path).unwrap();
    assert!(chain(&task.folder.checklist(TASK).unwrap_err()).ends_with("it is a symlink"));
}

#[test]
fn a_folder_is_held_by_one_and_nothing_is_left_in_it() {
    let task = Task::new("fix");
    let held = task.folder.hold().unwrap();
    let other = File::open(task.folder.path()).unwrap();
    assert!(!lock::lock(&other, Kind::Exclusive, Duration::ZERO).unwrap());
    drop(held);
    assert!(lock::lock(&other, Kind::Exclusive, Duration::ZERO).unwrap());
    task.folder.store_signal("SIGNAL.json", &json!({"status": "running"})).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(task.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["SIGNAL.json", "TASK.md", "artifacts", "inputs"]);
    assert_eq!(mode(&task.folder.path().join("SIGNAL.json")), 0o644);
}

#[test]
fn artifacts_are_there_empty_broken_or_refused() {
    let task = Task::new("fix");
    let artifacts = task.folder.path().join("artifacts");
    task.put("artifacts/full.md", "\n - x\n");
    task.put("artifacts/blank.md", " \n\t\r\n");
    task.put("artifacts/late.md", &format!("{}x", " ".repeat(10_000)));
    task.put("artifacts/list.json", "[]\n");
    task.put("artifacts/broken.json", "{\"a\": ");
    task.put("artifacts/none.json", "");
    task.put("artifacts/two.json", "{} {}");
    fs::create_dir(artifacts.join("folder.md")).unwrap();
    symlink("/etc/hosts", artifacts.join("link.md")).unwrap();
    for (name, wanted) in [
        ("full.md", Shelf::Full),
        ("blank.md", Shelf::Empty),
        ("late.md", Shelf::Full),
        ("absent.md", Shelf::Absent),
        ("list.json", Shelf::Full),
        ("broken.json", Shelf::NotJson),
        ("none.json", Shelf::Empty),
        ("two.json", Shelf::NotJson),
        ("folder.md", Shelf::Refused("not a regular file".to_owned())),
        ("link.md", Shelf::Refused("it is a symlink".to_owned())),
        ("../../x", Shelf::Refused("it lies outside the task folder".to_owned())),
    ] {
        assert_eq!(task.folder.shelf(&format!("artifacts/{name}")), wanted, "{name}");
    }
}

/// The reports of which one would do for complete.
fn wanted(contract: &Contract) -> Vec<String> {
    contract.audit(Ending::Complete, true, |_| Shelf::Absent).lacks[0].paths.clone()
}

#[test]
fn the_flow_is_the_folder_s_or_the_role_s() {
    let report = |task: &Task, checklist: &str| wanted(&task.folder.contract(checklist).unwrap()).join(" ");
    assert_eq!(report(&Task::new("fix"), TASK), "artifacts/report.md");
    assert_eq!(report(&Task::new("review-pr"), TASK), "artifacts/review.md");
    assert_eq!(report(&Task::new("pr-complete"), TASK), "artifacts/comments-report.md");
    assert_eq!(report(&Task::new("fix"), "SELF-REVIEW.md"), "artifacts/review.md");
    let task = Task::new("fix");
    let elsewhere = task.top.path().join("elsewhere");
    fs::rename(task.folder.path(), &elsewhere).unwrap();
    let moved = Task { folder: TaskFolder::at(&elsewhere), ..task };
    assert_eq!(report(&moved, TASK), "artifacts/report.md artifacts/review.md artifacts/comments-report.md");
}

#[test]
fn a_contract_is_read_or_named_as_broken() {
    let task = Task::new("fix");
    task.put(CONTRACT, "{\"commands\": {\"complete\": {\"report\": \"artifacts/pr.md\"}}}");
    assert_eq!(wanted(&task.folder.contract(TASK).unwrap()), ["artifacts/pr.md"]);
    task.put(CONTRACT, "{}");
    assert_eq!(task.folder.contract(TASK).unwrap_err(), format!("{CONTRACT}: commands: an object is wanted"));
    fs::remove_file(task.folder.path().join(CONTRACT)).unwrap();
    fs::create_dir(task.folder.path().join(CONTRACT)).unwrap();
    assert!(task.folder.contract(TASK).unwrap_err().ends_with("not a regular file"));
}

#[test]
fn a_probe_finds_what_is_there() {
    let task = Task::new("fix");
    let target = task.folder.target(None);
    assert_eq!(task.folder.probe(&target), Found::NoFile);
    task.put("SIGNAL.json", "{}");
    assert_eq!(task.folder.probe(&target), Found::Bytes(b"{}".to_vec()));
    assert_eq!(task.folder.probe(&Err("why".to_owned())), Found::NoPath("why".to_owned()));
    task.put("SIGNAL.json", &" ".repeat(300_000));
    assert!(matches!(task.folder.probe(&target), Found::Unreadable(_)));
    let no_task = TaskFolder::at(&task.folder.path().join("artifacts"));
    assert!(matches!(no_task.probe(&no_task.target(None)), Found::NoPath(_)));
    let gone = TaskFolder::at(&task.folder.path().join("gone"));
    assert_eq!(gone.probe(&gone.target(None)), Found::NoFolder);
}
