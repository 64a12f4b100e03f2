//! Taking a staged message, exactly once: by the lead's next prompt or tool, or as a wake of an idle session.

use super::Reply;
use super::scene::Scene;
use crate::model::event::What;
use crate::model::wording;
use crate::store::{flag_file, pending, sessions};
use crate::system::clients;

/// Takes the message if it is for this session.
pub(super) fn take(scene: &Scene) -> Option<String> {
    claim(scene, false)
}

/// A watched file appeared: wake the session with what it holds. A deletion is nothing.
pub(super) fn wake(scene: &Scene) -> Reply {
    let name = scene.payload.field("file_path").rsplit('/').next().unwrap_or_default();
    if scene.payload.field("event") == "unlink" {
        return Reply::Silence;
    }
    match name {
        "pending-nudge.json" => {
            claim(scene, true).map_or(Reply::Silence, |text| Reply::Wake(wording::wake(&text)))
        }
        "DEADLOCK.flag" => flag(scene),
        _ => Reply::Silence,
    }
}

fn claim(scene: &Scene, wakes: bool) -> Option<String> {
    let is_mine = |nudge: &crate::model::nudge::Nudge| {
        (!wakes || nudge.wakes)
            && sessions::belongs_to(&scene.root, nudge.session.as_deref(), scene.asker(), clients::may_live)
    };
    match pending::claim(&scene.root, is_mine) {
        Ok(Some(nudge)) => {
            let via = scene.payload.event.clone();
            scene.journal(&[scene.of_session(What::Claimed { id: nudge.id, n: nudge.number, via })]);
            Some(nudge.text)
        }
        Ok(None) => None,
        Err(error) => {
            scene.note_fault(Err(error));
            None
        }
    }
}

/// A flag of the rule is told once. One of a failed API wakes nobody: the turn would only fail again.
fn flag(scene: &Scene) -> Reply {
    let Some(flag) = flag_file::load(&scene.root).filter(|flag| flag.source.is_none()) else {
        return Reply::Silence;
    };
    if !flag_file::claim_wake(&scene.root) {
        return Reply::Silence;
    }
    Reply::Wake(wording::wake(&wording::flag_wake(flag.diagnosis.as_deref().unwrap_or_default())))
}
