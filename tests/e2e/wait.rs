//! Waiting for a condition: nothing here takes a fixed time, and nothing waits for ever.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes, so that only what never happens fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Looks until there is something to see, and returns it.
///
/// # Panics
/// There was nothing to see for a minute.
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_up_to(LIMIT, look).unwrap_or_else(|| panic!("waited {LIMIT:?} in vain for {what}"))
}

/// Waits until a condition holds.
///
/// # Panics
/// It did not hold for a minute.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Looks until there is something to see, or the limit is over.
pub(crate) fn wait_up_to<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if begin.elapsed() > limit {
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
}
