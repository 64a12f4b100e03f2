//! The only place that reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::model::moment::{Moment, millis};

/// Reads the three clocks.
pub fn now() -> Moment {
    let moment = Moment {
        wall: millis(duration(clock_gettime(ClockId::Realtime))),
        awake: duration(clock_gettime(ClockId::Monotonic)),
        boot: duration(clock_gettime(ClockId::Boottime)),
    };
    shifted(moment)
}

fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Builds for tests let the file named by `WATCHDOG_TEST_CLOCK` shift the clocks: three whole numbers, milliseconds
/// that are added to wall, awake and boot time. A test can thus step the wall clock or put the machine to sleep.
#[cfg(debug_assertions)]
fn shifted(moment: Moment) -> Moment {
    let Some(file) = std::env::var_os("WATCHDOG_TEST_CLOCK") else { return moment };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut shifts = text.split_whitespace().map(|word| word.parse::<i64>().unwrap_or(0));
    let mut next = || shifts.next().unwrap_or(0);
    let shift = |time: Duration, by: i64| {
        let by_abs = Duration::from_millis(by.unsigned_abs());
        if by < 0 { time.saturating_sub(by_abs) } else { time + by_abs }
    };
    let wall = moment.wall + next();
    let awake = shift(moment.awake, next());
    Moment { wall, awake, boot: shift(moment.boot, next()) }
}

#[cfg(not(debug_assertions))]
fn shifted(moment: Moment) -> Moment {
    moment
}
