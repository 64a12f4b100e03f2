//! A sign of work: under the lock, `activity.json` and the journal, and the end of a stall.

use std::time::Duration;

use super::scene::Scene;
use crate::model::activity::Activity;
use crate::model::event::{Event, What};
use crate::store::activity_file::{self, Loaded};
use crate::store::file::FileError;
use crate::store::{journal, pending};

/// How long a hook waits for the lock. Hundreds of hooks at once take their turns within it; a holder that is
/// stopped costs a hook no more.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Notes the scene's event. `change` is applied to the activity beyond the stamp. The journal gets its line even if
/// the activity cannot be stored.
///
/// # Errors
/// The activity could not be stored.
pub(super) fn beat<T>(scene: &Scene, change: impl FnOnce(&mut Activity) -> T) -> Result<T, FileError> {
    let held = match activity_file::hold(&scene.root, PATIENCE) {
        Ok(held) => held,
        Err(error) => {
            scene.journal(std::slice::from_ref(&scene.event));
            return Err(error);
        }
    };
    let mut events = vec![scene.event.clone()];
    let mut loaded = held.load();
    let faults = loaded.faults.join("; ");
    if !faults.is_empty() {
        events.push(scene.of_session(What::Fault { fault: format!("activity.json: {faults}; mended") }));
    }
    let resumes = scene.event.is_work() && is_first_after_nudge(&loaded);
    if scene.event.is_work() {
        loaded.activity.note_work(&scene.payload.source(), scene.stage(), scene.now.seconds());
    }
    let result = change(&mut loaded.activity);
    let stored = held.store(&mut loaded);
    if stored.is_ok() && resumes {
        events.extend(resumed(scene));
    }
    let journalled = journal::append(&scene.root, &events);
    drop(held);
    stored.and(journalled).map(|()| result)
}

/// Work is seen for the first time since the last nudge.
fn is_first_after_nudge(loaded: &Loaded) -> bool {
    let activity = &loaded.activity;
    activity.last_nudge_ts > 0
        && activity.nudge_count > 0
        && activity.last_activity_ts <= activity.last_nudge_ts
}

/// A nudge that nobody took is no longer true. Notes, which are not counted, stay for the lead.
fn resumed(scene: &Scene) -> Vec<Event> {
    let withdrawn = pending::withdraw(&scene.root, |nudge| nudge.number > 0).ok().flatten();
    let withdrawn = withdrawn.map(|id| scene.of_session(What::Withdrawn { id }));
    withdrawn.into_iter().chain([scene.of_session(What::Resumed)]).collect()
}
