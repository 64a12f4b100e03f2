//! TDD evidence: valid and invalid samples of both branches.

use super::*;

/// The schema, filled in for a testable chunk.
pub(in super::super) const VALID: &str = "\
testable: yes
no_test_waiver_reason: N/A
assignment_id: asg-7
milestone_id: 1
chunk_id: 2
current_head_sha_before: 0a1b2c3
current_head_sha_after: 4d5e6f7a
red_command: cargo test parser
red_result_summary: 1 failed: the parser did not exist
green_command: cargo test parser
green_result_summary: 12 passed
refactor_command: N/A
refactor_result_summary: names only, 12 passed
test_files_added_or_changed: tests/parser.rs
production_files_changed: src/parser.rs
reviewer_reran_commands: N/A before review
reviewer_rerun_results: N/A before review
limitations: none
";

const WAIVED: &str = "\
testable: no
no_test_waiver_reason: the chunk renames a document and changes no code
assignment_id: asg-8
milestone_id: 1
chunk_id: 3
current_head_sha_before: 0a1b2c3
current_head_sha_after: 4d5e6f7a
red_command: N/A
red_result_summary: N/A
green_command: N/A
green_result_summary: N/A
refactor_command: N/A
refactor_result_summary: N/A
test_files_added_or_changed: none
production_files_changed: docs/guide.md
reviewer_reran_commands: N/A before review
reviewer_rerun_results: N/A before review
limitations: nothing was run
";

/// The sample with one line replaced; none = taken out.
fn with(sample: &str, field: &str, value: Option<&str>) -> String {
    let line = |line: &str| match (line.starts_with(&format!("{field}:")), value) {
        (true, Some(value)) => format!("{field}: {value}\n"),
        (true, None) => String::new(),
        (false, _) => format!("{line}\n"),
    };
    sample.lines().map(line).collect()
}

fn faults(text: &str) -> Vec<String> {
    check("tdd-evidence.md", text).iter().map(|found| format!("{} {}", found.field, found.fault)).collect()
}

#[test]
fn both_branches_have_valid_samples() {
    assert_eq!(faults(VALID), Vec::<String>::new());
    assert_eq!(faults(WAIVED), Vec::<String>::new());
    let decorated = VALID.replace('\n', "\r\n- ");
    assert_eq!(faults(&format!("# TDD evidence\n\n- {decorated}")), Vec::<String>::new());
    assert_eq!(faults(&with(VALID, "testable", Some("`Yes`"))), Vec::<String>::new());
    assert_eq!(
        faults(&with(VALID, "test_files_added_or_changed", Some("\n  - a.rs\n  - b.rs"))),
        Vec::<String>::new()
    );
}

#[test]
fn no_field_of_the_schema_may_be_missing_or_empty() {
    let fields = VALID.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name);
    for field in fields {
        assert_eq!(faults(&with(VALID, field, None)), [format!("{field} is missing")]);
        // The waiver's reason is for chunks without tests.
        if field != "no_test_waiver_reason" {
            assert_eq!(faults(&with(VALID, field, Some(""))), [format!("{field} is empty")]);
            assert_eq!(faults(&with(VALID, field, Some("{to be filled}"))), [format!("{field} is empty")]);
        }
    }
}

#[test]
fn invalid_values_are_named() {
    let samples = [
        (VALID, "testable", "maybe", "testable is \"maybe\""),
        (VALID, "assignment_id", "N/A", "assignment_id is \"N/A\""),
        (VALID, "current_head_sha_before", "HEAD", "current_head_sha_before is no commit id"),
        (VALID, "current_head_sha_after", "N/A", "current_head_sha_after is no commit id"),
        (VALID, "red_command", "N/A", "red_command is \"N/A\""),
        (VALID, "red_result_summary", "none", "red_result_summary is \"none\""),
        (VALID, "green_command", "tbd", "green_command is \"tbd\""),
        (VALID, "refactor_result_summary", "N/A", "refactor_result_summary is \"N/A\""),
        (WAIVED, "no_test_waiver_reason", "N/A", "no_test_waiver_reason is empty"),
        (WAIVED, "no_test_waiver_reason", "", "no_test_waiver_reason is empty"),
        (
            WAIVED,
            "no_test_waiver_reason",
            "not testable",
            "no_test_waiver_reason is too short to be challenged",
        ),
        (WAIVED, "red_command", "", "red_command is empty"),
    ];
    for (sample, field, value, wanted) in samples {
        assert_eq!(faults(&with(sample, field, Some(value))), [wanted], "{field}: {value}");
    }
}

#[test]
fn a_violation_names_file_field_fault_and_way_out() {
    let found = check(".kiln/archive/milestone-1/chunk-2/tdd-evidence.md", &with(VALID, "red_command", None));
    assert_eq!(
        found[0].to_string(),
        ".kiln/archive/milestone-1/chunk-2/tdd-evidence.md: red_command is missing; a line `red_command: {command}`"
    );
}
