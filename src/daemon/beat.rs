//! The activity as the daemon itself writes it: a track moved in a root without `.kiln/`, where tracks are the work; or the
//! file is gone although its session lives.

use std::time::Duration;

use crate::model::activity::Activity;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::sight::Sight;
use crate::model::{stage, track};
use crate::store::activity_file::Loaded;
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

/// Writes an activity that somebody took away again, by what the journal knows of it. Without it the silence of a session
/// that lives would be no silence, for ever. What the end of the last session takes away stays away.
///
/// # Errors
/// It could not be stored.
pub(super) fn restore(root: &Root, sight: &mut Sight, ledger: &Ledger, now: Moment) -> Result<(), FileError> {
    if sight.activity.is_some() || sight.flag.is_some() || !sight.is_active() {
        return Ok(());
    }
    let Some(activity) = Activity::of_journal(ledger, |id| sight.living.iter().any(|living| living == id))
    else {
        return Ok(());
    };
    let held = activity_file::hold(root, PATIENCE)?;
    if activity_file::load(root).is_some() {
        return Ok(());
    }
    let mut loaded = Loaded { activity, ..Loaded::default() };
    held.store(&mut loaded)?;
    sight.activity = Some(loaded.activity);
    let fault = "activity.json was gone; it was written again by what the journal knows".to_owned();
    journal::append(root, &[Event::of_root(now.wall, What::Fault { fault })])
}
