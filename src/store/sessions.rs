//! `sessions/ID.json`: the client sessions of a root, each with the process that proves it alive.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{Access, FileError, read_own, remove, replace};
use super::root::Root;
use crate::model::moment::Millis;

/// One client session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Session {
    /// The format's version.
    #[serde(default)]
    pub v: u32,
    /// The session's id.
    pub session_id: String,
    /// The client's process, if it said (`CLAUDE_PID`).
    #[serde(default)]
    pub pid: Option<i32>,
    /// When that process began, in the kernel's ticks: tells it from a later one of the same number.
    #[serde(default)]
    pub start_time: Option<u64>,
    /// How the client was entered (`CLAUDE_CODE_ENTRYPOINT`); empty if unknown.
    #[serde(default)]
    pub entry: String,
    /// What it was first seen by: a source of SessionStart, or another event's name.
    #[serde(default)]
    pub source: String,
    /// Since when, unix milliseconds.
    pub since: Millis,
}

/// Returns where a session's file lies. An id that is no plain file name is replaced by its hash.
pub fn path(root: &Root, id: &str) -> PathBuf {
    let plain = (1..=100).contains(&id.len())
        && !id.starts_with('.')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let name = if plain { id.to_owned() } else { hashed(id) };
    root.sessions().join(format!("{name}.json"))
}

fn hashed(id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    format!("hash-{:016x}", hasher.finish())
}

/// Tells whether the session is registered.
pub fn is_there(root: &Root, id: &str) -> bool {
    path(root, id).symlink_metadata().is_ok()
}

/// Registers a session, or replaces what was known of it.
///
/// # Errors
/// It could not be stored.
pub fn store(root: &Root, session: &Session) -> Result<(), FileError> {
    let bytes =
        serde_json::to_vec(session).map_err(io::Error::other).map_err(FileError::of("write", &root.own()))?;
    replace(&path(root, &session.session_id), &bytes, &root.own(), Access::Private, false)
}

/// Removes a session. Returns whether it was registered.
///
/// # Errors
/// Its file is there and stays there.
pub fn end(root: &Root, id: &str) -> Result<bool, FileError> {
    let there = is_there(root, id);
    remove(&path(root, id))?;
    Ok(there)
}

/// Returns all sessions that are registered. Files that cannot be read are left out.
pub fn all(root: &Root) -> Vec<Session> {
    let mut all: Vec<Session> =
        files(root).unwrap_or_default().iter().filter_map(|path| read(path).ok()?).collect();
    all.sort_by(|a, b| (a.since, &a.session_id).cmp(&(b.since, &b.session_id)));
    all
}

/// Tells whether a session other than `but` is registered for which `may_live` holds. Whoever takes files away asks
/// this: what cannot be read at present may live.
pub fn any_other(root: &Root, but: &str, may_live: impl Fn(&Session) -> bool) -> bool {
    let Ok(files) = files(root) else { return true };
    files.iter().any(|path| match read(path) {
        Ok(Some(session)) => session.session_id != but && may_live(&session),
        Ok(None) => false,
        Err(_) => true,
    })
}

fn files(root: &Root) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root.sessions()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    Ok(paths?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).collect())
}

/// Reads one session's file. None = it is none.
///
/// # Errors
/// The system does not let it be read, which may pass.
fn read(path: &Path) -> Result<Option<Session>, FileError> {
    match read_own(path, 16 * 1024) {
        Ok(bytes) => Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok())),
        Err(error) if error.source.raw_os_error().is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Removes every session's file.
pub fn clear(root: &Root) {
    let Ok(entries) = fs::read_dir(root.sessions()) else { return };
    for entry in entries.flatten() {
        fs::remove_file(entry.path()).ok();
    }
}

/// Who asks for a staged message: a hook or a bridge of some session's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asker<'a> {
    /// The session's id; empty if unknown.
    pub session: &'a str,
    /// The client's process, if known.
    pub pid: Option<i32>,
}

/// Tells whether a message for `addressee` belongs to the one who asks: the same session, the same client (its
/// session was cleared and has a new id), or any if the addressee is none or gone.
pub fn belongs_to(
    root: &Root,
    addressee: Option<&str>,
    asker: Asker<'_>,
    is_alive: impl Fn(&Session) -> bool,
) -> bool {
    let Some(addressee) = addressee.filter(|id| *id != asker.session) else { return true };
    let all = all(root);
    match all.iter().find(|session| session.session_id == addressee) {
        Some(session) => (session.pid.is_some() && session.pid == asker.pid) || !is_alive(session),
        None => true,
    }
}

#[cfg(test)]
mod tests;
