//! A tool call that names a file of secrets is denied, by the name as it is written and by where a link leads.

use std::path::Path;

use super::super::scene::Scene;
use super::Refusal;
use crate::model::wording::plain;
use crate::protocol::guards::MARK;
use crate::protocol::guards::secrets::{GLOBS, Named, glob_of, named};
use crate::store::guarded;

/// Looks for a place of secrets in the call.
pub(super) fn look(scene: &Scene) -> Option<Refusal> {
    let tool = scene.payload.tool();
    let places = named(tool, scene.payload.value("tool_input"));
    let folder = scene.payload.field("cwd").to_owned();
    let glob = places.iter().find_map(|place| glob(Path::new(&folder), place))?;
    let tool = plain(tool, 60);
    let text = format!(
        "{MARK} this call of {tool} was denied: it names a file that matches `{glob}`. The Kiln protocol keeps files of \
         secrets ({}) from every agent of the pipeline, for reading and for writing. A value from such a file is for \
         the person who runs the pipeline to provide.",
        GLOBS.map(|glob| format!("`{glob}`")).join(", ")
    );
    Some(Refusal { guard: "secrets", place: glob.to_owned(), fact: tool, text })
}

fn glob(folder: &Path, place: &Named) -> Option<&'static str> {
    place.glob().or_else(|| {
        let folder = folder.is_absolute().then_some(folder)?;
        glob_of(&guarded::behind_link(folder, &place.path)?)
    })
}
