//! Points in time as other writers put them: whole seconds, parts of a second, milli-, micro- or nanoseconds,
//! strings of any of these, ISO 8601.

use chrono::{DateTime, NaiveDateTime};
use serde_json::Value;

use crate::model::moment::Millis;

/// The year 5138, where numbers stop to mean seconds. A date beyond it could not be written so that it reads the same.
const END: Millis = 100_000_000_000_000;

/// Reads a stamp of unix time. What has no clear meaning (negative, not finite, beyond all units) is none; zero is
/// zero, which the protocol means as "never".
pub fn read(value: &Value) -> Option<Millis> {
    match value {
        Value::Number(number) => number.as_f64().and_then(by_size),
        Value::String(text) => {
            let text = text.trim();
            text.parse::<f64>().ok().and_then(by_size).or_else(|| iso(text))
        }
        _ => None,
    }
}

/// Reads ISO 8601, with or without a zone; without one it is UTC. What lies before 1970 or beyond the year 5138 has no
/// meaning.
pub fn iso(text: &str) -> Option<Millis> {
    let text = text.trim();
    let zoned = DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z"))
        .map(|time| time.timestamp_millis());
    let bare = || {
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            .map(|time| time.and_utc().timestamp_millis())
    };
    zoned.ok().or_else(bare).filter(|millis| (0..END).contains(millis))
}

/// Takes a number at the unit that puts it into this age: seconds up to the year 5138, then milli-, micro- and
/// nanoseconds.
fn by_size(number: f64) -> Option<Millis> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    let seconds = match number {
        n if n < 1e11 => n,
        n if n < 1e14 => n / 1e3,
        n if n < 1e17 => n / 1e6,
        n if n < 1e20 => n / 1e9,
        _ => return None,
    };
    let millis = (seconds * 1000.0).round() as Millis;
    // u64::MAX and its like are fillers, not nanoseconds.
    (number < 1e19 && millis < END).then_some(millis)
}

#[cfg(test)]
mod tests;
