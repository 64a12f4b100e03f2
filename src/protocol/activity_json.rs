//! `activity.json`: seven fields that shell scripts, other tools and we read and write side by side.
//!
//! Every form that has a meaning is taken at its meaning; what has none is left out and named as a fault. Foreign
//! fields survive, and so does what stands before the place where a file is broken. See `docs/files.md`.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::stamp;
use crate::model::activity::Activity;

/// What was read, and what was wrong with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Read {
    /// What could be read; fields that could not are at their defaults.
    pub activity: Activity,
    /// `last_activity_ts` was there and had a meaning. If not, or if the file is broken, its own modification time
    /// counts: half a file may lack the nudges that were staged since.
    pub has_stamp: bool,
    /// What was wrong, in words; empty = nothing.
    pub faults: Vec<String>,
}

const FIELDS: [&str; 7] = [
    "last_activity_ts",
    "last_activity_source",
    "active_teammates",
    "last_nudge_ts",
    "nudge_count",
    "epoch",
    "pipeline_phase",
];

/// Reads the file's bytes.
pub fn read(bytes: &[u8]) -> Read {
    let mut faults = Vec::new();
    let mut fields = Map::new();
    let is_whole = collect(bytes, &mut fields, &mut faults);
    let mut take = |name: &str| fields.shift_remove(name);
    let stamp = take(FIELDS[0]).as_ref().and_then(stamp::read);
    if is_whole && stamp.is_none() {
        faults.push("last_activity_ts is missing or has no meaning".to_owned());
    }
    let activity = Activity {
        last_activity_ts: stamp.unwrap_or(0) / 1000,
        last_activity_source: text(take(FIELDS[1])),
        active_teammates: teammates(take(FIELDS[2])),
        last_nudge_ts: take(FIELDS[3]).as_ref().and_then(stamp::read).unwrap_or(0) / 1000,
        nudge_count: take(FIELDS[4])
            .and_then(|value| whole(&value))
            .map_or(0, |n| u32::try_from(n).unwrap_or(0)),
        epoch: take(FIELDS[5]).and_then(|value| whole(&value)).unwrap_or(0),
        pipeline_phase: text(take(FIELDS[6])),
        foreign: fields,
    };
    // Zero is what we write ourselves before work was ever seen.
    Read { has_stamp: is_whole && stamp.is_some_and(|stamp| stamp > 0), activity, faults }
}

/// Writes the file's bytes: the seven fields in the seeds' order, then what belongs to others.
pub fn write(activity: &Activity) -> Vec<u8> {
    let mut fields = Map::new();
    let values = [
        Value::from(activity.last_activity_ts),
        Value::from(activity.last_activity_source.as_str()),
        Value::Object(
            activity.active_teammates.iter().map(|(name, at)| (name.clone(), at.clone())).collect(),
        ),
        Value::from(activity.last_nudge_ts),
        Value::from(activity.nudge_count),
        Value::from(activity.epoch),
        Value::from(activity.pipeline_phase.as_str()),
    ];
    for (name, value) in FIELDS.iter().zip(values) {
        fields.insert((*name).to_owned(), value);
    }
    for (name, value) in &activity.foreign {
        fields.insert(name.clone(), value.clone());
    }
    let mut bytes = Value::Object(fields).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Collects the fields of the object: behind a byte-order mark, in UTF-16, before trailing garbage, up to the place
/// where it is broken. Returns whether it is whole.
fn collect(bytes: &[u8], fields: &mut Map<String, Value>, faults: &mut Vec<String>) -> bool {
    let text = decode(bytes);
    let text = text.trim_matches(['\u{feff}', '\0']).trim();
    if text.is_empty() {
        faults.push("empty".to_owned());
        return false;
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    if let Err(error) = parser.deserialize_any(Collect(fields)) {
        let is_other = error.is_data();
        faults.push(if is_other { "not a JSON object".to_owned() } else { format!("not JSON: {error}") });
        return false;
    }
    if parser.end().is_err() {
        faults.push("text after the JSON object".to_owned());
    }
    true
}

/// Keeps the members of an object as they come. The one that a broken place follows is not kept: its value may be
/// cut.
struct Collect<'a>(&'a mut Map<String, Value>);

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut last: Option<(String, Value)> = None;
        loop {
            let key = map.next_key::<String>()?;
            if let Some((key, value)) = last {
                self.0.insert(key, value);
            }
            let Some(key) = key else { return Ok(()) };
            last = Some((key, map.next_value()?));
        }
    }
}

/// Decodes UTF-8 or, as some shells redirect, UTF-16 with a byte-order mark.
pub fn decode(bytes: &[u8]) -> String {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Returns the teammates by name. A list of names counts as names of unknown age; entries keep whatever form
/// another writer gave them.
fn teammates(value: Option<Value>) -> std::collections::BTreeMap<String, Value> {
    match value {
        Some(Value::Object(names)) => names.into_iter().filter(|(name, _)| !name.is_empty()).collect(),
        Some(Value::Array(names)) => names
            .into_iter()
            .filter_map(|name| {
                name.as_str().filter(|name| !name.is_empty()).map(|name| (name.to_owned(), Value::from(0)))
            })
            .collect(),
        _ => std::collections::BTreeMap::new(),
    }
}

/// Reads a whole number that is not negative, from a number or a string that holds one.
pub fn whole(value: &Value) -> Option<u64> {
    let number: f64 = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (number.is_finite() && (0.0..1e15).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests;
