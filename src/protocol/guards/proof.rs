//! What the files that prove a task say: a review's verdict, the tribunal's, and the archive as a whole.

use super::fields::{Fields, bare};
use super::review::{self, Evidence};
use super::task::{Proof, Wants};
use super::{Violation, names, tdd};
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

/// The chunk's last review among its files: the highest `fix-N-review.md`, else `review.md`.
pub fn last_review(files: &[String]) -> Option<&str> {
    let round = |name: &str| {
        let fix = name.strip_prefix("fix-").and_then(|rest| rest.strip_suffix("-review.md"));
        let fix = fix.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if name == "review.md" { Some(0) } else { fix?.parse::<u64>().ok() }
    };
    let reviews = files.iter().filter_map(|name| Some((round(name)?, name.as_str())));
    reviews.max().map(|(_, name)| name)
}

/// What the archive lacks before the build is complete: the last word on every chunk is an APPROVED in order, and its TDD
/// evidence is in order. `look` is asked for a file by its path below the root.
pub fn archive(chunks: &[Chunk], look: &dyn Fn(&str) -> Found) -> Vec<Violation> {
    if chunks.is_empty() {
        let way_out = "thoth files each chunk under .kiln/archive/milestone-{N}/chunk-{M}/";
        return vec![Violation::new(".kiln/archive", "chunks", "are missing", way_out)];
    }
    let mut found = Vec::new();
    for chunk in chunks {
        let review = last_review(&chunk.files);
        let evidence = chunk.files.iter().map(String::as_str).find(|name| *name == "tdd-evidence.md");
        let (review_fault, evidence_fault) = (
            review.and_then(|name| unapproved(&chunk.place, name, look)),
            evidence.and_then(|name| unproven(&chunk.place, name, look)),
        );
        for (name, is_there, fault) in [
            ("review.md", review.is_some(), review_fault),
            ("tdd-evidence.md", evidence.is_some(), evidence_fault),
        ] {
            if !is_there {
                let way_out = "the chunk's artifact is filed by an ARCHIVE to thoth";
                found.push(Violation::new(&chunk.place, name, "is missing", way_out));
            }
            found.extend(fault);
        }
    }
    found
}

/// What keeps a chunk's last review from being an approval.
fn unapproved(folder: &str, name: &str, look: &dyn Fn(&str) -> Found) -> Option<Violation> {
    let path = format!("{folder}/{name}");
    let Found::Read(text, evidence) = look(&path) else { return None };
    let faults = review::check(&path, &text, &evidence);
    if !faults.is_empty() {
        let fault = format!("is not in order: {}", names(&faults));
        return Some(Violation::new(folder, name, fault, "the verdict follows the review verdict contract"));
    }
    let verdict = review::verdict(&text).filter(|verdict| *verdict != "APPROVED")?;
    let way_out = "the build is complete when the last verdict on each chunk is APPROVED";
    Some(Violation::new(folder, name, format!("says {verdict}, and is the last word on the chunk"), way_out))
}

/// What is wrong with a chunk's evidence.
fn unproven(folder: &str, name: &str, look: &dyn Fn(&str) -> Found) -> Option<Violation> {
    let path = format!("{folder}/{name}");
    let Found::Read(text, _) = look(&path) else { return None };
    let faults = tdd::check(&path, &text);
    let fault = format!("is not in order: {}", names(&faults));
    let way_out = "the evidence follows the TDD evidence contract";
    (!faults.is_empty()).then(|| Violation::new(folder, name, fault, way_out))
}

#[cfg(test)]
mod tests;
