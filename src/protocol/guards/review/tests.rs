//! Review verdicts: valid and invalid samples, the no-rerun rule, the browser rule.

use super::super::tdd::tests::VALID as TDD;
use super::*;

/// The schema, filled in for an approval of testable work.
pub(in super::super) const APPROVED: &str = "\
verdict: APPROVED
assignment_id: asg-7
milestone_id: 1
chunk_id: 2
observed_head_sha: 4d5e6f7a
assignment_head_sha: 0a1b2c3
head_changed_unexpectedly: no
test_requirements: unit tests of the parser
tdd_evidence_path: .kiln/archive/milestone-1/chunk-2/tdd-evidence.md
builder_reported_commands: cargo test parser
builder_reported_results: 12 passed
reviewer_reran_commands: [\"cargo test parser\"]
reviewer_rerun_results: 12 passed, none ignored
independent_verification_status: verified
lsp_diagnostics: used, no diagnostics
limitations: none
";

fn with(changes: &[(&str, Option<&str>)]) -> String {
    APPROVED
        .lines()
        .filter_map(|line| {
            let (name, _) = line.split_once(':')?;
            match changes.iter().find(|(field, _)| *field == name) {
                Some((_, Some(value))) => Some(format!("{name}: {value}\n")),
                Some((_, None)) => None,
                None => Some(format!("{line}\n")),
            }
        })
        .collect()
}

fn faults_of(text: &str, evidence: &Evidence) -> Vec<String> {
    check("review.md", text, evidence)
        .iter()
        .map(|found| format!("{} {}", found.field, found.fault))
        .collect()
}

fn faults(changes: &[(&str, Option<&str>)]) -> Vec<String> {
    faults_of(&with(changes), &Evidence::Read(TDD.to_owned()))
}

const NOT_RERUN: [(&str, Option<&str>); 3] = [
    ("reviewer_reran_commands", Some("[]")),
    ("reviewer_rerun_results", Some("not independently rerun: no database here")),
    ("independent_verification_status", Some("not_verified")),
];

fn not_rerun<'a>(more: &[(&'a str, Option<&'a str>)]) -> Vec<(&'a str, Option<&'a str>)> {
    NOT_RERUN.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn verdicts_of_every_kind_have_valid_samples() {
    let none: [String; 0] = [];
    assert_eq!(faults(&[]), none);
    for verdict in VERDICTS {
        assert_eq!(faults(&[("verdict", Some(verdict))]), none, "{verdict}");
        if verdict != "APPROVED" {
            let limits = [("verdict", Some(verdict)), ("limitations", Some("the tests were not run"))];
            assert_eq!(faults(&not_rerun(&limits)), none, "{verdict}");
        }
    }
    assert_eq!(faults(&[("verdict", Some("`approved`"))]), none);
    assert_eq!(faults(&[("reviewer_reran_commands", Some("\n- cargo test parser\n- cargo clippy"))]), none);
    assert_eq!(faults(&[("reviewer_reran_commands", Some("cargo test parser"))]), none);
    // Nothing to test: there is nothing to run again.
    let untestable = [
        ("test_requirements", Some("none")),
        ("tdd_evidence_path", Some("N/A")),
        ("limitations", Some("read only: the chunk changes a document")),
    ];
    assert_eq!(faults_of(&with(&not_rerun(&untestable)), &Evidence::Unknown), none);
}

#[test]
fn no_field_of_the_schema_may_be_missing() {
    for field in APPROVED.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name) {
        let found = faults(&[(field, None)]);
        assert_eq!(found.first(), Some(&format!("{field} is missing")), "{found:?}");
    }
}

#[test]
fn invalid_values_are_named() {
    let samples = [
        ("verdict", "PASS", "verdict is \"PASS\""),
        ("verdict", "", "verdict is empty"),
        ("milestone_id", "{id}", "milestone_id is empty"),
        ("chunk_id", "none", "chunk_id is \"none\""),
        ("observed_head_sha", "HEAD", "observed_head_sha is no commit id"),
        ("assignment_head_sha", "unknown", "assignment_head_sha is no commit id"),
        ("head_changed_unexpectedly", "perhaps", "head_changed_unexpectedly is \"perhaps\""),
        ("builder_reported_results", "", "builder_reported_results is empty"),
        ("lsp_diagnostics", "", "lsp_diagnostics is empty"),
    ];
    for (field, value, wanted) in samples {
        assert_eq!(faults(&[(field, Some(value))]), [wanted], "{field}: {value}");
    }
}

#[test]
fn a_verdict_without_a_rerun_says_what_was_not_checked() {
    let rejected = [("verdict", Some("REJECTED")), ("limitations", Some("none"))];
    assert_eq!(faults(&not_rerun(&rejected)), ["limitations is empty"]);
}

#[test]
fn an_approval_of_testable_work_stands_on_evidence_and_a_rerun() {
    let limits = [("limitations", Some("the tests were not run"))];
    assert_eq!(
        faults(&not_rerun(&limits)),
        [
            "independent_verification_status is \"not_verified\"",
            "reviewer_reran_commands names no command",
            "reviewer_rerun_results says nothing of a run",
        ]
    );
    let status = "independent_verification_status";
    assert_eq!(faults(&[(status, Some("partial"))]), [format!("{status} is \"partial\"")]);
    for results in ["ok", "passed", "N/A", "not independently rerun: no time"] {
        let found = faults(&[("reviewer_rerun_results", Some(results))]);
        assert_eq!(found, ["reviewer_rerun_results says nothing of a run"], "{results}");
    }
    assert_eq!(faults(&[("tdd_evidence_path", Some("N/A"))]), ["tdd_evidence_path names no file"]);
    assert_eq!(faults_of(APPROVED, &Evidence::Missing), ["tdd_evidence_path leads to no file"]);
    let other = Evidence::Read("# Notes\nall is well\n".to_owned());
    assert_eq!(faults_of(APPROVED, &other), ["tdd_evidence_path leads to a file that is no TDD evidence"]);
}

#[test]
fn work_is_testable_as_its_evidence_says_else_as_the_verdict_does() {
    let waived = TDD.replace("testable: yes", "testable: no").replace(
        "no_test_waiver_reason: N/A",
        "no_test_waiver_reason: the chunk renames a document and changes no code",
    );
    let unwaived = TDD.replace("testable: yes", "testable: no");
    let approval = |requirements| {
        with(&not_rerun(&[
            ("test_requirements", Some(requirements)),
            ("limitations", Some("nothing was run")),
        ]))
    };
    let none: [&str; 10] = [
        "none",
        "N/A",
        "no",
        "none (documentation only)",
        "No tests required: docs only",
        "No tests needed, the chunk renames a file",
        "not testable, see waiver",
        "untestable: hardware",
        "nothing to test",
        "none. The chunk changes a document",
    ];
    let some = [
        "unit tests of the parser",
        "no unit tests; integration tests of the api",
        "no tests may be skipped",
        "none; page renders in the browser",
        "notes are parsed",
    ];
    for (requirements, is_none) in
        none.map(|text| (text, true)).into_iter().chain(some.map(|text| (text, false)))
    {
        let text = approval(requirements);
        let count = |evidence: &Evidence| {
            // Of a browser it is judged apart.
            faults_of(&text, evidence).iter().filter(|fault| !fault.starts_with("verdict ")).count()
        };
        assert_eq!(count(&Evidence::Read(TDD.to_owned())), 3, "testable: {requirements}");
        assert_eq!(count(&Evidence::Read(waived.clone())), 0, "waived: {requirements}");
        for unknown in [Evidence::Unknown, Evidence::Read(unwaived.clone())] {
            assert_eq!(count(&unknown), if is_none { 0 } else { 3 }, "{requirements}: {unknown:?}");
        }
    }
}

#[test]
fn evidence_that_could_not_be_looked_at_is_no_violation() {
    assert_eq!(faults_of(APPROVED, &Evidence::Unknown), Vec::<String>::new());
}

#[test]
fn a_recorded_exception_stands_for_the_rerun_and_not_for_the_evidence() {
    let text = with(&not_rerun(&[("limitations", Some("no database here"))]));
    let excepted = format!("{text}no_rerun_exception: docs/exceptions.md, database chunks\n");
    assert_eq!(faults_of(&excepted, &Evidence::Read(TDD.to_owned())), Vec::<String>::new());
    assert_eq!(faults_of(&excepted, &Evidence::Missing), ["tdd_evidence_path leads to no file"]);
    for nothing in
        ["none", "no", "false", "N/A", "nothing", "-", "", "no (none was asked for)", "none: not approved"]
    {
        let empty = format!("{text}rerun_exception: {nothing}\n");
        assert_eq!(faults_of(&empty, &Evidence::Read(TDD.to_owned())).len(), 3, "{nothing}");
    }
}

#[test]
fn browser_scoped_work_is_never_approved_from_static_review() {
    let fault = ["verdict is a clean APPROVED of browser-scoped work from static review"];
    let scopes = [
        "the dialog opens in the browser",
        "keyboard flow of the menu",
        "visual check of the landing page",
        "UI: buttons are aligned",
        "accessibility of the form (a11y)",
    ];
    for scope in scopes {
        let scope = ("test_requirements", Some(scope));
        assert_eq!(faults(&[scope]), fault, "{scope:?}");
        for verdict in VERDICTS.into_iter().filter(|verdict| *verdict != "APPROVED") {
            assert_eq!(faults(&[scope, ("verdict", Some(verdict))]), Vec::<String>::new(), "{verdict}");
        }
        let ran = ("reviewer_reran_commands", Some("[\"npx playwright test\"]"));
        assert_eq!(faults(&[scope, ran]), Vec::<String>::new());
        let told = ("reviewer_rerun_results", Some("4 passed in chromium"));
        assert_eq!(faults(&[scope, told]), Vec::<String>::new());
    }
    let named = format!("{APPROVED}browser_scope: yes\n");
    assert_eq!(faults_of(&named, &Evidence::Read(TDD.to_owned())), fault);
    let shown = format!("{named}browser_evidence: .kiln/validation/shot.png\n");
    assert_eq!(faults_of(&shown, &Evidence::Read(TDD.to_owned())), Vec::<String>::new());
    let page = ("test_requirements", Some("page renders in the browser"));
    for (field, value) in [
        ("reviewer_rerun_results", "12 passed; no browser available, static review only"),
        ("reviewer_rerun_results", "12 unit tests passed. Playwright was not run."),
        ("reviewer_reran_commands", "[\"grep -r playwright .\"]"),
    ] {
        assert_eq!(faults(&[page, (field, Some(value))]), fault, "{value}");
    }
    let denied = format!("{}browser_evidence: no\n", with(&[page]));
    assert_eq!(faults_of(&denied, &Evidence::Read(TDD.to_owned())), fault);
    let unscoped = format!("{}browser_scope: no\n", with(&[page]));
    assert_eq!(faults_of(&unscoped, &Evidence::Read(TDD.to_owned())), Vec::<String>::new());
    // Words that only contain one of these are none, nor are those that are denied.
    for scope in [
        "build the query",
        "database layout",
        "unit tests; no browser behaviour",
        "unit tests of keyboard-map parser",
    ] {
        assert_eq!(faults(&[("test_requirements", Some(scope))]), Vec::<String>::new(), "{scope}");
    }
}

#[test]
fn the_path_of_the_evidence_is_found() {
    assert_eq!(evidence_path(APPROVED).as_deref(), Some(".kiln/archive/milestone-1/chunk-2/tdd-evidence.md"));
    assert_eq!(evidence_path("tdd_evidence_path: `a b.md`").as_deref(), Some("a b.md"));
    assert_eq!(evidence_path("tdd_evidence_path: N/A"), None);
    assert_eq!(evidence_path(""), None);
    assert_eq!(verdict("verdict: rejected"), Some("REJECTED"));
    assert_eq!(verdict("verdict: PASS"), None);
}
