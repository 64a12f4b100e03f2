//! Whose turn it is in a team session, from the last post of each role: who was addressed and has posted nothing since.

use super::moment::Millis;
use super::track::Track;

/// The name of every role.
const ALL: &str = "all";

/// A role that was addressed and has not posted since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn<'a> {
    /// When it was addressed last, unix milliseconds.
    pub since: Millis,
    /// The role whose turn it is.
    pub role: &'a str,
    /// Who addressed it.
    pub by: &'a str,
    /// When it posted last, unix milliseconds; none if it never did.
    pub last: Option<Millis>,
}

/// Returns the roles whose turn it is, the one that was addressed last first. A message to all is nobody's turn.
pub fn turns(track: &Track) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (by, post) in &track.agents {
        let (role, since) = (post.to.as_str(), post.at);
        let last = track.agents.get(role).map(|answer| answer.at);
        if role.is_empty() || role == ALL || role == by || last.is_some_and(|last| last >= since) {
            continue;
        }
        turns.push(Turn { since, role, by, last });
    }
    turns.sort_by(|a, b| b.cmp(a));
    let mut seen: Vec<&str> = Vec::new();
    turns.retain(|turn| {
        !seen.contains(&turn.role) && {
            seen.push(turn.role);
            true
        }
    });
    turns
}

#[cfg(test)]
mod tests {
    use super::{Track, turns};
    use crate::model::track::Posted;

    #[track_caller]
    fn check(posts: &[(&str, &str, i64)], wanted: &[&str]) {
        let mut track = Track::default();
        for (from, to, at) in posts {
            let to = (*to).to_owned();
            track.agents.insert((*from).to_owned(), Posted { at: *at, to, ..Posted::default() });
        }
        let found: Vec<String> = turns(&track)
            .iter()
            .map(|turn| format!("{} by {} at {}, last {:?}", turn.role, turn.by, turn.since, turn.last))
            .collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn who_was_addressed_last_and_is_silent_since_comes_first() {
        check(&[], &[]);
        check(&[("analyst", "coordinator", 5)], &["coordinator by analyst at 5, last None"]);
        check(
            &[("analyst", "coordinator", 5), ("coordinator", "planner", 7)],
            &["planner by coordinator at 7, last None"],
        );
        check(
            &[("analyst", "coordinator", 9), ("coordinator", "planner", 7), ("planner", "all", 3)],
            &["coordinator by analyst at 9, last Some(7)", "planner by coordinator at 7, last Some(3)"],
        );
        check(
            &[
                ("analyst", "coordinator", 9),
                ("planner", "coordinator", 8),
                ("coordinator", "coordinator", 1),
            ],
            &["coordinator by analyst at 9, last Some(1)"],
        );
        check(&[("coordinator", "all", 9), ("analyst", "", 3)], &[]);
    }
}
