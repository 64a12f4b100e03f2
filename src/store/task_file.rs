//! What is known of a task beyond what a hook is shown: its metadata, in the client's own list of tasks (read only, never
//! written), and what a call of TaskUpdate that is under way sets, in a small mark of ours.

use std::io;
use std::path::PathBuf;

use super::file::{FileError, read_other};
use super::marks::Marks;
use super::root::Root;
use super::team_file;
use crate::protocol::guards::fields::Fields;
use crate::protocol::guards::task::metadata;
use crate::protocol::sketch::{self, Sketch};

/// What is read of one file at most.
const MOST: u64 = 256 * 1024;

const MARKS: Marks = Marks { folder: "tasks", most: MOST };

/// Reads the metadata of a task from the client's list; none, if the task has none.
///
/// A list is called by the variable `CLAUDE_CODE_TASK_LIST_ID`, by its team, or by its session: `session-` and the first
/// eight characters of the id, or the whole id (seen with Claude Code 2.1.332). The first that holds the task decides.
///
/// # Errors
/// No list holds the task, or its file is no whole task (yet): nothing is known of its metadata then.
pub fn of_client(session: &str, team: &str, id: &str) -> Result<Fields, FileError> {
    let folder = team_file::folder().unwrap_or_else(|| PathBuf::from("~/.claude/teams"));
    let lists = folder.with_file_name("tasks");
    let short: String = session.chars().take(8).collect();
    let set = std::env::var("CLAUDE_CODE_TASK_LIST_ID").unwrap_or_default();
    let names = [set, team.to_owned(), format!("session-{short}"), session.to_owned()];
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let mut missing = FileError::of("read", &lists)(io::Error::other("the task has no id to be found by"));
    for name in names.iter().filter(|name| is_name(name) && is_name(id)) {
        let path = lists.join(name).join(format!("{id}.json"));
        match read_other(&path, MOST) {
            Ok(bytes) => return listed(&bytes).map_err(FileError::of("understand", &path)),
            Err(error) if is_missing(error.source.kind()) => missing = error,
            Err(error) => return Err(error),
        }
    }
    Err(missing)
}

fn is_missing(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A client may be writing the file at this moment: what is no whole object says nothing.
fn listed(bytes: &[u8]) -> io::Result<Fields> {
    let task = sketch::read(bytes)?;
    match task {
        Sketch::Object(_) => Ok(metadata(task.get("metadata"))),
        _ => Err(io::Error::other("it is no task")),
    }
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
