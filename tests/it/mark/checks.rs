//! What is demanded at the end: each refusal says what is wanting and the way out, and writes nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::{Task, said};

/// Breaks something in a task folder.
type Break = fn(&Task);
/// Puts something in a place.
type Put = fn(&Path);

const LEARNINGS: &str =
    "(3 to 5 bullets; one is enough when nothing was learnt; --skip-learnings waives it and says so)";

#[test]
fn learnings_and_a_report_must_be_there_and_hold_something() {
    let task = Task::new("fix");
    task.marked(&["start"]);
    task.refused(
        &["complete"],
        &format!(
            "complete is refused, nothing was written: artifacts/report.md is missing; artifacts/learnings.md is missing \
             {LEARNINGS}"
        ),
    );
    task.put("artifacts/report.md", "\n \n");
    task.put("artifacts/learnings.md", "");
    task.refused(
        &["complete"],
        &format!(
            "complete is refused, nothing was written: artifacts/report.md is empty; artifacts/learnings.md is empty \
             {LEARNINGS}"
        ),
    );
    task.put("artifacts/report.md", "Fixed.\n");
    task.refused(
        &["no-change", "--reason", "x"],
        &format!(
            "no-change is refused, nothing was written: artifacts/no-change-report.md is missing; artifacts/learnings.md \
             is empty {LEARNINGS}"
        ),
    );
    task.marked(&["complete", "--skip-learnings"]);
    assert_eq!(task.signal()["artifactWaivers"], json!({"learnings": true}));
    task.put("artifacts/learnings.md", "- one\n");
    task.marked(&["complete"]);
    assert_eq!(task.signal().get("artifactWaivers"), None);
}

#[test]
fn each_flow_ends_with_its_own_report() {
    for (flow, report) in [
        ("fix", "report.md"),
        ("dev", "report.md"),
        ("review-pr", "review.md"),
        ("review", "review.md"),
        ("pr-complete", "comments-report.md"),
    ] {
        let task = Task::new(flow);
        task.put("artifacts/learnings.md", "- one\n");
        for other in
            ["report.md", "review.md", "comments-report.md"].into_iter().filter(|other| *other != report)
        {
            task.put(&format!("artifacts/{other}"), "x\n");
        }
        task.refused(
            &["complete"],
            &format!("complete is refused, nothing was written: artifacts/{report} is missing"),
        );
        task.put(&format!("artifacts/{report}"), "x\n");
        task.marked(&["complete"]);
        assert_eq!(task.signal()["evidence"]["reportPath"], json!(format!("artifacts/{report}")), "{flow}");
    }
}

#[test]
fn the_checklist_must_be_complete_but_for_the_item_that_is_ticked_with_the_end() {
    let task = Task::new("fix").with_evidence();
    task.marked(&["1"]);
    task.refused(
        &["complete", "--mark-last"],
        "TASK.md: 2 items are still open (2 Fix it, 3 Finish); mark them by their numbers, or waive that with \
         --skip-checklist",
    );
    task.marked(&["complete"]);
    assert_eq!(task.ticked("TASK.md"), [1], "without --mark-last nothing is ticked or wanted");
    task.marked(&["complete", "--skip-checklist"]);
    assert_eq!(task.signal().get("artifactWaivers"), None, "and nothing waived");
    task.marked(&["complete", "--mark-last", "--skip-checklist"]);
    assert_eq!(
        (task.ticked("TASK.md"), &task.signal()["artifactWaivers"]),
        (vec![1, 3], &json!({"checklist": true}))
    );
    // The one that is left need not be the last of the file.
    task.marked(&["complete", "--mark-last", "--skip-checklist"]);
    assert_eq!(task.signal().get("artifactWaivers"), None);
    assert_eq!(
        (task.ticked("TASK.md"), said(&task.signal())),
        (vec![1, 2, 3], "complete success fixed Fix it".to_owned())
    );
    task.marked(&["complete", "--mark-last"]);
    assert_eq!(said(&task.signal()), "complete success fixed Finish");
}

#[test]
fn a_recipe_needs_its_companions() {
    let task = Task::new("fix").with_evidence();
    task.put("artifacts/recipe.json", "{\"steps\": ");
    let because = "(wanted because artifacts/recipe.json is there)";
    task.refused(
        &["complete"],
        &format!(
            "complete is refused, nothing was written: artifacts/recipe.json is not JSON (mend it, or \
             remove it if it is none); \
             artifacts/recipe-coverage.md is missing {because}; artifacts/evidence-manifest.json is missing {because}"
        ),
    );
    task.put("artifacts/recipe.json", "{\"steps\": []}");
    task.put("artifacts/recipe-coverage.md", "all\n");
    task.put("artifacts/evidence-manifest.json", "[]\n");
    task.marked(&["complete"]);
    task.marked(&["blocked", "--reason", "x"]);
}

#[test]
fn a_contract_of_the_run_overrides_what_is_wanted() {
    let task = Task::new("fix");
    task.put(
        "inputs/worker-terminal-contract.json",
        "{\"schemaVersion\": 1, \"commands\": {\"complete\": {\"report\": \"artifacts/pr-description.md\", \
         \"artifacts\": [\"artifacts/pr-description.md\"]}}}",
    );
    task.refused(
        &["complete"],
        "complete is refused, nothing was written: artifacts/pr-description.md is missing",
    );
    task.put("artifacts/pr-description.md", "x\n");
    task.marked(&["complete"]);
    assert_eq!(task.signal()["evidence"]["reportPath"], json!("artifacts/pr-description.md"));
    task.put(
        "inputs/worker-terminal-contract.json",
        "{\"commands\": {\"complete\": {\"report\": \"/etc/passwd\"}}}",
    );
    task.refused(
        &["complete"],
        "inputs/worker-terminal-contract.json: commands.complete.report: a path inside the task folder is wanted; without \
         it nothing says what must be there: mend or remove it",
    );
}

#[test]
fn no_change_is_proven_by_its_own_report_whatever_a_contract_file_says() {
    let task = Task::new("fix").with_evidence();
    for (no_change, wanted) in [
        ("{\"artifacts\": []}", "artifacts/no-change-report.md is missing"),
        (
            "{\"report\": \"artifacts/other.md\", \"artifacts\": [\"artifacts/other.md\"]}",
            "artifacts/no-change-report.md is missing; artifacts/other.md is missing",
        ),
    ] {
        task.put(
            "inputs/worker-terminal-contract.json",
            &format!("{{\"commands\": {{\"no-change\": {no_change}}}}}"),
        );
        task.refused(
            &["no-change", "--reason", "x"],
            &format!("no-change is refused, nothing was written: {wanted}"),
        );
    }
    task.put("artifacts/other.md", "x\n");
    task.put("artifacts/no-change-report.md", "x\n");
    task.marked(&["no-change", "--reason", "x"]);
    assert_eq!(task.signal()["evidence"], json!({"reportPath": "artifacts/no-change-report.md"}));
}

#[test]
fn who_is_blocked_can_say_so_whatever_state_the_folder_is_in() {
    fn remove(task: &Task, name: &str) {
        fs::remove_file(task.path.join(name)).unwrap();
    }
    fn contract(task: &Task, text: &str) {
        task.put("inputs/worker-terminal-contract.json", text);
    }
    let cases: [(&str, Break, &str); 7] = [
        ("a contract that is no JSON", |task| contract(task, "{"), ""),
        (
            "a contract that demands something of it",
            |task| contract(task, "{\"commands\": {\"blocked\": {\"artifacts\": [\"artifacts/why.md\"]}}}"),
            "",
        ),
        (
            "a contract that is a link",
            |task| {
                fs::create_dir(task.path.join("inputs")).unwrap();
                symlink("/etc/hosts", task.path.join("inputs/worker-terminal-contract.json")).unwrap();
            },
            "",
        ),
        (
            "no checklist",
            |task| remove(task, "TASK.md"),
            "mark: there is no TASK.md in .; run this in a task folder, or name it; blocked is said without it\n",
        ),
        (
            "a checklist that is a link",
            |task| {
                remove(task, "TASK.md");
                symlink("/etc/hosts", task.path.join("TASK.md")).unwrap();
            },
            "mark: cannot read ./TASK.md: it is a symlink; blocked is said without it\n",
        ),
        ("a checklist without items", |task| task.put("TASK.md", "# Nothing\n"), ""),
        (
            "a signal that is no JSON",
            |task| task.put("SIGNAL.json", "{"),
            "mark: SIGNAL.json could not be used (it is not JSON (line 1, column 1)); it is kept as SIGNAL.json.broken\n",
        ),
    ];
    for (what, break_it, told) in cases {
        for more in [&[][..], &["--mark-last"]] {
            let task = Task::new("fix");
            break_it(&task);
            let ran = task.mark(&[&["blocked", "--reason", "the setup is broken"], more].concat());
            assert_eq!((ran.code, ran.err.as_str()), (0, told), "{what}");
            assert_eq!(task.signal()["reason"], json!("the setup is broken"), "{what}");
            assert_eq!(task.probed(&[]).0, 0, "{what}");
        }
    }
}

#[test]
fn an_artifact_that_leads_elsewhere_is_no_evidence() {
    let task = Task::new("fix").with_evidence();
    fs::remove_file(task.path.join("artifacts/report.md")).unwrap();
    symlink("/etc/hosts", task.path.join("artifacts/report.md")).unwrap();
    task.refused(
        &["complete"],
        "complete is refused, nothing was written: artifacts/report.md cannot be read (it is a symlink)",
    );
}

#[test]
fn a_step_that_does_not_exist_is_refused() {
    let task = Task::new("fix");
    task.refused(&["4"], "TASK.md: there is no item 4: it has 3 of them");
    task.put("TASK.md", "* [ ] another mark\n");
    task.refused(&["1"], "TASK.md: there is no item 1: it has no line \"- [ ] …\"");
}

#[test]
fn a_broken_manifest_or_signal_is_named_and_nothing_is_guessed() {
    let task = Task::new("fix");
    task.put("checklist-target.json", "{\"checklist\": \"../TASK.md\"}");
    task.refused(
        &["start"],
        "checklist-target.json: checklist: \"../TASK.md\" is no checklist: the plain name of a .md file in the task \
         folder is wanted; mend or remove it, or name the file with --checklist",
    );
    task.put("checklist-target.json", "{\"checklist\": \"SELF-REVIEW.md\"}");
    task.refused(
        &["start"],
        "checklist-target.json names SELF-REVIEW.md, which is not there; mend or remove it, or name another with \
         --checklist",
    );
    fs::remove_file(task.path.join("checklist-target.json")).unwrap();
    task.put("SIGNAL.json", "{\"status\": ");
    task.refused(
        &["1"],
        "SIGNAL.json: it is not JSON (line 1, column 11); \"mark start\" puts it aside and begins a new attempt",
    );
    let ran = task.mark(&["start"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.err,
        "mark: SIGNAL.json could not be used (it is not JSON (line 1, column 11)); it is kept as SIGNAL.json.broken\n"
    );
    assert_eq!(
        (said(&task.signal()).as_str(), task.text("SIGNAL.json.broken").as_str()),
        ("running - - started", "{\"status\": ")
    );
}

#[test]
fn a_start_puts_aside_whatever_cannot_be_used_and_other_commands_name_that_way_out() {
    let cases: [(&str, Put); 5] = [
        ("it is a symlink", |path| symlink("/etc/hosts", path).unwrap()),
        ("it is a symlink", |path| symlink("nowhere", path).unwrap()),
        ("not a regular file", |path| fs::create_dir_all(path.join("inside")).unwrap()),
        ("not a regular file", |path| {
            let mode = rustix::fs::Mode::from(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
        ("larger than 262144 bytes", |path| fs::write(path, "{\"a\":0}".repeat(40_000)).unwrap()),
    ];
    let task = Task::new("fix").with_evidence();
    let signal = task.path.join("SIGNAL.json");
    for (fault, put) in cases {
        // What was put aside before is never in the way, of whatever kind it is.
        for _ in 0..2 {
            fs::remove_file(&signal).ok();
            put(&signal);
            for command in ["1", "complete"] {
                let ran = task.mark(&[command]);
                let told = format!(
                    "mark: SIGNAL.json: {fault}; \"mark start\" puts it aside and begins a new attempt\n"
                );
                assert_eq!((ran.code, ran.err), (1, told));
            }
            let ran = task.mark(&["start"]);
            let told =
                format!("mark: SIGNAL.json could not be used ({fault}); it is kept as SIGNAL.json.broken");
            assert!(ran.code == 0 && ran.err.starts_with(&told), "{ran:?}");
            assert_eq!(said(&task.signal()), "running - - started");
        }
    }
    task.marked(&["1"]);
}

#[test]
fn a_command_line_that_means_nothing_ends_with_64_and_writes_nothing() {
    let task = Task::new("fix");
    let before = crate::world::listing(&task.path);
    for arguments in [
        &[][..],
        &["0"],
        &["done"],
        &["start", "--reason", "x"],
        &["start", "--unknown"],
        &["1", "--mark-last"],
        &["complete", "--already-fixed"],
        &["blocked"],
        &["no-change", "--reason", " "],
        &["blocked", "--reason", "x", "--skip-learnings"],
        &["--checklist", "../TASK.md", "start"],
        &["a", "b", "c", "start"],
        &["1", "2"],
        &["start", "start"],
        &["complete", "1"],
        &["1", "2", "3"],
        &["TASK.md", "2"],
        &["TASK.md", "elsewhere/SIGNAL.json", "start"],
        &["TASK.md", "SIGNAL.txt", "start"],
        &["TASK.md", "SIGNAL.json", "--checklist", "TASK.md", "start"],
    ] {
        let ran = task.mark(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (64, ""), "{arguments:?}");
        assert!(!ran.err.is_empty());
        assert_eq!(crate::world::listing(&task.path), before, "{arguments:?}");
    }
    assert!(task.mark(&["1", "2"]).err.contains("\"1\" and \"2\": one step at a time"));
    assert!(task.mark(&["TASK.md", "2"]).err.contains("TASK.md is a file: the task folder is wanted"));
    let help = task.mark(&["--help"]);
    assert!(help.code == 0 && help.out.contains("64 a usage error") && help.err.is_empty(), "{help:?}");
}
