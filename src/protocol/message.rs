//! Messages between agents (`SendMessage`): who, to whom, which signal; never the body.

use std::hash::{DefaultHasher, Hasher};

use super::sketch::Sketch;
use crate::model::event::Message;

/// Reads a `SendMessage` call and its answer. Both generations of field names are understood: `to` and `message`,
/// or `recipient` and `content`.
pub fn read(input: &Sketch, response: &Sketch) -> Message {
    let body = match input.get("message") {
        Sketch::Nothing => input.get("content"),
        body => body,
    };
    let to = input.get("to").word().or_else(|| input.get("recipient").word()).unwrap_or_default();
    let request_id = response
        .get("request_id")
        .word()
        .or_else(|| body.get("request_id").word())
        .or_else(|| input.get("request_id").word())
        .unwrap_or_default();
    let kind = body.get("type").word().or_else(|| input.get("type").word().filter(|kind| *kind != "message"));
    let mut hasher = DefaultHasher::new();
    body.digest(&mut hasher);
    Message {
        to: to.to_owned(),
        delivered: response.get("success").truth().unwrap_or(true),
        head: kind.map_or_else(|| head(body.text()).unwrap_or_default(), ToOwned::to_owned),
        request_id: request_id.to_owned(),
        hash: format!("{:08x}", hasher.finish() >> 32),
    }
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
