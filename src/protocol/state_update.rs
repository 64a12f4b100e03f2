//! The payload of a `state_update` (`knowledge-transfer-protocols` §4): what a role reports when its task is done, each
//! field rule held against it. What cannot be judged by its form is not judged.

use super::sketch::Sketch;
use super::team_rule::{Fault, Rule, shown};
use crate::model::wording::{is_invisible, plain};

mod rationale;

/// The most key findings, and the length from which one is too long, in characters.
const MOST_FINDINGS: usize = 5;
const TOO_LONG: usize = 100;
/// The longest path that is taken over, in bytes.
const LONGEST: usize = 1024;

/// The three ways in which a result was verified.
const VERIFICATIONS: [&str; 3] = ["self-validated", "peer-reviewed", "tested"];
/// Keys that the tool lifts to the session's own record: an update that has them and reports no task describes the
/// pipeline.
const OF_PIPELINE: [&str; 5] = ["pipeline_mode", "pipeline_stages", "team_name", "task_description", "roles"];
/// Keys that only the report of a task has.
const OF_TASK: [&str; 6] =
    ["status", "task_id", "ref", "verification", "supervision_verdict", "blocks_detected"];
/// Beginnings of the ids of tasks that are known to implement nothing. Whatever else a task is called, it may.
const NO_IMPLEMENTATION: [&str; 10] = [
    "RESEARCH",
    "ANALYSIS",
    "ANALYZE",
    "EXPLORE",
    "DRAFT",
    "PLAN",
    "REVIEW",
    "QUALITY",
    "DISCUSS",
    "CHECKPOINT",
];

/// What a supervisor decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The pipeline goes on.
    Pass,
    /// It goes on, and risks were noted.
    Warn,
    /// It halts.
    Block,
}

/// A report, without its findings, decisions and files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Update {
    /// The task; empty if it does not say.
    pub task: String,
    /// It says that the task is done.
    pub is_done: bool,
    /// It describes the pipeline and reports no task.
    pub is_of_pipeline: bool,
    /// Where the artifact lies; empty if it does not say, or says something that is no path.
    pub reference: String,
    /// There was something in `ref`, path or not.
    pub has_reference: bool,
    /// What a supervisor decided.
    pub verdict: Option<Verdict>,
    /// Blocking issues that a supervisor counted.
    pub blocks: u64,
}

impl Update {
    /// Tells whether the task is a supervisor's checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        has_head(&self.task, "CHECKPOINT")
    }

    /// Why the pipeline halts here, if it does: the verdict, or issues that were counted whatever the verdict says.
    pub fn halt(&self) -> Option<String> {
        let task = if self.task.is_empty() { "a checkpoint" } else { &self.task };
        match (self.verdict, self.blocks) {
            (Some(Verdict::Block), 0) => Some(format!("supervision_verdict of {task} is block")),
            (Some(Verdict::Block), n) => {
                Some(format!("supervision_verdict of {task} is block; blocks_detected is {n}"))
            }
            (_, 0) => None,
            (_, n) => Some(format!("blocks_detected of {task} is {n}")),
        }
    }
}

/// Reads the payload that a role sent.
pub fn read(data: &Sketch, from: &str) -> (Update, Vec<Fault>) {
    let has = |key: &&str| *data.get(key) != Sketch::Nothing;
    let mut faults = Vec::new();
    if !OF_TASK.iter().any(has) && OF_PIPELINE.iter().any(has) {
        return (Update { is_of_pipeline: true, ..Update::default() }, faults);
    }
    let mut update = Update { task: task_id(data, &mut faults), ..Update::default() };
    update.is_done = is_done(data, &mut faults);
    reference(data, &mut update, &mut faults);
    key_findings(data, &mut faults);
    decisions(data, &mut faults);
    files_modified(data, &update.task, &mut faults);
    verification(data, &mut faults);
    supervision(data, from, &mut update, &mut faults);
    (update, faults)
}

/// Takes a text that the schema asks for.
fn required<'a>(data: &'a Sketch, name: &str, faults: &mut Vec<Fault>) -> Option<&'a str> {
    match data.get(name) {
        Sketch::Text(text) if !text.trim().is_empty() => return Some(text.trim()),
        Sketch::Text(_) | Sketch::Nothing => missing(name, faults),
        _ => faults.push(Fault::new(Rule::FieldType, format!("{name} is no text"))),
    }
    None
}

fn missing(name: &str, faults: &mut Vec<Fault>) {
    faults.push(Fault::new(Rule::FieldMissing, format!("a state_update has no {name}")));
}

fn task_id(data: &Sketch, faults: &mut Vec<Fault>) -> String {
    let Some(id) = required(data, "task_id", faults) else { return String::new() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let has_number = id.split('-').skip(1).any(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    let is_of_form =
        id.starts_with(|c: char| c.is_ascii_alphabetic()) && id.chars().all(is_plain) && has_number;
    if !is_of_form {
        faults.push(Fault::new(
            Rule::TaskIdForm,
            format!("task_id is {}, not of the form TASK-001", shown(id)),
        ));
    }
    // What is no word names no task; it may be a text that is nobody's business.
    let is_word =
        id.len() <= 80 && !id.contains(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c));
    if is_word { plain(id, 80) } else { String::new() }
}

fn is_done(data: &Sketch, faults: &mut Vec<Fault>) -> bool {
    let Some(status) = required(data, "status", faults) else { return false };
    if status != "task_complete" {
        faults
            .push(Fault::new(Rule::StatusUnknown, format!("status is {}, not task_complete", shown(status))));
    }
    status == "task_complete"
}

fn reference(data: &Sketch, update: &mut Update, faults: &mut Vec<Fault>) {
    update.has_reference = !matches!(data.get("ref"), Sketch::Nothing) && data.get("ref").text() != "";
    let Some(path) = required(data, "ref", faults) else { return };
    if is_path(path) {
        path.clone_into(&mut update.reference);
    } else {
        let length = path.chars().count();
        faults.push(Fault::new(Rule::RefInline, format!("ref holds {length} characters that are no path")));
    }
}

/// A path is one line, not long, and either has a separator or no blanks. What begins like JSON, Markdown or a fence is
/// content.
fn is_path(text: &str) -> bool {
    text.len() <= LONGEST
        && !text.chars().any(char::is_control)
        && !text.starts_with(['{', '[', '#', '`', '*', '-'])
        && (text.contains('/') || !text.contains(char::is_whitespace))
        && text.split_whitespace().count() <= 12
}

fn key_findings(data: &Sketch, faults: &mut Vec<Fault>) {
    let Some(list) = list(data, "key_findings", faults) else { return };
    if list.len() > MOST_FINDINGS {
        let fact = format!("key_findings has {} items; at most {MOST_FINDINGS} are allowed", list.len());
        faults.push(Fault::new(Rule::TooManyFindings, fact));
    }
    for (place, finding) in list.iter().enumerate() {
        let length = finding.text().chars().count();
        if length >= TOO_LONG {
            let fact = format!(
                "item {} of key_findings has {length} characters; under {TOO_LONG} are allowed",
                place + 1
            );
            faults.push(Fault::new(Rule::FindingTooLong, fact));
        }
        if !matches!(finding, Sketch::Text(_)) {
            faults
                .push(Fault::new(Rule::FieldType, format!("item {} of key_findings is no text", place + 1)));
        }
    }
}

fn decisions(data: &Sketch, faults: &mut Vec<Fault>) {
    let Some(list) = list(data, "decisions", faults) else { return };
    for (place, decision) in list.iter().enumerate() {
        let fact = match decision {
            Sketch::Text(text) if rationale::is_choice_alone(text) => "names the choice alone",
            Sketch::Object(_) if !rationale::has_reason(decision) => "has no field for its reason",
            Sketch::Text(_) | Sketch::Object(_) => continue,
            _ => {
                faults
                    .push(Fault::new(Rule::FieldType, format!("item {} of decisions is no text", place + 1)));
                continue;
            }
        };
        let fact = format!("item {} of decisions {fact}", place + 1);
        faults.push(Fault::new(Rule::DecisionWithoutRationale, fact));
    }
}

fn files_modified(data: &Sketch, task: &str, faults: &mut Vec<Fault>) {
    let list = match data.get("files_modified") {
        Sketch::Nothing => return,
        Sketch::List(list) => list,
        _ => return faults.push(Fault::new(Rule::FieldType, "files_modified is no list")),
    };
    if list.iter().any(|file| !matches!(file, Sketch::Text(_))) {
        faults.push(Fault::new(Rule::FieldType, "files_modified holds something other than paths"));
    }
    if let Some(head) =
        NO_IMPLEMENTATION.iter().find(|head| has_head(task, head)).filter(|_| !list.is_empty())
    {
        let fact = format!(
            "a {head} task lists {} in files_modified, which is for implementation tasks",
            list.len()
        );
        faults.push(Fault::new(Rule::FilesNotImplementation, fact));
    }
}

fn verification(data: &Sketch, faults: &mut Vec<Fault>) {
    let Some(word) = required(data, "verification", faults) else { return };
    if !VERIFICATIONS.contains(&word) {
        let fact = format!("verification is {}, none of {}", shown(word), VERIFICATIONS.join(", "));
        faults.push(Fault::new(Rule::VerificationUnknown, fact));
    }
}

fn supervision(data: &Sketch, from: &str, update: &mut Update, faults: &mut Vec<Fault>) {
    let is_there = |name: &&str| *data.get(name) != Sketch::Nothing;
    let fields = ["supervision_verdict", "supervision_score", "risks_logged", "blocks_detected"];
    let found: Vec<&str> = fields.into_iter().filter(|name| is_there(name)).collect();
    let is_checkpoint = update.is_checkpoint();
    if !is_checkpoint && !update.task.is_empty() && !found.is_empty() {
        let fact = format!(
            "{} in the report of {} (sent by {from}), which is no CHECKPOINT",
            found.join(", "),
            update.task
        );
        faults.push(Fault::new(Rule::SupervisionElsewhere, plain(&fact, 200)));
    }
    update.verdict = verdict(data, is_checkpoint, faults);
    if let Some(score) = is_there(&"supervision_score").then(|| data.get("supervision_score"))
        && !matches!(score, Sketch::Number(score) if (0.0..=1.0).contains(score))
    {
        faults.push(Fault::new(Rule::ScoreRange, "supervision_score is no number from 0.0 to 1.0"));
    }
    count(data, "risks_logged", faults);
    update.blocks = count(data, "blocks_detected", faults);
    if update.blocks > 0 && update.verdict != Some(Verdict::Block) {
        let fact = format!("blocks_detected is {}, and supervision_verdict is not block", update.blocks);
        faults.push(Fault::new(Rule::BlocksWithoutBlock, fact));
    }
}

fn verdict(data: &Sketch, is_checkpoint: bool, faults: &mut Vec<Fault>) -> Option<Verdict> {
    match data.get("supervision_verdict") {
        Sketch::Text(word) => match word.trim() {
            "pass" => return Some(Verdict::Pass),
            "warn" => return Some(Verdict::Warn),
            "block" => return Some(Verdict::Block),
            word => {
                let fact = format!("supervision_verdict is {}, none of pass, warn, block", shown(word));
                faults.push(Fault::new(Rule::VerdictUnknown, fact));
            }
        },
        Sketch::Nothing if is_checkpoint => {
            faults.push(Fault::new(Rule::VerdictMissing, "a CHECKPOINT has no supervision_verdict"));
        }
        Sketch::Nothing => {}
        _ => faults.push(Fault::new(Rule::FieldType, "supervision_verdict is no text")),
    }
    None
}

/// Takes a count; what is no whole number from 0 on is a fault and counts as 0.
fn count(data: &Sketch, name: &str, faults: &mut Vec<Fault>) -> u64 {
    match data.get(name) {
        Sketch::Nothing => 0,
        Sketch::Number(number) if *number >= 0.0 && number.fract() == 0.0 && *number < 1e9 => *number as u64,
        _ => {
            faults.push(Fault::new(Rule::CountRange, format!("{name} is no whole number from 0 on")));
            0
        }
    }
}

/// Takes a list that the schema asks for.
fn list<'a>(data: &'a Sketch, name: &str, faults: &mut Vec<Fault>) -> Option<&'a [Sketch]> {
    match data.get(name) {
        Sketch::List(list) => return Some(list),
        Sketch::Nothing => missing(name, faults),
        _ => faults.push(Fault::new(Rule::FieldType, format!("{name} is no list"))),
    }
    None
}

/// Tells whether a task's id begins with this word.
fn has_head(task: &str, head: &str) -> bool {
    task.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
        && !task[head.len()..].starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests;
