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
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    let mut bytes = Value::Object(fields).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests;
