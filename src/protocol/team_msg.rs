//! One line of a team's message log, `messages.jsonl` (`knowledge-transfer-protocols` §4; the line itself is that of
//! the tool `team_msg`): who wrote to whom, of which type; of the payload only what its schema tells.

use super::sketch::{self, Sketch};
use super::stamp;
use super::state_update::{self, Update};
use super::team_rule::{Fault, Rule, shown};
use crate::model::digest::digest;
use crate::model::moment::Millis;
use crate::model::reading::STATE_UPDATE;
use crate::model::wording::plain;

/// The longest name of a role or type that is taken over, in characters.
const LONGEST: usize = 80;

/// Whom a message without `to` is for.
pub const COORDINATOR: &str = "coordinator";
/// Whom a message to every role is for.
pub const ALL: &str = "all";

/// A message, without its summary and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id as it stands; empty if there is none.
    pub id: String,
    /// The number in an id of the form `MSG-001`.
    pub number: Option<u64>,
    /// When, unix milliseconds, if it says.
    pub at: Option<Millis>,
    /// The role that wrote; empty if it does not say.
    pub from: String,
    /// The role that is addressed; [`COORDINATOR`] if it does not say.
    pub to: String,
    /// The type; `message` if it does not say.
    pub kind: String,
    /// The report of a `state_update`.
    pub update: Option<Update>,
    /// Short hash of id, stamp, roles and type: tells one message from another when the log is written anew.
    pub mark: String,
}

impl Message {
    /// The task that a report is about; empty for everything else.
    pub fn task(&self) -> &str {
        self.update.as_ref().map_or("", |update| &update.task)
    }
}

/// Reads one line. None = it is no JSON object, as what two writers without a lock leave of each other's lines.
pub fn read(line: &[u8]) -> (Option<Message>, Vec<Fault>) {
    let Ok(fields @ Sketch::Object(_)) = sketch::read(line) else {
        let fault = Fault::new(Rule::TornLine, "the line is no JSON object and was passed over");
        return (None, vec![fault]);
    };
    let mut faults = Vec::new();
    let text = |name: &str, faults: &mut Vec<Fault>| word(&fields, name, faults);
    let id = text("id", &mut faults);
    let number = number(&id);
    if !id.is_empty() && number.is_none() {
        faults.push(Fault::new(Rule::IdForm, format!("id is {}, not of the form MSG-001", shown(&id))));
    }
    let stamp = text("ts", &mut faults);
    let at = stamp::iso(&stamp);
    if !stamp.is_empty() && at.is_none() {
        faults.push(Fault::new(Rule::StampForm, format!("ts is {}, no ISO 8601 stamp", shown(&stamp))));
    }
    let from = text("from", &mut faults);
    let to = Some(text("to", &mut faults)).filter(|to| !to.is_empty());
    let kind = Some(text("type", &mut faults)).filter(|kind| !kind.is_empty());
    let (to, kind) =
        (to.unwrap_or_else(|| COORDINATOR.to_owned()), kind.unwrap_or_else(|| "message".to_owned()));
    let update = (kind == STATE_UPDATE).then(|| payload(&fields, &from, &mut faults)).flatten();
    let mark = digest(&[&id, &stamp, &from, &to, &kind])[..8].to_owned();
    let message = Message { id: plain(&id, LONGEST), number, at, from, to, kind, update, mark };
    (Some(message), faults)
}

fn payload(fields: &Sketch, from: &str, faults: &mut Vec<Fault>) -> Option<Update> {
    // Older callers put `ref` beside the payload; the tool moves it into it.
    let beside = fields.get("ref");
    match fields.get("data") {
        Sketch::Object(members) => {
            let mut members = members.clone();
            if !members.iter().any(|(key, _)| key == "ref") && *beside != Sketch::Nothing {
                members.push(("ref".to_owned(), beside.clone()));
            }
            let (update, found) = state_update::read(&Sketch::Object(members), from);
            faults.extend(found);
            Some(update)
        }
        Sketch::Nothing => {
            faults.push(Fault::new(Rule::PayloadMissing, "a state_update carries no data"));
            None
        }
        _ => {
            faults.push(Fault::new(Rule::FieldType, "data is no object"));
            None
        }
    }
}

/// Takes a text field; another type is a fault, and then the field counts as absent.
fn word(fields: &Sketch, name: &str, faults: &mut Vec<Fault>) -> String {
    match fields.get(name) {
        Sketch::Text(text) => plain(text.trim(), LONGEST),
        Sketch::Nothing => String::new(),
        _ => {
            faults.push(Fault::new(Rule::FieldType, format!("{name} is no text")));
            String::new()
        }
    }
}

/// The number of `MSG-001`: three digits at least, padded with zeros.
fn number(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("MSG-")?;
    let is_padded = digits.len() == 3 || digits.len() > 3 && !digits.starts_with('0');
    (is_padded && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests;
