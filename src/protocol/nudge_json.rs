//! `pending-nudge.json`: `{additionalContext, timestamp, nudge_n}` by the protocol; `id`, `session_id` and `wakes`
//! are ours.

use serde_json::{Map, Value, json};

use super::activity_json::{decode, whole};
use super::stamp;
use crate::model::nudge::Nudge;

/// Reads a staged message. None = there is no text in it: nothing that could be delivered.
pub fn read(bytes: &[u8]) -> Option<Nudge> {
    let value: Value = first_value(bytes)?;
    let text = value.get("additionalContext")?.as_str().filter(|text| !text.trim().is_empty())?;
    let field = |name: &str| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    Some(Nudge {
        text: text.to_owned(),
        timestamp: value.get("timestamp").and_then(stamp::read).unwrap_or(0) / 1000,
        number: value.get("nudge_n").and_then(whole).map_or(0, |n| u32::try_from(n).unwrap_or(0)),
        id: field("id").unwrap_or_default(),
        session: field("session_id").filter(|id| !id.is_empty()),
        wakes: value.get("wakes").and_then(Value::as_bool).unwrap_or(true),
    })
}

/// Writes a staged message.
pub fn write(nudge: &Nudge) -> Vec<u8> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("additionalContext", json!(nudge.text));
    put("timestamp", json!(nudge.timestamp));
    put("nudge_n", json!(nudge.number));
    put("id", json!(nudge.id));
    if let Some(session) = &nudge.session {
        put("session_id", json!(session));
    }
    if !nudge.wakes {
        put("wakes", json!(false));
    }
    let mut bytes = Value::Object(fields).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Reads the first JSON value of a file, behind a byte-order mark or in UTF-16.
pub fn first_value(bytes: &[u8]) -> Option<Value> {
    let text = decode(bytes);
    serde_json::Deserializer::from_str(text.trim_matches(['\u{feff}', '\0'])).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests;
