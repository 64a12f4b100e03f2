//! The guards of the Kiln protocol at work: what an event concerns is looked at, what is wrong is refused or told.
//!
//! A guard never fails a session. Whatever goes wrong on our side (a file that cannot be read, settings that are broken,
//! a defect of ours) lets the event pass, and is noted as a fault. A setting is asked for only once there is something to
//! refuse, so that an event that concerns no guard costs nothing.

mod secrets;
mod state;
mod stop;
mod task;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::Reply;
use super::answer;
use super::heartbeat;
use super::scene::Scene;
use crate::model::event::{Event, What};
use crate::model::wording::{plain, wake};
use crate::protocol::guards::{Violation, names, text};
use crate::store::file::{FileError, chain};

/// What a guard refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    guard: &'static str,
    place: String,
    fact: String,
    text: String,
}

impl Refusal {
    /// Makes a refusal of violations; none = there are none.
    fn of(guard: &'static str, place: &str, head: &str, violations: &[Violation]) -> Option<Self> {
        let fact = names(violations);
        (!violations.is_empty()).then(|| Self {
            guard,
            place: plain(place, 120),
            fact,
            text: text(head, violations),
        })
    }
}

/// A tool is about to be called.
pub(super) fn before_tool(scene: &Scene) -> Option<Refusal> {
    if scene.guards {
        task::note_update(scene);
    }
    shielded(scene, &["PreToolUse"], secrets::look)
}

/// A tool was called.
pub(super) fn after_tool(scene: &Scene) -> Option<Refusal> {
    if scene.guards {
        task::note_update(scene);
    }
    shielded(scene, &["PostToolUse"], state::written)
}

/// An agent's turn is about to end. One that was kept from it already may end it.
pub(super) fn before_stop(scene: &Scene) -> Option<Refusal> {
    if scene.payload.value("stop_hook_active").truth() == Some(true) {
        return None;
    }
    shielded(scene, &["SubagentStop"], stop::look)
}

/// A task is about to be made, or to be done.
pub(super) fn task(scene: &Scene) -> Option<Refusal> {
    shielded(scene, &["TaskCreated", "TaskCompleted"], task::look)
}

/// A watched file changed on disk, whoever wrote it. The lead is told, once for each state of the file.
pub(super) fn file_changed(scene: &Scene) -> Reply {
    let Some(refusal) = shielded(scene, &["FileChanged"], state::changed) else { return Reply::Silence };
    scene.journal(&[guarded(scene, &refusal)]);
    Reply::Wake(wake(&refusal.text))
}

/// The folder to be watched for the guards.
pub(super) fn watched(scene: &Scene) -> Option<PathBuf> {
    let is_wanted = scene.guards && is_on(scene, "state_files");
    if is_wanted { state::watched(scene) } else { None }
}

/// Denies the call. It ends as it begins, or it would look like a tool that runs.
pub(super) fn deny(scene: &Scene, refusal: &Refusal) -> Reply {
    scene.note_fault(heartbeat::beat(scene, |_| ()));
    let mut events = Vec::new();
    if let What::ToolStart { tool, id, .. } = &scene.event.what {
        let end = What::ToolEnd { tool: tool.clone(), id: id.clone(), failed: true, message: None };
        events.push(scene.of_session(end));
    }
    events.push(guarded(scene, refusal));
    scene.journal(&events);
    answer::deny(&scene.payload.event, &refusal.text)
}

/// Tells the agent what is wrong with what it wrote.
pub(super) fn object(scene: &Scene, refusal: &Refusal) -> Reply {
    scene.journal(&[guarded(scene, refusal)]);
    answer::block(&refusal.text)
}

/// Keeps an agent from stopping: its turn ended and the next begins, and it stays listed.
pub(super) fn keep(scene: &Scene, refusal: &Refusal) -> Reply {
    scene.note_fault(heartbeat::beat(scene, |_| ()));
    scene.journal(&[guarded(scene, refusal), scene.of_session(What::AgentStart)]);
    answer::block(&refusal.text)
}

/// Refuses a task.
pub(super) fn refuse(scene: &Scene, refusal: &Refusal) -> Reply {
    scene.journal(&[guarded(scene, refusal)]);
    Reply::Wake(refusal.text.clone())
}

fn guarded(scene: &Scene, refusal: &Refusal) -> Event {
    let Refusal { guard, place, fact, .. } = refusal.clone();
    scene.of_session(What::Guarded { guard: guard.to_owned(), place, fact })
}

/// Asks a guard, if guards hold, the event is one of its own, and its setting does not switch it off.
fn shielded(scene: &Scene, events: &[&str], look: fn(&Scene) -> Option<Refusal>) -> Option<Refusal> {
    if !scene.guards || !events.contains(&scene.payload.event.as_str()) {
        return None;
    }
    // A defect of a guard must not take the rest of the hook with it.
    let found = catch_unwind(AssertUnwindSafe(|| look(scene)));
    let found = found.unwrap_or_else(|_| {
        scene.fault("a guard failed; nothing was refused");
        None
    });
    found.filter(|refusal| is_on(scene, refusal.guard))
}

/// Settings that cannot be read switch every guard off: nobody knows which of them is wanted.
fn is_on(scene: &Scene, guard: &str) -> bool {
    scene.settings().is_some_and(|policy| policy.guards.holds(guard))
}

/// What could be looked at; what could not is a fault, and nothing is refused for it.
fn seen<T>(scene: &Scene, result: Result<T, FileError>) -> Option<T> {
    result.map_err(|error| scene.fault(&format!("a guard lets pass: {}", chain(&error)))).ok()
}
