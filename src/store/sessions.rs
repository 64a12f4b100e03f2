//! `sessions/ID.json`: the client sessions of a root, each with the process that proves it alive.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::PathBuf;

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
    let Ok(entries) = fs::read_dir(root.sessions()) else { return Vec::new() };
    let mut all: Vec<Session> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
        .filter_map(|entry| serde_json::from_slice(&read_own(&entry.path(), 16 * 1024).ok()??).ok())
        .collect();
    all.sort_by(|a, b| (a.since, &a.session_id).cmp(&(b.since, &b.session_id)));
    all
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
