//! `tdd-evidence.md` (`kiln-protocol`, "TDD Evidence Contract"): the literal schema, and what it asks for when the chunk
//! is testable and when it is not.

use super::Violation;
use super::fields::{Check, Fields, bare, is_empty, is_nothing};

/// Words in a waiver that says too little to be challenged.
const LEAST_WORDS: usize = 4;

/// Fields that only have to say something, `N/A` included.
const REST: [(&str, &str); 5] = [
    ("test_files_added_or_changed", "{paths}"),
    ("production_files_changed", "{paths}"),
    ("reviewer_reran_commands", "{commands, or N/A before review}"),
    ("reviewer_rerun_results", "{results, or N/A before review}"),
    ("limitations", "{known limits, or none}"),
];

/// Whether the evidence says that its chunk is testable; none = it says neither.
pub fn testable(text: &str) -> Option<bool> {
    let fields = Fields::read(text);
    let value = bare(fields.get("testable")?).to_ascii_lowercase();
    [("yes", true), ("no", false)].into_iter().find_map(|(word, truth)| (value == word).then_some(truth))
}

/// Tells whether the evidence waives tests, for a reason that can be challenged.
pub fn is_waived(text: &str) -> bool {
    let fields = Fields::read(text);
    let reason = fields.get("no_test_waiver_reason").unwrap_or_default();
    testable(text) == Some(false) && waiver_fault(reason).is_none()
}

/// What is wrong with the evidence.
pub fn check(place: &str, text: &str) -> Vec<Violation> {
    let fields = Fields::read(text);
    let mut check = Check::new(place, &fields);
    let testable = check.one_of("testable", &["yes", "no"]);
    let reason = check.there("no_test_waiver_reason", "{required when testable=no, else N/A}");
    for name in ["assignment_id", "milestone_id", "chunk_id"] {
        check.named(name, "{id}");
    }
    for name in ["current_head_sha_before", "current_head_sha_after"] {
        check.sha(name);
    }
    match testable {
        Some("yes") => cycle(&mut check),
        _ => {
            for (command, summary) in CYCLE {
                check.filled(command, "{command or N/A}");
                check.filled(summary, "{summary or N/A}");
            }
        }
    }
    if testable == Some("no") {
        waiver(&mut check, reason);
    }
    for (name, shape) in REST {
        check.filled(name, shape);
    }
    check.done()
}

const CYCLE: [(&str, &str); 3] = [
    ("red_command", "red_result_summary"),
    ("green_command", "green_result_summary"),
    ("refactor_command", "refactor_result_summary"),
];

/// A testable chunk shows all three steps. A refactoring may need no command; its summary then says so.
fn cycle(check: &mut Check<'_>) {
    for (command, summary) in CYCLE {
        if command == "refactor_command" {
            check.filled(command, "{command or N/A}");
        } else {
            check.named(command, "{command}");
        }
        check.said(summary, "{summary}");
    }
}

/// A chunk without tests says why, so that a reviewer can challenge it.
fn waiver(check: &mut Check<'_>, reason: Option<&str>) {
    let Some(fault) = reason.and_then(waiver_fault) else { return };
    let way_out =
        "with `testable: no` it says why this chunk cannot be tested, specific enough to be challenged";
    check.add("no_test_waiver_reason", fault, way_out);
}

fn waiver_fault(reason: &str) -> Option<&'static str> {
    if is_nothing(reason) || is_empty(reason) {
        return Some("is empty");
    }
    let words = bare(reason).split_whitespace().count();
    (words < LEAST_WORDS).then_some("is too short to be challenged")
}

#[cfg(test)]
pub(super) mod tests;
