//! The fold of what tracks say, and what is asked of all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{FOUND, Kind, Posted, Posting, Said, State, Track, Tracks};
use crate::model::moment::{Millis, millis};

/// Tracks that run, and as many that do not, are remembered at most.
pub(super) const MOST: usize = 2048;
/// Agents of one team session that are remembered at most.
pub(super) const MOST_AGENTS: usize = 64;

impl Tracks {
    /// Returns the track with this key.
    pub fn get(&self, key: &str) -> Option<&Track> {
        self.all.get(key)
    }

    /// Tells whether this is what the track said last.
    pub fn is_said(&self, said: &Said) -> bool {
        self.all.get(&said.track).is_some_and(|track| track.said == *said)
    }

    /// A daemon began to watch: it takes over from the one before it, and what happened between the two is news.
    pub(in crate::model) fn begin(&mut self, at: Millis) {
        self.floor = if self.watched == 0 { at } else { self.watched };
        self.watch(at);
    }

    /// Files are watched up to now.
    pub(in crate::model) fn watch(&mut self, at: Millis) {
        self.watched = self.watched.max(at);
    }

    /// Takes what a track says of itself. A new attempt begins anew.
    pub(in crate::model) fn say(&mut self, at: Millis, said: &Said) {
        self.watch(at);
        if !self.all.contains_key(&said.track) {
            self.make_room(said.state.is_terminal());
        }
        let track = self.all.entry(said.track.clone()).or_default();
        let is_new = track.since == 0 || track.said.attempt != said.attempt;
        if is_new {
            let line = track.line;
            *track = Track { since: at, entered: at, line, ..Track::default() };
        } else if (track.said.state, &track.said.step) != (said.state, &said.step) {
            track.entered = at;
        }
        track.said = said.clone();
        track.halt(at);
        track.heard(at);
    }

    /// Takes a line of a message log: a sign of life of its track and of the agent that wrote it.
    pub(in crate::model) fn post(&mut self, at: Millis, post: &Posting) {
        if !self.all.contains_key(&post.track) {
            let said = Said { track: post.track.clone(), kind: Kind::Team, ..Said::default() };
            self.say(at, &said);
        }
        let Some(track) = self.all.get_mut(&post.track) else { return };
        track.heard(at);
        track.line = track.line.max(post.line);
        let (to, kind, task) = (post.to.clone(), post.kind.clone(), post.task.clone());
        track.agents.insert(post.from.clone(), Posted { at, to, kind, task });
        while track.agents.len() > MOST_AGENTS {
            let Some(oldest) = oldest(&track.agents, |agent| Some(agent.at)) else { return };
            track.agents.remove(&oldest);
        }
    }

    /// Forgets a track whose folder was removed, and what was found in it.
    pub(in crate::model) fn gone(&mut self, key: &str) {
        self.all.remove(key);
        self.findings.retain(|found| found.finding.track != key);
    }

    /// Takes note of what was told, by its key: `CAUSE TRACK`, or `found N` for the first N findings.
    pub(in crate::model) fn noted(&mut self, at: Millis, key: &str) {
        let Some((cause, key)) = key.split_once(' ') else { return };
        if cause == FOUND {
            self.told = (key.parse().unwrap_or(self.told.0).max(self.told.0), at);
        } else if let Some(track) = self.all.get_mut(key) {
            track.told.insert(cause.to_owned());
            track.halted.iter_mut().for_each(|halted| halted.told = true);
        }
    }

    /// Tells whether a track is worth waiting for that was heard of within `within` before `now`: it runs, or it is blocked and
    /// the operator has not been told yet.
    pub fn is_awaited(&self, within: Duration, now: Millis) -> bool {
        let is_fresh = |track: &Track| track.last.saturating_add(millis(within)) > now;
        let is_open = |track: &Track| match track.said.state {
            State::Running => true,
            State::Blocked if track.halted.is_empty() => track.told.is_empty(),
            State::Blocked => track.halted.iter().any(|halted| !halted.told),
            _ => false,
        };
        self.all.values().any(|track| is_open(track) && is_fresh(track))
    }

    /// When a track was last heard of, unix milliseconds; 0 = there is none.
    pub fn last(&self) -> Millis {
        self.all.values().map(|track| track.last).max().unwrap_or_default()
    }

    /// Of the tracks that run, and of the others, the one that was heard of longest ago is forgotten first.
    fn make_room(&mut self, is_terminal: bool) {
        let count = self.all.values().filter(|track| track.said.state.is_terminal() == is_terminal).count();
        if count < MOST {
            return;
        }
        let meant = |track: &Track| (track.said.state.is_terminal() == is_terminal).then_some(track.last);
        if let Some(track) = oldest(&self.all, meant).and_then(|key| self.all.remove(&key)) {
            self.forgotten = self.forgotten.max(track.last);
        }
    }
}

fn oldest<T>(all: &BTreeMap<String, T>, time: impl Fn(&T) -> Option<Millis>) -> Option<String> {
    let times = all.iter().filter_map(|(key, value)| Some((time(value)?, key)));
    times.min().map(|(_, key)| key.clone())
}
