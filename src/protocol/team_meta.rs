//! What a team session says of itself: `meta.json` beside the log, and where that is silent the older
//! `team-session.json` and `shared-memory.json`; and what `tasks.json` says of its tasks. The shapes are those of the
//! tool `team_msg`, which writes the first and reads the others; `knowledge-transfer-protocols` §2 calls it the state
//! that every role loads first.

use std::collections::BTreeMap;

use super::sketch::{self, Sketch};
use super::stamp;
use super::team_rule::{Fault, Rule, shown};
use crate::model::moment::Millis;
use crate::model::wording::plain;

/// The longest name that is taken over, in characters.
const LONGEST: usize = 80;

/// Where a session stands, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It goes on.
    Active,
    /// It is over.
    Completed,
    /// It is over and put away.
    Archived,
}

/// A session's record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// Where it stands; none if it does not say.
    pub status: Option<Status>,
    /// When the record was last written, unix milliseconds.
    pub updated: Option<Millis>,
    /// The roles that were declared.
    pub roles: Vec<String>,
    /// What each role has published, by its name.
    pub published: BTreeMap<String, Published>,
}

/// The last report of a role, as the record has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    /// When the record took it, unix milliseconds.
    pub updated: Option<Millis>,
    /// The task it was about; empty if it does not say.
    pub task: String,
}

/// A task, as `tasks.json` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// The role that has it; empty if it does not say.
    pub role: String,
    /// It has ended well.
    pub is_completed: bool,
}

/// Reads `meta.json`. None = it is no JSON object, which a reader of a half-written file sees, too.
pub fn read(bytes: &[u8]) -> (Option<Meta>, Vec<Fault>) {
    let Ok(file @ Sketch::Object(_)) = sketch::read(bytes) else {
        return (None, vec![Fault::new(Rule::MetaUnreadable, "meta.json is no JSON object")]);
    };
    let mut faults = Vec::new();
    let status = match file.get("status") {
        Sketch::Nothing => None,
        status => match status.text() {
            "active" => Some(Status::Active),
            "completed" => Some(Status::Completed),
            "archived" => Some(Status::Archived),
            other => {
                let fact = format!("status is {}, none of active, completed, archived", shown(other));
                faults.push(Fault::new(Rule::SessionStatus, fact));
                None
            }
        },
    };
    let published = published(file.get("role_state"));
    let meta =
        Meta { status, updated: stamp::iso(file.get("updated_at").text()), roles: roles(&file), published };
    (Some(meta), faults)
}

impl Meta {
    /// Takes from `team-session.json` what the record does not say.
    pub fn add_session(&mut self, bytes: &[u8]) {
        if let Ok(file) = sketch::read(bytes)
            && self.roles.is_empty()
        {
            self.roles = roles(&file);
        }
    }

    /// Takes from `shared-memory.json` what the record does not say: every object in it is what a role published.
    pub fn add_shared(&mut self, bytes: &[u8]) {
        if let Ok(file) = sketch::read(bytes)
            && self.published.is_empty()
        {
            self.published = published(&file);
        }
    }

    /// Tells whether a role was declared. Where none was, every one is.
    pub fn knows(&self, role: &str) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|known| known == role)
    }
}

/// Roles are names, or objects that have one.
fn roles(file: &Sketch) -> Vec<String> {
    let name = |role: &Sketch| match role {
        Sketch::Text(name) => name.clone(),
        role => role.get("name").text().to_owned(),
    };
    let names = file.get("roles").list().iter().map(|role| plain(name(role).trim(), LONGEST));
    names.filter(|name| !name.is_empty()).collect()
}

fn published(states: &Sketch) -> BTreeMap<String, Published> {
    let Sketch::Object(members) = states else { return BTreeMap::new() };
    let one = |state: &Sketch| Published {
        updated: stamp::iso(state.get("_updated_at").text()),
        task: plain(state.get("task_id").text(), LONGEST),
    };
    let states = members.iter().filter(|(_, state)| matches!(state, Sketch::Object(_)));
    states.map(|(role, state)| (plain(role, LONGEST), one(state))).collect()
}

/// Reads `tasks.json`: tasks by their id, or a list of tasks that have one. What cannot be read has no tasks.
pub fn tasks(bytes: &[u8]) -> Vec<Task> {
    let Ok(file) = sketch::read(bytes) else { return Vec::new() };
    let one = |id: &str, task: &Sketch| Task {
        id: plain(id, LONGEST),
        role: ["role", "owner", "assignee"]
            .iter()
            .find_map(|key| task.get(key).word())
            .map(|role| plain(role, LONGEST))
            .unwrap_or_default(),
        is_completed: task.get("status").text() == "completed",
    };
    match file.get("tasks") {
        Sketch::Object(members) => members.iter().map(|(id, task)| one(id, task)).collect(),
        Sketch::List(list) => {
            let id = |task: &Sketch| {
                ["id", "task_id"].iter().find_map(|key| task.get(key).word().map(str::to_owned))
            };
            list.iter().filter_map(|task| Some(one(&id(task)?, task))).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
