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

/// Reads a stamp that must be UTC ISO 8601 and nothing beside it: `2026-06-25T10:05:00Z`, with or without seconds and
/// parts of a second, the zone `Z`, `+00`, `+00:00` or `+0000`. Another zone, none, or a word behind it is no such stamp
/// (`worker-signal-protocol`, "Freshness rules").
pub fn utc(text: &str) -> Option<Millis> {
    let bare = ["Z", "+00:00", "+0000", "+00"].iter().find_map(|zone| text.strip_suffix(zone))?;
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.');
    let (day, time) = bare.split_once('T')?;
    let (clock, part) = time.split_once('.').unwrap_or((time, "0"));
    let is_part = (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_shaped = day.len() == 10 && matches!(clock.len(), 5 | 8) && is_part;
    if !is_shaped || !format!("{day}{clock}").chars().all(is_plain) {
        return None;
    }
    let seconds = if clock.len() == 5 { ":00" } else { "" };
    // A leap second has no place of its own in unix time.
    let parsed =
        NaiveDateTime::parse_from_str(&format!("{day}T{clock}{seconds}.{part}"), "%Y-%m-%dT%H:%M:%S%.f");
    let millis = parsed.ok()?.and_utc().timestamp_millis();
    (0..END).contains(&millis).then_some(millis)
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
