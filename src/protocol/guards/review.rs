//! The verdict of a build review (`kiln-protocol`, "Review Verdict Contract" and "Browser Validation Contract").

use super::fields::{Check, Fields, bare, denies, is_empty};
use super::{Violation, browser, prose, tdd};
use crate::protocol::sketch::{self, Sketch};

/// The verdicts there are.
pub const VERDICTS: [&str; 5] = [
    "APPROVED",
    "REJECTED",
    "PARTIAL_PASS_STATIC_ONLY",
    "BLOCKED_BROWSER_VALIDATION_MISSING",
    "FAIL_BROWSER_EVIDENCE_MISSING",
];

/// What is known of the TDD evidence that a verdict names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Evidence {
    /// It was not looked for, or looking failed on our side.
    #[default]
    Unknown,
    /// There is no such file.
    Missing,
    /// Its text.
    Read(String),
}

/// The path of the TDD evidence that a verdict names; none = it names none.
pub fn evidence_path(text: &str) -> Option<String> {
    let fields = Fields::read(text);
    let path = fields.get("tdd_evidence_path").filter(|path| !denies(path))?;
    Some(bare(path.lines().next()?).to_owned())
}

/// The verdict that stands in a text, in capitals; none = no verdict of the contract.
pub fn verdict(text: &str) -> Option<&'static str> {
    let fields = Fields::read(text);
    let found = bare(fields.get("verdict")?);
    VERDICTS.iter().find(|verdict| verdict.eq_ignore_ascii_case(found)).copied()
}

/// What is wrong with a verdict.
pub fn check(place: &str, text: &str, evidence: &Evidence) -> Vec<Violation> {
    let fields = Fields::read(text);
    let mut check = Check::new(place, &fields);
    let verdict = check.one_of("verdict", &VERDICTS);
    for name in ["assignment_id", "milestone_id", "chunk_id"] {
        check.named(name, "{id}");
    }
    for name in ["observed_head_sha", "assignment_head_sha"] {
        check.sha(name);
    }
    check.one_of("head_changed_unexpectedly", &["yes", "no"]);
    check.filled("test_requirements", "{summary or none}");
    check.filled("tdd_evidence_path", "{path or N/A}");
    check.filled("builder_reported_commands", "{commands from REVIEW_REQUEST}");
    check.filled("builder_reported_results", "{results from REVIEW_REQUEST}");
    check.filled("reviewer_reran_commands", "[\"{command}\", …] or []");
    check.filled("reviewer_rerun_results", "{results, or \"not independently rerun: …\"}");
    let status = check.one_of("independent_verification_status", &["verified", "partial", "not_verified"]);
    check.filled("lsp_diagnostics", "{used/not available/not applicable, and a summary}");
    limitations(&mut check, &fields);
    if verdict == Some("APPROVED") {
        approved(&mut check, &fields, status, evidence);
        in_browser(&mut check, &fields);
    }
    check.done()
}

/// Without a command that was run again the verdict says what was not checked.
fn limitations(check: &mut Check<'_>, fields: &Fields) {
    let Some(value) = check.there("limitations", "{what was not independently checked}") else { return };
    if reran(fields).is_empty() && denies(value) {
        let way_out = "with `reviewer_reran_commands: []` it says what was not independently checked";
        check.add("limitations", "is empty", way_out);
    }
}

/// The commands that the reviewer ran again.
fn reran(fields: &Fields) -> Vec<String> {
    let value = fields.get("reviewer_reran_commands").unwrap_or_default().trim();
    let is_command = |part: &String| !denies(part) && !is_not_rerun(part);
    if let Ok(Sketch::List(list)) = sketch::read(value.as_bytes()) {
        return list.iter().map(|part| part.text().trim().to_owned()).filter(is_command).collect();
    }
    let list = value.trim_start_matches('[').trim_end_matches(']');
    let parts = list.split(['\n', ',']).map(|part| bare(part.trim().trim_start_matches("- ")).to_owned());
    parts.filter(is_command).collect()
}

fn is_not_rerun(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let starts = [
        "not independently",
        "not rerun",
        "not re-run",
        "not run",
        "not executed",
        "no rerun",
        "no re-run",
        "nothing was",
        "none were",
        "none was",
        "did not",
        "could not",
    ];
    starts.iter().any(|start| text.starts_with(start))
}

/// Tells whether results say something: more than one word, or a number.
fn is_substantive(results: &str) -> bool {
    let words = results.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    !denies(results)
        && !is_not_rerun(bare(results))
        && (words > 1 || results.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Work is testable as its evidence says, else unless the verdict says that there is nothing to test. A waiver that cannot
/// be challenged waives nothing.
fn is_testable(fields: &Fields, evidence: &Evidence) -> bool {
    match evidence {
        Evidence::Read(text) if tdd::testable(text) == Some(true) => true,
        Evidence::Read(text) if tdd::is_waived(text) => false,
        _ => fields.get("test_requirements").is_some_and(|value| !is_waived(value)),
    }
}

/// Tells whether requirements say first that there are none, and ask for none then.
fn is_waived(requirements: &str) -> bool {
    let mut sentences = requirements.split([';', '\n']).flat_map(|part| part.split(". "));
    let first = sentences.next().unwrap_or_default();
    let words: Vec<String> = prose::clauses(first).into_iter().next().unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_none = denies(requirements)
        || match words.as_slice() {
            ["not" | "isn't", "testable", ..]
            | ["untestable", ..]
            | ["nothing" | "none", "to", "test", ..]
            | ["tests" | "testing", "not", "required" | "needed", ..] => true,
            ["no", "automated" | "unit" | "new", rest @ ..] | ["no", rest @ ..] => matches!(
                rest,
                ["test" | "tests" | "testing"]
                    | [
                        "test" | "tests" | "testing",
                        "required"
                            | "needed"
                            | "necessary"
                            | "applicable"
                            | "possible"
                            | "for"
                            | "as"
                            | "because"
                            | "since",
                        ..
                    ]
            ),
            _ => false,
        };
    let asks = |text: &str| {
        prose::clauses(text).iter().filter(|clause| !prose::is_denial(clause)).flatten().any(|word| {
            ["test", "tests", "check", "checks", "spec", "specs", "suite"].contains(&word.as_str())
        })
    };
    is_none && !sentences.any(|text| asks(text) || browser::asks(text))
}

/// A full approval of testable work stands on evidence and on what the reviewer ran.
fn approved(check: &mut Check<'_>, fields: &Fields, status: Option<&str>, evidence: &Evidence) {
    if !is_testable(fields, evidence) {
        return;
    }
    let name = "tdd_evidence_path";
    let way_out = "APPROVED for testable work names a readable TDD evidence artifact";
    match evidence {
        _ if fields.get(name).is_none_or(denies) => check.add(name, "names no file", way_out),
        Evidence::Missing => check.add(name, "leads to no file", way_out),
        Evidence::Read(text) if tdd::testable(text).is_none() => {
            check.add(name, "leads to a file that is no TDD evidence", way_out);
        }
        Evidence::Unknown | Evidence::Read(_) => {}
    }
    if has_exception(fields) {
        return;
    }
    if let Some(status) = status.filter(|status| *status != "verified") {
        let fault = format!("is \"{status}\"");
        let way_out = "APPROVED for testable work is `verified`, or the verdict is another";
        check.add("independent_verification_status", fault, way_out);
    }
    if reran(fields).is_empty() {
        let way_out = "APPROVED for testable work has at least one command that the reviewer ran, or the verdict is another";
        check.add("reviewer_reran_commands", "names no command", way_out);
    }
    if fields.get("reviewer_rerun_results").is_some_and(|value| !is_empty(value) && !is_substantive(value)) {
        let way_out =
            "APPROVED for testable work says what the reviewer's own run gave, or the verdict is another";
        check.add("reviewer_rerun_results", "says nothing of a run", way_out);
    }
}

/// An exception that the repository approved is recorded under a field of its own.
fn has_exception(fields: &Fields) -> bool {
    fields.iter().any(|(name, value)| name.ends_with("_exception") && !denies(value))
}

/// A clean approval of browser-scoped work stands on a browser.
fn in_browser(check: &mut Check<'_>, fields: &Fields) {
    if !browser::is_scope(fields) {
        return;
    }
    let results = fields.get("reviewer_rerun_results").unwrap_or_default();
    let ran = reran(fields).iter().any(|command| browser::is_run(command));
    let told = !is_not_rerun(bare(results)) && is_substantive(results) && browser::is_told(results);
    let named = fields.any(&["browser_evidence", "browser_evidence_path"]).is_some_and(browser::is_named);
    if !(ran || told || named) {
        let way_out = "browser-scoped work that no browser has shown is PARTIAL_PASS_STATIC_ONLY, \
                       BLOCKED_BROWSER_VALIDATION_MISSING or FAIL_BROWSER_EVIDENCE_MISSING, or the run of a browser is \
                       among reviewer_reran_commands";
        check.add("verdict", "is a clean APPROVED of browser-scoped work from static review", way_out);
    }
}

#[cfg(test)]
pub(super) mod tests;
