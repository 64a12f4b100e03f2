//! Which files below `.kiln/` the protocol has a shape for, and the shapes that are not schemas of their own: the status
//! marker and the freshness proof.

use super::fields::{Check, Fields, denies};
use super::review::{self, Evidence};
use super::{Violation, tdd};

/// The exact first line of a persistent mind's file (`kiln-protocol`, "Status Marker Convention").
pub const STATUS: &str = "<!-- status: complete -->";

/// Where the persistent minds keep their files, below `.kiln/`.
pub const DOCS: &str = "docs";

/// The persistent minds and the file that each owns, below `.kiln/`.
pub const MINDS: [(&str, &str); 3] = [
    ("rakim", "docs/codebase-state.md"),
    ("sentinel", "docs/patterns.md"),
    ("numerobis", "docs/architecture.md"),
];

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A persistent mind's own file.
    Mind,
    /// `tdd-evidence.md`, staged or archived.
    Tdd,
    /// `review.md` or `fix-N-review.md`, staged or archived.
    Review,
    /// What scopes or summarises a chunk or a milestone.
    Freshness,
}

/// Tells what a file is by its path below `.kiln/`; none = the protocol has no shape for it.
pub fn kind(below: &str) -> Option<Kind> {
    if MINDS.iter().any(|(_, file)| *file == below) {
        return Some(Kind::Mind);
    }
    let (folder, name) = below.rsplit_once('/')?;
    let parent = folder.rsplit('/').next().unwrap_or_default();
    let is_staged = folder == "tmp" || folder.starts_with("tmp/");
    let is_archived = folder.starts_with("archive/") && number(parent, "chunk-").is_some();
    if folder == "docs/milestones" && number(name.strip_suffix(".md")?, "milestone-").is_some() {
        return Some(Kind::Freshness);
    }
    if !is_staged && !is_archived {
        return None;
    }
    // A staged file carries what its folder will say later: chunk-3-review.md.
    match if is_staged { staged(name) } else { name } {
        "tdd-evidence.md" => Some(Kind::Tdd),
        "review.md" => Some(Kind::Review),
        "assignment.md" | "summary.md" | "iteration-summary.md" => Some(Kind::Freshness),
        name => {
            let fix = name.strip_prefix("fix-").and_then(|rest| rest.strip_suffix("-review.md"));
            fix.filter(|number| is_number(number)).map(|_| Kind::Review)
        }
    }
}

/// A staged file's name without the milestone and chunk before it.
fn staged(name: &str) -> &str {
    let mut rest = name;
    for word in ["milestone-", "m", "chunk-", "c"] {
        if let Some((digits, after)) = rest.strip_prefix(word).and_then(|rest| rest.split_once('-'))
            && is_number(digits)
        {
            rest = after;
        }
    }
    rest
}

fn number<'a>(name: &'a str, before: &str) -> Option<&'a str> {
    name.strip_prefix(before).filter(|digits| is_number(digits))
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What is wrong with a file of this kind. `place` is how the file is called; `evidence` is the TDD evidence that a
/// verdict names, as far as it could be looked at.
pub fn check(kind: Kind, place: &str, text: &str, evidence: &Evidence) -> Vec<Violation> {
    match kind {
        Kind::Mind => mind(place, text),
        Kind::Tdd => tdd::check(place, text),
        Kind::Review => review::check(place, text, evidence),
        Kind::Freshness => freshness(place, text),
    }
}

/// Tells whether a text's first line is the status marker, to the letter. The end of the line is no part of it.
pub fn has_status(text: &str) -> bool {
    text.lines().next() == Some(STATUS)
}

/// The violation of a mind's file whose first line is another, or that is not there (`text` none).
pub fn status(place: &str, text: Option<&str>) -> Option<Violation> {
    let fault = match text {
        None => "is not there",
        Some(text) if has_status(text) => return None,
        Some(text) if text.starts_with('\u{feff}') => "has a byte-order mark before it",
        Some(text) if text.lines().any(|line| line == STATUS) => "holds the status marker further down",
        Some(text) if text.lines().next().is_some_and(|line| line.trim() == STATUS) => {
            "has blanks around the status marker"
        }
        Some(_) => "is no status marker",
    };
    let field = if text.is_none() { "the file" } else { "line 1" };
    Some(Violation::new(place, field, fault, format!("its first line is exactly `{STATUS}`")))
}

/// A mind's file: the marker, and, once it says something, the commit that it describes.
fn mind(place: &str, text: &str) -> Vec<Violation> {
    let mut found: Vec<Violation> = status(place, Some(text)).into_iter().collect();
    // The skeleton that is written at the start holds headings at most.
    let says = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("<!--")
    };
    if !text.lines().any(says) {
        return found;
    }
    let fields = Fields::read(text);
    let mut check = Check::new(place, &fields);
    check.sha("head_sha");
    // Of the other fields that such a file may hold nothing is asked.
    found.extend(check.done().into_iter().filter(|violation| violation.field == "head_sha"));
    found
}

/// The proof that scoping and summarising artifacts carry (`kiln-protocol`, "Freshness Proofs").
pub fn freshness(place: &str, text: &str) -> Vec<Violation> {
    let fields = Fields::read(text);
    let mut check = Check::new(place, &fields);
    for name in ["assignment_id", "milestone_id", "chunk_id"] {
        check.named(name, "{id}");
    }
    let pair = ["current_head_sha_before", "current_head_sha_after"];
    if fields.get("head_sha").is_some() || pair.iter().all(|name| fields.get(name).is_none()) {
        check.sha("head_sha");
    } else {
        for name in pair {
            check.sha(name);
        }
    }
    if fields.any(&["dirty_status", "git_status", "git_status_short"]).is_none() && !has_status_summary(text)
    {
        let way_out = "a line `dirty_status: clean|{what is changed}`, or what `git status --short` printed";
        check.add("dirty_status", "is missing", way_out);
    }
    let sources = fields.any(&["source_artifacts", "source_artifact_paths", "source_paths", "sources"]);
    if sources.is_none_or(denies) {
        let way_out = "a line `source_artifacts: {paths}` with what was used for scoping";
        check.add("source_artifacts", "is missing", way_out);
    }
    check.done()
}

/// Tells whether the text quotes `git status --short`.
fn has_status_summary(text: &str) -> bool {
    text.contains("git status --short")
}

#[cfg(test)]
mod tests;
