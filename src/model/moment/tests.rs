//! Three clocks: one steps, one stands still in sleep, one counts both.

use std::time::Duration;

use proptest::prelude::*;

use super::{Moment, duration, millis};

fn at(wall: i64, awake: u64, boot: u64) -> Moment {
    Moment { wall, awake: Duration::from_millis(awake), boot: Duration::from_millis(boot) }
}

#[test]
fn running_time_sleep_and_steps_are_told_apart() {
    let check = |later: Moment, ran: u64, slept: u64, stepped: u64| {
        let earlier = at(1_000_000, 50_000, 60_000);
        let found = (later.awake_since(earlier), later.slept_since(earlier), later.stepped_since(earlier));
        let wanted =
            (Duration::from_millis(ran), Duration::from_millis(slept), Duration::from_millis(stepped));
        assert_eq!(found, wanted, "{later:?}");
    };
    check(at(1_000_000, 50_000, 60_000), 0, 0, 0);
    check(at(1_005_000, 55_000, 65_000), 5_000, 0, 0);
    // Eight hours of sleep in a minute of running.
    check(at(29_860_000, 110_000, 28_920_000), 60_000, 28_800_000, 0);
    // The wall clock steps by two hours, forward and back.
    check(at(8_201_000, 51_000, 61_000), 1_000, 0, 7_200_000);
    check(at(-6_199_000, 51_000, 61_000), 1_000, 0, 7_200_000);
    // A moment that lies before: nothing ran, nothing slept.
    check(at(999_000, 49_000, 59_000), 0, 0, 1_000);
}

#[test]
fn seconds_are_rounded_down_on_both_sides_of_the_epoch() {
    for (wall, seconds) in [(0, 0), (999, 0), (1000, 1), (1999, 1), (-1, -1), (-1000, -1), (-1001, -2)] {
        assert_eq!(at(wall, 0, 0).seconds(), seconds, "{wall}");
    }
}

#[test]
fn conversions_saturate() {
    assert_eq!(millis(Duration::MAX), i64::MAX);
    assert_eq!(duration(-5), Duration::ZERO);
    assert_eq!(duration(i64::MAX), Duration::from_millis(i64::MAX.unsigned_abs()));
}

proptest! {
    #[test]
    fn no_two_moments_are_too_far_apart_to_compare(
        wall in any::<(i64, i64)>(), awake in any::<(u64, u64)>(), boot in any::<(u64, u64)>(),
    ) {
        let (earlier, later) = (at(wall.0, awake.0, boot.0), at(wall.1, awake.1, boot.1));
        prop_assert_eq!(later.awake_since(earlier).as_millis(), u128::from(awake.1.saturating_sub(awake.0)));
        prop_assert!(later.slept_since(earlier).as_millis() <= u128::from(boot.1.saturating_sub(boot.0)));
        later.stepped_since(earlier);
    }
}
