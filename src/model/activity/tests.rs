//! What a sign of work, a teammate and the end of an episode change, and what they leave alone.

use serde_json::json;

use super::Activity;

#[test]
fn each_change_touches_its_own_fields() {
    let mut activity = Activity { last_nudge_ts: 50, nudge_count: 2, epoch: 9, ..Activity::default() };
    activity.note_work("PostToolUse:Read", "build", 100);
    activity.add_teammate("rakim", 101);
    activity.add_teammate("coder", 102);
    activity.add_teammate("rakim", 103);
    assert_eq!(activity.teammates().collect::<Vec<_>>(), ["coder", "rakim"]);
    assert_eq!(activity.active_teammates["rakim"], json!(103));
    assert_eq!(
        (activity.last_activity_ts, activity.last_activity_source.as_str()),
        (100, "PostToolUse:Read")
    );
    assert_eq!(
        (activity.pipeline_phase.as_str(), activity.last_nudge_ts, activity.nudge_count),
        ("build", 50, 2)
    );
    activity.reset_nudges();
    assert_eq!((activity.last_nudge_ts, activity.nudge_count, activity.epoch), (0, 0, 9));
    assert_eq!(activity.last_activity_ts, 100);
}

#[test]
fn work_counts_up_to_a_moment_and_not_after_it() {
    let activity = Activity { last_activity_ts: 100, epoch: 9, ..Activity::default() };
    assert_eq!(*activity.by(100), activity);
    assert_eq!(*activity.by(200), activity);
    assert_eq!(*activity.by(40), Activity { last_activity_ts: 40, ..activity.clone() });
}
