//! Looking at a root's files. `status`, `check` and the daemon look the same way.

use std::path::Path;

use crate::model::event::Event;
use crate::model::ledger::Ledger;
use crate::model::sight::Sight;
use crate::model::{stage, wording};
use crate::store::activity_file::Loaded;
use crate::store::file::chain;
use crate::store::journal::Follower;
use crate::store::root::Root;
use crate::store::sessions::{self, Session};
use crate::store::settled::Stamp;
use crate::store::{activity_file, flag_file, state_file};
use crate::system::clients::{Life, life};
use crate::system::clock;

/// What was read at the last look, to be read again only if the file has changed: an open is a file event, and a
/// look that is answered by an event would be followed by another.
#[derive(Debug, Default)]
pub struct Memo {
    stage: Cached<Result<Option<String>, String>>,
    activity: Cached<Option<Loaded>>,
    flag: Cached<Option<i64>>,
}

#[derive(Debug)]
struct Cached<T>(Option<Known<T>>);

#[derive(Debug)]
struct Known<T> {
    stamp: Option<Stamp>,
    /// The file was written so short a time before it was read that a later write may bear the same stamp.
    is_fresh: bool,
    value: T,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Clone> Cached<T> {
    fn get(&mut self, path: &Path, read: impl FnOnce() -> T) -> T {
        let stamp = std::fs::symlink_metadata(path).ok().map(|meta| Stamp::of(&meta));
        match &self.0 {
            // A link's own stamp says nothing of the file behind it.
            Some(known) if known.stamp == stamp && !known.is_fresh && !path.is_symlink() => {
                known.value.clone()
            }
            _ => {
                let now = clock::now().wall;
                let is_fresh = stamp.is_some_and(|stamp| stamp.may_be_borne_again(now));
                let value = read();
                self.0 = Some(Known { stamp, is_fresh, value: value.clone() });
                value
            }
        }
    }
}

/// Looks at all of a root but its journal.
pub fn look(root: &Root, memo: &mut Memo) -> Sight {
    let mut sight = Sight { is_gone: root.is_gone(), ..Sight::default() };
    match memo.stage.get(&root.state(), || state_file::stage(root).map_err(|error| chain(&error))) {
        Ok(stage) => sight.stage = stage,
        Err(fault) => sight.faults.push(fault),
    }
    if let Some(loaded) = memo.activity.get(&root.activity(), || activity_file::load(root)) {
        sight.faults.extend(loaded.faults.iter().map(|fault| format!("activity.json: {fault}")));
        let mut activity = loaded.activity;
        if activity_file::add_unstored(root, &mut activity) {
            let at = wording::clock(activity.last_activity_ts * 1000);
            sight.faults.push(format!("activity.json could not take the work that was seen at {at}"));
        }
        sight.activity = Some(activity);
    }
    sight.flag = memo.flag.get(&root.flag(), || flag_file::load(root).map(|flag| flag.timestamp));
    for session in sessions::all(root) {
        let Session { session_id, .. } = &session;
        if life(&session) == Life::Dead {
            sight.dead.insert(session_id.clone());
        } else {
            sight.living.push(session_id.clone());
        }
    }
    sight
}

/// Without `.kiln/` the stage comes from what is watched, which the folded journal tells.
pub fn find_stage(root: &Root, ledger: &Ledger, sight: &mut Sight) {
    if !root.is_kiln() && !sight.is_gone {
        let is_there = |id: &str| sight.dead.contains(id) || sight.living.iter().any(|living| living == id);
        sight.stage = Some(stage::of(ledger, is_there).to_owned());
    }
}

/// Follows a root's journal; what cannot be read is a fault of the sight.
pub fn follow(follower: &mut Follower, root: &Root, sight: &mut Sight) -> Vec<Event> {
    match follower.follow(root) {
        Ok(events) => events,
        Err(error) => {
            sight.faults.push(chain(&error));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
