//! Clearing a flag: counters back to zero, the seed's note in STATE.md (once), then the flag itself. In this order,
//! so that a death in between leaves the flag, and the next start does the rest.

use memchr::memmem;

use super::activity_file::{self, Held};
use super::file::{FileError, chain};
use super::root::Root;
use super::{flag_file, journal, pending, state_file};
use crate::model::event::{Event, What};
use crate::model::moment::Millis;
use crate::model::wording::{clock, recovery_note};

/// Whether the pipeline's own record gets a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// One is left, as the protocol asks of a start.
    Leave,
    /// None: a daemon never writes a file that an agent edits.
    Omit,
}

/// Clears the flag, if there is one. Returns whether there was.
///
/// # Errors
/// The counters could not be stored or the flag not removed; then it still lies there.
pub fn recover(root: &Root, held: &Held<'_>, by: &str, note: Note, at: Millis) -> Result<bool, FileError> {
    let Some(flag) = flag_file::load(root) else { return Ok(false) };
    // Where a session's end took the activity away there is nothing to reset, and none is made up: a stamp of 0
    // would read as a silence of decades, and the new session would be nudged before its first prompt.
    if let Some(mut loaded) = activity_file::load(root) {
        loaded.activity.reset_nudges();
        held.store(&mut loaded)?;
    }
    let mut events = vec![Event::of_root(at, What::Recovered { by: by.to_owned() })];
    if note == Note::Leave {
        let cause = flag
            .cause
            .as_deref()
            .or(flag.error.as_deref())
            .or(flag.source.as_deref())
            .unwrap_or("no_recovery");
        let text = recovery_note((flag.timestamp > 0).then_some(flag.timestamp), flag.nudge_count, cause, at);
        if root.is_kiln()
            && !is_noted(root, flag.timestamp)
            && let Err(error) = state_file::append(root, &text)
        {
            events.push(Event::of_root(at, What::Fault { fault: chain(&error) }));
        }
    }
    pending::withdraw(root, |_| true)?;
    flag_file::clear(root)?;
    journal::append(root, &events).ok();
    Ok(true)
}

/// Tells whether the note for a flag of this time is there already: a start was interrupted between note and flag.
fn is_noted(root: &Root, timestamp: i64) -> bool {
    let text = std::fs::read(root.state()).unwrap_or_default();
    timestamp > 0
        && memmem::find(&text, format!("DEADLOCK.flag of {}", clock(timestamp * 1000)).as_bytes()).is_some()
}

#[cfg(test)]
mod tests;
