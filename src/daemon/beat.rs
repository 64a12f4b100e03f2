//! A sign of work that the daemon itself saw: a track moved in a root without `.kiln/`, where tracks are the work.

use std::time::Duration;

use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::sight::Sight;
use crate::model::{stage, track};
use crate::store::file::FileError;
use crate::store::root::Root;
use crate::store::{activity_file, journal, pending};

/// How long the daemon waits for the lock.
const PATIENCE: Duration = Duration::from_secs(2);

/// Notes that a track moved, as a hook does of an event: the activity first, then the end of a stall. Kiln's own activity is
/// that of its hooks alone.
///
/// # Errors
/// The activity could not be stored.
pub(super) fn beat(
    root: &Root,
    sight: &mut Sight,
    ledger: &Ledger,
    events: &[Event],
    now: Moment,
) -> Result<(), FileError> {
    let Some(key) = events.iter().rev().find_map(Event::moved_track).filter(|_| !root.is_kiln()) else {
        return Ok(());
    };
    let held = activity_file::hold(root, PATIENCE)?;
    let mut loaded = held.load();
    let is_unresumed = || ledger.episode.as_ref().is_some_and(|episode| episode.resumed.is_none());
    let is_first = loaded.activity.is_resumed_by(false, is_unresumed);
    loaded.activity.note_work(&track::source(key), stage::WORKING, now.seconds());
    held.store(&mut loaded)?;
    if is_first {
        let withdrawn = pending::withdraw(root, |nudge| nudge.number > 0).ok().flatten();
        let withdrawn = withdrawn.map(|id| Event::of_root(now.wall, What::Withdrawn { id }));
        let resumed = Event::of_root(now.wall, What::Resumed);
        journal::append(root, &withdrawn.into_iter().chain([resumed]).collect::<Vec<_>>())?;
    }
    sight.activity = Some(loaded.activity);
    Ok(())
}
