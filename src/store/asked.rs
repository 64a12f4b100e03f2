//! Marks of agents that asked another and have not ended their turn yet: whoever goes on meets its own mark.

use super::file::FileError;
use super::marks::Marks;
use super::root::Root;

const MARKS: Marks = Marks { folder: "asked", most: 4096 };

/// Marks that an agent asked for something.
///
/// # Errors
/// The mark could not be stored.
pub fn put(root: &Root, session: &str, agent: &str, what: &str) -> Result<(), FileError> {
    MARKS.put(root, session, agent, what)
}

/// Takes an agent's mark: what it asked for.
pub fn take(root: &Root, session: &str, agent: &str) -> Option<String> {
    let bytes = MARKS.get(root, session, agent)?;
    // Of two that take it at once one has it.
    MARKS.remove(root, session, agent).then(|| String::from_utf8(bytes).ok())?
}

/// Removes an agent's mark, if there is one: its turn is over.
pub fn forget(root: &Root, session: &str, agent: &str) {
    MARKS.remove(root, session, agent);
}

/// Removes all marks.
pub fn clear(root: &Root) {
    MARKS.clear(root);
}
