//! The timer fires, once for each time it is set, and never for what it was set to before.

use std::time::Duration;

use tokio::runtime::Builder;

use super::Timer;

const NEVER: Duration = Duration::from_secs(3600);

fn run<T>(test: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_io().build().unwrap().block_on(test)
}

/// Waits with two timers at once. Returns whether the first one fired first.
async fn is_first(one: &Timer, other: &Timer, nap: Duration) -> bool {
    tokio::select! {
        waited = one.wait(nap) => { waited.unwrap(); true }
        waited = other.wait(NEVER) => { waited.unwrap(); false }
    }
}

#[test]
fn it_fires_at_its_time_and_again_when_it_is_set_again() {
    run(async {
        let (one, other) = (Timer::new().unwrap(), Timer::new().unwrap());
        for nap in [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(20), Duration::ZERO] {
            assert!(is_first(&one, &other, nap).await);
            assert!(is_first(&other, &one, nap).await, "it was left set for an hour");
        }
    });
}

#[test]
fn a_wait_that_was_given_up_does_not_end_the_next_one() {
    run(async {
        let (one, other) = (Timer::new().unwrap(), Timer::new().unwrap());
        // Set, due, and given up before it was looked at.
        tokio::select! {
            biased;
            () = std::future::ready(()) => {}
            _ = one.wait(Duration::ZERO) => unreachable!("what is ready comes first"),
        }
        let given_up = async {
            tokio::select! {
                biased;
                _ = one.wait(Duration::from_millis(1)) => {}
                waited = other.wait(Duration::ZERO) => waited.unwrap(),
            }
        };
        given_up.await;
        assert!(is_first(&other, &one, Duration::from_millis(50)).await, "it fired for the wait before");
    });
}

#[test]
fn the_longest_nap_is_taken() {
    run(async {
        let (one, other) = (Timer::new().unwrap(), Timer::new().unwrap());
        tokio::select! {
            waited = one.wait(Duration::MAX) => panic!("{waited:?}"),
            waited = other.wait(Duration::from_millis(1)) => waited.unwrap(),
        }
    });
}
