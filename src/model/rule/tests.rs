//! The rule at its edges, and against a second reading of its text.

use std::time::Duration;

use proptest::prelude::*;

use super::{Answer, Times, ask, has_recovered, nudges_so_far};
use crate::model::activity::Activity;
use crate::model::policy::{Policy, Rule};

const NOW: i64 = 1_800_000_000;

fn rule() -> Rule {
    Policy::default().rule
}

/// Activity that is `idle` seconds old, the last nudge `nudged` seconds ago (none = never), `count` nudges.
fn activity(idle: i64, nudged: Option<i64>, count: u32) -> Activity {
    Activity {
        last_activity_ts: NOW - idle,
        last_nudge_ts: nudged.map_or(0, |ago| NOW - ago),
        nudge_count: count,
        pipeline_phase: "build".to_owned(),
        ..Activity::default()
    }
}

fn check(idle: i64, nudged: Option<i64>, count: u32, wanted: &str) {
    let activity = activity(idle, nudged, count);
    let answer = ask(&activity, "build", Times::by_wall(&activity, NOW), &rule());
    assert_eq!(format!("{answer:?}"), wanted, "idle {idle}, nudged {nudged:?}, count {count}");
}

#[test]
fn silence_is_a_stall_after_more_than_five_minutes() {
    check(0, None, 0, "Active(301s)");
    check(299, None, 0, "Active(2s)");
    check(300, None, 0, "Active(1s)");
    check(301, None, 0, "Nudge(1)");
    check(86_400, None, 0, "Nudge(1)");
    // A stamp ahead of the clock is no silence.
    check(-60, None, 0, "Active(301s)");
}

#[test]
fn between_two_nudges_lie_more_than_ten_minutes() {
    check(900, Some(0), 1, "Debounce(601s)");
    check(900, Some(599), 1, "Debounce(2s)");
    check(900, Some(600), 1, "Debounce(1s)");
    check(902, Some(601), 1, "Nudge(2)");
    check(902, Some(-30), 1, "Debounce(601s)");
    // Recent work comes before the debounce: it says how long it is quiet for.
    check(10, Some(100), 1, "Active(291s)");
}

#[test]
fn three_nudges_are_followed_by_the_flag() {
    check(902, Some(601), 0, "Nudge(1)");
    check(902, Some(601), 1, "Nudge(2)");
    check(1502, Some(601), 2, "Nudge(3)");
    check(2102, Some(601), 3, "Escalate");
    check(2102, Some(601), 4, "Escalate");
    check(2102, Some(601), u32::MAX, "Escalate");
    // "Never nudged" is what the stamp says, whatever the counter does.
    check(301, None, 2, "Nudge(3)");
    check(301, None, 3, "Escalate");
}

#[test]
fn half_an_hour_of_work_after_a_nudge_begins_a_new_episode() {
    // Worked until 301 s ago; the nudge lay 1799 to 1801 s before that.
    check(301, Some(301 + 1799), 3, "Escalate");
    check(301, Some(301 + 1800), 3, "Escalate");
    check(301, Some(301 + 1801), 3, "Nudge(1)");
    check(301, Some(301 + 1801), 1, "Nudge(1)");
    // Without a nudge there is nothing to recover from.
    check(301, None, 3, "Escalate");
}

#[test]
fn a_stamp_of_zero_means_never_nudged() {
    let mut activity = activity(301, None, 0);
    assert_eq!(Times::by_wall(&activity, NOW).since_nudge, None);
    assert!(!has_recovered(&activity, &rule()));
    activity.last_nudge_ts = 1;
    assert_eq!(Times::by_wall(&activity, NOW).since_nudge, Some(Duration::from_secs(1_799_999_999)));
    assert!(has_recovered(&activity, &rule()));
}

#[test]
fn a_phase_is_exempt_by_either_file() {
    let stalled = activity(3600, None, 0);
    let times = Times::by_wall(&stalled, NOW);
    for phase in ["idle", "awaiting_user", "complete"] {
        assert_eq!(ask(&stalled, phase, times, &rule()), Answer::Exempt, "{phase} in STATE.md");
        let mut told = stalled.clone();
        phase.clone_into(&mut told.pipeline_phase);
        assert_eq!(ask(&told, "build", times, &rule()), Answer::Exempt, "{phase} in activity.json");
    }
    for phase in
        ["onboarding", "brainstorm", "research", "architecture", "build", "validate", "report", "plan", ""]
    {
        assert_eq!(ask(&stalled, phase, times, &rule()), Answer::Nudge(1), "{phase} in STATE.md");
        let mut told = stalled.clone();
        phase.clone_into(&mut told.pipeline_phase);
        assert_eq!(ask(&told, "build", times, &rule()), Answer::Nudge(1), "{phase} in activity.json");
    }
}

#[test]
fn limits_with_parts_of_a_second_are_passed_at_the_next_whole_one() {
    let rule = Rule { idle_after: Duration::from_millis(1500), ..rule() };
    let ask_at = |idle| {
        let activity = activity(idle, None, 0);
        ask(&activity, "build", Times::by_wall(&activity, NOW), &rule)
    };
    assert_eq!(ask_at(1), Answer::Active(Duration::from_secs(1)));
    assert_eq!(ask_at(2), Answer::Nudge(1));
}

#[test]
fn no_nudges_at_all_is_a_flag_at_once() {
    let rule = Rule { max_nudges: 0, ..rule() };
    let activity = activity(301, None, 0);
    assert_eq!(ask(&activity, "build", Times::by_wall(&activity, NOW), &rule), Answer::Escalate);
}

/// The documented rule once more, as a decision over plain integers: what is done, and with which number.
mod oracle {
    pub(super) struct Numbers {
        pub(super) now: i64,
        pub(super) last_activity_ts: i64,
        pub(super) last_nudge_ts: i64,
        pub(super) nudge_count: i64,
    }

    pub(super) fn says(n: &Numbers, state_phase: &str, activity_phase: &str) -> (&'static str, i64) {
        let exempt = " idle awaiting_user complete ";
        let excluded = |p: &str| !p.is_empty() && exempt.contains(&format!(" {p} "));
        let c1 = n.now - n.last_activity_ts > 300;
        let c2 = n.last_nudge_ts == 0 || n.now - n.last_nudge_ts > 600;
        let c3 = !(excluded(state_phase) || excluded(activity_phase));
        let stalled = c1 && c2 && c3;
        let new_episode = n.last_nudge_ts > 0 && n.last_activity_ts - n.last_nudge_ts > 1800;
        let so_far = n.nudge_count * i64::from(!new_episode);
        match (stalled, so_far < 3) {
            (false, _) => ("nothing", 0),
            (true, true) => ("nudge", so_far + 1),
            (true, false) => ("escalate", so_far),
        }
    }
}

fn phase() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["build", "idle", "awaiting_user", "complete", "brainstorm", "", "user", "Idle"])
}

/// Ages that lie at and around the rule's limits more often than chance would have it.
fn age() -> impl Strategy<Value = i64> {
    let edges = vec![0, 1, 299, 300, 301, 599, 600, 601, 1799, 1800, 1801, 2100, 2101, 2102];
    prop_oneof![prop::sample::select(edges), -100..5000_i64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_rule_agrees_with_its_text(
        idle in age(), nudged in prop::option::of(age()), count in 0..6_u32, stage in phase(), told in phase(),
    ) {
        let mut activity = activity(idle, nudged, count);
        told.clone_into(&mut activity.pipeline_phase);
        let numbers = oracle::Numbers {
            now: NOW,
            last_activity_ts: activity.last_activity_ts,
            last_nudge_ts: activity.last_nudge_ts,
            nudge_count: i64::from(count),
        };
        let answer = match ask(&activity, stage, Times::by_wall(&activity, NOW), &rule()) {
            Answer::Nudge(n) => ("nudge", i64::from(n)),
            Answer::Escalate => ("escalate", i64::from(nudges_so_far(&activity, &rule()))),
            Answer::Exempt | Answer::Active(_) | Answer::Debounce(_) => ("nothing", 0),
        };
        prop_assert_eq!(answer, oracle::says(&numbers, stage, told));
    }

    #[test]
    fn what_the_rule_waits_for_is_when_its_answer_changes(idle in 0..300_i64, nudged in 0..600_i64) {
        let activity = activity(idle, Some(nudged), 1);
        let later = |more: i64| ask(&activity, "build", Times::by_wall(&activity, NOW + more), &rule());
        let mut wait = 0;
        loop {
            match later(wait) {
                Answer::Active(more) | Answer::Debounce(more) => {
                    let more = i64::try_from(more.as_secs()).unwrap();
                    prop_assert!(more > 0);
                    prop_assert!(!matches!(later(wait + more - 1), Answer::Nudge(_) | Answer::Escalate));
                    wait += more;
                }
                answer => {
                    prop_assert_eq!(answer, Answer::Nudge(2));
                    break;
                }
            }
        }
        prop_assert_eq!(wait, (301 - idle).max(601 - nudged));
    }

    #[test]
    fn no_number_is_too_large_for_the_rule(stamps in any::<(i64, i64, i64)>(), count in any::<u32>()) {
        let activity = Activity {
            last_activity_ts: stamps.0,
            last_nudge_ts: stamps.1,
            nudge_count: count,
            ..Activity::default()
        };
        let answer = ask(&activity, "build", Times::by_wall(&activity, stamps.2), &rule());
        prop_assert_ne!(answer, Answer::Exempt);
    }
}
