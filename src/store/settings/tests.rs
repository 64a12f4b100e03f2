//! Settings by name, what is nearest to a wrong one, and that what is shown can be read again.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use toml::Value;

use super::{KEYS, find, nearest, span};
use crate::model::policy::Policy;

#[test]
fn names_are_unique_and_in_sections() {
    let names: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    for key in KEYS {
        assert_eq!(key.name.split('.').count(), 2, "{}", key.name);
        assert!(!key.doc.is_empty() && !key.doc.ends_with('.'), "{}", key.doc);
        assert_eq!(find(key.name).map(|found| found.name), Some(key.name));
        assert_eq!(nearest(key.name), key.name);
    }
    assert!(find("rule").is_none() && find("").is_none());
}

#[test]
fn the_nearest_name_is_the_one_that_was_meant() {
    for (name, wanted) in [
        ("rule.idle_afer", "rule.idle_after"),
        ("rules.idle_after", "rule.idle_after"),
        ("idle", "rule.idle_after"),
        ("daemon.tik", "daemon.tick"),
        ("tick", "daemon.tick"),
        ("max_nudge", "rule.max_nudges"),
        ("quiet.toollimit", "quiet.tool_limit"),
        ("agent.roster", "agents.roster"),
        ("daemon.linger_for", "daemon.linger"),
    ] {
        assert_eq!(nearest(name), wanted, "{name}");
    }
}

#[test]
fn what_is_shown_can_be_read_again() {
    for key in KEYS {
        let shown = (key.show)(&Policy::default());
        let table: toml::Table = format!("value = {shown}").parse().unwrap();
        let mut policy = Policy::default();
        (key.set)(&mut policy, &table["value"]).unwrap();
        assert_eq!((key.show)(&policy), shown, "{}", key.name);
        assert_eq!(policy, Policy::default(), "{}", key.name);
    }
}

proptest! {
    #[test]
    fn every_span_above_zero_is_read_as_it_is_shown(milliseconds in 1..31_536_000_000_u64) {
        let duration = Duration::from_millis(milliseconds);
        let shown = humantime::format_duration(duration).to_string();
        prop_assert_eq!(span(&Value::String(shown)), Ok(duration));
    }

    #[test]
    fn no_word_makes_a_setting_panic(word in any::<String>(), number in any::<i64>()) {
        for key in KEYS {
            let mut policy = Policy::default();
            let is_set = (key.set)(&mut policy, &Value::String(word.clone())).is_ok();
            prop_assert!(is_set || policy == Policy::default());
            (key.set)(&mut policy, &Value::Integer(number)).ok();
            prop_assert!(!(key.show)(&policy).is_empty());
        }
        prop_assert!(find(nearest(&word)).is_some());
    }
}
