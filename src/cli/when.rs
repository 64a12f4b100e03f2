//! Points in time as people type and read them.

use anyhow::bail;
use chrono::{DateTime, Local, Utc};

use crate::model::moment::{Millis, millis};
use crate::protocol::stamp;

/// Reads a time: ISO 8601, unix time in seconds or milliseconds, or how long ago, such as `10m`.
pub(super) fn parse(text: &str, now: Millis) -> anyhow::Result<Millis> {
    if let Some(at) = stamp::read(&serde_json::Value::from(text)) {
        return Ok(at);
    }
    match humantime::parse_duration(text.trim().trim_end_matches(" ago")) {
        Ok(span) => Ok(now - millis(span)),
        Err(_) => {
            bail!("\"{text}\" is no time; try 2026-12-01T04:10:05Z, unix time, or how long ago, such as 10m")
        }
    }
}

/// A point in time as a person reads it here: the time of day, with the date if it is another day.
pub(super) fn local(at: Millis, now: Millis) -> String {
    let zoned =
        |at: Millis| DateTime::<Utc>::from_timestamp_millis(at).map(|time| time.with_timezone(&Local));
    let (Some(time), Some(today)) = (zoned(at), zoned(now)) else { return format!("{at} ms") };
    let same_day = time.date_naive() == today.date_naive();
    time.format(if same_day { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_read_as_points_or_as_how_long_ago() {
        let now = 1_796_119_200_000;
        assert_eq!(parse("10m", now).unwrap(), now - 600_000);
        assert_eq!(parse("2 h ago", now).unwrap(), now - 7_200_000);
        assert_eq!(parse("1796119200", now).unwrap(), now);
        assert_eq!(parse("1796119200000", now).unwrap(), now);
        assert_eq!(parse("2026-12-01T10:00:00Z", 0).unwrap(), now);
        assert!(parse("yesterday", now).unwrap_err().to_string().contains("is no time"));
    }
}
