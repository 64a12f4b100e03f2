//! JSON as the commands print it, and the parts that several of them report alike.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::model::cause::Diagnosis;
use crate::model::drawing::Edge;
use crate::model::wording::{clock, is_invisible};

/// Writes JSON on one line, to be read by programs and by people at a terminal: what a terminal might obey, or what
/// turns the direction of text, stands there as an escape. Outside of strings JSON has no such characters.
pub(super) fn line(value: &Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        if c.is_control() || is_invisible(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(line, "\\u{unit:04x}").ok();
            }
        } else {
            line.push(c);
        }
    }
    line
}

/// One edge as `status`, `explain` and `graph` report it.
pub(super) fn edge(edge: &Edge) -> Value {
    json!({
        "from": edge.from, "to": edge.to, "what": edge.what, "since": clock(edge.since), "kind": edge.kind,
        "due": edge.due.map(clock), "standing": edge.standing,
    })
}

/// A diagnosis as `status` and `explain` report it.
pub(super) fn diagnosis(why: &Diagnosis) -> Value {
    json!({
        "cause": why.cause.word(), "root": why.root, "session": why.session, "confidence": why.confidence.word(),
        "words": why.words, "evidence": why.evidence,
    })
}
