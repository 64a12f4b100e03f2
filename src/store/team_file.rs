//! A team's `config.json`, as its client keeps it: found through the session's id, read only, never written.

use std::fs;
use std::path::{Path, PathBuf};

use super::file::read_other;
use crate::protocol::team_json::{self, Members};

/// What is read of one file at most.
const MOST: u64 = 1024 * 1024;
/// Folders that are looked at when none carries the session's id.
const MOST_TEAMS: usize = 64;

/// Where clients of this user keep their teams.
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("CLAUDE_CONFIG_DIR")
        .or_else(|| set("HOME").map(|home| home.join(".claude")))
        .map(|home| home.join("teams"))
}

/// Reads the members of a session's team. None = there is no team, or it cannot be read.
pub fn members(teams: &Path, session: &str) -> Option<Members> {
    let short: String = session.chars().take(8).collect();
    let is_plain = short.len() == 8 && short.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let named = is_plain.then(|| read(&teams.join(format!("session-{short}")))).flatten();
    if let Some(members) = named.filter(|members| members.session == session) {
        return Some(members);
    }
    // Older clients name a team as its lead did.
    let entries = fs::read_dir(teams).ok()?;
    entries
        .flatten()
        .take(MOST_TEAMS)
        .find_map(|entry| read(&entry.path()).filter(|members| members.session == session))
}

fn read(folder: &Path) -> Option<Members> {
    team_json::read(&read_other(&folder.join("config.json"), MOST).ok()?)
}
