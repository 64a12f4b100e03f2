//! Persistent-state files and artifacts: looked at when an agent wrote one, and when one changed on disk.

use std::path::{Path, PathBuf};

use super::super::scene::Scene;
use super::{Refusal, guarded as event, seen};
use crate::model::event::What;
use crate::protocol::guards::artifact::{self, DOCS, Kind};
use crate::protocol::guards::review::Evidence;
use crate::store::{guarded, journal};

const GUARD: &str = "state_files";

/// The folder of the persistent minds' files, once it is there. Not its files: of several that are not there yet in one
/// folder a client sees no more than one appear, and a folder that is missing makes it blind to the one above as well.
pub(super) fn watched(scene: &Scene) -> Option<PathBuf> {
    let folder = scene.root.in_kiln(DOCS);
    folder.is_dir().then_some(folder)
}

/// An agent wrote a file.
pub(super) fn written(scene: &Scene) -> Option<Refusal> {
    if !matches!(scene.payload.tool(), "Write" | "Edit" | "MultiEdit") {
        return None;
    }
    let folder = PathBuf::from(scene.payload.field("cwd"));
    judge(scene, &folder, scene.payload.value("tool_input").get("file_path").text(), |_, _| true)
}

/// A file changed, whoever wrote it: told unless the same was told of it last.
pub(super) fn changed(scene: &Scene) -> Option<Refusal> {
    if scene.payload.field("event") == "unlink" {
        return None;
    }
    judge(scene, scene.root.path(), scene.payload.field("file_path"), |last, now| last != now)
}

/// Judges one file. `is_news` is asked what was said of it last, and what is to be said now.
fn judge(scene: &Scene, folder: &Path, written: &str, is_news: fn(&str, &str) -> bool) -> Option<Refusal> {
    let path = guarded::find(&scene.root, folder, written)?;
    let below = guarded::below_kiln(&scene.root, &path)?;
    let kind = artifact::kind(&below)?;
    let text = seen(scene, guarded::text(&path))??;
    let evidence = match kind {
        Kind::Review => guarded::evidence(&scene.root, &path, &text),
        _ => Evidence::Unknown,
    };
    let place = format!(".kiln/{below}");
    let violations = artifact::check(kind, &place, &text, &evidence);
    let head = format!("{place} is not as the Kiln protocol has it.");
    let refusal = Refusal::of(GUARD, &below, &head, &violations);
    let last = last(scene, &below);
    match &refusal {
        Some(refusal) => is_news(&last, &refusal.fact).then(|| refusal.clone()),
        None if last.is_empty() => None,
        None => {
            let mended = Refusal { guard: GUARD, place: below, fact: String::new(), text: String::new() };
            scene.journal(&[event(scene, &mended)]);
            None
        }
    }
}

/// What was said of a file last; empty = nothing, or that it is in order again.
fn last(scene: &Scene, place: &str) -> String {
    let events = journal::selected(&scene.root, &["\"event\":\"guarded\""]).unwrap_or_default();
    let facts = events.into_iter().rev().filter_map(|event| match event.what {
        What::Guarded { guard, place: about, fact } if guard == GUARD && about == place => Some(fact),
        _ => None,
    });
    facts.into_iter().next().unwrap_or_default()
}
