//! What a project is made of besides `.kiln/`: its task folders and its team message sessions, found by patterns.
//! Folders are looked through in a bounded way, and links are not followed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::file::check_folder;
use crate::model::policy::{TASKS, TEAMS};

/// Names that are looked at in one folder at most.
const MOST_NAMES: usize = 16 * 1024;

/// Folders of one kind that are looked at to tell whether a project is one.
const ENOUGH: usize = 256;

/// Tells whether a folder is a project that is watched for what is in it: a task folder of a worker (`.task/*/*` with
/// `TASK.md` or a signal file) or a team message session (`.workflow/.team/*` with `.msg`). A mere `.task` is not enough,
/// and neither is anything in a folder that is not the user's own, or in the user's home itself: see
/// `docs/decisions/0017-roots-without-kiln.md`.
pub fn is_project(folder: &Path) -> bool {
    let may_be = |first: &str| is_folder(&folder.join(first));
    let has_task = || {
        let tasks = matching(folder, TASKS, ENOUGH).folders;
        tasks.iter().any(|task| is_task(&folder.join(task)))
    };
    let has_team = || {
        let teams = matching(folder, TEAMS, ENOUGH).folders;
        teams.iter().any(|team| is_team(&folder.join(team)))
    };
    let found = (may_be(".task") && has_task()) || (may_be(".workflow/.team") && has_team());
    found && is_own_project(folder)
}

/// Tells whether a folder is a worker's: `TASK.md` or a signal file lies in it.
pub fn is_task(folder: &Path) -> bool {
    let is_file = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok_and(|meta| meta.is_file());
    ["TASK.md", "SIGNAL.json", "SELF-REVIEW-SIGNAL.json", "SELF-REVIEW-FIX-SIGNAL.json", "CI-FIX-SIGNAL.json"]
        .into_iter()
        .any(is_file)
}

/// Tells whether a folder is a team message session's: `.msg` lies in it.
pub fn is_team(folder: &Path) -> bool {
    is_folder(&folder.join(".msg"))
}

/// A folder of another user, one that everybody can write in, the top of all folders and the user's home are none.
fn is_own_project(folder: &Path) -> bool {
    let is_home = std::env::var_os("HOME")
        .and_then(|home| Path::new(&home).canonicalize().ok())
        .is_some_and(|home| home == folder);
    !is_home && folder.parent().is_some() && check_folder(folder).is_ok()
}

/// Folders that fit a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Their paths relative to the project, sorted. Names that are no text are left out.
    pub folders: Vec<String>,
    /// There were more.
    pub is_cut: bool,
    /// What would fit, and is passed over.
    pub passed: Vec<Passed>,
}

/// A link to a folder, or a folder whose name is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Where it is, relative to the project.
    pub path: PathBuf,
    /// How many more names the pattern has.
    pub above: usize,
}

/// Finds the folders below `project` that fit a pattern of names, such as `.task/*/*`, at most `most` of them. What cannot
/// be looked at is not there. A link in place of a folder is passed over.
pub fn matching(project: &Path, pattern: &str, most: usize) -> Matches {
    let mut found = Matches { folders: vec![String::new()], ..Matches::default() };
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    for (place, part) in parts.iter().enumerate() {
        let above = parts.len() - place - 1;
        let most = if place + 1 == parts.len() { most } else { MOST_NAMES };
        let mut next = Vec::new();
        for folder in &found.folders {
            let join =
                |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            if part.contains('*') {
                let (names, passed, is_cut) = names(&project.join(folder), part);
                found.is_cut |= is_cut;
                next.extend(names.iter().map(|name| join(name)));
                let passed = passed.iter().map(|name| Passed { path: Path::new(folder).join(name), above });
                found.passed.extend(passed);
            } else if is_folder(&project.join(join(part))) {
                next.push(join(part));
            } else if project.join(join(part)).is_dir() {
                found.passed.push(Passed { path: join(part).into(), above });
            }
            if next.len() > most {
                next.truncate(most);
                found.is_cut = true;
                break;
            }
        }
        next.sort();
        found.folders = next;
    }
    found.folders.retain(|folder| !folder.is_empty());
    found
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// The folders in a folder whose names fit; links to folders, and folders whose names are no text, apart.
fn names(folder: &Path, pattern: &str) -> (Vec<String>, Vec<OsString>, bool) {
    let (mut names, mut passed, mut count) = (Vec::new(), Vec::new(), 0);
    let Ok(entries) = fs::read_dir(folder) else { return (names, passed, false) };
    for entry in entries.take(MOST_NAMES).inspect(|_| count += 1).flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let leads_to_a_folder = kind.is_dir() || kind.is_symlink() && entry.path().is_dir();
        if !leads_to_a_folder {
            continue;
        }
        let name = entry.file_name();
        // A name that begins with a dot is meant only if the pattern says so, as in a shell.
        let is_meant =
            |name: &str| fits(pattern, name) && (!name.starts_with('.') || pattern.starts_with('.'));
        match name.to_str() {
            _ if !is_meant(&name.to_string_lossy()) => {}
            Some(text) if kind.is_dir() => names.push(text.to_owned()),
            _ => passed.push(name),
        }
    }
    names.sort();
    passed.sort();
    (names, passed, count == MOST_NAMES)
}

/// Tells whether a name fits a pattern in which `*` stands for any run of characters.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests;
