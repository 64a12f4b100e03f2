//! What `mark` means: which files a command is about, which item it ticks, what the signal says then
//! (`worker-signal-protocol`, "Terminal commands" and "Checklist timing extension"). Pure; reading and writing is done by
//! the command.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::checklist::Item;
use super::worker_signal::{Disposition, Outcome, STATUSES, Status};
use super::worker_terminal::Ending;
use crate::model::moment::Millis;
use crate::model::wording::{own_words, plain};

/// The worker's own checklist.
pub const TASK: &str = "TASK.md";
/// What some tasks have instead.
pub const CHECKLIST: &str = "CHECKLIST.md";
/// The worker's own signal.
pub const SIGNAL: &str = "SIGNAL.json";
/// Names the active checklist while a role is at work.
pub const MANIFEST: &str = "checklist-target.json";
/// Roles whose signal files stand beside the worker's, by their checklist.
pub const ROLES: [(&str, &str); 3] =
    [("self-review", "SELF-REVIEW.md"), ("self-review-fix", "SELF-REVIEW-FIX.md"), ("ci-fix", "CI-FIX.md")];

/// The longest reason, in characters: the file is no place for bulk.
pub const LONGEST_REASON: usize = 2000;

/// What is read of a signal file at most, in bytes; no more is written.
pub const LARGEST: usize = 256 * 1024;
/// The longest text that is carried from one signal to the next, in bytes. A longer one is no id and no step.
const LONGEST_CARRIED: usize = 4096;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// An attempt begins.
    Start,
    /// An item is done, counted from one.
    Step(usize),
    /// The attempt ends.
    End(End),
}

/// How an attempt ends.
#[expect(clippy::struct_excessive_bools, reason = "one for each option")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The way.
    pub ending: Ending,
    /// Why; empty for none.
    pub reason: String,
    /// There was nothing to do because it had been done before.
    pub already_fixed: bool,
    /// Tick the last item too.
    pub mark_last: bool,
    /// Go without learnings.
    pub skip_learnings: bool,
    /// Go without a complete checklist.
    pub skip_checklist: bool,
}

/// The words and options of a command line.
#[derive(Debug, Clone, Default)]
pub struct Line<'a> {
    /// start, a number, complete, no-change, blocked.
    pub step: &'a str,
    /// `--reason`
    pub reason: Option<&'a str>,
    /// The options that are set, without their hyphens.
    pub options: Vec<&'a str>,
}

/// The two files that a command is about, by their names in the task folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The checklist.
    pub checklist: String,
    /// The signal file.
    pub signal: String,
}

/// What is known when a signal is written.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The checklist's name.
    pub checklist: &'a str,
    /// The signal as it was.
    pub before: &'a Map<String, Value>,
    /// The item that the command is about.
    pub item: Option<&'a Item>,
    /// The name of a new attempt.
    pub attempt: &'a str,
    /// The report that was found.
    pub report: Option<&'a str>,
    /// How many items were open.
    pub open: usize,
    /// Now.
    pub now: Millis,
}

/// Reads a command line. An error is one of usage.
///
/// # Errors
/// The step is none, an option does not go with it, or a reason is missing.
pub fn command(line: &Line<'_>) -> Result<Command, String> {
    let word = line.step.to_ascii_lowercase();
    let ending = match word.as_str() {
        "complete" => Ending::Complete,
        "no-change" => Ending::NoChange,
        "blocked" => Ending::Blocked,
        other => {
            let number = other.parse::<usize>().ok().filter(|number| *number >= 1);
            let command = match number {
                _ if other == "start" => Command::Start,
                Some(number) => Command::Step(number),
                None => {
                    let found = plain(line.step, 60);
                    let wanted =
                        "start, the number of an item from 1, complete, no-change or blocked is wanted";
                    return Err(format!("\"{found}\" is no step: {wanted}"));
                }
            };
            let option = line.reason.map(|_| "reason").or_else(|| line.options.first().copied());
            return option.map_or(Ok(command), |option| Err(unfit(option, &word)));
        }
    };
    let allowed: &[&str] = match ending {
        Ending::Complete => &["mark-last", "skip-learnings", "skip-checklist"],
        Ending::NoChange => &["already-fixed", "mark-last", "skip-learnings", "skip-checklist"],
        Ending::Blocked => &["mark-last"],
    };
    if let Some(option) = line.options.iter().find(|option| !allowed.contains(option)) {
        return Err(unfit(option, &word));
    }
    let reason = line.reason.unwrap_or_default().trim();
    if ending != Ending::Complete && reason.is_empty() {
        return Err(format!("{word} needs --reason \"…\""));
    }
    let length = reason.chars().count();
    if length > LONGEST_REASON {
        return Err(format!(
            "the reason has {length} characters; put details into artifacts/ and keep it below {LONGEST_REASON}"
        ));
    }
    let is_set = |option: &str| line.options.contains(&option);
    Ok(Command::End(End {
        ending,
        reason: own_words(reason, LONGEST_REASON),
        already_fixed: is_set("already-fixed"),
        mark_last: is_set("mark-last"),
        skip_learnings: is_set("skip-learnings"),
        skip_checklist: is_set("skip-checklist"),
    }))
}

/// Tells whether a word alone is a step.
pub fn is_step(word: &str) -> bool {
    let is_number = || word.parse::<usize>().is_ok_and(|number| number >= 1);
    ["start", "complete", "no-change", "blocked"].iter().any(|step| word.eq_ignore_ascii_case(step))
        || is_number()
}

fn unfit(option: &str, word: &str) -> String {
    format!("--{option} does not go with {word}")
}

/// Names the signal file of a checklist: `TASK.md` has `SIGNAL.json`, `SELF-REVIEW.md` has `SELF-REVIEW-SIGNAL.json`.
///
/// # Errors
/// It is no plain name of a Markdown file.
pub fn target(checklist: &str) -> Result<Target, String> {
    let is_plain = !checklist.contains(['/', '\\', '\0']) && !checklist.starts_with('.');
    let stem = checklist.strip_suffix(".md").filter(|stem| is_plain && !stem.is_empty());
    let Some(stem) = stem else {
        let found = plain(checklist, 80);
        return Err(format!(
            "\"{found}\" is no checklist: the plain name of a .md file in the task folder is wanted"
        ));
    };
    let signal =
        if matches!(checklist, TASK | CHECKLIST) { SIGNAL.to_owned() } else { format!("{stem}-{SIGNAL}") };
    Ok(Target { checklist: checklist.to_owned(), signal })
}

/// Reads the manifest that names the active checklist.
///
/// # Errors
/// It is not `{"checklist": NAME}`.
pub fn manifest(bytes: &[u8]) -> Result<Target, String> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("not JSON (line {}, column {})", error.line(), error.column()))?;
    let name = value["checklist"].as_str().ok_or("checklist: the name of a .md file is wanted")?;
    target(name.trim()).map_err(|error| format!("checklist: {error}"))
}

/// The role of a checklist. None = it is the worker's own, or one that we do not know.
pub fn role(checklist: &str) -> Option<&'static str> {
    ROLES.iter().find(|(_, name)| *name == checklist).map(|(role, _)| *role)
}

/// The item that a command ticks.
///
/// # Errors
/// There is none, or too much is open: why, and the way out.
pub fn choose<'a>(command: &Command, items: &'a [Item]) -> Result<Option<&'a Item>, String> {
    match command {
        Command::Start => Ok(None),
        Command::Step(number) => match items.get(number - 1) {
            Some(item) => Ok(Some(item)),
            None if items.is_empty() => Err(format!("there is no item {number}: it has no line \"- [ ] …\"")),
            None => Err(format!("there is no item {number}: it has {} of them", items.len())),
        },
        Command::End(end) => {
            let open: Vec<&Item> = items.iter().filter(|item| !item.is_done).collect();
            if end.mark_last && end.ending != Ending::Blocked && !end.skip_checklist && open.len() > 1 {
                return Err(incomplete(&open));
            }
            Ok(if end.mark_last { open.last().copied().or(items.last()) } else { None })
        }
    }
}

fn incomplete(open: &[&Item]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = open
        .iter()
        .take(SHOWN)
        .map(|item| format!("{} {}", item.number, own_words(&item.label, 60)))
        .collect();
    let more = if open.len() > SHOWN { ", …" } else { "" };
    format!(
        "{} items are still open ({}{more}); mark them by their numbers, or waive that with --skip-checklist",
        open.len(),
        names.join(", ")
    )
}

/// Tells why a command does not go with what the signal says already.
pub fn objection(command: &Command, before: &Map<String, Value>) -> Option<String> {
    let word = before.get("status").and_then(Value::as_str)?;
    let status = STATUSES.iter().find(|(name, _)| *name == word).map(|(_, status)| *status)?;
    let has_ended = status.is_terminal() && status != Status::Blocked;
    (matches!(command, Command::Step(_)) && has_ended).then(|| {
        format!(
            "it says {word} already, and a step would take that back; \"mark start\" begins a new attempt"
        )
    })
}

/// Writes the next signal: who it is of stays, what it says is new. What violates the schema is not carried on, and
/// neither is what would make the file larger than it is read.
pub fn signal(command: &Command, scene: Scene<'_>) -> Value {
    let Scene { before, item, .. } = scene;
    let now = stamp(scene.now);
    let text = |key: &str| before.get(key).filter(|value| is_carried(value)).cloned();
    let number =
        |key: &str| before.get(key).filter(|value| value.as_u64().is_some_and(|number| number >= 1)).cloned();
    let mut next = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            next.insert(key.to_owned(), value);
        }
    };
    put("role", text("role").or_else(|| role(scene.checklist).map(Value::from)));
    put("contextId", text("contextId"));
    let attempt =
        if *command == Command::Start { Some(Value::from(scene.attempt)) } else { text("attemptId") };
    put("attemptId", attempt);
    let label = item.map(|item| Value::from(item.label.as_str()));
    let mut step = label.or_else(|| text("step"));
    match command {
        Command::Start => {
            put("status", Some(Status::Running.word().into()));
            step = Some("started".into());
        }
        Command::Step(_) => put("status", Some(Status::Running.word().into())),
        Command::End(end) => {
            let (status, outcome, disposition) = preset(end);
            put("status", Some(status.word().into()));
            put("outcome", Some(outcome.word().into()));
            put("disposition", Some(disposition.word().into()));
            put("evidence", scene.report.map(|path| json!({"reportPath": path})));
            put("artifactWaivers", waivers(end, scene.open));
            put("reason", Some(end.reason.as_str()).filter(|reason| !reason.is_empty()).map(Value::from));
            step = step.or_else(|| Some(end.ending.word().into()));
        }
    }
    put("checklistTiming", Some(timing(scene, &now)));
    put("step", step);
    put("prNumber", number("prNumber"));
    put("timestamp", Some(now.into()));
    within(Value::Object(next))
}

fn is_carried(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() <= LONGEST_CARRIED)
}

/// The signal as it is written.
pub fn text(signal: &Value) -> String {
    format!("{signal:#}\n")
}

/// Drops the oldest ticks, until what is written can be read again.
fn within(mut signal: Value) -> Value {
    // Each of its lines is indented by six, and a comma follows.
    let size = |event: &Value| {
        let text = text(event);
        text.len() + 6 * text.lines().count() + 1
    };
    let mut excess = text(&signal).len().saturating_sub(LARGEST);
    if let Some(events) = signal.pointer_mut("/checklistTiming/events").and_then(Value::as_array_mut) {
        let is_too_much = |event: &&Value| {
            let goes = excess > 0;
            excess = excess.saturating_sub(size(event));
            goes
        };
        let dropped = events.iter().take_while(is_too_much).count();
        events.drain(..dropped);
    }
    signal
}

fn preset(end: &End) -> (Status, Outcome, Disposition) {
    match end.ending {
        Ending::Complete => (Status::Complete, Outcome::Success, Disposition::Fixed),
        Ending::NoChange if end.already_fixed => {
            (Status::Complete, Outcome::Success, Disposition::AlreadyFixed)
        }
        Ending::NoChange => (Status::Complete, Outcome::Success, Disposition::NotReproducible),
        Ending::Blocked => (Status::Blocked, Outcome::Partial, Disposition::Blocked),
    }
}

/// What the end goes without. The checklist is wanted with the last item only, and there may be nothing to waive in it.
fn waivers(end: &End, open: usize) -> Option<Value> {
    let waives_checklist = end.skip_checklist && end.mark_last && open > 1;
    let set = [("learnings", end.skip_learnings), ("checklist", waives_checklist)];
    let map: Map<String, Value> =
        set.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| (key.to_owned(), true.into())).collect();
    (!map.is_empty()).then_some(Value::Object(map))
}

/// The history of ticks: an item that was open until now is appended, and so is one of which nothing is known.
fn timing(scene: Scene<'_>, now: &str) -> Value {
    let before = scene.before.get("checklistTiming");
    let mut events = before.and_then(|timing| timing["events"].as_array()).cloned().unwrap_or_default();
    events.retain(is_tick);
    let source = before.map(|timing| &timing["source"]).filter(|source| is_carried(source));
    let source = source.and_then(Value::as_str).unwrap_or(scene.checklist);
    if let Some(item) = scene.item {
        let is_known = events.iter().any(|event| event["stepNumber"].as_u64() == Some(item.number as u64));
        if !item.is_done || !is_known {
            events.push(json!({"stepNumber": item.number, "label": item.label, "checkedAt": now}));
        }
    }
    json!({"schemaVersion": 1, "source": source, "events": events})
}

fn is_tick(event: &Value) -> bool {
    let is_time = event["checkedAt"].as_str().is_some_and(|text| super::stamp::utc(text).is_some());
    is_time && event["label"].is_string() && event["stepNumber"].as_u64().is_some_and(|number| number >= 1)
}

/// A stamp as signals carry it: `2026-06-25T10:05:00.000Z`. Parts of a second matter: a floor may lie in the same one.
pub fn stamp(at: Millis) -> String {
    DateTime::<Utc>::from_timestamp_millis(at)
        .unwrap_or(DateTime::UNIX_EPOCH)
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests;
