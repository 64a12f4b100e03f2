//! How long the pipeline has been silent, by clocks that may step, stop and sleep.
//!
//! What counts is running time since the change was seen, and what the wall clock said of the silence when the stamp
//! was first seen. So neither a clock step nor a night's sleep is silence, and neither a stamp in the future nor a
//! clock that is set back blinds us. Where clocks agree this is the wall time since the stamp, to the second.

use std::time::Duration;

use super::activity::Activity;
use super::ledger::Ledger;
use super::moment::Moment;
use super::rule::Times;

/// When a stamp of `activity.json` was first seen with its present value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The stamp, unix seconds.
    pub stamp: i64,
    /// Awake time at that moment.
    pub awake: Duration,
    /// Silence that lay between the stamp and that moment by the wall clock, if it was there already when watching
    /// began; zero if it was seen to change.
    pub before: Duration,
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
    pub fn see(&mut self, activity: &Activity, ledger: &Ledger, now: Moment) {
        see(&mut self.activity, effective_stamp(activity, ledger), now);
        see(&mut self.nudge, activity.last_nudge_ts, now);
    }

    /// Returns the times that the rule looks at. A judgement without a memory uses the wall clock alone.
    pub fn times(&self, activity: &Activity, ledger: &Ledger, now: Moment) -> Times {
        let idle = since(effective_stamp(activity, ledger), self.activity, now);
        let since_nudge =
            (activity.last_nudge_ts != 0).then(|| since(activity.last_nudge_ts, self.nudge, now));
        Times { idle, since_nudge }
    }
}

/// Returns the stamp of the last activity, unix seconds. A chain of teammates going idle counts once.
pub fn effective_stamp(activity: &Activity, ledger: &Ledger) -> i64 {
    match ledger.idle_since {
        Some(first) if activity.last_activity_source == "TeammateIdle" => {
            activity.last_activity_ts.min(first.div_euclid(1000))
        }
        _ => activity.last_activity_ts,
    }
}

fn see(seen: &mut Option<Seen>, stamp: i64, now: Moment) {
    match seen {
        Some(seen) if seen.stamp == stamp => {}
        Some(seen) => *seen = Seen { stamp, awake: now.awake, before: Duration::ZERO },
        None => {
            let before = by_wall(stamp, now).unwrap_or_default();
            *seen = Some(Seen { stamp, awake: now.awake, before });
        }
    }
}

/// Whole seconds by the wall clock, since stamps are whole seconds; none if the stamp lies in the future.
fn by_wall(stamp: i64, now: Moment) -> Option<Duration> {
    u64::try_from(now.seconds().saturating_sub(stamp)).ok().map(Duration::from_secs)
}

/// A stamp lost its part of a second, and so did the wall clock; running time did not.
const PART: Duration = Duration::from_secs(1);

fn since(stamp: i64, seen: Option<Seen>, now: Moment) -> Duration {
    let wall = by_wall(stamp, now);
    let Some(seen) = seen.filter(|seen| seen.stamp == stamp) else { return wall.unwrap_or_default() };
    let awake = now.awake.saturating_sub(seen.awake);
    // In the future, by a clock that was set back or is not the writer's: running time is all there is.
    wall.map_or(awake, |wall| {
        wall.clamp(awake.saturating_sub(PART), seen.before.saturating_add(awake).saturating_add(PART))
    })
}

#[cfg(test)]
mod tests;
