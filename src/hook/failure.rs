//! The API ended the lead's turn: a note for the lead, and a flag where nothing but a person helps.

use super::heartbeat::PATIENCE;
use super::scene::Scene;
use crate::model::event::What;
use crate::model::nudge::{Flag, Nudge, id_of};
use crate::model::wording;
use crate::protocol::api_error;
use crate::protocol::translate::{failure_name, failure_text};
use crate::store::file::FileError;
use crate::store::pending::Pending;
use crate::store::{activity_file, flag_file, pending};

/// The longest text of an API that is kept.
const DETAILS: usize = 500;

/// Notes the failure. The flag comes first: the note says that it is there. Neither counts as a nudge, and what is
/// staged already is never overwritten.
///
/// # Errors
/// One of them could not be stored.
pub(super) fn note(scene: &Scene) -> Result<(), FileError> {
    let text = failure_text(&scene.payload);
    let error = api_error::sort(failure_name(&scene.payload), text, scene.now.wall);
    let details = wording::plain(text, DETAILS);
    scene.journal(std::slice::from_ref(&scene.event));
    // The lock keeps the daemon from staging a nudge in between.
    let held = activity_file::hold(&scene.root, PATIENCE)?;
    if error.needs_a_person() && !flag_file::is_there(&scene.root) {
        flag_file::store(&scene.root, &flag(scene, &error.error, &details))?;
        let n = held.load().activity.nudge_count;
        scene.journal(&[scene.of_session(What::Escalated { n, cause: "stop_failure".to_owned() })]);
    }
    if pending::look(&scene.root) != Pending::Nothing {
        return Ok(());
    }
    let nudge = Nudge {
        text: wording::api_note(&error.error, &details, error.advice, scene.now.wall),
        timestamp: scene.now.seconds(),
        number: 0,
        id: id_of(scene.now.wall, 0),
        session: Some(scene.event.session.clone()).filter(|id| !id.is_empty()),
        wakes: false,
    };
    pending::stage(&scene.root, &nudge)?;
    scene.journal(&[scene.of_session(What::Nudged { n: 0, id: nudge.id, idle_seconds: 0 })]);
    Ok(())
}

fn flag(scene: &Scene, error: &str, details: &str) -> Flag {
    Flag {
        timestamp: scene.now.seconds(),
        source: Some("stop_failure".to_owned()),
        error: Some(wording::plain(error, 60)),
        error_details: Some(details.to_owned()).filter(|details| !details.is_empty()),
        cause: Some("api_needs_a_person".to_owned()),
        diagnosis: Some(format!(
            "The API refused the lead's turn ({}): sign-in, billing or access has to be put right by a person.",
            wording::plain(error, 60)
        )),
        ..Flag::default()
    }
}
