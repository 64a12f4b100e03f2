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
    let written = places.iter().find_map(Named::glob);
    let glob = written.or_else(|| behind_links(Path::new(&folder), &places))?;
    let tool = plain(tool, 60);
    let text = format!(
        "{MARK} this call of {tool} was denied: it names a file that matches `{glob}`. The Kiln protocol keeps files of \
         secrets ({}) from every agent of the pipeline, for reading and for writing. A value from such a file is for \
         the person who runs the pipeline to provide.",
        GLOBS.map(|glob| format!("`{glob}`")).join(", ")
    );
    Some(Refusal { guard: "secrets", place: glob.to_owned(), fact: tool, text })
}

/// Places that are looked at on disk: the file of a tool, the first words of a command.
const MOST_LINKS: usize = 64;

/// The glob that a file matches to which a link of a harmless name leads.
fn behind_links(folder: &Path, places: &[Named]) -> Option<&'static str> {
    let folder = folder.is_absolute().then_some(folder)?;
    let behind = places.iter().take(MOST_LINKS).filter_map(|place| guarded::behind_link(folder, &place.path));
    behind.into_iter().find_map(|path| glob_of(&path))
}
