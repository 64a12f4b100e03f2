//! How far the files of a team session were read, as the journal keeps it: a daemon that was started anew goes on where
//! the one before it stopped, and knows what a file looked like that may only grow
//! (`knowledge-transfer-protocols` §2, §5).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::moment::Millis;
use super::sequence::Sequence;
use super::track::Posting;

/// The name under which a session's log is remembered.
pub const LOG: &str = "messages.jsonl";
/// The type of a message that reports a task.
pub const STATE_UPDATE: &str = "state_update";
/// Sessions whose files are remembered at most; more than are watched at a time.
const MOST_TRACKS: usize = 128;
/// Files of one session.
const MOST_FILES: usize = 64;
/// Explorations of one session.
const MOST_ANGLES: usize = 512;
/// Messages by whose marks a log that was written anew is recognised.
pub const TAIL: usize = 16;
/// Roles of one session that are remembered to have posted.
const MOST_ROLES: usize = 64;
/// Tasks of one session that are remembered to have been reported.
const MOST_TASKS: usize = 2048;

/// How far one file was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reading {
    /// The track: `team:SESSION`.
    pub track: String,
    /// The file, relative to the session's folder.
    pub file: String,
    /// The session's folder, relative to the root; of the log alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Bytes up to which it was read.
    pub bytes: u64,
    /// Hash of what comes before them: all of it of a file that may only grow, the last part of a log.
    pub hash: String,
    /// Lines up to there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines: u64,
    /// Lines among them that hold no message.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub torn: u64,
    /// The latest stamp of a message, unix milliseconds; 0 = none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub last: Millis,
    /// The marks of the last messages, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<String>,
    /// The numbers of the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Sequence>,
}

/// An entry of a session's exploration cache as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Exploration {
    /// The track: `team:SESSION`.
    pub track: String,
    /// The angle.
    pub angle: String,
    /// Who made it; empty = the entry is gone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// What is remembered of one session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Files {
    /// When something of it was last read, unix milliseconds.
    pub at: Millis,
    /// Its files, by name.
    #[serde(default)]
    pub read: BTreeMap<String, Reading>,
    /// Its explorations: angle → who made it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub explored: BTreeMap<String, String>,
    /// The roles that have posted, each with its last `state_update`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub posted: BTreeMap<String, Report>,
    /// The tasks that were reported.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reported: BTreeSet<String>,
}

/// The last `state_update` of a role; all zero if it sent none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// When, by its own word, unix milliseconds; 0 = it does not say.
    #[serde(default)]
    pub sent: Millis,
    /// The line of the log.
    #[serde(default)]
    pub line: u64,
}

/// What is remembered of all sessions of a root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Readings(BTreeMap<String, Files>);

impl Reading {
    /// Takes one more mark of a message.
    pub fn note_mark(&mut self, mark: &str) {
        self.tail.push(mark.to_owned());
        if self.tail.len() > TAIL {
            self.tail.remove(0);
        }
    }
}

impl Readings {
    /// What is remembered of a session's files.
    pub fn of(&self, track: &str) -> Option<&Files> {
        self.0.get(track)
    }

    /// How far a file was read.
    pub fn file(&self, track: &str, file: &str) -> Option<&Reading> {
        self.0.get(track)?.read.get(file)
    }

    /// The sessions.
    pub fn tracks(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Takes how far a file was read. A file without a hash is gone; a log without lines is another one.
    pub(super) fn read(&mut self, at: Millis, reading: &Reading) {
        let files = self.files(at, &reading.track);
        if reading.file == LOG && reading.lines == 0 {
            files.posted.clear();
            files.reported.clear();
        }
        if reading.hash.is_empty() {
            files.read.remove(&reading.file);
        } else if files.read.len() < MOST_FILES || files.read.contains_key(&reading.file) {
            files.read.insert(reading.file.clone(), reading.clone());
        }
    }

    /// Takes a line of a log.
    pub(super) fn post(&mut self, at: Millis, post: &Posting) {
        let files = self.files(at, &post.track);
        let is_update = post.kind == STATE_UPDATE;
        if files.posted.len() < MOST_ROLES || files.posted.contains_key(&post.from) {
            let report = files.posted.entry(post.from.clone()).or_default();
            if is_update {
                *report = Report { sent: post.sent, line: post.line };
            }
        }
        if is_update && !post.task.is_empty() && files.reported.len() < MOST_TASKS {
            files.reported.insert(post.task.clone());
        }
    }

    /// Takes an entry of an exploration cache.
    pub(super) fn explored(&mut self, at: Millis, exploration: &Exploration) {
        let files = self.files(at, &exploration.track);
        if exploration.by.is_empty() {
            files.explored.remove(&exploration.angle);
        } else if files.explored.len() < MOST_ANGLES || files.explored.contains_key(&exploration.angle) {
            files.explored.insert(exploration.angle.clone(), exploration.by.clone());
        }
    }

    /// Forgets a session whose folder was removed.
    pub(super) fn gone(&mut self, track: &str) {
        self.0.remove(track);
    }

    fn files(&mut self, at: Millis, track: &str) -> &mut Files {
        if !self.0.contains_key(track) && self.0.len() >= MOST_TRACKS {
            let oldest = self.0.iter().map(|(key, files)| (files.at, key)).min().map(|(_, key)| key.clone());
            self.0.remove(&oldest.unwrap_or_default());
        }
        let files = self.0.entry(track.to_owned()).or_default();
        files.at = files.at.max(at);
        files
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_none(time: &Millis) -> bool {
    *time == 0
}

#[cfg(test)]
mod tests;
