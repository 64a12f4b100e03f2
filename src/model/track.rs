//! Tracks: what is watched beside the pipeline of `STATE.md`. A track is one worker's signal file in a task folder
//! (`worker-signal-protocol`) or one team message session (`knowledge-transfer-protocols`). What a track says of
//! itself and what violates its protocol comes from the journal alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::moment::Millis;
use super::wording::{is_invisible, one_line, own_words, plain};

/// The longest text that is kept of a foreign file, in characters.
pub const MOST_TEXT: usize = 200;
/// The word that begins the key of a note on findings.
pub const FOUND: &str = "found";

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
    /// What halts a team session, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halts: Vec<Halt>,
}

/// A checkpoint that does not let a team session go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Halt {
    /// The checkpoint's task.
    pub task: String,
    /// Why it halts.
    pub reason: String,
    /// The id of the message that said so: the same checkpoint may halt again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// A halt as long as it lasts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Halted {
    /// The halt.
    pub halt: Halt,
    /// Since when, unix milliseconds.
    pub since: Millis,
    /// It was told of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

impl Said {
    /// Makes all texts one plain line each, of at most [`MOST_TEXT`] characters. Ids, and the key, are cut but not masked;
    /// of what a worker says with `mark` only what looks like a key is.
    #[must_use]
    pub fn plain(mut self) -> Self {
        let words = if self.kind == Kind::Task { own_words } else { plain };
        for text in [&mut self.step, &mut self.reason] {
            *text = words(text, MOST_TEXT);
        }
        for text in [&mut self.role, &mut self.outcome, &mut self.disposition, &mut self.stamp] {
            *text = plain(text, MOST_TEXT);
        }
        for halt in &mut self.halts {
            halt.reason = plain(&halt.reason, MOST_TEXT);
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
    /// What tells it from others of its rule, as a hash: where it is, whose, in which state of the file. Empty in what
    /// older versions noted: there the place tells.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub case: String,
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
    /// What halts it, each since its own time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted: Vec<Halted>,
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
    /// Of findings that are kept no more, what tells each from others: none is told twice.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub past: BTreeSet<String>,
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

/// The key of a task's track: `task:FOLDER`, with `#ROLE` behind it for a role. What would make two keys look the same is
/// written as `%` and its two digits.
pub fn task_key(folder: &str, role: &str) -> String {
    let mark = if role.is_empty() { "" } else { "#" };
    one_line(&format!("task:{}{mark}{}", escaped(folder), escaped(role)), MOST_TEXT)
}

/// The folder of a task's key. None = it is no task, or the key was too long to be kept whole.
pub fn task_folder(key: &str) -> Option<String> {
    let folder = key.strip_prefix("task:").filter(|folder| !folder.ends_with('…'))?;
    let folder = folder.split_once('#').map_or(folder, |(folder, _)| folder).as_bytes();
    let mut bytes = Vec::with_capacity(folder.len());
    let mut place = 0;
    while let Some(byte) = folder.get(place) {
        let digits = folder.get(place + 1..place + 3).filter(|_| *byte == b'%');
        let escaped = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*byte));
        place += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8(bytes).ok()
}

fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '%' | '#' | '…') || c.is_control() || is_invisible(c) {
            let mut bytes = [0; 4];
            out.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    out
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

    /// Takes what halts it now. A halt that goes on keeps its time, and that it was told.
    fn halt(&mut self, at: Millis) {
        let before = std::mem::take(&mut self.halted);
        let going_on = |halt: &Halt| before.iter().find(|halted| halted.halt == *halt).cloned();
        let halts = self.said.halts.iter();
        let new = |halt: &Halt| Halted { halt: halt.clone(), since: at, told: false };
        self.halted = halts.map(|halt| going_on(halt).unwrap_or_else(|| new(halt))).collect();
        self.entered = self.halted.iter().map(|halted| halted.since).min().unwrap_or(self.entered);
    }

    /// Tells whether everything was told of what it waits for a person for, under this name of the cause.
    pub fn is_told(&self, cause: &str) -> bool {
        if self.halted.is_empty() {
            return self.told.contains(cause);
        }
        self.halted.iter().all(|halted| halted.told)
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_never(time: &Millis) -> bool {
    *time == 0
}

mod fold;
mod found;
#[cfg(test)]
mod tests;
