//! The loop: waits for the next deadline, a hint, or a signal. It does not tick; a root that has nothing to say is
//! looked at as rarely as its own deadlines allow.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::watch::Hint;

/// A burst of file events is answered by one look, this long after the first.
const COALESCE: Duration = Duration::from_millis(200);

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// SIGTERM, SIGINT: end.
    Stop,
    /// SIGHUP: read the settings again.
    Reload,
}

/// What the loop drives. The daemon's is made of files and processes, a test's of values.
pub trait World {
    /// The number of roots; it does not change.
    fn roots(&self) -> usize;
    /// Looks at a root, judges, acts. Returns how long to wait before the next look at the latest; none = the root
    /// has been left.
    fn look(&mut self, place: usize) -> Option<Duration>;
    /// An event told of a change in this root.
    fn heard(&mut self, place: usize);
    /// Reads the settings again.
    fn reload(&mut self);
    /// Says that the loop is alive. Returns when to say so again.
    fn ping(&mut self) -> Option<Duration>;
    /// Waits for a moment.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()>;
}

/// Runs until all roots have been left or a signal says so. Returns whether it was a signal.
pub async fn run(
    world: &mut impl World,
    hints: &mut UnboundedReceiver<Hint>,
    orders: &mut UnboundedReceiver<Order>,
) -> bool {
    let mut due: Vec<Option<Instant>> = vec![Some(Instant::now()); world.roots()];
    let mut ping = world.ping().map(|nap| Instant::now() + nap);
    while let Some(next) =
        due.iter().flatten().chain(&ping).min().copied().filter(|_| due.iter().any(Option::is_some))
    {
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Reload) => {
                    world.reload();
                    hurry(&mut due, Duration::ZERO);
                }
                Some(Order::Stop) | None => return true,
            },
            Some(hint) = hints.recv() => match hint {
                Hint::Root(place) => {
                    world.heard(place);
                    hurry(&mut due[place..=place], COALESCE);
                }
                Hint::All => hurry(&mut due, COALESCE),
            },
            () = world.sleep_until(next) => {
                let now = Instant::now();
                for (place, at) in due.iter_mut().enumerate() {
                    if at.is_some_and(|at| at <= now) {
                        *at = world.look(place).map(|nap| Instant::now() + nap);
                    }
                }
                if ping.is_some_and(|at| at <= now) {
                    ping = world.ping().map(|nap| Instant::now() + nap);
                }
            }
        }
    }
    false
}

/// Brings looks forward; a root that was left stays left.
fn hurry(due: &mut [Option<Instant>], within: Duration) {
    let soon = Instant::now() + within;
    for at in due.iter_mut().flatten() {
        *at = soon.min(*at);
    }
}
