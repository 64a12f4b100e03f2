//! One reading of the clocks, taken by a shell and handed down.

use std::time::Duration;

/// Unix time in milliseconds.
pub type Millis = i64;

/// One reading of the three clocks that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Wall clock, unix milliseconds. It may step, in either direction.
    pub wall: Millis,
    /// `CLOCK_MONOTONIC`: running time, which stands still while the machine sleeps.
    pub awake: Duration,
    /// `CLOCK_BOOTTIME`: running time and sleep.
    pub boot: Duration,
}

impl Moment {
    /// Returns the awake time since `earlier`, or zero if `earlier` lies ahead.
    pub fn awake_since(self, earlier: Self) -> Duration {
        self.awake.saturating_sub(earlier.awake)
    }

    /// Returns how long the machine slept since `earlier`.
    pub fn slept_since(self, earlier: Self) -> Duration {
        self.boot.saturating_sub(earlier.boot).saturating_sub(self.awake_since(earlier))
    }

    /// Returns by how much the wall clock moved more (or less) than running time and sleep explain.
    pub fn stepped_since(self, earlier: Self) -> Duration {
        let wall = self.wall.saturating_sub(earlier.wall);
        let ran = millis(self.boot.saturating_sub(earlier.boot));
        Duration::from_millis(wall.abs_diff(ran))
    }

    /// Returns the wall clock in whole unix seconds, as the seeds' files carry it.
    pub fn seconds(self) -> i64 {
        self.wall.div_euclid(1000)
    }
}

/// Converts a duration to signed milliseconds, saturating.
pub fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

/// Converts signed milliseconds to a duration; negative becomes zero.
pub fn duration(millis: Millis) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests;
