//! The signal file of a worker: `SIGNAL.json` in a task folder and the role files beside it
//! (`worker-signal-protocol`). Bytes in; the signal as far as it can be taken and every violation out.
//!
//! What is optional may be absent or null. Members that the schema does not know are passed over. A signal is taken if
//! what identifies and what decides (role, context, attempt, status, outcome, disposition) is readable and consistent;
//! a violation anywhere else is told beside it.

mod fault;
mod fields;

use serde_json::Value;

use self::fields::Fields;
use super::stamp;
use crate::model::moment::Millis;

pub use self::fault::{Fault, Kind};

/// The report that both no-change dispositions need, relative to the task folder.
pub const NO_CHANGE_REPORT: &str = "artifacts/no-change-report.md";

/// What came of reading a signal file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The signal. None = it cannot be taken; the faults say why.
    pub signal: Option<Signal>,
    /// Every violation, each with its field.
    pub faults: Vec<Fault>,
}

/// A signal, as it is to be understood: an outcome or a disposition that follows from the status is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The worker's role; empty if it did not say.
    pub role: String,
    /// The context that the worker was started for; empty if it did not say.
    pub context: String,
    /// The attempt, as `mark start` named it; empty if it did not say.
    pub attempt: String,
    /// Where the worker is.
    pub status: Status,
    /// None while it runs.
    pub outcome: Option<Outcome>,
    /// None while it runs.
    pub disposition: Option<Disposition>,
    /// What it leaves as proof.
    pub evidence: Option<Evidence>,
    /// It ended without `artifacts/learnings.md`, and said so.
    pub waives_learnings: bool,
    /// When it ticked which item.
    pub timing: Option<Timing>,
    /// The present or last step.
    pub step: String,
    /// Why it is blocked or failed, or why there was nothing to change.
    pub reason: String,
    /// The pull request that it made.
    pub pr_number: Option<u64>,
    /// Whether its work needs a review of its own.
    pub needs_self_review: Option<bool>,
    /// When it was written. None = no stamp, or one that is not UTC ISO 8601.
    pub stamp: Option<Millis>,
}

/// Where a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It works.
    Running,
    /// It cannot go on without a precondition, a credential, an environment or a person's decision.
    Blocked,
    /// It finished what was asked.
    Complete,
    /// The same, as some writers put it.
    Done,
    /// It has failed for good.
    Failed,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// complete, done
    Success,
    /// failed
    Failure,
    /// blocked
    Partial,
}

/// What became of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// A change was made.
    Fixed,
    /// There was nothing to do: it had been done before.
    AlreadyFixed,
    /// There was nothing to do: what was reported does not happen.
    NotReproducible,
    /// It waits for others.
    Blocked,
    /// It failed.
    Failed,
}

/// `evidence`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// The report, relative to the task folder; empty if none is named.
    pub report_path: String,
    /// Other artifacts, relative to the task folder.
    pub artifacts: Vec<String>,
    /// low, medium, high; empty if it did not say.
    pub confidence: String,
}

/// `checklistTiming`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timing {
    /// The checklist's file.
    pub source: String,
    /// In the order in which they were appended.
    pub events: Vec<Tick>,
}

/// One item that went from open to done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// Counted from one.
    pub step_number: u64,
    /// The item's text.
    pub label: String,
    /// When.
    pub checked_at: Millis,
}

/// What a signal's stamp is worth for those who act on it unattended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// At or after the floor, or there is no floor.
    Fresh,
    /// Before the floor: from an earlier dispatch.
    Stale,
    /// It has no strict stamp, so nothing says that it is of this attempt.
    Unstamped,
}

/// All statuses by their names.
pub const STATUSES: &[(&str, Status)] = &[
    ("running", Status::Running),
    ("blocked", Status::Blocked),
    ("complete", Status::Complete),
    ("failed", Status::Failed),
    ("done", Status::Done),
];
/// All outcomes by their names.
pub const OUTCOMES: &[(&str, Outcome)] =
    &[("success", Outcome::Success), ("failure", Outcome::Failure), ("partial", Outcome::Partial)];
/// All dispositions by their names.
pub const DISPOSITIONS: &[(&str, Disposition)] = &[
    ("fixed", Disposition::Fixed),
    ("already_fixed", Disposition::AlreadyFixed),
    ("not_reproducible", Disposition::NotReproducible),
    ("blocked", Disposition::Blocked),
    ("failed", Disposition::Failed),
];
const CONFIDENCES: &[(&str, &str)] = &[("low", "low"), ("medium", "medium"), ("high", "high")];

/// What older writers put for a worker that ended with a part of its work.
const DONE_PARTIAL: &str = "done-partial";

impl Status {
    /// As it is written.
    pub fn word(self) -> &'static str {
        name(STATUSES, self)
    }

    /// Tells whether the worker has ended.
    pub fn is_terminal(self) -> bool {
        self != Self::Running
    }

    /// The one outcome that goes with it. None = it must have none.
    fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Running => None,
            Self::Blocked => Some(Outcome::Partial),
            Self::Complete | Self::Done => Some(Outcome::Success),
            Self::Failed => Some(Outcome::Failure),
        }
    }

    /// The dispositions that go with it; the first is meant if none is given.
    fn dispositions(self) -> &'static [Disposition] {
        match self {
            Self::Running => &[],
            Self::Blocked => &[Disposition::Blocked],
            Self::Complete | Self::Done => {
                &[Disposition::Fixed, Disposition::AlreadyFixed, Disposition::NotReproducible]
            }
            Self::Failed => &[Disposition::Failed],
        }
    }
}

impl Outcome {
    /// As it is written.
    pub fn word(self) -> &'static str {
        name(OUTCOMES, self)
    }
}

impl Disposition {
    /// As it is written.
    pub fn word(self) -> &'static str {
        name(DISPOSITIONS, self)
    }

    /// Tells whether it says that nothing was to be changed.
    pub fn is_no_change(self) -> bool {
        matches!(self, Self::AlreadyFixed | Self::NotReproducible)
    }
}

fn name<T: PartialEq + Copy>(table: &[(&'static str, T)], value: T) -> &'static str {
    table.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

impl Reading {
    /// Tells whether the file is no JSON at all.
    pub fn is_no_json(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.kind, Kind::NotJson { .. }))
    }

    /// The violations of the schema: all but a stamp that is missing or not strict, which a person may pass over, and a
    /// no-change result without its report, which is taken as blocked.
    pub fn breaches(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(|fault| fault.field != "timestamp" && !fault.is_mended())
    }
}

impl Signal {
    /// Tells whether it is of the worker that is asked about: by context if both sides name one, else by role if both
    /// do. A signal without both is of an older writer and is accepted. What is not asked for is empty.
    pub fn is_of(&self, role: &str, context: &str) -> bool {
        let both = |a: &str, b: &str| !a.is_empty() && !b.is_empty();
        if both(context, &self.context) {
            return context == self.context;
        }
        !both(role, &self.role) || role == self.role
    }

    /// Compares its stamp with the floor of the present attempt. None = there is no floor.
    pub fn freshness(&self, floor: Option<Millis>) -> Freshness {
        match (floor, self.stamp) {
            (None, _) => Freshness::Fresh,
            (Some(_), None) => Freshness::Unstamped,
            (Some(floor), Some(stamp)) if stamp >= floor => Freshness::Fresh,
            _ => Freshness::Stale,
        }
    }
}

/// Reads a signal file.
pub fn read(bytes: &[u8]) -> Reading {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return refused(Fault::not_json(&error)),
    };
    let Value::Object(object) = &value else { return refused(Fault::new("", Kind::NotAnObject)) };
    let mut fields = Fields::new(object);
    let status = status(&mut fields);
    let outcome = fields.one_of("outcome", OUTCOMES);
    let disposition = fields.one_of("disposition", DISPOSITIONS);
    let (role, context, attempt) = (fields.text("role"), fields.text("contextId"), fields.text("attemptId"));
    let decided = decide(&mut fields, status, outcome, disposition);
    let is_sound = fields.faults.is_empty();
    let mut signal = Signal {
        role,
        context,
        attempt,
        status: Status::Running,
        outcome: None,
        disposition: None,
        evidence: evidence(&mut fields),
        waives_learnings: waives_learnings(&mut fields),
        timing: timing(&mut fields),
        step: fields.text("step"),
        reason: fields.text("reason"),
        pr_number: fields.count("prNumber"),
        needs_self_review: fields.truth("needsSelfReview"),
        stamp: fields.stamp("timestamp"),
    };
    if let Some((status, outcome, disposition)) = decided {
        (signal.status, signal.outcome, signal.disposition) = (status, outcome, disposition);
        mind_the_report(&mut signal, &mut fields);
    }
    let signal = (is_sound && decided.is_some()).then_some(signal);
    Reading { signal, faults: fields.faults }
}

fn refused(fault: Fault) -> Reading {
    Reading { signal: None, faults: vec![fault] }
}

fn status(fields: &mut Fields<'_>) -> Option<Status> {
    if fields.peek("status").and_then(Value::as_str) == Some(DONE_PARTIAL) {
        return Some(Status::Blocked);
    }
    if fields.peek("status").is_none() {
        fields.fault("status", Kind::Missing { wanted: "running, blocked, complete, failed or done" });
        return None;
    }
    fields.one_of("status", STATUSES)
}

/// The matrix: which outcome and which disposition go with a status.
fn decide(
    fields: &mut Fields<'_>,
    status: Option<Status>,
    outcome: Option<Outcome>,
    disposition: Option<Disposition>,
) -> Option<(Status, Option<Outcome>, Option<Disposition>)> {
    let status = status?;
    let allowed = status.dispositions();
    if let Some(outcome) = outcome.filter(|outcome| Some(*outcome) != status.outcome()) {
        let wanted = status.outcome().map_or_else(|| "none".to_owned(), |outcome| outcome.word().to_owned());
        fields.fault("outcome", Kind::Contradicts { found: outcome.word(), status: status.word(), wanted });
    }
    if let Some(disposition) = disposition.filter(|disposition| !allowed.contains(disposition)) {
        let words: Vec<&str> = allowed.iter().map(|disposition| disposition.word()).collect();
        let wanted = if words.is_empty() { "none".to_owned() } else { words.join(" or ") };
        let found = disposition.word();
        fields.fault("disposition", Kind::Contradicts { found, status: status.word(), wanted });
    }
    Some((status, status.outcome(), disposition.or_else(|| allowed.first().copied())))
}

/// A no-change result without its report proves nothing: it is taken as blocked.
fn mind_the_report(signal: &mut Signal, fields: &mut Fields<'_>) {
    if !signal.disposition.is_some_and(Disposition::is_no_change) {
        return;
    }
    let path = signal.evidence.as_ref().map_or("", |evidence| evidence.report_path.trim());
    if path.strip_prefix("./").unwrap_or(path) == NO_CHANGE_REPORT {
        return;
    }
    let found = path.to_owned();
    fields.fault("evidence.reportPath", Kind::NoChangeReport { found });
    signal.status = Status::Blocked;
    signal.outcome = Some(Outcome::Partial);
    signal.disposition = Some(Disposition::Blocked);
    let said = if signal.reason.is_empty() { String::new() } else { format!("; it said: {}", signal.reason) };
    signal.reason = format!("a no-change result without {NO_CHANGE_REPORT} as its report{said}");
}

fn evidence(fields: &mut Fields<'_>) -> Option<Evidence> {
    fields.inside("evidence", |fields| Evidence {
        report_path: fields.text("reportPath"),
        artifacts: fields.texts("artifacts"),
        confidence: fields.one_of("confidence", CONFIDENCES).unwrap_or_default().to_owned(),
    })
}

fn waives_learnings(fields: &mut Fields<'_>) -> bool {
    let waivers = fields.inside("artifactWaivers", |fields| fields.truth("learnings"));
    waivers.flatten().unwrap_or(false)
}

fn timing(fields: &mut Fields<'_>) -> Option<Timing> {
    fields.inside("checklistTiming", |fields| {
        fields.exactly("schemaVersion", 1);
        let source = fields.text("source");
        let events = fields.each("events", |fields| {
            let step_number = fields.count("stepNumber");
            if step_number.is_none() && fields.peek("stepNumber").is_none() {
                fields.fault("stepNumber", Kind::Missing { wanted: "a whole number from 1" });
            }
            let label = fields.text("label");
            if fields.peek("label").is_none() {
                fields.fault("label", Kind::Missing { wanted: "a string" });
            }
            let checked_at = fields.stamp("checkedAt");
            Some(Tick { step_number: step_number?, label, checked_at: checked_at? })
        });
        Timing { source, events: events.into_iter().flatten().collect() }
    })
}

/// Reads a stamp as signals carry it.
pub fn stamp(text: &str) -> Option<Millis> {
    stamp::utc(text)
}

#[cfg(test)]
mod tests;
