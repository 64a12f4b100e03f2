//! Points in time as other writers put them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{iso, read};

/// 2026-12-01T04:10:05Z
const T: i64 = 1_796_098_205;

fn check(value: &Value, millis: Option<i64>) {
    assert_eq!(read(value), millis, "{value}");
}

#[test]
fn numbers_are_taken_at_the_unit_that_puts_them_into_this_age() {
    check(&json!(T), Some(T * 1000));
    check(&json!(1_796_098_205.25), Some(T * 1000 + 250));
    check(&json!(1.796_098_205e9), Some(T * 1000));
    check(&json!(T * 1000), Some(T * 1000));
    check(&json!(T * 1000 + 7), Some(T * 1000 + 7));
    check(&json!(T * 1_000_000), Some(T * 1000));
    check(&json!(T * 1_000_000_000), Some(T * 1000));
    check(&json!(0), Some(0));
    check(&json!(0.0), Some(0));
    check(&json!(1), Some(1000));
}

#[test]
fn strings_hold_numbers_or_dates() {
    check(&json!("1796098205"), Some(T * 1000));
    check(&json!(" 1796098205.80 "), Some(T * 1000 + 800));
    check(&json!("1796098205000"), Some(T * 1000));
    check(&json!("1.796098205e9"), Some(T * 1000));
    check(&json!("2026-12-01T04:10:05Z"), Some(T * 1000));
    check(&json!("2026-12-01T05:10:05+01:00"), Some(T * 1000));
    check(&json!("2026-12-01T05:10:05.250+0100"), Some(T * 1000 + 250));
    check(&json!("2026-11-30T20:40:05-0730"), Some(T * 1000));
    check(&json!("2026-12-01T04:10:05.123456Z"), Some(T * 1000 + 123));
    check(&json!("2026-12-01 04:10:05"), Some(T * 1000));
    check(&json!("2026-12-01T04:10:05"), Some(T * 1000));
}

#[test]
fn what_has_no_clear_meaning_is_none() {
    for value in [
        json!(-5),
        json!(-0.5),
        json!(u64::MAX),
        json!(1e300),
        json!(null),
        json!(true),
        json!([T]),
        json!({"ts": T}),
        json!(""),
        json!("soon"),
        json!("NaN"),
        json!("inf"),
        json!("-5"),
        json!("1e400"),
        json!("2026-12-01"),
        json!("2026-13-01T00:00:00Z"),
        json!("1969-12-31T23:59:59Z"),
        json!("0001-01-01T00:00:00"),
        // Its seconds would read as milliseconds.
        json!("9559-01-02T03:04:05Z"),
        json!(99_999_999_999.999_9),
    ] {
        check(&value, None);
    }
}

proptest! {
    #[test]
    fn no_value_is_too_odd(number in any::<f64>(), text in any::<String>()) {
        for value in [json!(number), json!(number.to_string()), json!(text)] {
            prop_assert!(read(&value).is_none_or(|millis| (0..100_000_000_000_000).contains(&millis)), "{}", value);
        }
    }

    #[test]
    fn seconds_come_back_whatever_unit_they_were_written_in(seconds in 1_000_000_000..4_000_000_000_i64) {
        for unit in [1, 1000, 1_000_000, 1_000_000_000] {
            prop_assert_eq!(read(&json!(seconds * unit)), Some(seconds * 1000));
        }
        let text = crate::model::wording::clock(seconds * 1000);
        prop_assert_eq!(iso(&text), Some(seconds * 1000));
    }
}
