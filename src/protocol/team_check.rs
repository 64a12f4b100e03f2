//! Rules of `knowledge-transfer-protocols` that hold between two files of a session, or between a file and what it was:
//! pure, over what was read of them.

use std::collections::BTreeMap;

use super::cache_index::{Entry, Placed};
use super::state_update::Update;
use super::team_meta::{Meta, Task};
use super::team_msg::{ALL, COORDINATOR, Message};
use super::team_rule::{Fault, Rule, shown};
use crate::model::digest::of_bytes;
use crate::model::moment::Millis;
use crate::model::reading::{Files, Reading, Report};
use crate::model::wording::plain;

/// The record is written this long after the line of the log at the latest.
const RECORDED: Millis = 10_000;
/// Stamps of line and record are of one clock, but not of one moment.
const ONE_MOMENT: Millis = 1_000;

/// Says that a message goes to a role that nobody declared and that has posted nothing itself. Whom all know, and whom
/// a session that declares nobody addresses, is declared.
pub fn undeclared(message: &Message, meta: &Meta, has_posted: impl Fn(&str) -> bool) -> Option<Fault> {
    let to = message.to.as_str();
    if matches!(to, ALL | COORDINATOR) || meta.knows(to) || has_posted(to) {
        return None;
    }
    let fact =
        format!("a message is addressed to {}; the declared roles are {}", shown(to), meta.roles.join(", "));
    Some(Fault::new(Rule::UndeclaredRole, plain(&fact, 200)))
}

/// The reports that the session's record does not have although they are older than it would take: each with its role.
pub fn behind<'a>(meta: &Meta, files: &'a Files, now: Millis) -> Vec<(&'a str, Report, Fault)> {
    let is_missing = |role: &str, report: &Report| {
        let recorded = match meta.published.get(role) {
            Some(published) => published.updated,
            // Records without a state of roles have one stamp for all.
            None if meta.published.is_empty() => meta.updated,
            None => Some(0),
        };
        recorded.is_some_and(|recorded| recorded + ONE_MOMENT < report.sent)
    };
    let is_due = |report: &Report| report.sent > 0 && now.saturating_sub(report.sent) >= RECORDED;
    let lost = files.posted.iter().filter(|(role, report)| is_due(report) && is_missing(role, report));
    lost.map(|(role, report)| {
        let fact = format!(
            "meta.json does not have the state_update of {} at line {} of the log",
            shown(role),
            report.line
        );
        (role.as_str(), *report, Fault::new(Rule::MetaBehind, fact))
    })
    .collect()
}

/// The tasks that have ended and that nobody reported.
pub fn unreported<'a>(tasks: &'a [Task], files: &Files, meta: &Meta) -> Vec<&'a Task> {
    let is_reported = |task: &Task| {
        files.reported.contains(&task.id)
            || meta.published.values().any(|published| published.task == task.id)
    };
    tasks.iter().filter(|task| task.is_completed && !task.id.is_empty() && !is_reported(task)).collect()
}

/// Says that a task has ended and was not reported.
pub fn never_published(task: &Task) -> Fault {
    let role = if task.role.is_empty() { "its role" } else { &task.role };
    let fact =
        format!("{} is completed in tasks.json, and {role} sent no state_update of it", shown(&task.id));
    Fault::new(Rule::NeverPublished, plain(&fact, 200))
}

/// Holds a file that may only grow against what it began with. `bytes` are without blanks at their end.
pub fn grew(old: &Reading, bytes: &[u8]) -> Option<Fault> {
    let known = old.bytes as usize;
    let name = &old.file;
    if bytes.len() < known {
        let fact = format!("{name} had {known} bytes and has {}; it is append-only", bytes.len());
        return Some(Fault::new(Rule::WisdomShrank, fact));
    }
    (of_bytes(&bytes[..known]) != old.hash).then(|| {
        Fault::new(
            Rule::WisdomRewritten,
            format!("the first {known} bytes of {name} were changed; it is append-only"),
        )
    })
}

/// Holds an index of explorations against what is known of it: entries that are gone, and entries that another made.
/// The second part are the entries that are new or were taken over (angle, creator; an empty one is gone).
pub fn explored(known: &BTreeMap<String, String>, entries: &[Entry]) -> (Vec<Placed>, Vec<(String, String)>) {
    let (mut faults, mut news) = (Vec::new(), Vec::new());
    for (angle, by) in known {
        if !entries.iter().any(|entry| entry.angle == *angle) {
            let fact = format!(
                "the entry of {} by {} is gone; entries never expire within a session",
                shown(angle),
                shown(by)
            );
            faults.push((1, Fault::new(Rule::CacheEntryRemoved, fact).of(angle)));
            news.push((angle.clone(), String::new()));
        }
    }
    for entry in entries.iter().filter(|entry| !entry.created_by.is_empty()) {
        match known.get(&entry.angle) {
            Some(by) if *by == entry.created_by => continue,
            Some(by) => {
                let (angle, new) = (shown(&entry.angle), shown(&entry.created_by));
                let fact = format!(
                    "the entry of {angle} was created by {} and is now by {new}; only its creator updates it",
                    shown(by)
                );
                faults.push((entry.line, Fault::new(Rule::CacheChangedByAnother, fact).of(&entry.angle)));
            }
            None => {}
        }
        news.push((entry.angle.clone(), entry.created_by.clone()));
    }
    (faults, news)
}

/// Where a `ref` may lead, relative to the root: below the session or below the root. None = it leaves the project by
/// its letters alone. `session` is the session's folder relative to the root, `root` the root's own path.
pub fn places(reference: &str, session: &str, root: &str) -> Option<Vec<String>> {
    let reference = ["<session>/", "{session}/", "<session-folder>/", "${session}/"]
        .iter()
        .find_map(|mark| reference.strip_prefix(mark))
        .map_or_else(|| reference.to_owned(), |rest| format!("{session}/{rest}"));
    if reference.starts_with("~/") {
        return None;
    }
    if reference.starts_with('/') {
        let rest = reference.strip_prefix(root.trim_end_matches('/'))?;
        return Some(vec![flat(rest.strip_prefix('/')?)?]);
    }
    let found: Vec<String> =
        [format!("{session}/{reference}"), reference].iter().filter_map(|path| flat(path)).collect();
    (!found.is_empty()).then_some(found)
}

/// Resolves `.` and `..` by the letters. None = it climbs out.
fn flat(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Where a `ref` was found to lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To a file with this name among the session's artifacts.
    Artifact(String),
    /// To a file elsewhere in the project.
    Elsewhere,
    /// To nothing.
    Missing,
    /// Out of the project.
    Outside,
}

/// Holds a report against the files. `target` is none where it has no `ref` that could lead anywhere; `has_artifact`
/// tells whether any artifact of its task is there.
pub fn artifact(update: &Update, target: Option<&Target>, has_artifact: bool) -> Option<Fault> {
    let reference = || plain(&update.reference, 120);
    match target {
        Some(Target::Outside) => Some(Fault::new(Rule::RefOutside, "ref leads out of the project")),
        Some(Target::Missing) => {
            Some(Fault::new(Rule::RefWithoutFile, format!("ref leads to no file: {}", reference())))
        }
        Some(Target::Elsewhere) => Some(Fault::new(
            Rule::RefNotArtifact,
            format!("ref leads to no artifact of the session: {}", reference()),
        )),
        Some(Target::Artifact(name)) => {
            let is_named = name
                .strip_prefix(&format!("{}-", update.task))
                .is_some_and(|rest| rest.strip_suffix(".md").is_some_and(|rest| !rest.is_empty()));
            (!is_named && !update.task.is_empty()).then(|| {
                let fact = format!(
                    "the artifact of {} is named {}, not <task-id>-<name>.md",
                    update.task,
                    shown(name)
                );
                Fault::new(Rule::ArtifactName, fact)
            })
        }
        None if update.is_done && !update.has_reference && !has_artifact && !update.task.is_empty() => {
            let fact = format!("{} is reported done, and there is no artifact of it", update.task);
            Some(Fault::new(Rule::UpdateWithoutArtifact, fact))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests;
