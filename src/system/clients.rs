//! Whether the client of a session lives.

use super::process::try_start_time;
use crate::store::sessions::Session;

/// What is known of a session's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Its process lives.
    Alive,
    /// Its process is gone.
    Dead,
    /// The client did not say which process it is, or it cannot be looked at: only its own word ends the session.
    Unknown,
}

/// Looks at the client's process.
pub fn life(session: &Session) -> Life {
    let (Some(pid), Some(start_time)) = (session.pid, session.start_time) else { return Life::Unknown };
    match try_start_time(pid) {
        Ok(found) if found == Some(start_time) => Life::Alive,
        Ok(_) => Life::Dead,
        // No descriptor left is no death.
        Err(_) => Life::Unknown,
    }
}

/// Tells whether the client is not known to be gone.
pub fn may_live(session: &Session) -> bool {
    life(session) != Life::Dead
}
