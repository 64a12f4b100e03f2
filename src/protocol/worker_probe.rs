//! Whether a task folder's signal can be acted on, as one of eleven codes (`worker-signal-protocol`; the codes are
//! Farmslot's `WorkerSignalProbeCode`). Each check comes before those below it in [`Code`]'s order of failure:
//! place, file, JSON, schema, terminal, context, freshness, evidence.

use super::worker_signal::{self, Disposition, Freshness, Reading, Signal, Status};
use super::worker_terminal::{Audit, Contract, Ending, Lack, Shelf, is_inside};
use crate::model::moment::Millis;
use crate::model::wording::clock;

/// What a probe comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// It is terminal, fresh, of this context, and its evidence is there.
    Ready,
    /// There is no such folder: no worker has a place there.
    NoSlot,
    /// The folder does not say which signal file is meant: it is no task folder, or its manifest is broken.
    MissingPath,
    /// There is no signal file, or it cannot be read.
    Missing,
    /// The file is not JSON.
    InvalidJson,
    /// The file is JSON, but no signal.
    InvalidSchema,
    /// The worker still runs.
    NonTerminal,
    /// It is of another worker.
    ContextMismatch,
    /// It is from before the present attempt, or does not say when it was written.
    Stale,
    /// What it must leave behind is not there.
    ArtifactContract,
    /// Nothing says what it must leave behind: the contract file is broken.
    TerminalContractInfrastructure,
}

/// All codes with their names and the exit status of `watchdog signal probe`.
pub const CODES: [(Code, &str, u8); 11] = [
    (Code::Ready, "ready", 0),
    (Code::NoSlot, "no_slot", 10),
    (Code::MissingPath, "missing_path", 11),
    (Code::Missing, "missing", 12),
    (Code::InvalidJson, "invalid_json", 13),
    (Code::InvalidSchema, "invalid_schema", 14),
    (Code::NonTerminal, "non_terminal", 15),
    (Code::ContextMismatch, "context_mismatch", 16),
    (Code::Stale, "stale", 17),
    (Code::ArtifactContract, "artifact_contract", 18),
    (Code::TerminalContractInfrastructure, "terminal_contract_infrastructure", 19),
];

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The worker's role; empty = any.
    pub role: String,
    /// The context it was started for; empty = any.
    pub context: String,
    /// When monitoring of the present attempt began. None = a person answers for its freshness.
    pub floor: Option<Millis>,
}

/// What was found where the signal should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No folder.
    NoFolder,
    /// A folder that does not say which file is meant: why.
    NoPath(String),
    /// No file.
    NoFile,
    /// A file that cannot be read: why.
    Unreadable(String),
    /// The file's bytes.
    Bytes(Vec<u8>),
}

/// A probe's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it comes to.
    pub code: Code,
    /// Why, in words.
    pub message: String,
    /// The signal file as it was read, if it could be.
    pub reading: Reading,
}

impl Code {
    /// Its name.
    pub fn word(self) -> &'static str {
        self.line().1
    }

    /// The exit status of the command.
    pub fn exit_status(self) -> u8 {
        self.line().2
    }

    fn line(self) -> (Self, &'static str, u8) {
        CODES.into_iter().find(|(code, ..)| *code == self).unwrap_or(CODES[0])
    }
}

/// Answers. `contract` is what the worker must leave behind, or why nothing says so; `look` says how an artifact is
/// found.
pub fn probe(
    found: &Found,
    question: &Question,
    contract: &Result<Contract, String>,
    look: impl Fn(&str) -> Shelf,
) -> Answer {
    let mut reading = Reading::default();
    let (code, message) = match found {
        Found::NoFolder => (Code::NoSlot, "there is no such folder".to_owned()),
        Found::NoPath(why) => (Code::MissingPath, why.clone()),
        Found::NoFile => (Code::Missing, "there is no signal file".to_owned()),
        Found::Unreadable(why) => (Code::Missing, format!("the signal file cannot be read: {why}")),
        Found::Bytes(bytes) => {
            reading = worker_signal::read(bytes);
            judge(&reading, question, contract, look)
        }
    };
    Answer { code, message, reading }
}

fn judge(
    reading: &Reading,
    question: &Question,
    contract: &Result<Contract, String>,
    look: impl Fn(&str) -> Shelf,
) -> (Code, String) {
    let words = || reading.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if reading.is_no_json() {
        return (Code::InvalidJson, words());
    }
    let Some(signal) = reading.signal.as_ref().filter(|_| reading.breaches().next().is_none()) else {
        return (Code::InvalidSchema, words());
    };
    let status = signal.status.word();
    if !signal.status.is_terminal() {
        return (Code::NonTerminal, format!("the worker says {status}"));
    }
    if !signal.is_of(&question.role, &question.context) {
        return (Code::ContextMismatch, mismatch(signal, question));
    }
    match (signal.freshness(question.floor), question.floor, signal.stamp) {
        (Freshness::Stale, Some(floor), Some(stamp)) => {
            let (stamp, floor) = (clock(stamp), clock(floor));
            return (Code::Stale, format!("it was written at {stamp}, before this attempt began at {floor}"));
        }
        (Freshness::Unstamped, ..) => {
            return (Code::Stale, format!("nothing says that it is of this attempt: {}", words()));
        }
        _ => {}
    }
    // Who is blocked or has failed claims nothing that needs proof, and may be so because the contract is broken.
    let audit = match (success(signal), contract) {
        (None, _) => Audit::default(),
        (Some(ending), Ok(contract)) => audit(signal, ending, contract, look),
        (Some(_), Err(why)) => return (Code::TerminalContractInfrastructure, why.clone()),
    };
    if audit.lacks.is_empty() {
        let noted = if reading.faults.is_empty() { String::new() } else { format!(" ({})", words()) };
        return (Code::Ready, format!("the worker says {status}{noted}"));
    }
    let lacks: Vec<String> = audit.lacks.iter().map(ToString::to_string).collect();
    (Code::ArtifactContract, lacks.join("; "))
}

fn mismatch(signal: &Signal, question: &Question) -> String {
    let name = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    format!(
        "it is of context {} and role {}; asked was context {} and role {}",
        name(&signal.context),
        name(&signal.role),
        name(&question.context),
        name(&question.role)
    )
}

/// The success that a signal claims. None = it claims none.
fn success(signal: &Signal) -> Option<Ending> {
    let is_no_change = signal.disposition.is_some_and(Disposition::is_no_change);
    match signal.status {
        Status::Complete | Status::Done if is_no_change => Some(Ending::NoChange),
        Status::Complete | Status::Done => Some(Ending::Complete),
        _ => None,
    }
}

/// What a claimed success leaves wanting: the contract's demands, and what it names itself as evidence.
fn audit(signal: &Signal, ending: Ending, contract: &Contract, look: impl Fn(&str) -> Shelf) -> Audit {
    let mut audit = contract.audit(ending, signal.waives_learnings, &look);
    let evidence = signal.evidence.iter();
    let named = evidence.flat_map(|evidence| evidence.artifacts.iter().chain([&evidence.report_path]));
    for path in named.filter(|path| !path.is_empty()) {
        let path = path.strip_prefix("./").unwrap_or(path);
        let is_told = audit.lacks.iter().any(|lack| lack.paths.iter().any(|told| told == path));
        let found = if is_inside(path) {
            look(path)
        } else {
            Shelf::Refused("it lies outside the task folder".to_owned())
        };
        if found != Shelf::Full && !is_told {
            audit.lacks.push(Lack { paths: vec![path.to_owned()], found, because: None });
        }
    }
    audit
}

#[cfg(test)]
mod tests;
