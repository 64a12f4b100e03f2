//! The rule of the Kiln protocol, to the letter:
//!
//! ```text
//! stalled  ⇔  idle > 300 s ∧ (never nudged ∨ since the last nudge > 600 s) ∧ phase ∉ {idle, awaiting_user, complete}
//! ```
//!
//! All numbers are [`Rule`]'s.

use std::time::Duration;

use super::activity::Activity;
use super::policy::Rule;

/// What the rule says of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The phase is one in which silence is no stall.
    Exempt,
    /// Work was seen; silent for longer than the limit after this much more time.
    Active(Duration),
    /// Silent, but nudged a short time ago; the next step is due after this much more time.
    Debounce(Duration),
    /// Stalled, and this nudge is the next.
    Nudge(u32),
    /// Stalled, and all nudges of the episode have been used.
    Escalate,
}

/// The times that the rule looks at. `since_nudge` is `None` when nothing has been nudged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Time without activity.
    pub idle: Duration,
    /// Time since the last nudge.
    pub since_nudge: Option<Duration>,
}

impl Times {
    /// Reads both from the stamps of `activity` by the wall clock alone, `now` in unix seconds.
    pub fn by_wall(activity: &Activity, now: i64) -> Self {
        let since = |stamp: i64| Duration::from_secs(u64::try_from(now.saturating_sub(stamp)).unwrap_or(0));
        Self {
            idle: since(activity.last_activity_ts),
            since_nudge: (activity.last_nudge_ts != 0).then(|| since(activity.last_nudge_ts)),
        }
    }
}

/// Asks the rule.
pub fn ask(activity: &Activity, stage: &str, times: Times, rule: &Rule) -> Answer {
    if exempts(stage, rule) || exempts(&activity.pipeline_phase, rule) {
        return Answer::Exempt;
    }
    if times.idle <= rule.idle_after {
        return Answer::Active(past(rule.idle_after, times.idle));
    }
    if let Some(since) = times.since_nudge
        && since <= rule.nudge_every
    {
        return Answer::Debounce(past(rule.nudge_every, since));
    }
    let so_far = nudges_so_far(activity, rule);
    if so_far < rule.max_nudges { Answer::Nudge(so_far + 1) } else { Answer::Escalate }
}

/// Tells whether silence is no stall in this phase.
pub fn exempts(phase: &str, rule: &Rule) -> bool {
    rule.exempt_phases.iter().any(|entry| entry == phase)
}

/// Counts the nudges of the present episode: none if it worked for long enough since the last one.
pub fn nudges_so_far(activity: &Activity, rule: &Rule) -> u32 {
    if has_recovered(activity, rule) { 0 } else { activity.nudge_count }
}

/// Tells whether work went on for long enough after the last nudge to end its episode.
pub fn has_recovered(activity: &Activity, rule: &Rule) -> bool {
    let worked = activity.last_activity_ts.saturating_sub(activity.last_nudge_ts);
    activity.last_nudge_ts > 0
        && u64::try_from(worked).is_ok_and(|worked| worked > rule.recovered_after.as_secs())
}

/// Returns the time until `limit` is exceeded, which is noticed at whole seconds, as stamps are.
fn past(limit: Duration, so_far: Duration) -> Duration {
    Duration::from_secs(limit.as_secs() + 1).saturating_sub(so_far)
}

#[cfg(test)]
mod tests;
