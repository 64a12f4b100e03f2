//! Messages between agents (`SendMessage`): who, to whom, which signal; never the body.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use super::payload::bare;
use super::sketch::{self, Sketch};
use crate::model::event::{Message, WORKER};

/// Names that one signal carries at most.
const MOST_NAMES: usize = 8;
/// Heads that are kept of one closing text.
const MOST_HEADS: usize = 16;

/// Reads a `SendMessage` call and its answer. Both generations of field names are understood: `to` and `message`,
/// or `recipient` and `content`; so is a structured message that was sent as its text.
pub fn read(input: &Sketch, response: &Sketch) -> Message {
    let body = match input.get("message") {
        Sketch::Nothing => input.get("content"),
        body => body,
    };
    let unwrapped = unwrapped(body);
    let frame = unwrapped.as_ref().unwrap_or(body);
    let field = |name: &str| match frame.get(name) {
        Sketch::Nothing => input.get(name),
        value => value,
    };
    let is_broadcast = input.get("type").text() == "broadcast";
    let to = input.get("to").word().or_else(|| input.get("recipient").word());
    let to = to.unwrap_or(if is_broadcast { "*" } else { "" });
    let request_id = response.get("request_id").word().or_else(|| field("request_id").word());
    let kind = frame
        .get("type")
        .word()
        .or_else(|| input.get("type").word().filter(|kind| !matches!(*kind, "message" | "broadcast")));
    let mut hasher = DefaultHasher::new();
    body.digest(&mut hasher);
    Message {
        to: to.to_owned(),
        delivered: response.get("success").truth().unwrap_or(true),
        unconfirmed: response.get("success").truth().is_none(),
        head: kind.map_or_else(|| head(body.text()).unwrap_or_default(), ToOwned::to_owned),
        request_id: request_id.unwrap_or_default().to_owned(),
        hash: format!("{:08x}", hasher.finish() >> 32),
        sender: response.get("routing").get("sender").text().to_owned(),
        names: names(body.text()),
        approve: field("approve").truth().or_else(|| field("approve").word().map(|word| word == "true")),
        ready: is_ready(body.text()),
        // A request that carries its plan goes to an operator's queue; one that does not is the lead's to decide.
        operator: kind == Some("plan_approval_request")
            && ["plan_summary", "plan_body"].iter().any(|name| *frame.get(name) != Sketch::Nothing),
    }
}

/// A structured message that was sent as its text.
fn unwrapped(body: &Sketch) -> Option<Sketch> {
    Some(body.text().trim())
        .filter(|text| text.starts_with('{'))
        .and_then(|text| sketch::read(text.as_bytes()).ok())
        .filter(|inner| inner.get("type").word().is_some())
}

/// Tells whether a message is structured and says of which type it is.
pub(super) fn is_frame(body: &Sketch) -> bool {
    body.get("type").word().is_some() || unwrapped(body).is_some()
}

/// Tells whether a text says that its sender is ready for its next task (`subctl-team-protocol` 5).
fn is_ready(text: &str) -> bool {
    const WORDS: [&[&str]; 2] = [&["ready", "for", "next", "task"], &["ready", "for", "the", "next", "task"]];
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("ready") {
            let next = words.clone();
            let follows = |wanted: &&[&str]| {
                let mut next = next.clone();
                wanted[1..]
                    .iter()
                    .all(|wanted| next.next().is_some_and(|word| word.eq_ignore_ascii_case(wanted)))
            };
            if WORDS.iter().any(follows) {
                return true;
            }
        }
    }
    false
}

/// Finds the agents that a signal names: `KEY_name=VALUE`, as `CYCLE_WORKERS` has it, and `NAME (subagent_type: KIND)`,
/// as `REQUEST_WORKERS` has it, under [`WORKER`] and a number.
fn names(text: &str) -> BTreeMap<String, String> {
    let listed = text
        .match_indices("(subagent_type")
        .filter_map(|(place, _)| text[..place].split_whitespace().next_back())
        .map(name)
        .filter(|name| !name.is_empty() && !name.ends_with(':'))
        .zip(1..)
        .map(|(name, number)| (format!("{WORKER}{number}"), name));
    let pairs = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '{' | '}'))
        .filter_map(|word| word.split_once('='))
        .filter(|(key, value)| key.ends_with("_name") && key.len() <= 40 && !value.is_empty())
        .map(|(key, value)| (key.to_owned(), name(value)));
    pairs.chain(listed).take(MOST_NAMES).collect()
}

fn name(word: &str) -> String {
    bare(word.trim_matches(['"', '\'', '`', '*', '.', ',', ')', '('])).chars().take(80).collect()
}

/// Returns the heads that stand in a text, each once: a word in capitals before a colon, or one that is a whole line.
pub fn heads(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let is_mark = |c: char| matches!(c, '-' | '>' | '*' | '`' | '#' | '"' | '\'' | '[' | ']' | '.' | ' ');
    for line in text.lines() {
        let alone = line.trim_matches(is_mark);
        let mut rest = line;
        while let Some(start) = rest.find(is_word) {
            let (word, after) =
                rest[start..].split_at(rest[start..].find(|c| !is_word(c)).unwrap_or(rest.len() - start));
            let announces = after.trim_start_matches(['*', '`', '"']).starts_with(':') || word == alone;
            if announces && is_head(word) && !found.iter().any(|head| head == word) {
                found.push(word.to_owned());
                if found.len() == MOST_HEADS {
                    return found;
                }
            }
            rest = after;
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_head(word: &str) -> bool {
    (3..=60).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns the leading word in capitals of a signal such as `REVIEW_REQUEST: please`.
pub fn head(text: &str) -> Option<String> {
    let text = text.trim_start().trim_start_matches(['*', '`', '#', ' ']);
    let end = text
        .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
        .unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let ends = rest.is_empty()
        || rest.trim_start_matches(['*', '`']).starts_with(':')
        || rest.starts_with(['\n', '\r']);
    (ends && word.len() >= 3 && word.starts_with(|c: char| c.is_ascii_uppercase())).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
