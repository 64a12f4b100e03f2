//! `DEADLOCK.flag`, in both of the protocol's shapes: of the rule, and of a failed turn.

use serde_json::{Map, Value, json};

use super::activity_json::whole;
use super::nudge_json::first_value;
use super::stamp;
use crate::model::nudge::Flag;

/// Reads a flag. Whatever the file holds, that it lies there is what counts: fields that cannot be read are left out.
pub fn read(bytes: &[u8]) -> Flag {
    let value = first_value(bytes).unwrap_or(Value::Null);
    let field = |name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    Flag {
        timestamp: value.get("timestamp").and_then(stamp::read).unwrap_or(0) / 1000,
        nudge_count: value.get("nudge_count").and_then(whole).and_then(|n| u32::try_from(n).ok()),
        last_activity_source: field("last_activity_source"),
        source: field("source"),
        error: field("error"),
        error_details: field("error_details"),
        cause: field("cause"),
        diagnosis: field("diagnosis"),
        why: field("why"),
        root: field("root"),
        evidence: value
            .get("evidence")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect())
            .unwrap_or_default(),
    }
}

/// Writes a flag.
pub fn write(flag: &Flag) -> Vec<u8> {
    let mut fields = Map::new();
    fields.insert("timestamp".to_owned(), json!(flag.timestamp));
    if let Some(count) = flag.nudge_count {
        fields.insert("nudge_count".to_owned(), json!(count));
    }
    let texts = [
        ("last_activity_source", &flag.last_activity_source),
        ("source", &flag.source),
        ("error", &flag.error),
        ("error_details", &flag.error_details),
        ("cause", &flag.cause),
        ("diagnosis", &flag.diagnosis),
        ("why", &flag.why),
        ("root", &flag.root),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    if !flag.evidence.is_empty() {
        fields.insert("evidence".to_owned(), json!(flag.evidence));
    }
    let mut bytes = Value::Object(fields).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests;
