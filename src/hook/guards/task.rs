//! Critical tasks: what they say of themselves when they are made, and what proves that they are done.

use super::super::scene::Scene;
use super::{Refusal, seen};
use crate::model::event::{Event, What};
use crate::protocol::guards::handoff::{Archive, archive};
use crate::protocol::guards::proof::{self, Found};
use crate::protocol::guards::task::{Kind, Task, set_by};
use crate::protocol::guards::{Violation, proof as proofs};
use crate::store::{guarded, journal, task_file};

/// A task that a turn's end would complete is refused this often until it changes: the agent could never stop.
const MOST_AT_TURN_END: usize = 2;

/// Notes what a call of TaskUpdate sets while it is under way: the client's list gets it only when nothing refuses it.
pub(super) fn note_update(scene: &Scene) {
    let input = scene.payload.value("tool_input");
    let session = &scene.event.session;
    let Some(id) = input.get("taskId").word().filter(|_| scene.payload.tool() == "TaskUpdate") else {
        return;
    };
    let set = set_by(input);
    if scene.payload.event != "PreToolUse" {
        task_file::forget(&scene.root, session, id);
    } else if set.iter().next().is_some() {
        scene.note_fault(task_file::put(&scene.root, session, id, &set));
    }
}

/// Looks at the task of the event.
pub(super) fn look(scene: &Scene) -> Option<Refusal> {
    let (session, id) = (&scene.event.session, scene.payload.field("task_id"));
    let under_way = task_file::under_way(&scene.root, session, id);
    let listed = task_file::of_client(session, scene.payload.field("team_name"), id);
    let task = Task::of(&scene.payload, &under_way, listed.as_ref().ok());
    let kind = task.kind()?;
    // Of a task that is none of ours nobody wants to know.
    seen(scene, listed);
    let place = task.place();
    if scene.payload.event == "TaskCreated" {
        let head = format!("{place} ({}) was not made.", kind.word());
        return Refusal::of("task_created", &place, &head, &task.created());
    }
    let (mut violations, files) = task.completed();
    for file in files {
        let found = seen(scene, guarded::proof(&scene.root, &file.path)).unwrap_or(Found::Unknown);
        violations.extend(proof::check(&place, &file, &found));
    }
    if kind == Kind::BuildComplete {
        violations.extend(readiness(scene, &place));
    }
    let head = format!("{place} ({}) was not marked as completed.", kind.word());
    Refusal::of("task_completed", &place, &head, &violations).filter(|refusal| !is_worn(scene, refusal))
}

/// The archive as it lies on disk, and the archivist's last word on it.
fn readiness(scene: &Scene, place: &str) -> Vec<Violation> {
    let look = |path: &str| seen(scene, guarded::proof(&scene.root, path)).unwrap_or(Found::Unknown);
    let chunks = seen(scene, guarded::chunks(&scene.root));
    let mut found = chunks.map(|chunks| proofs::archive(&chunks, &look)).unwrap_or_default();
    let events = seen(scene, journal::selected(&scene.root, &["\"message\":"])).unwrap_or_default();
    let fault = match archive(&events, &scene.event.session) {
        Archive::Blocked => "was answered with ARCHIVE_BLOCKED",
        Archive::Open => "was sent and is not answered",
        Archive::Ready | Archive::NotAsked => return found,
    };
    let way_out = "thoth answers ARCHIVE_READY when the archive is whole";
    found.push(Violation::new(place, "FINAL_ARCHIVE_CHECK", fault, way_out));
    found
}

/// A teammate whose turn ends with a task in progress is asked the same again and again. Where no call of TaskUpdate is
/// under way it is that, and the same is refused twice at most.
fn is_worn(scene: &Scene, refusal: &Refusal) -> bool {
    let words = ["\"TaskUpdate\"", "\"event\":\"guarded\""];
    let Some(events) = seen(scene, journal::selected(&scene.root, &words)) else { return false };
    let of_session: Vec<&Event> =
        events.iter().filter(|event| event.session == scene.event.session).collect();
    if is_updating(&of_session) {
        return false;
    }
    let is_same = |event: &&&Event| {
        matches!(&event.what, What::Guarded { guard, place, fact }
            if guard == refusal.guard && *place == refusal.place && *fact == refusal.fact)
    };
    of_session.iter().filter(is_same).count() >= MOST_AT_TURN_END
}

/// Tells whether a call of TaskUpdate is under way in the session.
fn is_updating(events: &[&Event]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for event in events {
        match &event.what {
            What::ToolStart { tool, id, .. } if tool == "TaskUpdate" => open.push(id),
            What::ToolEnd { tool, id, .. } if tool == "TaskUpdate" => {
                if let Some(place) = open.iter().rposition(|started| started == id) {
                    open.remove(place);
                }
            }
            _ => {}
        }
    }
    !open.is_empty()
}
