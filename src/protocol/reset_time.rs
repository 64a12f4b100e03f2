//! When an API will answer again, as its error says it: ISO 8601, epoch seconds, or a clock time with a zone name.

use chrono::{DateTime, Datelike, Days, FixedOffset, Month, NaiveDate, NaiveTime, TimeZone, Utc, Weekday};
use chrono_tz::Tz;

use super::stamp;
use crate::model::moment::Millis;

/// Finds a reset time in a text that was seen at `at`. A clock time is the next one of that name.
pub fn find(text: &str, at: Millis) -> Option<Millis> {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || "\"'()[]{}<>,;|=".contains(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().find_map(|word| point(word)).or_else(|| clock_time(&words, at))
}

/// A point in time in one word.
fn point(word: &str) -> Option<Millis> {
    let is_epoch = word.len() == 10 && word.bytes().all(|byte| byte.is_ascii_digit());
    if is_epoch { word.parse::<Millis>().ok().map(|seconds| seconds * 1000) } else { stamp::iso(word) }
}

/// A clock time and a zone, such as `3pm (Europe/Berlin)` or `15:30 UTC`, with or without a day before it.
fn clock_time(words: &[&str], at: Millis) -> Option<Millis> {
    (0..words.len()).find_map(|place| {
        let (time, used) = time_at(&words[place..])?;
        let zone = words.get(place + used).and_then(|word| Zone::named(word))?;
        zone.next(time, day_before(&words[..place]), at)
    })
}

/// Reads a time of day; returns how many words it took.
fn time_at(words: &[&str]) -> Option<(NaiveTime, usize)> {
    let lower = words.first()?.to_ascii_lowercase();
    let joined = ["am", "pm"].iter().find_map(|half| Some((lower.strip_suffix(half)?, *half)));
    let next = words.get(1).map(|word| word.to_ascii_lowercase());
    let (digits, half, used) = match (joined, next.as_deref()) {
        (Some((digits, half)), _) => (digits, Some(half), 1),
        (None, Some("am" | "a.m")) => (lower.as_str(), Some("am"), 2),
        (None, Some("pm" | "p.m")) => (lower.as_str(), Some("pm"), 2),
        _ => (lower.as_str(), None, 1),
    };
    // A bare number is no time of day.
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour.parse::<u32>().ok()?, minute.get(..2)?.parse::<u32>().ok()?),
        None => (digits.parse::<u32>().ok().filter(|_| half.is_some())?, 0),
    };
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("pm") => hour % 12 + 12,
        Some(_) => hour % 12,
        None => hour,
    };
    Some((NaiveTime::from_hms_opt(hour, minute, 0)?, used))
}

/// Which day is meant.
#[derive(Debug, Clone, Copy)]
enum Day {
    /// The next on which there is such a time.
    Next,
    /// Month and day; the year is not said, or is the next of those.
    Date(u32, u32),
    Weekday(Weekday),
}

/// Reads the day that stands before a time: `Dec 5`, `5 December 2026 at`, `Monday at`.
fn day_before(words: &[&str]) -> Day {
    let is_between = |word: &str| {
        ["at", "on", "by"].iter().any(|between| word.eq_ignore_ascii_case(between))
            || (word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut before = words.iter().rev().skip_while(|word| is_between(word));
    let (Some(last), second) = (before.next(), before.next()) else { return Day::Next };
    let date = |month: &str, day: &str| {
        let month: Month = month.parse().ok()?;
        let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
        Some(Day::Date(month.number_from_month(), day))
    };
    let dated = second.and_then(|second| date(second, last).or_else(|| date(last, second)));
    dated.or_else(|| last.parse().ok().map(Day::Weekday)).unwrap_or(Day::Next)
}

enum Zone {
    Named(Tz),
    Fixed(FixedOffset),
}

impl Zone {
    fn named(word: &str) -> Option<Self> {
        let hours = match word.to_ascii_uppercase().as_str() {
            "UTC" | "GMT" | "Z" => 0,
            "EST" | "CDT" => -5,
            "EDT" => -4,
            "CST" | "MDT" => -6,
            "MST" | "PDT" => -7,
            "PST" => -8,
            "BST" | "CET" | "WEST" => 1,
            "CEST" | "EET" => 2,
            "EEST" => 3,
            "JST" => 9,
            _ => return word.contains('/').then(|| word.parse().ok().map(Self::Named)).flatten(),
        };
        FixedOffset::east_opt(hours * 3600).map(Self::Fixed)
    }

    fn next(&self, time: NaiveTime, day: Day, at: Millis) -> Option<Millis> {
        match self {
            Self::Named(zone) => next(zone, time, day, at),
            Self::Fixed(zone) => next(zone, time, day, at),
        }
    }
}

/// The next moment after `at` at which a clock in the zone shows this time (of this day).
fn next<Z: TimeZone>(zone: &Z, time: NaiveTime, day: Day, at: Millis) -> Option<Millis> {
    let now: DateTime<Utc> = DateTime::from_timestamp_millis(at)?;
    let today = now.with_timezone(zone).date_naive();
    let within = |count: u64| (0..=count).filter_map(move |more| today.checked_add_days(Days::new(more)));
    let days: Vec<NaiveDate> = match day {
        Day::Date(month, day) => {
            (0..=1).filter_map(|more| NaiveDate::from_ymd_opt(today.year() + more, month, day)).collect()
        }
        Day::Weekday(weekday) => within(8).filter(|day| day.weekday() == weekday).collect(),
        Day::Next => within(2).collect(),
    };
    days.into_iter()
        .filter_map(|day| zone.from_local_datetime(&day.and_time(time)).earliest())
        .map(|time| time.timestamp_millis())
        .find(|found| *found > at)
}

#[cfg(test)]
mod tests;
