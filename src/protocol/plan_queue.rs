//! The queue of plans that wait for an operator's decision (`plan-approvals.jsonl` of subctl's master): append-only,
//! one full record a line; replayed, the last record of an id counts, and the first decision on it stands.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

use super::stamp;
use crate::model::moment::Millis;
use crate::model::plan::{PlanState, Record};
use crate::model::wording::{one_line, plain};

/// The longest line that is read, in bytes: a plan is prose.
pub const MOST_LINE: usize = 1024 * 1024;
/// Faults that are kept of one reading.
const MOST_FAULTS: usize = 32;
/// Lines for which decided records are remembered.
const MOST_DECIDED: usize = 1000;
/// The longest id, name or summary that is taken over, and the longest summary that the queue's writer leaves.
const LONGEST: usize = 200;
const SUMMARY: usize = 120;

/// Something in the queue that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The record's id; empty if the line is none.
    pub id: String,
    /// What is wrong. No text of a plan.
    pub fault: String,
}

/// The queue, line by line. Plans themselves are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// The last record of each id, with its line.
    pub records: BTreeMap<String, (usize, Record)>,
    /// What was wrong, the latest last.
    pub faults: Vec<Fault>,
    /// Lines so far.
    lines: usize,
}

impl Queue {
    /// Takes the next line, without its end.
    pub fn push(&mut self, line: &[u8]) {
        self.lines += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        let mut faults = Vec::new();
        let mut named = String::new();
        match object(line).and_then(|fields| record(&fields, &mut faults)) {
            Ok((id, record)) => {
                faults.extend(self.against(&id, &record));
                named.clone_from(&id);
                self.records.insert(id, (self.lines, record));
            }
            Err(fault) => faults.push(format!("{fault}; the line is passed over")),
        }
        let line = self.lines;
        self.faults.extend(faults.into_iter().map(|fault| Fault { line, id: named.clone(), fault }));
        let more = self.faults.len().saturating_sub(MOST_FAULTS);
        self.faults.drain(..more);
    }

    /// Takes the lines of a text. A last line without an end is not taken: it is still being written. Returns how many
    /// bytes were taken.
    pub fn take(&mut self, text: &[u8]) -> usize {
        let whole = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
        text[..whole].split_inclusive(|byte| *byte == b'\n').for_each(|line| self.push(line));
        self.forget();
        whole
    }

    /// Lines so far.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// What a record says against the one before it.
    fn against(&self, id: &str, record: &Record) -> Option<String> {
        let (line, before) = self.records.get(id)?;
        let words = match (before.state, record.state) {
            (before, after) if before == PlanState::Pending || before == after => return None,
            (before, PlanState::Pending) => format!("it is pending again after {}", before.word()),
            (before, after) => {
                format!("it is {} after {}: the first decision stands", after.word(), before.word())
            }
        };
        Some(format!("{words} (line {line})"))
    }

    /// Forgets what was decided long ago, so that a queue of any length costs what is pending.
    fn forget(&mut self) {
        let latest = self.lines.saturating_sub(MOST_DECIDED);
        self.records.retain(|_, (line, record)| record.state == PlanState::Pending || *line > latest);
    }
}

fn object(line: &[u8]) -> Result<Map<String, Value>, String> {
    if line.trim_ascii().len() > MOST_LINE {
        return Err(format!("longer than {MOST_LINE} bytes"));
    }
    match serde_json::from_slice(line.trim_ascii()) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("no JSON object".to_owned()),
        Err(error) => Err(format!("no JSON ({error})")),
    }
}

/// Reads one record. What is wrong in it without making it useless is added to the faults.
fn record(fields: &Map<String, Value>, faults: &mut Vec<String>) -> Result<(String, Record), String> {
    let word = |name: &str| match fields.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.as_str()),
        Some(Value::String(_)) => Err(format!("{name} is empty")),
        Some(_) => Err(format!("{name} is no text")),
        None => Err(format!("{name} is missing")),
    };
    let id = word("id")?;
    let state = word("status")?;
    let state = PlanState::of(state).ok_or_else(|| {
        format!("status \"{}\" is none of pending, approved, rejected, expired", plain(state, 40))
    })?;
    let created = word("created_at")?;
    let created =
        iso(created).ok_or_else(|| format!("created_at \"{}\" is no ISO 8601 time", plain(created, 40)))?;
    let record = Record {
        request: one_line(word("request_id")?, LONGEST),
        worker: one_line(word("worker_name")?, LONGEST),
        team: one_line(word("team_id")?, LONGEST),
        state,
        created,
    };
    if !is_uuid_v4(id) {
        faults.push("id is no UUID of version 4".to_owned());
    }
    faults.extend(texts(fields, state).into_iter().flatten());
    faults.extend(decision(fields, state, created).into_iter().flatten());
    Ok((one_line(id, LONGEST), record))
}

/// The texts of a record: a plan has some, and only a decision gives reasons.
fn texts(fields: &Map<String, Value>, state: PlanState) -> [Option<String>; 3] {
    let summary = match fields.get("plan_summary") {
        Some(Value::String(text)) if text.trim().is_empty() => {
            Some("plan_summary is empty; the queue says \"(no summary)\" then".to_owned())
        }
        Some(Value::String(text)) if text.chars().count() > SUMMARY => {
            Some(format!("plan_summary is longer than {SUMMARY} characters"))
        }
        Some(Value::String(_)) => None,
        Some(_) => Some("plan_summary is no text".to_owned()),
        None => Some("plan_summary is missing".to_owned()),
    };
    let body = match fields.get("plan_body") {
        Some(Value::String(_)) => None,
        Some(_) => Some("plan_body is no text".to_owned()),
        None => Some("plan_body is missing: the record is not full".to_owned()),
    };
    let feedback = match fields.get("feedback") {
        None | Some(Value::Null) if state == PlanState::Expired => {
            Some("feedback is missing: \"auto-expired\" is wanted".to_owned())
        }
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if state == PlanState::Expired && text != AUTO_EXPIRED => {
            Some("feedback of an expired request is not \"auto-expired\"".to_owned())
        }
        Some(_) if state == PlanState::Pending => Some("feedback on a pending request".to_owned()),
        Some(Value::String(_)) => None,
        Some(_) => Some("feedback is no text".to_owned()),
    };
    [summary, body, feedback]
}

/// Who decided and when, which is there exactly if it is decided.
fn decision(fields: &Map<String, Value>, state: PlanState, created: Millis) -> [Option<String>; 2] {
    let is_pending = state == PlanState::Pending;
    let at = match fields.get("decided_at") {
        None | Some(Value::Null) => (!is_pending).then(|| "decided_at is missing".to_owned()),
        Some(_) if is_pending => Some("decided_at on a pending request".to_owned()),
        Some(Value::String(text)) => match iso(text) {
            Some(at) if at < created => Some("decided_at lies before created_at".to_owned()),
            Some(_) => None,
            None => Some("decided_at is no ISO 8601 time".to_owned()),
        },
        Some(_) => Some("decided_at is no text".to_owned()),
    };
    let wanted = if state == PlanState::Expired { AUTO_TIMEOUT } else { OPERATOR };
    let by = match fields.get("decided_by") {
        None | Some(Value::Null) => (!is_pending).then(|| "decided_by is missing".to_owned()),
        Some(_) if is_pending => Some("decided_by on a pending request".to_owned()),
        Some(Value::String(by)) if by == wanted => None,
        Some(Value::String(by)) if by == OPERATOR || by == AUTO_TIMEOUT => {
            Some(format!("a request that is {} is decided by {wanted}, not by {by}", state.word()))
        }
        Some(_) => Some("decided_by is neither \"operator\" nor \"auto-timeout\"".to_owned()),
    };
    [at, by]
}

const OPERATOR: &str = "operator";
const AUTO_TIMEOUT: &str = "auto-timeout";
const AUTO_EXPIRED: &str = "auto-expired";

fn iso(text: &str) -> Option<Millis> {
    // A number in quotes is no date.
    text.contains('-').then(|| stamp::iso(text)).flatten()
}

/// Tells whether a text is a UUID in its usual form.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_uuid_v4(text: &str) -> bool {
    is_uuid(text)
        && text.as_bytes()[14] == b'4'
        && matches!(text.as_bytes()[19].to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b')
}

/// Finds the last record of an id in a queue's text: its line and what it says.
pub fn standing<'a>(text: &'a [u8], id: &str) -> Option<(&'a [u8], Record)> {
    let mut last = None;
    for line in
        text.split(|byte| *byte == b'\n').filter(|line| memchr::memmem::find(line, id.as_bytes()).is_some())
    {
        if let Ok((found, record)) = object(line).and_then(|fields| record(&fields, &mut Vec::new()))
            && found == id
        {
            last = Some((line, record));
        }
    }
    last
}

/// Makes of a pending record's line the line that says that it expired: all of it, with the decision added, and its
/// end. None = the line is no record, or would be too long to be read again.
pub fn expired(line: &[u8], at: Millis) -> Option<Vec<u8>> {
    let mut fields = object(line).ok()?;
    let at = DateTime::<Utc>::from_timestamp_millis(at)?.to_rfc3339_opts(SecondsFormat::Millis, true);
    for (name, value) in [
        ("status", PlanState::Expired.word()),
        ("decided_at", at.as_str()),
        ("decided_by", AUTO_TIMEOUT),
        ("feedback", AUTO_EXPIRED),
    ] {
        fields.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    let mut bytes = serde_json::to_vec(&fields).ok()?;
    if bytes.len() > MOST_LINE {
        return None;
    }
    bytes.push(b'\n');
    Some(bytes)
}

#[cfg(test)]
mod tests;
