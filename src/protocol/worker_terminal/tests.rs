//! What is demanded of which ending, and contract files.

use serde_json::json;

use super::*;

/// Compares a folder in which these artifacts are with what is demanded.
fn audit(contract: &Contract, ending: Ending, there: &[&str]) -> (Option<String>, Vec<String>) {
    let look = |path: &str| if there.contains(&path) { Shelf::Full } else { Shelf::Absent };
    let audit = contract.audit(ending, false, look);
    (audit.report, audit.lacks.iter().flat_map(|lack| lack.paths.clone()).collect())
}

fn read(value: &Value) -> Contract {
    let (contract, faults) = Contract::read(value.to_string().as_bytes(), Some("fix"));
    assert_eq!(faults, [""; 0], "{value}");
    contract
}

#[test]
fn every_flow_ends_with_its_report_and_with_learnings() {
    for (flow, report) in [
        ("fix", "artifacts/report.md"),
        ("dev", "artifacts/report.md"),
        ("ci-fix", "artifacts/report.md"),
        ("self-review-fix", "artifacts/report.md"),
        ("review", "artifacts/review.md"),
        ("review-pr", "artifacts/review.md"),
        ("self-review", "artifacts/review.md"),
        ("pr-complete", "artifacts/comments-report.md"),
        ("pr-comments", "artifacts/comments-report.md"),
    ] {
        let contract = Contract::of_flow(Some(flow));
        assert_eq!(
            audit(&contract, Ending::Complete, &[report, LEARNINGS]),
            (Some(report.to_owned()), vec![])
        );
        let others: Vec<&str> =
            REPORTS.into_iter().filter(|other| *other != report).chain([LEARNINGS]).collect();
        assert_eq!(audit(&contract, Ending::Complete, &others), (None, vec![report.to_owned()]), "{flow}");
        assert_eq!(audit(&contract, Ending::Complete, &[report]).1, [LEARNINGS]);
        assert_eq!(audit(&contract, Ending::Blocked, &[]), (None, vec![]));
        let no_change = audit(&contract, Ending::NoChange, &[LEARNINGS, report]);
        assert_eq!(no_change, (None, vec![NO_CHANGE_REPORT.to_owned()]));
    }
    let unknown = Contract::of_flow(None);
    for report in REPORTS {
        assert_eq!(audit(&unknown, Ending::Complete, &[report, LEARNINGS]).1, [""; 0]);
    }
    assert_eq!(audit(&unknown, Ending::Complete, &[LEARNINGS]).1, REPORTS);
}

#[test]
fn a_recipe_demands_its_companions_of_both_ways_to_succeed() {
    let contract = Contract::of_flow(Some("fix"));
    let there = ["artifacts/report.md", NO_CHANGE_REPORT, LEARNINGS, RECIPE];
    for ending in [Ending::Complete, Ending::NoChange] {
        assert_eq!(audit(&contract, ending, &there).1, RECIPE_ALSO, "{ending:?}");
        assert_eq!(audit(&contract, ending, &[&there[..], &RECIPE_ALSO[..]].concat()).1, [""; 0]);
    }
    assert_eq!(audit(&contract, Ending::Blocked, &there).1, [""; 0]);
    let broken = contract.audit(Ending::Complete, true, |path| match path {
        RECIPE => Shelf::NotJson,
        _ => Shelf::Full,
    });
    assert_eq!(
        broken.lacks[0].to_string(),
        "artifacts/recipe.json is not JSON (mend it, or remove it if it is none)"
    );
    let empty = contract.audit(Ending::Complete, true, |path| match path {
        RECIPE => Shelf::Empty,
        _ => Shelf::Full,
    });
    let told = empty.lacks.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told, ["artifacts/recipe.json is empty (mend it, or remove it if it is none)"]);
}

#[test]
fn learnings_alone_can_be_waived() {
    let contract = Contract::of_flow(Some("fix"));
    let lacks = contract.audit(Ending::Complete, true, |_| Shelf::Absent).lacks;
    assert_eq!(lacks.iter().flat_map(|lack| lack.paths.clone()).collect::<Vec<_>>(), ["artifacts/report.md"]);
}

#[test]
fn what_is_wanting_is_said_with_the_way_out() {
    let contract = Contract::of_flow(None);
    let audit = contract.audit(Ending::Complete, false, |path| match path {
        LEARNINGS => Shelf::Empty,
        "artifacts/review.md" => Shelf::Refused("it is a symlink".to_owned()),
        _ => Shelf::Absent,
    });
    let lines: Vec<String> = audit.lacks.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    artifacts/report.md or artifacts/review.md or artifacts/comments-report.md cannot be read (it is a symlink)
    artifacts/learnings.md is empty (3 to 5 bullets; one is enough when nothing was learnt; --skip-learnings waives it and says so)
    ");
}

#[test]
fn a_contract_overrides_what_it_names() {
    let contract = read(&json!({
        "schemaVersion": 1, "flowType": "dev", "requireSignal": true, "source": "project",
        "commands": {
            "complete": {"report": "artifacts/pr-description.md", "artifacts": ["artifacts/pr-description.md", "./artifacts/x.json"]},
            "blocked": {"report": "artifacts/why.md", "artifacts": ["artifacts/why.md"]},
        },
        "whenPresent": [{"path": "artifacts/video.mp4", "alsoRequire": ["artifacts/video.md"]}],
    }));
    let complete = audit(&contract, Ending::Complete, &[RECIPE, "artifacts/pr-description.md"]);
    assert_eq!(
        complete,
        (Some("artifacts/pr-description.md".to_owned()), vec!["artifacts/x.json".to_owned()])
    );
    assert_eq!(audit(&contract, Ending::Blocked, &["artifacts/video.mp4"]), (None, vec![]));
    // What it does not name stays as it was.
    assert_eq!(
        audit(&contract, Ending::NoChange, &["artifacts/video.mp4"]).1,
        [NO_CHANGE_REPORT, LEARNINGS, "artifacts/video.md"]
    );
    let none = read(&json!({"commands": {"complete": {"artifacts": []}}, "whenPresent": []}));
    assert_eq!(audit(&none, Ending::Complete, &[RECIPE]), (None, vec![]));
}

#[test]
fn a_contract_adds_to_the_proof_of_no_change_and_cannot_take_it_away() {
    let learnings = || LEARNINGS.to_owned();
    let proof = || NO_CHANGE_REPORT.to_owned();
    let other = || "artifacts/report.md".to_owned();
    for (no_change, wanted) in [
        (json!({}), vec![proof()]),
        (json!({"artifacts": []}), vec![proof()]),
        (
            json!({"report": NO_CHANGE_REPORT, "artifacts": [NO_CHANGE_REPORT, LEARNINGS]}),
            vec![proof(), learnings()],
        ),
        (json!({"report": "./artifacts/no-change-report.md"}), vec![proof()]),
        (
            json!({"report": "artifacts/report.md", "artifacts": ["artifacts/report.md"]}),
            vec![proof(), other()],
        ),
        (
            json!({"report": "artifacts/report.md", "artifacts": [LEARNINGS]}),
            vec![proof(), learnings(), other()],
        ),
    ] {
        let contract = read(&json!({"commands": {"no-change": no_change}}));
        assert_eq!(audit(&contract, Ending::NoChange, &[]), (None, wanted.clone()), "{no_change}");
        let there: Vec<&str> = wanted.iter().map(String::as_str).collect();
        assert_eq!(audit(&contract, Ending::NoChange, &there), (Some(proof()), vec![]), "{no_change}");
    }
}

#[test]
fn a_contract_that_cannot_be_used_says_where() {
    for (text, told) in [
        ("", "not JSON (line 1, column 0)"),
        ("[]", "commands: an object is wanted"),
        ("{}", "commands: an object is wanted"),
        ("{\"commands\": []}", "commands: an object is wanted"),
        ("{\"schemaVersion\": 2, \"commands\": {}}", "schemaVersion: 1 is wanted"),
        ("{\"schemaVersion\": \"1\"}", "schemaVersion: 1 is wanted"),
        ("{\"commands\": {\"complete\": 1}}", "commands.complete: an object is wanted"),
        (
            "{\"commands\": {\"complete\": {\"report\": \"../x\"}}}",
            "commands.complete.report: a path inside the task folder is wanted",
        ),
        (
            "{\"commands\": {\"no-change\": {\"artifacts\": [\"a\", \"/etc/passwd\"]}}}",
            "commands.no-change.artifacts[1]: a path inside the task folder is wanted",
        ),
        ("{\"commands\": {}, \"whenPresent\": {}}", "whenPresent: a list is wanted"),
        (
            "{\"commands\": {}, \"whenPresent\": [{\"alsoRequire\": []}]}",
            "whenPresent[0].path: a path inside the task folder is wanted",
        ),
        (
            "{\"commands\": {}, \"whenPresent\": [{\"path\": \"x\"}]}",
            "whenPresent[0].alsoRequire: a list is wanted",
        ),
    ] {
        let (contract, faults) = Contract::read(text.as_bytes(), Some("fix"));
        assert_eq!(faults, [told], "{text}");
        assert_eq!(contract, Contract::of_flow(Some("fix")));
    }
}

#[test]
fn a_path_stays_in_the_task_folder() {
    for path in ["a", "artifacts/x.md", "a b/c", "..x", "a..b"] {
        assert!(is_inside(path), "{path}");
    }
    for path in ["", "/a", "../a", "a/../../b", "a//b", "a/", "a\0b", &"x/".repeat(600)] {
        assert!(!is_inside(path), "{path}");
    }
}
