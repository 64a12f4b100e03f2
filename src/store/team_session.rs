//! The folders of team message sessions (`knowledge-transfer-protocols` §1) and what lies in them: found, looked at in a
//! bounded way, never written.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file::{FileError, open_own};
use super::root::Root;
use super::shape;
use super::tail;
use crate::model::moment::Millis;
use crate::protocol::team_check::{Target, places};

/// Sessions that are watched at a time: those whose logs were written last.
pub const MOST: usize = 64;
/// Session folders that are looked at.
const MOST_FOLDERS: usize = 4096;
/// Names that are looked at in one folder of a session.
const MOST_NAMES: usize = 4096;
/// Wisdom files of one session, and what is read of one at most.
const MOST_WISDOM: usize = 32;
const MOST_BYTES: u64 = 1024 * 1024;

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id, the folder's name.
    pub id: String,
    /// Its folder, relative to the root.
    pub folder: String,
    /// The folder of its log and its record, relative to the root: `.msg`, or an older place.
    pub messages: String,
    /// When its log was last written, unix milliseconds; when its folder was changed, if it has none.
    pub changed: Millis,
}

/// All sessions of a root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sessions {
    /// Those that are watched, the one that was written last first.
    pub watched: Vec<Session>,
    /// How many there are.
    pub count: usize,
}

/// Finds the sessions of a root by patterns such as `.workflow/.team/*`. A folder is a session if it has a log, or a
/// record; older logs lie in `.workflow/.team-msg/ID`.
pub fn find(root: &Root, patterns: &[String]) -> Sessions {
    let mut all: Vec<Session> = Vec::new();
    for pattern in patterns.iter().flat_map(|pattern| with_older(pattern)) {
        for folder in shape::matching(root.path(), &pattern, MOST_FOLDERS).folders {
            let Some(session) = session(root, &folder) else { continue };
            if !all.iter().any(|other| other.id == session.id) {
                all.push(session);
            }
        }
    }
    let count = all.len();
    all.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.id.cmp(&b.id)));
    all.truncate(MOST);
    Sessions { watched: all, count }
}

fn with_older(pattern: &str) -> Vec<String> {
    let older = pattern.replace("/.team/", "/.team-msg/");
    let is_another = older != *pattern;
    [pattern.to_owned()].into_iter().chain(is_another.then_some(older)).collect()
}

fn session(root: &Root, folder: &str) -> Option<Session> {
    let id = folder.rsplit('/').next()?.to_owned();
    let changed = |messages: &String| {
        let folder = root.path().join(messages);
        ["messages.jsonl", "meta.json"].iter().find_map(|name| modified(&folder.join(name)))
    };
    let (messages, changed) =
        places_of(folder).iter().find_map(|place| Some((place.clone(), changed(place)?)))?;
    Some(Session { id, folder: folder.to_owned(), messages, changed })
}

/// The folders in which sessions appear, as far as they are there: what comes before the first `*` of each pattern.
pub fn bases(root: &Root, patterns: &[String]) -> Vec<PathBuf> {
    let base = |pattern: String| {
        let literal: Vec<&str> = pattern.split('/').take_while(|part| !part.contains('*')).collect();
        root.path().join(literal.join("/"))
    };
    let bases = patterns.iter().flat_map(|pattern| with_older(pattern)).map(base);
    bases.filter(|folder| folder != root.path() && is_folder(folder)).collect()
}

/// Tells whether nothing is left of a session: no log and no record at any of its places. What cannot be looked at is
/// not gone.
pub fn is_gone(root: &Root, folder: &str) -> bool {
    let is_absent = |path: PathBuf| {
        let error = fs::symlink_metadata(path).err().map(|error| error.kind());
        matches!(error, Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    };
    places_of(folder).iter().all(|place| {
        ["messages.jsonl", "meta.json"].iter().all(|name| is_absent(root.path().join(place).join(name)))
    })
}

fn places_of(folder: &str) -> [String; 3] {
    [format!("{folder}/.msg"), folder.to_owned(), folder.replace("/.team/", "/.team-msg/")]
}

/// When a file was last written, unix milliseconds. None = there is no such file.
pub fn modified(path: &Path) -> Option<Millis> {
    let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(meta.mtime().saturating_mul(1000).saturating_add(meta.mtime_nsec() / 1_000_000))
}

impl Session {
    /// The key of its track.
    pub fn track(&self) -> String {
        format!("team:{}", self.id)
    }

    /// A file of the session, relative to the root.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// A file beside the log, relative to the root.
    pub fn message_file(&self, name: &str) -> String {
        format!("{}/{name}", self.messages)
    }

    /// The folders whose changes are news of the session.
    pub fn folders(&self, root: &Root) -> Vec<PathBuf> {
        let names =
            [self.messages.clone(), self.folder.clone(), self.file("wisdom"), self.file("explorations")];
        names.iter().map(|name| root.path().join(name)).filter(|folder| is_folder(folder)).collect()
    }

    /// The session's wisdom files, by their names relative to its folder, sorted.
    pub fn wisdom(&self, root: &Root) -> Vec<String> {
        let mut names = names(&root.path().join(self.file("wisdom")));
        names.retain(|name| Path::new(name).extension().is_some_and(|end| end == "md"));
        names.truncate(MOST_WISDOM);
        names.into_iter().map(|name| format!("wisdom/{name}")).collect()
    }

    /// Reads what a file begins with, without blanks at the end.
    ///
    /// # Errors
    /// It is no file of ours, or cannot be read.
    pub fn beginning(&self, root: &Root, name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let path = root.path().join(self.file(name));
        let Some(file) = open_own(&path)? else { return Ok(None) };
        tail::beginning(&file, MOST_BYTES).map(Some).map_err(FileError::of("read", &path))
    }

    /// Tells whether a file with this bare name is among the explorations.
    pub fn has_exploration(&self, root: &Root, name: &str) -> bool {
        modified(&root.path().join(self.file("explorations")).join(name)).is_some()
    }

    /// The results of explorations, by their bare names, and when each was last written.
    pub fn explorations(&self, root: &Root) -> Vec<(String, Millis)> {
        let folder = root.path().join(self.file("explorations"));
        let mut names = names(&folder);
        names.retain(|name| name.starts_with("explore-") && name.ends_with(".json"));
        names.into_iter().filter_map(|name| Some((name.clone(), modified(&folder.join(name))?))).collect()
    }

    /// Tells whether any artifact of a task is there.
    pub fn has_artifact(&self, root: &Root, task: &str) -> bool {
        let start = format!("{task}-");
        !task.is_empty()
            && names(&root.path().join(self.file("artifacts"))).iter().any(|name| name.starts_with(&start))
    }

    /// Finds where a `ref` leads. Links are followed, and one that leaves the project is out of it.
    pub fn target(&self, root: &Root, reference: &str) -> Target {
        let Some(places) = places(reference, &self.folder, &root.path().to_string_lossy()) else {
            return Target::Outside;
        };
        let artifacts = root.path().join(self.file("artifacts"));
        let artifacts = artifacts.canonicalize().unwrap_or(artifacts);
        for place in places {
            match root.path().join(place).canonicalize() {
                Ok(real) if !real.starts_with(root.path()) => return Target::Outside,
                Ok(real) if real.is_file() => {
                    let name = real.file_name().map(|name| name.to_string_lossy().into_owned());
                    return match name.filter(|_| real.starts_with(&artifacts)) {
                        Some(name) => Target::Artifact(name),
                        None => Target::Elsewhere,
                    };
                }
                _ => {}
            }
        }
        Target::Missing
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// The names of the files in a folder, sorted. A folder that cannot be looked at has none.
fn names(folder: &Path) -> Vec<String> {
    if !is_folder(folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().take(MOST_NAMES).filter_map(io::Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;
