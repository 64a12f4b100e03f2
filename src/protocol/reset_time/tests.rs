//! Reset times as errors say them.

use super::find;

/// 2026-12-01T10:00:00Z, a Tuesday.
const AT: i64 = 1_796_119_200_000;
const HOUR: i64 = 3_600_000;

fn hours(text: &str) -> Option<f64> {
    find(text, AT).map(|found| (found - AT) as f64 / HOUR as f64)
}

#[test]
fn a_point_in_time_is_taken_as_it_is() {
    assert_eq!(hours("limit reached|1796122800"), Some(1.0));
    assert_eq!(hours("try again after 2026-12-01T11:30:00Z."), Some(1.5));
}

#[test]
fn a_clock_time_with_a_zone_is_the_next_of_that_name() {
    assert_eq!(hours("You've hit your limit · resets 3pm (Europe/Berlin)"), Some(4.0));
    assert_eq!(hours("resets 9am (America/New_York)"), Some(4.0));
    assert_eq!(hours("resets at 5:30 PM UTC"), Some(7.5));
    assert_eq!(hours("resets 09:00 UTC"), Some(23.0));
}

#[test]
fn a_day_before_a_clock_time_counts_however_it_is_said() {
    for text in [
        "resets Dec 3, 10am (UTC)",
        "resets Dec 3 at 10am (UTC)",
        "resets on 3rd December by 10:00 UTC",
        "resets December 3rd, 2026 at 10:00 UTC",
        "resets 3 dec 2026 10 AM UTC",
        "resets Thursday at 10am (UTC)",
        "resets Thu 10am (UTC)",
    ] {
        assert_eq!(hours(text), Some(48.0), "{text}");
    }
    assert_eq!(hours("resets Jan 1 at 10am (UTC)"), Some(31.0 * 24.0));
    // Today's is over: the next one of that name.
    assert_eq!(hours("resets Tuesday at 9am (UTC)"), Some(7.0 * 24.0 - 1.0));
    assert_eq!(hours("resets Tuesday 11am (UTC)"), Some(1.0));
    assert_eq!(hours("at most 4 retries; resets at 11am (UTC)"), Some(1.0));
}

#[test]
fn what_is_no_time_is_none() {
    assert_eq!(hours("API Error: 529 overloaded, port 18999"), None);
    assert_eq!(hours("resets 3pm"), None);
    assert_eq!(hours("resets 13pm UTC at 3"), None);
    assert_eq!(hours("ratio 3:99 UTC"), None);
}
