//! What the guards look at: artifacts below `.kiln/`, the files that a task names as its proof, the archive. Read with a
//! limit, links in place of a file refused; that something is not there is a finding, that it cannot be looked at is an
//! error, on which nothing is ever refused.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::file::{FileError, read_own};
use super::root::Root;
use crate::protocol::guards::proof::{Chunk, Found};
use crate::protocol::guards::review::{self, Evidence};

/// The longest artifact that is read, in bytes.
const MOST: u64 = 512 * 1024;
/// Milestones, chunks and files of one chunk that are looked at.
const MOST_ENTRIES: usize = 512;

/// Reads an artifact. None = it is not there.
///
/// # Errors
/// It is a link, belongs to another user, is too long, or cannot be read.
pub fn text(path: &Path) -> Result<Option<String>, FileError> {
    Ok(read_own(path, MOST)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Finds a file by what a tool call or a task wrote: relative to `folder`, below the project by its real path. None = it
/// is not in the project, or its folder is not there.
pub fn find(root: &Root, folder: &Path, written: &str) -> Option<PathBuf> {
    let path = Some(written).filter(|written| !written.is_empty()).map(|written| folder.join(written))?;
    let parent = path.parent()?.canonicalize().ok()?;
    let path = parent.join(path.file_name()?);
    path.starts_with(root.path()).then_some(path)
}

/// The path of a file below `.kiln/`, with slashes; none = it is elsewhere.
pub fn below_kiln(root: &Root, path: &Path) -> Option<String> {
    let below = path.strip_prefix(root.kiln()).ok()?;
    let parts: Option<Vec<&str>> = below
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    parts.map(|parts| parts.join("/")).filter(|below| !below.is_empty())
}

/// Where a link leads in the end, as text. None = the path is no link, or leads nowhere.
pub fn behind_link(folder: &Path, written: &str) -> Option<String> {
    let path = folder.join(written);
    let real = path.canonicalize().ok()?;
    // Most files are no links: their name is the last that they have.
    (real.file_name() != path.file_name()).then(|| real.to_string_lossy().into_owned())
}

/// Looks for the TDD evidence of a verdict: where it says, else beside the verdict, where it is archived. Beside one that
/// names none only the chunk's own folder is believed: in a folder for many chunks it may be another's.
pub fn evidence(root: &Root, verdict: &Path, text_of_verdict: &str) -> Evidence {
    let written = review::evidence_path(text_of_verdict);
    let folder = verdict.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let beside = Some(verdict.with_file_name("tdd-evidence.md"))
        .filter(|_| written.is_some() || folder.starts_with("chunk-"));
    let named = written.as_deref().and_then(|written| find(root, root.path(), written));
    for place in [named, beside].into_iter().flatten() {
        match text(&place) {
            Ok(Some(text)) => return Evidence::Read(text),
            Ok(None) => {}
            Err(_) => return Evidence::Unknown,
        }
    }
    if written.is_some() { Evidence::Missing } else { Evidence::Unknown }
}

/// Looks at a file that a task names as its proof.
///
/// # Errors
/// As [`text`]: nothing is known of it then.
pub fn proof(root: &Root, written: &str) -> Result<Found, FileError> {
    let path = root.path().join(written);
    let Some(place) = find(root, root.path(), written) else {
        let is_there = path.parent().is_some_and(Path::exists);
        return Ok(if is_there { Found::Outside } else { Found::Missing });
    };
    Ok(match text(&place)? {
        Some(text) => {
            let evidence = evidence(root, &place, &text);
            Found::Read(text, evidence)
        }
        None => Found::Missing,
    })
}

/// The chunks of the archive, `.kiln/archive/milestone-N/chunk-M/`, with the files in them.
///
/// # Errors
/// A folder is there but cannot be listed, or holds too much to be looked at.
pub fn chunks(root: &Root) -> Result<Vec<Chunk>, FileError> {
    let archive = root.in_kiln("archive");
    let mut chunks = Vec::new();
    for milestone in names(&archive, "milestone-")? {
        let folder = archive.join(&milestone);
        for chunk in names(&folder, "chunk-")? {
            let files = names(&folder.join(&chunk), "")?;
            if chunks.len() == MOST_ENTRIES {
                return Err(too_many(&archive));
            }
            chunks.push(Chunk { place: format!(".kiln/archive/{milestone}/{chunk}"), files });
        }
    }
    Ok(chunks)
}

/// The names in a folder that begin so, sorted; none if there is no such folder.
fn names(folder: &Path, start: &str) -> Result<Vec<String>, FileError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(FileError::of("list", folder)(error)),
    };
    let mut names: Vec<String> = entries
        .take(MOST_ENTRIES + 1)
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(start))
        .collect();
    if names.len() > MOST_ENTRIES {
        return Err(too_many(folder));
    }
    names.sort();
    Ok(names)
}

fn too_many(folder: &Path) -> FileError {
    FileError::of("list", folder)(io::Error::other("it holds too many files to be looked at"))
}

#[cfg(test)]
mod tests;
