//! Where `mark` may be called from, and by which name.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{BINARY, CHECKLIST, Task, bare, said};
use crate::world::finish;

#[test]
fn the_task_folder_is_that_of_the_link_as_it_was_called() {
    let task = Task::new("fix");
    let absolute = task.path.join("mark");
    let from_above = Path::new(".task/fix/proj-1/mark");
    for (program, folder) in [
        (Path::new("./mark"), task.path.as_path()),
        (absolute.as_path(), Path::new("/")),
        (from_above, task.top.path()),
    ] {
        fs::remove_file(task.path.join("SIGNAL.json")).ok();
        let ran = finish(bare(program, folder, &["start"]), b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", program.display());
        assert_eq!(said(&task.signal()), "running - - started");
    }
}

#[test]
fn on_the_path_the_current_folder_is_the_task_folder() {
    let task = Task::new("fix");
    let programs = task.top.path().join("bin");
    fs::create_dir(&programs).unwrap();
    symlink(BINARY, programs.join("mark")).unwrap();
    let mut command = bare("sh", &task.path, &["-c", "mark 1"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "1: Reproduce the bug (SIGNAL.json: running)\n"));
}

#[test]
fn a_copy_does_what_a_link_does() {
    let task = Task::new("fix");
    fs::remove_file(task.path.join("mark")).unwrap();
    // By another process: one of ours that forks meanwhile would hold the copy open for writing.
    assert_eq!(finish(bare("cp", &task.path, &[BINARY, "mark"]), b"").code, 0);
    task.marked(&["1"]);
    assert_eq!(task.ticked("TASK.md"), [1]);
}

#[test]
fn as_a_command_of_its_own_it_takes_the_current_folder_or_a_named_one() {
    let task = Task::new("fix");
    let watchdog = |folder: &Path, arguments: &[&str]| {
        let ran = finish(bare(BINARY, folder, arguments), b"");
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    };
    watchdog(&task.path, &["mark", "start"]);
    watchdog(Path::new("/"), &["mark", task.path.to_str().unwrap(), "1"]);
    watchdog(task.top.path(), &["mark", ".task/fix/proj-1/TASK.md", ".task/fix/proj-1/SIGNAL.json", "2"]);
    assert_eq!((task.ticked("TASK.md"), said(&task.signal())), (vec![1, 2], "running - - Fix it".to_owned()));
    // Names of its own, as tools gave them before.
    watchdog(&task.path, &["mark", "TASK.md", "OTHER-SIGNAL.json", "3"]);
    assert_eq!(said(&task.signal_of("OTHER-SIGNAL.json")), "running - - Finish");
    assert_eq!(said(&task.signal()), "running - - Fix it");
}

#[test]
fn elsewhere_it_says_that_this_is_no_task_folder() {
    let task = Task::new("fix");
    let ran = finish(bare(BINARY, task.top.path(), &["mark", "start"]), b"");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(ran.err, "watchdog: there is no TASK.md in .; run this in a task folder, or name it\n");
    let ran = finish(bare(BINARY, task.top.path(), &["mark", "gone", "start"]), b"");
    assert!(ran.code == 1 && ran.err.starts_with("watchdog: cannot open gone: No such file"), "{ran:?}");
    assert!(!task.top.path().join("SIGNAL.json").exists());
}

#[test]
fn the_checklist_keeps_every_other_byte_and_its_permissions() {
    let text = "\u{feff}# Täsk\r\n\r\n- [ ] one\r\n\t- [ ] tab\r\n  - [X] done \r\n```\r\n- [ ] code\r\n```\r\n- [ ] last";
    let task = Task::new("fix");
    task.put("TASK.md", text);
    fs::set_permissions(task.path.join("TASK.md"), fs::Permissions::from_mode(0o640)).unwrap();
    task.marked(&["2"]);
    task.marked(&["4"]);
    let wanted = text.replace("- [ ] tab", "- [x] tab").replace("- [ ] last", "- [x] last");
    assert_eq!(task.text("TASK.md"), wanted);
    let mode = |name: &str| fs::metadata(task.path.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("TASK.md"), mode("SIGNAL.json")), (0o640, 0o644));
}

#[test]
fn links_in_place_of_its_files_are_not_followed() {
    let task = Task::new("fix");
    let outside = task.top.path().join("outside");
    fs::write(&outside, CHECKLIST).unwrap();
    fs::remove_file(task.path.join("TASK.md")).unwrap();
    symlink(&outside, task.path.join("TASK.md")).unwrap();
    task.refused(&["1"], "cannot read ./TASK.md: it is a symlink");
    fs::remove_file(task.path.join("TASK.md")).unwrap();
    task.put("TASK.md", CHECKLIST);
    symlink(&outside, task.path.join("SIGNAL.json")).unwrap();
    task.refused(
        &["1"],
        "SIGNAL.json: it is a symlink; \"mark start\" puts it aside and begins a new attempt",
    );
    assert_eq!(fs::read_to_string(&outside).unwrap(), CHECKLIST);
}

#[test]
fn another_checklist_serves_where_there_is_no_task() {
    let task = Task::new("fix");
    fs::rename(task.path.join("TASK.md"), task.path.join("CHECKLIST.md")).unwrap();
    task.marked(&["1"]);
    assert_eq!(
        (task.ticked("CHECKLIST.md"), said(&task.signal())),
        (vec![1], "running - - Reproduce the bug".to_owned())
    );
}
