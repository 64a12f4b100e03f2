//! How long a tool and an API explain silence, and how spans read.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{ApiHold, OpenTool, Question, span};
use crate::model::policy::Policy;

const MINUTE: i64 = 60_000;

fn tool(timeout_ms: Option<u64>) -> OpenTool {
    OpenTool { id: "t1".to_owned(), tool: "Bash".to_owned(), since: 1_000_000, timeout_ms }
}

#[test]
fn a_tool_explains_silence_for_half_an_hour_or_its_own_limit_and_a_minute() {
    let check = |timeout_ms: Option<u64>, minutes: i64| {
        let until = tool(timeout_ms).explains_until(&Policy::default().quiet);
        assert_eq!(until, 1_000_000 + minutes * MINUTE, "{timeout_ms:?}");
    };
    check(None, 30);
    check(Some(0), 30);
    check(Some(600_000), 30);
    check(Some(29 * 60_000), 30);
    check(Some(30 * 60_000), 31);
    check(Some(3 * 3_600_000), 181);
}

fn hold(failures: u32, reset_at: Option<i64>) -> ApiHold {
    ApiHold {
        since: 1_000_000,
        error: "rate_limit".to_owned(),
        failures,
        by: BTreeMap::new(),
        reset_at,
        holds: true,
    }
}

#[test]
fn an_api_holds_until_its_reset_or_for_longer_with_every_failure_but_never_past_the_limit() {
    let check = |failures: u32, reset_in: Option<i64>, minutes: i64| {
        let reset_at = reset_in.map(|more| 1_000_000 + more * MINUTE);
        let until = hold(failures, reset_at).until(&Policy::default().quiet);
        assert_eq!(until, 1_000_000 + minutes * MINUTE, "{failures} failures, reset in {reset_in:?}");
    };
    check(1, None, 10);
    check(2, None, 20);
    check(3, None, 40);
    check(6, None, 320);
    check(7, None, 360);
    check(u32::MAX, None, 360);
    check(1, Some(3), 3);
    check(5, Some(90), 90);
    check(1, Some(359), 359);
    check(1, Some(10_000), 360);
    // A reset that lay before the failure says nothing.
    check(2, Some(-5), 20);
    check(2, Some(0), 20);
    check(0, None, 10);
}

#[test]
fn spans_read_as_people_say_them() {
    let minutes = |minutes: i64| minutes * MINUTE;
    for (passed, words) in [
        (-5_000, "0 s"),
        (0, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (minutes(59) + 59_000, "59 min"),
        (minutes(60), "1 h 00 min"),
        (minutes(185), "3 h 05 min"),
        (minutes(48 * 60 - 1), "47 h 59 min"),
        (minutes(48 * 60), "2 days"),
    ] {
        assert_eq!(span(1_000_000, 1_000_000 + passed), words);
    }
}

#[test]
fn questions_are_said_in_a_few_words() {
    let words: Vec<String> = [
        Question::Permission("Bash".to_owned()),
        Question::Permission(String::new()),
        Question::Answer,
        Question::Plan,
        Question::Turn,
    ]
    .iter()
    .map(Question::words)
    .collect();
    insta::assert_snapshot!(words.join("\n"), @"
    permission: Bash
    permission
    an answer
    approval of a plan
    the next prompt of an interactive phase
    ");
}

proptest! {
    #[test]
    fn no_number_is_too_large(
        since in any::<i64>(), now in any::<i64>(), timeout_ms in any::<Option<u64>>(), failures in any::<u32>(),
        reset_at in any::<Option<i64>>(), limit in any::<u64>(),
    ) {
        let mut quiet = Policy::default().quiet;
        quiet.tool_limit = Duration::from_secs(limit);
        quiet.api_hold_max = Duration::from_secs(limit);
        let tool = OpenTool { since, ..tool(timeout_ms) };
        prop_assert!(tool.explains_until(&quiet) >= since);
        let hold = ApiHold { since, ..hold(failures, reset_at) };
        prop_assert!(hold.until(&quiet) >= since);
        prop_assert!(!span(since, now).is_empty());
    }
}
