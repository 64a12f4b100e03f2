//! How long the pipeline has been silent, by clocks that may step, stop and sleep.
//!
//! Idle is the smaller of wall time since the stamp and awake time since the change was seen, if it was seen. So
//! neither a clock step nor a night's sleep is silence, and a stamp in the future does not blind us.

use std::time::Duration;

use super::activity::Activity;
use super::ledger::Ledger;
use super::moment::{Millis, Moment};
use super::rule::Times;

/// When a stamp of `activity.json` was first seen with its present value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The stamp, unix seconds.
    pub stamp: i64,
    /// Awake time at that moment.
    pub awake: Duration,
    /// Whether it was seen to change; false = it was there already when watching began.
    pub changed: bool,
}

/// What a watcher remembers of the two stamps that the rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// The last activity.
    pub activity: Option<Seen>,
    /// The last nudge.
    pub nudge: Option<Seen>,
}

impl Memory {
    /// Takes note of the stamps as they are at `now`.
    pub fn see(&mut self, activity: &Activity, now: Moment) {
        see(&mut self.activity, activity.last_activity_ts, now);
        see(&mut self.nudge, activity.last_nudge_ts, now);
    }

    /// Returns the times that the rule looks at. A judgement without a memory uses the wall clock alone.
    pub fn times(&self, activity: &Activity, ledger: &Ledger, now: Moment) -> Times {
        let idle = since(effective_stamp(activity, ledger), self.activity, now);
        let since_nudge =
            (activity.last_nudge_ts != 0).then(|| since(activity.last_nudge_ts * 1000, self.nudge, now));
        Times { idle, since_nudge }
    }
}

/// Returns the stamp of the last activity in unix milliseconds. A chain of teammates going idle counts once.
fn effective_stamp(activity: &Activity, ledger: &Ledger) -> Millis {
    let stamp = activity.last_activity_ts.saturating_mul(1000);
    match ledger.idle_since {
        Some(first) if activity.last_activity_source == "TeammateIdle" => {
            stamp.min(first.div_euclid(1000) * 1000)
        }
        _ => stamp,
    }
}

fn see(seen: &mut Option<Seen>, stamp: i64, now: Moment) {
    match seen {
        Some(seen) if seen.stamp == stamp => {}
        Some(seen) => *seen = Seen { stamp, awake: now.awake, changed: true },
        None => *seen = Some(Seen { stamp, awake: now.awake, changed: false }),
    }
}

/// Whole seconds where the wall clock is compared, since stamps are whole seconds.
fn since(stamp: Millis, seen: Option<Seen>, now: Moment) -> Duration {
    let wall = now.seconds().saturating_sub(stamp.div_euclid(1000));
    let awake = seen.map(|seen| now.awake.saturating_sub(seen.awake));
    let Ok(wall) = u64::try_from(wall) else {
        // The stamp lies in the future: running time since we know of it is all there is.
        return awake.unwrap_or(Duration::ZERO);
    };
    let wall = Duration::from_secs(wall);
    match (seen, awake) {
        // The stamp lost its part of a second; running time did not.
        (Some(seen), Some(awake)) if seen.changed => wall.min(awake + Duration::from_secs(1)),
        _ => wall,
    }
}
