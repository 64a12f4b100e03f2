//! What one call alone shows against subctl's team protocol: the form of a message, and how an agent was begun. No text
//! is taken over; of a prompt only which headings are missing is said.

use super::message;
use super::payload::Payload;
use super::plan_queue::is_uuid;
use super::sketch::Sketch;
use crate::model::subctl::Breach;
use crate::model::wording::plain;

/// The protocol's structured messages.
const FRAMES: [&str; 4] =
    ["shutdown_request", "shutdown_response", "plan_approval_request", "plan_approval_response"];
/// Structured messages of the client itself.
const OF_THE_CLIENT: [&str; 4] = ["idle_notification", "shutdown_approved", "shutdown_rejected", "message"];
/// Headings of a worker's prompt.
pub const HEADINGS: [&str; 6] = ["GOAL", "CONTEXT", "DELIVERABLE", "DONE WHEN", "REPORT BACK", "CONSTRAINTS"];
/// Kinds of agents that write no code.
const READERS: [&str; 5] = ["Explore", "Plan", "claude-code-guide", "statusline-setup", "output-style-setup"];
/// Strings are cut at this length while a payload is read: what may have been cut is not judged.
const CUT: usize = 64 * 1024 - 16;

/// Finds what a call that ended shows. `is_worker` = its sender is no lead.
pub fn breaches(payload: &Payload, is_worker: bool) -> Vec<Breach> {
    if payload.event != "PostToolUse" {
        return Vec::new();
    }
    let (input, response) = (payload.fields().get("tool_input"), payload.fields().get("tool_response"));
    match payload.tool() {
        "SendMessage" => of_message(input, response, is_worker),
        "Agent" | "Task" => of_spawn(payload, input, response),
        "TaskUpdate" => of_id(input.get("owner").text()).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn of_message(input: &Sketch, response: &Sketch, is_worker: bool) -> Vec<Breach> {
    let read = message::read(input, response);
    let body = match input.get("message") {
        Sketch::Nothing => input.get("content"),
        body => body,
    };
    let is_structured = matches!(body, Sketch::Object(_));
    let is_text = matches!(body, Sketch::Text(_));
    // A frame is known by its type, which a text can carry too; any other head of a text is a word of its own.
    let is_frame = message::is_frame(body) || FRAMES.contains(&read.head.as_str());
    let mut found = Vec::new();
    if (is_structured || is_frame)
        && !FRAMES.contains(&read.head.as_str())
        && !OF_THE_CLIENT.contains(&read.head.as_str())
    {
        found.push(Breach::StatusOverMessage { kind: plain(&read.head, 60) });
    }
    if is_text && !is_frame && input.get("summary").text().trim().is_empty() {
        found.push(Breach::NoSummary);
    }
    if FRAMES.contains(&read.head.as_str()) && read.request_id.is_empty() {
        found.push(Breach::NoRequestId { head: read.head.clone() });
    }
    if read.head == "shutdown_request" && is_worker {
        found.push(Breach::ShutdownByWorker);
    }
    found.extend(of_id(&read.to));
    found
}

/// An id where a name is wanted: a UUID, or an agent's id (its name and sixteen hexadecimal digits).
fn of_id(to: &str) -> Option<Breach> {
    let to = to.trim().trim_start_matches('@');
    let is_agent_id = to.starts_with('a')
        && to
            .rsplit_once('-')
            .is_some_and(|(_, end)| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (is_uuid(to) || is_agent_id).then(|| Breach::IdInsteadOfName { id: plain(to, 60) })
}

fn of_spawn(payload: &Payload, input: &Sketch, response: &Sketch) -> Vec<Breach> {
    let Some(spawn) = payload.spawn() else { return Vec::new() };
    let name = plain(&spawn.name, 60);
    let is_in_team = response.get("status").text() == "teammate_spawned"
        || [input, response].iter().any(|fields| fields.get("team_name").word().is_some());
    if !is_in_team {
        let is_reader = READERS.contains(&spawn.kind.as_str());
        return if is_reader { Vec::new() } else { vec![Breach::SpawnOutsideTeam { name }] };
    }
    let prompt = input.get("prompt").text();
    let missing = missing(prompt);
    if missing.is_empty() || may_be_cut(prompt) {
        return Vec::new();
    }
    vec![Breach::PromptLacks { name, missing }]
}

/// Returns the headings that a prompt has not.
pub fn missing(prompt: &str) -> Vec<&'static str> {
    HEADINGS.into_iter().filter(|heading| !has(prompt, heading)).collect()
}

/// A heading begins a line, behind marks and numbers, however it is written; or it stands anywhere in capitals before
/// a colon or a dash.
fn has(prompt: &str, heading: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start_matches(|c: char| !c.is_alphabetic());
        after(line, heading).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    };
    let announced = || {
        memchr::memmem::find_iter(prompt.as_bytes(), heading.as_bytes()).any(|place| {
            let before = prompt[..place].chars().next_back();
            let rest = prompt[place + heading.len()..].trim_start_matches(['*', '`', '_', ' ', ')', ']']);
            before.is_none_or(|c| !c.is_alphanumeric()) && rest.starts_with([':', '—', '–', '-', '='])
        })
    };
    prompt.lines().any(begins) || announced()
}

/// What follows a heading at the beginning of a line; a blank in it may be a line or a dash.
fn after<'a>(line: &'a str, heading: &str) -> Option<&'a str> {
    let end = line.char_indices().nth(heading.len()).map_or(line.len(), |(end, _)| end);
    let (head, rest) = line.split_at(end);
    let fits = head.len() == heading.len()
        && head.bytes().zip(heading.bytes()).all(|(byte, wanted)| {
            byte.eq_ignore_ascii_case(&wanted) || (wanted == b' ' && matches!(byte, b'_' | b'-'))
        });
    fits.then_some(rest)
}

/// Tells whether a text may have lost its end: what it may have taken in the payload, where characters are escaped.
fn may_be_cut(text: &str) -> bool {
    let length = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        ' '..='~' => 1,
        c => 6 * c.len_utf16(),
    };
    text.chars().map(length).sum::<usize>() >= CUT
}

#[cfg(test)]
mod tests;
