//! Whether the client of a session lives.

use super::process::Identity;
use crate::store::sessions::Session;

/// What is known of a session's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Its process lives.
    Alive,
    /// Its process is gone.
    Dead,
    /// The client did not say which process it is: only its own word ends the session.
    Unknown,
}

/// Looks at the client's process.
pub fn life(session: &Session) -> Life {
    match (session.pid, session.start_time) {
        (Some(pid), Some(start_time)) if (Identity { pid, start_time }).is_alive() => Life::Alive,
        (Some(_), Some(_)) => Life::Dead,
        _ => Life::Unknown,
    }
}

/// Tells whether the client is not known to be gone.
pub fn may_live(session: &Session) -> bool {
    life(session) != Life::Dead
}
