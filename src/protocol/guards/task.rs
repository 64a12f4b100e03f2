//! Tasks of the native task list (`kiln-protocol`, "Task DAG and State Hooks"): which of them are critical, what they
//! must say of themselves when they are made, and what must prove that they are done.
//!
//! A hook is shown a task's subject and description. Its metadata lie in the client's list, and what the completing call
//! itself sets is seen when that call begins; lines `name: value` of the description count as metadata do.

use super::Violation;
use super::fields::{Fields, bare, denies, head, is_empty};
use crate::model::wording::{one_line, plain};
use crate::protocol::payload::Payload;
use crate::protocol::sketch::Sketch;

/// The longest value that is taken of a task's metadata.
const LONGEST: usize = 400;

/// A critical task's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A chunk is built.
    Implementation,
    /// A chunk is reviewed.
    Review,
    /// A milestone is judged.
    Qa,
    /// All milestones are done.
    BuildComplete,
}

impl Kind {
    /// How the kind is called in texts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Implementation => "implementation",
            Self::Review => "review",
            Self::Qa => "QA",
            Self::BuildComplete => "build-complete",
        }
    }

    fn with_article(self) -> String {
        let article = if self == Self::Implementation { "an" } else { "a" };
        format!("{article} {}", self.word())
    }

    /// Chunks are built and reviewed; QA and the end of the build are about whole milestones.
    fn has_chunk(self) -> bool {
        matches!(self, Self::Implementation | Self::Review)
    }
}

/// One task, as a hook is shown it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Task {
    /// Its id; empty if the client gave none.
    pub id: String,
    subject: String,
    description: String,
    fields: Fields,
    /// Its metadata were seen: what is not among the fields is nowhere.
    is_whole: bool,
}

/// A file that a task names as its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The field that names it.
    pub field: &'static str,
    /// The path, as it is written.
    pub path: String,
    /// What the file has to say.
    pub wants: Wants,
}

/// What a proof has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// A verdict of a build review, whichever.
    Verdict,
    /// The verdict APPROVED.
    Approval,
    /// A verdict of the tribunal, whichever.
    QaVerdict,
    /// The tribunal's pass.
    QaPass,
}

impl Task {
    /// Reads the task of a payload, with what a call that is under way sets, and with its metadata in the client's list;
    /// none = they could not be seen. Then nothing is called missing: it may stand there.
    pub fn of(payload: &Payload, under_way: &Fields, listed: Option<&Fields>) -> Self {
        let text = |name: &str| payload.field(name).to_owned();
        let description = text("task_description");
        // No client is known to show them; one that does is believed.
        let shown = ["task_metadata", "metadata"].map(|name| payload.value(name));
        let is_whole = listed.is_some() || shown.iter().any(|value| matches!(value, Sketch::Object(_)));
        let [task_metadata, other] = shown.map(metadata);
        let lines = Fields::read(&description);
        let mut fields = Fields::default();
        for source in [Some(under_way), listed, Some(&task_metadata), Some(&other), Some(&lines)] {
            for (name, value) in source.into_iter().flat_map(Fields::iter) {
                fields.add(name, value);
            }
        }
        Self { id: text("task_id"), subject: text("task_subject"), description, fields, is_whole }
    }

    /// How the task is called in texts.
    pub fn place(&self) -> String {
        if self.id.is_empty() { "the task".to_owned() } else { format!("task {}", plain(&self.id, 40)) }
    }

    /// The task's kind, by its `category`, else by its subject. None = it is not critical.
    ///
    /// Words of the description do not count: it tells a story in which all of them occur.
    pub fn kind(&self) -> Option<Kind> {
        match self.fields.any(&["category", "task_category", "task_kind"]) {
            Some(category) => of_word(bare(category)),
            None => self.kind_by_subject(),
        }
    }

    /// `review: …`, `[QA] …`, `BUILD_COMPLETE`, or a subject that begins with what is done and names the chunk or
    /// milestone that it is done to.
    fn kind_by_subject(&self) -> Option<Kind> {
        let subject = self.subject.trim();
        let labelled =
            subject.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(label, _)| label);
        let headed = subject.split_once(':').map(|(head, _)| head);
        if let Some(kind) = [labelled, headed, Some(subject)].into_iter().flatten().find_map(of_word) {
            return Some(kind);
        }
        let lower = subject.to_ascii_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let kind = match words.next()? {
            "implement" | "implementation" => Kind::Implementation,
            "review" => Kind::Review,
            "qa" => Kind::Qa,
            _ => return None,
        };
        let unit = if kind == Kind::Qa { "milestone" } else { "chunk" };
        words.any(|word| word.starts_with(unit)).then_some(kind)
    }

    /// What is missing when the task is made.
    pub fn created(&self) -> Vec<Violation> {
        let Some(kind) = self.kind().filter(|_| self.is_whole) else { return Vec::new() };
        let mut found = Vec::new();
        let mut wants = |name: &str, is_there: bool, example: &str| {
            if !is_there {
                let way_out = format!(
                    "{} task has `{example}` in its metadata, or as a line of its description",
                    kind.with_article()
                );
                found.push(Violation::new(&self.place(), name, "is missing", way_out));
            }
        };
        wants("milestone_id", self.names("milestone"), "milestone_id: {id}");
        if kind.has_chunk() {
            wants("chunk_id", self.names("chunk"), "chunk_id: {id}");
        }
        wants("role", self.says(&["role", "assignee_role"]).is_some(), "role: {who does it}");
        found
    }

    /// What is missing when the task is done, as far as its own lines tell, and the files that have to be looked at.
    pub fn completed(&self) -> (Vec<Violation>, Vec<Proof>) {
        let Some(kind) = self.kind() else { return (Vec::new(), Vec::new()) };
        let (mut found, mut proofs) = (Vec::new(), Vec::new());
        let place = self.place();
        let mut proof = |field, wants| {
            if let Some(path) = self.says(&[field]) {
                proofs.push(Proof { field, path: bare(path).to_owned(), wants });
            }
            self.says(&[field]).is_some()
        };
        let missing = |name: &str, shape: &str| -> Option<Violation> {
            let way_out = format!(
                "{} task is done with `{name}: {shape}` in its metadata, or as a line of its description",
                kind.with_article()
            );
            self.is_whole.then(|| Violation::new(&place, name, "is missing", way_out))
        };
        match kind {
            Kind::Implementation => {
                if self.says(&["review_task_id", "review_task"]).is_none() {
                    found.extend(missing("review_task_id", "{id of the task that reviews it}"));
                }
                proof("verdict_path", Wants::Approval);
            }
            Kind::Review => {
                if !proof("verdict_path", Wants::Verdict) {
                    found.extend(missing("verdict_path", "{path of review.md}"));
                }
            }
            Kind::Qa => {
                if !proof("qa_verdict_path", Wants::QaVerdict) {
                    found.extend(missing("qa_verdict_path", "{path of the tribunal's verdict}"));
                }
            }
            Kind::BuildComplete => {
                proof("qa_verdict_path", Wants::QaPass);
                found.extend(self.final_check(&missing));
            }
        }
        found.extend(self.open_tasks(kind, &missing));
        (found, proofs)
    }

    /// The archive was checked, and found complete.
    fn final_check(&self, missing: &impl Fn(&str, &str) -> Option<Violation>) -> Option<Violation> {
        let name = "final_archive_check";
        let Some(value) = self.fields.any(&[name]) else { return missing(name, "pass") };
        let word = bare(value).to_ascii_lowercase();
        let passes = ["pass", "passed", "ready", "archive_ready", "yes"];
        let is_pass = word.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
        (!is_pass.is_some_and(|word| passes.contains(&word))).then(|| {
            let fault = format!("is \"{}\"", plain(bare(value), 40));
            Violation::new(&self.place(), name, fault, "it is `pass` once thoth has answered ARCHIVE_READY")
        })
    }

    /// Tasks that block this one are no longer open. Only the end of the build has to say so.
    fn open_tasks(
        &self,
        kind: Kind,
        missing: &impl Fn(&str, &str) -> Option<Violation>,
    ) -> Option<Violation> {
        let name = "open_blocking_tasks";
        let value = self.fields.get(name).filter(|value| !is_empty(value) || bare(value) == "[]");
        let Some(value) = value else {
            return Some(name).filter(|_| kind == Kind::BuildComplete).and_then(|name| missing(name, "0"));
        };
        let is_none = head(value) == "0" || denies(value);
        (!is_none).then(|| {
            let fault = format!("is \"{}\"", plain(bare(value), 40));
            Violation::new(&self.place(), name, fault, "the task is done when it is 0")
        })
    }

    /// The first of these fields that says something.
    fn says(&self, names: &[&str]) -> Option<&str> {
        self.fields.any(names).filter(|value| !denies(value))
    }

    /// Tells whether the task names its milestone or chunk: by a field, or by `chunk-3`, `chunk 3` in its texts.
    fn names(&self, unit: &str) -> bool {
        if self.says(&[&format!("{unit}_id"), unit]).is_some() {
            return true;
        }
        [&self.subject, &self.description].iter().any(|text| {
            let lower = text.to_ascii_lowercase();
            lower.match_indices(unit).any(|(place, _)| {
                let rest = lower[place + unit.len()..].trim_start_matches(['-', '_', ' ', '#', '=']);
                rest.starts_with(|c: char| c.is_ascii_digit())
            })
        })
    }
}

fn of_word(word: &str) -> Option<Kind> {
    let word = word.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    match word.as_str() {
        "implementation" | "implement" => Some(Kind::Implementation),
        "review" => Some(Kind::Review),
        "qa" | "milestone_qa" => Some(Kind::Qa),
        "build_complete" => Some(Kind::BuildComplete),
        _ => None,
    }
}

/// The fields that guards ask of a task: all that is taken of its metadata.
const NAMES: [&str; 15] = [
    "category",
    "task_category",
    "task_kind",
    "milestone",
    "milestone_id",
    "chunk",
    "chunk_id",
    "role",
    "assignee_role",
    "review_task",
    "review_task_id",
    "verdict_path",
    "qa_verdict_path",
    "open_blocking_tasks",
    "final_archive_check",
];

/// What a call of TaskUpdate sets, of its metadata and of lines of its description.
pub fn set_by(input: &Sketch) -> Fields {
    let mut fields = metadata(input.get("metadata"));
    for (name, value) in Fields::read(input.get("description").text()).iter() {
        if NAMES.contains(&name) {
            fields.add(name, &one_line(value, LONGEST));
        }
    }
    fields
}

/// Takes from a task's metadata what guards ask for, each on one line.
pub fn metadata(value: &Sketch) -> Fields {
    let mut fields = Fields::default();
    if let Sketch::Object(members) = value {
        for (name, value) in members {
            let name = name.to_ascii_lowercase();
            if NAMES.contains(&name.as_str()) {
                fields.add(&name, &one_line(&shown(value), LONGEST));
            }
        }
    }
    fields
}

fn shown(value: &Sketch) -> String {
    match value {
        Sketch::Text(text) => text.clone(),
        Sketch::Number(number) => number.to_string(),
        Sketch::Bool(value) => if *value { "yes" } else { "no" }.to_owned(),
        Sketch::List(list) if list.is_empty() => "0".to_owned(),
        Sketch::List(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        Sketch::Nothing | Sketch::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
