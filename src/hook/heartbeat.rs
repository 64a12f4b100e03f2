//! A sign of work: under the lock, `activity.json` and the journal, and the end of a stall.

use std::time::Duration;

use super::scene::Scene;
use crate::model::activity::Activity;
use crate::model::event::{Event, What};
use crate::store::activity_file;
use crate::store::file::FileError;
use crate::store::journal;
use crate::store::pending::{self, Pending};

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
            mark(scene);
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
    let resumes = scene.event.is_work() && is_first_after_nudge(scene, &loaded.activity);
    if scene.event.is_work() {
        loaded.activity.note_work(&scene.payload.source(), scene.stage(), scene.now.seconds());
    }
    let result = change(&mut loaded.activity);
    let stored = held.store(&mut loaded);
    if stored.is_err() {
        mark(scene);
    } else if resumes {
        events.extend(resumed(scene));
    }
    let journalled = journal::append(&scene.root, &events);
    drop(held);
    stored.and(journalled).map(|()| result)
}

/// Work that could not be stored must not be taken for silence later on. A teammate that goes idle is none here: a
/// chain of them must not look alive for ever.
fn mark(scene: &Scene) {
    if scene.event.is_work() && !matches!(scene.event.what, What::Idle { .. }) {
        activity_file::note_unstored(&scene.root, scene.now.seconds()).ok();
    }
}

/// Work is seen for the first time since the last nudge. A teammate that goes idle after another that did is no
/// work: such a chain moves the stamp, but it resumes nothing, and the lead still has to read the nudge.
fn is_first_after_nudge(scene: &Scene, activity: &Activity) -> bool {
    activity.is_resumed_by(matches!(scene.event.what, What::Idle { .. }), || is_unresumed(scene))
}

/// Tells whether the last nudge still stands, where the stamps no longer say so.
fn is_unresumed(scene: &Scene) -> bool {
    let words = ["\"nudged\"", "\"resumed\"", "\"closed\"", "\"escalated\"", "\"recovered\""];
    matches!(pending::look(&scene.root), Pending::Staged(nudge) if nudge.number > 0)
        || journal::fold_lines_with(&scene.root, &words)
            .is_ok_and(|ledger| ledger.episode.is_some_and(|episode| episode.resumed.is_none()))
}

/// A nudge that nobody took is no longer true. Notes, which are not counted, stay for the lead.
fn resumed(scene: &Scene) -> Vec<Event> {
    let withdrawn = pending::withdraw(&scene.root, |nudge| nudge.number > 0).ok().flatten();
    let withdrawn = withdrawn.map(|id| scene.of_session(What::Withdrawn { id }));
    withdrawn.into_iter().chain([scene.of_session(What::Resumed)]).collect()
}
