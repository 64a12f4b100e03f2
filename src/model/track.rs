//! Tracks: what is watched beside the pipeline of `STATE.md`. A track is one worker's signal file in a task folder
//! (`worker-signal-protocol`) or one team message session (`knowledge-transfer-protocols`). What a track says of
//! itself and what violates its protocol comes from the journal alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::moment::{Millis, millis};
use super::wording::{one_line, plain};

/// The longest text that is kept of a foreign file, in characters.
pub const MOST_TEXT: usize = 200;
/// Tracks that run, and as many that do not, are remembered at most.
const MOST: usize = 2048;
/// Findings that are remembered at most.
const MOST_FINDINGS: usize = 1024;
/// The word that begins the key of a note on findings.
pub const FOUND: &str = "found";
/// Agents of one team session that are remembered at most.
const MOST_AGENTS: usize = 64;

/// What sort of thing a track is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A worker's signal file in a task folder.
    #[default]
    Task,
    /// A team message session.
    Team,
}

/// Where a track stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It goes on.
    #[default]
    Running,
    /// It cannot go on: a person has to do something first. No more comes of a worker by itself.
    Blocked,
    /// It reached its end.
    Done,
    /// It reached an end that it was not to reach.
    Failed,
    /// It is over without a word about how: archived, or over before it was watched.
    Ended,
}

impl State {
    /// Tells whether no more is expected of it.
    pub fn is_terminal(self) -> bool {
        self != Self::Running
    }

    /// The state's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }
}

/// What a track says of itself. Texts are plain and bounded ([`Said::plain`]); empty ones are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Said {
    /// Its key: `task:FOLDER`, `task:FOLDER#SELF-REVIEW`, with the folder relative to the root, or `team:SESSION`.
    pub track: String,
    /// What sort of thing it is.
    pub kind: Kind,
    /// Where it stands. What is not terminal runs.
    pub state: State,
    /// The worker's role.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The step it is at.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// Why it is blocked, failed, or changed nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// success, failure, partial.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// fixed, `already_fixed`, `not_reproducible`, blocked, failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub disposition: String,
    /// Its own stamp, as it was written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stamp: String,
    /// The context it belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Which attempt it is: a new one inherits nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attempt: String,
}

impl Said {
    /// Makes all texts one plain line each, of at most [`MOST_TEXT`] characters. Ids, and the key, are cut but not masked.
    #[must_use]
    pub fn plain(mut self) -> Self {
        for text in [
            &mut self.role,
            &mut self.step,
            &mut self.reason,
            &mut self.outcome,
            &mut self.disposition,
            &mut self.stamp,
        ] {
            *text = plain(text, MOST_TEXT);
        }
        for id in [&mut self.track, &mut self.context, &mut self.attempt] {
            *id = one_line(id, MOST_TEXT);
        }
        self
    }
}

/// One line of a team's message log, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Posting {
    /// The track: `team:SESSION`.
    pub track: String,
    /// The line's number, from 1: lines up to the last one that was noted are known.
    pub line: u64,
    /// Who wrote it.
    pub from: String,
    /// For whom: a role, or `all`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// The message's type, such as `state_update`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The message's id, such as `MSG-001`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// When, by its own word, unix milliseconds; 0 = it does not say.
    #[serde(default, skip_serializing_if = "is_never")]
    pub sent: Millis,
}

/// A violation of a protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Finding {
    /// The track; empty if it concerns none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub track: String,
    /// The rule by its name in `docs/protocols/`.
    pub rule: String,
    /// Where: a file, or `file:line`, relative to the root where it lies in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The agent whose doing it is; empty if nobody's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub who: String,
    /// What is wrong, one plain sentence without bodies or secrets.
    pub fact: String,
    /// Whoever did it was told at once, by the answer of a hook: the lead is not told again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// One track as it was last heard of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Track {
    /// The last it said of itself.
    pub said: Said,
    /// When this attempt was first heard of, unix milliseconds: the floor below which a stamp is of an older one.
    pub since: Millis,
    /// When it came into its present state or step, unix milliseconds.
    pub entered: Millis,
    /// When it was last heard of, unix milliseconds.
    pub last: Millis,
    /// The last line of its message log that was noted.
    #[serde(default)]
    pub line: u64,
    /// What was told of it since it was last heard of, by the name of the cause.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub told: BTreeSet<String>,
    /// What each agent of a team session last posted, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Posted>,
}

/// The last post of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Posted {
    /// When it was noted, unix milliseconds.
    pub at: Millis,
    /// To whom.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// Of which type.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// About which task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
}

/// A finding with its time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Found {
    /// When it was noted, unix milliseconds.
    pub at: Millis,
    /// What was found.
    pub finding: Finding,
}

/// All tracks of one root, and what was found in them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tracks {
    /// The tracks by key.
    #[serde(default)]
    pub all: BTreeMap<String, Track>,
    /// The findings, oldest first, each once.
    #[serde(default)]
    pub findings: Vec<Found>,
    /// How many there were so far, the forgotten ones too.
    #[serde(default)]
    pub found: u64,
    /// How many of them have been told, and when that was, unix milliseconds.
    #[serde(default)]
    pub told: (u64, Millis),
    /// Of tracks that are not known any more, the latest time at which one was heard of, unix milliseconds. An unknown
    /// track that is terminal and whose files are no younger is no news.
    #[serde(default)]
    pub forgotten: Millis,
    /// The latest time up to which files are known to have been watched, unix milliseconds; 0 = never.
    #[serde(default)]
    pub watched: Millis,
    /// The same when the present daemon began: the floor of what it finds new, or its own beginning if it is the first.
    #[serde(default)]
    pub floor: Millis,
}

impl Tracks {
    /// Returns the track with this key.
    pub fn get(&self, key: &str) -> Option<&Track> {
        self.all.get(key)
    }

    /// Tells whether this violation was noted before.
    pub fn is_found(&self, track: &str, rule: &str, place: &str) -> bool {
        self.findings.iter().any(|found| is_same(&found.finding, track, rule, place))
    }

    /// Tells whether this is what the track said last.
    pub fn is_said(&self, said: &Said) -> bool {
        self.all.get(&said.track).is_some_and(|track| track.said == *said)
    }

    /// A daemon began to watch: it takes over from the one before it, and what happened between the two is news.
    pub(super) fn begin(&mut self, at: Millis) {
        self.floor = if self.watched == 0 { at } else { self.watched };
        self.watch(at);
    }

    /// Files are watched up to now.
    pub(super) fn watch(&mut self, at: Millis) {
        self.watched = self.watched.max(at);
    }

    /// Takes what a track says of itself. A new attempt begins anew.
    pub(super) fn say(&mut self, at: Millis, said: &Said) {
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
        track.heard(at);
    }

    /// Takes a line of a message log: a sign of life of its track and of the agent that wrote it.
    pub(super) fn post(&mut self, at: Millis, post: &Posting) {
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
    pub(super) fn gone(&mut self, key: &str) {
        self.all.remove(key);
        self.findings.retain(|found| found.finding.track != key);
    }

    /// Takes a violation, once.
    pub(super) fn find(&mut self, at: Millis, finding: &Finding) {
        if self.is_found(&finding.track, &finding.rule, &finding.place) {
            return;
        }
        if self.findings.len() >= MOST_FINDINGS {
            self.findings.remove(0);
        }
        self.found += 1;
        self.findings.push(Found { at, finding: finding.clone() });
    }

    /// Takes note of what was told, by its key: `CAUSE TRACK`, or `found N` for the first N findings.
    pub(super) fn noted(&mut self, at: Millis, key: &str) {
        let Some((cause, key)) = key.split_once(' ') else { return };
        if cause == FOUND {
            self.told = (key.parse().unwrap_or(self.told.0).max(self.told.0), at);
        } else if let Some(track) = self.all.get_mut(key) {
            track.told.insert(cause.to_owned());
        }
    }

    /// Returns the findings that nobody has been told of, oldest first, as far as they are still known.
    pub fn untold(&self) -> impl Iterator<Item = &Found> {
        let count = usize::try_from(self.found.saturating_sub(self.told.0)).unwrap_or(usize::MAX);
        let known = self.findings.len();
        self.findings[known - count.min(known)..].iter().filter(|found| !found.finding.told)
    }

    /// Tells whether a track runs that was heard of within `within` before `now`: it is worth waiting for.
    pub fn is_awaited(&self, within: Duration, now: Millis) -> bool {
        let is_fresh = |track: &Track| track.last.saturating_add(millis(within)) > now;
        self.all.values().any(|track| !track.said.state.is_terminal() && is_fresh(track))
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

/// What `activity.json` says where a track was the last that moved.
pub fn source(key: &str) -> String {
    format!("Track:{key}")
}

impl Track {
    fn heard(&mut self, at: Millis) {
        self.last = at;
        self.told.clear();
    }
}

impl Finding {
    /// What was found, in one line.
    pub fn words(&self) -> String {
        let place =
            if self.place.is_empty() { String::new() } else { format!("{}: ", plain(&self.place, 120)) };
        let who = if self.who.is_empty() { String::new() } else { format!(" ({})", plain(&self.who, 60)) };
        format!("{place}{}{who} [{}]", plain(&self.fact, MOST_TEXT), plain(&self.rule, 60))
    }
}

fn is_same(finding: &Finding, track: &str, rule: &str, place: &str) -> bool {
    finding.track == track && finding.rule == rule && finding.place == place
}

fn oldest<T>(all: &BTreeMap<String, T>, time: impl Fn(&T) -> Option<Millis>) -> Option<String> {
    let times = all.iter().filter_map(|(key, value)| Some((time(value)?, key)));
    times.min().map(|(_, key)| key.clone())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_never(time: &Millis) -> bool {
    *time == 0
}

#[cfg(test)]
mod tests;
