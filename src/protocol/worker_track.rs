//! What a worker's signal means for its track: what is noted of it, and whether a terminal signal may be taken at all
//! (`worker-signal-protocol`, "Freshness rules").

use super::worker_mark;
use super::worker_probe::Question;
use super::worker_signal::{Disposition, Freshness, Outcome, Signal, Status};
use crate::model::moment::Millis;
use crate::model::track::{Kind, MOST_TEXT, Said, State, Track, Tracks, task_key};
use crate::model::wording::{clock, one_line};

/// Ends the name of every signal file.
const SIGNAL: &str = "SIGNAL.json";

/// Rules whose violation is noted, by the names that `docs/protocols/worker-signal-protocol.md` lists: a signal file that
/// violates the schema; a terminal signal of an earlier attempt; one of another worker than the one at work.
pub const INVALID: &str = "invalid-signal";
/// See [`INVALID`].
pub const STALE: &str = "stale-signal";
/// See [`INVALID`].
pub const MISMATCH: &str = "context-mismatch";

/// Whether a signal is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Taken,
    /// It is terminal and of an earlier attempt, or does not say when it was written.
    Stale(String),
    /// It is terminal and of another worker than the one at work.
    Mismatch(String),
}

/// Names the track of a signal file: `task:FOLDER`, with `#ROLE` behind it for a role file. None = it is no signal file.
pub fn key(folder: &str, file: &str) -> Option<String> {
    let role = match file.strip_suffix(SIGNAL)? {
        "" => "",
        role => role.strip_suffix('-').filter(|role| !role.is_empty())?,
    };
    Some(task_key(folder, role))
}

/// What a signal says, for the journal.
pub fn said(key: &str, signal: &Signal) -> Said {
    let state = match signal.status {
        Status::Running => State::Running,
        Status::Blocked => State::Blocked,
        Status::Complete | Status::Done => State::Done,
        Status::Failed => State::Failed,
    };
    let said = Said {
        track: key.to_owned(),
        kind: Kind::Task,
        state,
        role: signal.role.clone(),
        step: signal.step.clone(),
        reason: signal.reason.clone(),
        outcome: signal.outcome.map(Outcome::word).unwrap_or_default().to_owned(),
        disposition: signal.disposition.map(Disposition::word).unwrap_or_default().to_owned(),
        stamp: signal.stamp.map(worker_mark::stamp).unwrap_or_default(),
        context: signal.context.clone(),
        attempt: signal.attempt.clone(),
        halts: Vec::new(),
    };
    said.plain()
}

/// Judges a signal against what is known of its track. `floor` is when the folder of an unknown track began to be
/// watched.
///
/// A signal that runs is always taken: it is a sign of life, and a new attempt begins with one. A terminal one must be
/// stamped at or after the floor of its attempt, and, while a worker is at work, be of that worker's context.
pub fn judge(known: Option<&Track>, signal: &Signal, floor: Millis, now: Millis) -> Verdict {
    if !signal.status.is_terminal() {
        return Verdict::Taken;
    }
    if let Some(track) = known.filter(|track| is_at_work(track, signal))
        && !signal.is_of(&track.said.role, &track.said.context)
    {
        let name = |role: &str, context: &str| {
            let or_none = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
            format!("context {} and role {}", or_none(context), or_none(role))
        };
        let (own, at_work) =
            (name(&signal.role, &signal.context), name(&track.said.role, &track.said.context));
        return Verdict::Mismatch(format!("it is of {own}; at work is {at_work}"));
    }
    let floor = known.map_or(floor, floor_of);
    // One that lies ahead of the clock, which was set back, binds nobody.
    let floor = second(if floor > now { 0 } else { floor });
    match (signal.freshness(Some(floor)), signal.stamp) {
        (Freshness::Fresh, _) => Verdict::Taken,
        (Freshness::Stale, Some(stamp)) => Verdict::Stale(format!(
            "it says {} of {}, before this attempt was watched, from {}",
            signal.status.word(),
            clock(stamp),
            clock(floor)
        )),
        _ => Verdict::Stale(format!(
            "it says {}, and has no UTC ISO 8601 timestamp that would show of which attempt",
            signal.status.word()
        )),
    }
}

/// When monitoring of a track's attempt began; and nothing may be older than what it said last.
fn floor_of(track: &Track) -> Millis {
    track.since.max(super::stamp::utc(&track.said.stamp).unwrap_or(0))
}

/// Tells whether the worker of a track is at work, in the attempt that a signal is of.
fn is_at_work(track: &Track, signal: &Signal) -> bool {
    let (known, found) = (&track.said.attempt, &signal.attempt);
    let is_same = known.is_empty() || found.is_empty() || *known == one_line(found, MOST_TEXT);
    is_same && !track.said.state.is_terminal()
}

/// Fills in what was not asked from what a daemon that watches knows: who is at work, and the floor of the attempt.
pub fn informed(question: Question, tracks: &Tracks, key: &str, signal: &Signal, now: Millis) -> Question {
    let mut question = question;
    let known = tracks.get(key);
    if let Some(track) = known.filter(|track| is_at_work(track, signal))
        && question.role.is_empty()
        && question.context.is_empty()
    {
        question.role.clone_from(&track.said.role);
        question.context.clone_from(&track.said.context);
    }
    let floor = match known {
        // It was taken.
        Some(track) if track.said.state != State::Ended && track.said.stamp == said(key, signal).stamp => {
            signal.stamp
        }
        Some(track) => Some(floor_of(track)),
        // It was not, of a worker that was not known.
        None => tracks
            .findings
            .iter()
            .find(|found| found.finding.track == key && found.finding.rule == STALE)
            .map(|found| found.at),
    };
    question.floor = question.floor.or(floor.filter(|floor| *floor <= now).map(second));
    question
}

/// Stamps of other writers have whole seconds: what was written in the floor's own second is not before it.
pub fn second(at: Millis) -> Millis {
    at.div_euclid(1000) * 1000
}

#[cfg(test)]
mod tests;
