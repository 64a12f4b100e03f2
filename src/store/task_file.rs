//! What is known of a task beyond what a hook is shown: its metadata, in the client's own list of tasks (read only, never
//! written), and what a call of TaskUpdate that is under way sets, in a small mark of ours.

use std::fs::{self, File};
use std::io::Read;

use super::file::FileError;
use super::marks::Marks;
use super::root::Root;
use super::team_file;
use crate::protocol::guards::fields::Fields;
use crate::protocol::guards::task::metadata;
use crate::protocol::sketch;

/// What is read of one file at most.
const MOST: u64 = 256 * 1024;

const MARKS: Marks = Marks { folder: "tasks", most: MOST };

/// Reads the metadata of a task from the client's list. None = there is no such file, or it holds none.
///
/// A list is called by the variable `CLAUDE_CODE_TASK_LIST_ID`, by its team, or by its session: `session-` and the first
/// eight characters of the id, or the whole id (seen with Claude Code 2.1.332).
pub fn of_client(session: &str, team: &str, id: &str) -> Option<Fields> {
    let lists = team_file::folder()?.with_file_name("tasks");
    let short: String = session.chars().take(8).collect();
    let set = std::env::var("CLAUDE_CODE_TASK_LIST_ID").unwrap_or_default();
    let names = [set, team.to_owned(), format!("session-{short}"), session.to_owned()];
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if !is_name(id) {
        return None;
    }
    names.iter().filter(|name| is_name(name)).find_map(|name| {
        let mut bytes = Vec::new();
        let file = File::open(lists.join(name).join(format!("{id}.json"))).ok()?;
        file.metadata().ok().filter(fs::Metadata::is_file)?;
        file.take(MOST).read_to_end(&mut bytes).ok()?;
        Some(metadata(sketch::read(&bytes).ok()?.get("metadata")))
    })
}

/// Marks what a call that is under way sets.
///
/// # Errors
/// The mark could not be stored.
pub fn put(root: &Root, session: &str, id: &str, set: &Fields) -> Result<(), FileError> {
    let lines: Vec<String> = set.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    MARKS.put(root, session, id, &lines.join("\n"))
}

/// What the call that is under way sets.
pub fn under_way(root: &Root, session: &str, id: &str) -> Fields {
    let bytes = MARKS.get(root, session, id).unwrap_or_default();
    Fields::read(&String::from_utf8_lossy(&bytes))
}

/// Removes the mark: the call is over.
pub fn forget(root: &Root, session: &str, id: &str) {
    MARKS.remove(root, session, id);
}

/// Removes all marks.
pub fn clear(root: &Root) {
    MARKS.clear(root);
}
