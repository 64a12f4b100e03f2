//! What the files that prove a task say: a review's verdict, the tribunal's, and the archive as a whole.

use super::fields::{Fields, bare};
use super::review::{self, Evidence};
use super::task::{Proof, Wants};
use super::{Violation, names};
use crate::model::wording::plain;

/// What was found of one proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// There is no such file.
    Missing,
    /// It lies outside the project.
    Outside,
    /// Its text, and what is known of the TDD evidence that it names.
    Read(String, Evidence),
    /// It could not be looked at, for a reason on our side.
    Unknown,
}

/// What a proof does not prove.
pub fn check(task: &str, proof: &Proof, found: &Found) -> Vec<Violation> {
    let violation = |fault: String, way_out: &str| vec![Violation::new(task, proof.field, fault, way_out)];
    let path = plain(&proof.path, 120);
    let (text, evidence) = match found {
        Found::Unknown => return Vec::new(),
        Found::Missing => {
            return violation(format!("leads to no file ({path})"), "it names a file that is there");
        }
        Found::Outside => {
            return violation(format!("leads out of the project ({path})"), "it names a file of the project");
        }
        Found::Read(text, evidence) => (text, evidence),
    };
    match proof.wants {
        Wants::Verdict | Wants::Approval => {
            let faults = review::check(&path, text, evidence);
            if !faults.is_empty() {
                let fault = format!("leads to {path}, whose verdict is not in order: {}", names(&faults));
                return violation(fault, "the verdict follows the review verdict contract");
            }
            let verdict = review::verdict(text).unwrap_or("none");
            if proof.wants == Wants::Approval && verdict != "APPROVED" {
                let fault = format!("leads to {path}, which says {verdict}");
                return violation(fault, "an implementation is done when its review says APPROVED");
            }
            Vec::new()
        }
        Wants::QaVerdict | Wants::QaPass => match qa(text) {
            None => violation(
                format!("leads to {path}, which says neither QA_PASS nor QA_FAIL"),
                "the file has a line `verdict: QA_PASS` or `verdict: QA_FAIL`",
            ),
            Some(false) if proof.wants == Wants::QaPass => violation(
                format!("leads to {path}, which says QA_FAIL"),
                "the build is complete after QA_PASS",
            ),
            Some(_) => Vec::new(),
        },
    }
}

/// What a tribunal's verdict says: true = pass. None = nothing.
pub fn qa(text: &str) -> Option<bool> {
    let fields = Fields::read(text);
    let stated = fields.any(&["verdict", "qa_verdict", "final_verdict", "result", "status"]);
    let word = |text: &str| {
        let upper = bare(text).to_ascii_uppercase();
        let word = upper.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?.to_owned();
        match word.as_str() {
            "QA_PASS" | "PASS" | "PASSED" => Some(true),
            "QA_FAIL" | "FAIL" | "FAILED" => Some(false),
            _ => None,
        }
    };
    stated.and_then(word).or_else(|| {
        // The signal itself as a line of its own.
        let heads = text.lines().map(|line| line.trim_matches(['#', '*', '`', ' ', '-']));
        heads.filter(|line| line.starts_with("QA_")).find_map(word)
    })
}

/// One chunk's folder in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// Its path below the root.
    pub place: String,
    /// Names of the files in it.
    pub files: Vec<String>,
}

/// What the archive lacks before the build is complete: every chunk has its review and its TDD evidence.
pub fn archive(chunks: &[Chunk]) -> Vec<Violation> {
    if chunks.is_empty() {
        let way_out = "thoth files each chunk under .kiln/archive/milestone-{N}/chunk-{M}/";
        return vec![Violation::new(".kiln/archive", "chunks", "are missing", way_out)];
    }
    let mut found = Vec::new();
    for chunk in chunks {
        let is_review = |name: &String| {
            let fix = name.strip_prefix("fix-").and_then(|rest| rest.strip_suffix("-review.md"));
            name == "review.md" || fix.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut wants = |name: &str, is_there: bool| {
            if !is_there {
                let way_out = "the chunk's artifact is filed by an ARCHIVE to thoth";
                found.push(Violation::new(&chunk.place, name, "is missing", way_out));
            }
        };
        wants("review.md", chunk.files.iter().any(is_review));
        wants("tdd-evidence.md", chunk.files.iter().any(|name| name == "tdd-evidence.md"));
    }
    found
}

#[cfg(test)]
mod tests;
