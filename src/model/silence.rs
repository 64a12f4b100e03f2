//! Tracks that do not move: silent for too long, left by their agent, or waiting for a person. Each is told once, even
//! while all else moves, and is a cause when all is silent.

use std::time::Duration;

use super::cause::{Cause, Confidence, Diagnosis};
use super::judge::Facts;
use super::ledger::{Ledger, Session};
use super::moment::{Millis, millis};
use super::overdue::Note;
use super::posts::turns;
use super::track::{Kind, State, Track, task_folder};
use super::wording::{clock, own_words, plain};

/// A signal that a session left behind at its end is looked for this long before its agent counts as gone without one.
const GRACE: Duration = Duration::from_secs(60);
/// Findings that are told with a track at most.
const MOST_FINDINGS: usize = 3;

/// Roles of a team session whose turn it is that are told at most.
const MOST_TURNS: usize = 3;

/// What is wrong with one track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble<'a> {
    /// The track's key.
    pub key: &'a str,
    /// The track.
    pub track: &'a Track,
    /// What it is.
    pub cause: Cause,
    /// Since when.
    pub since: Millis,
    /// Of what halts the track only that is meant which was not told yet.
    is_news: bool,
}

/// Returns the troubles there are, the most telling first, and when there may be more. A track that waits for a person is
/// one from the moment it says so.
pub fn troubles<'a>(facts: &Facts<'a>, now: Millis) -> (Vec<Trouble<'a>>, Option<Millis>) {
    let silent_after = millis(facts.ledger.graph.rules().silent_after);
    let mut found = Vec::new();
    let mut next: Option<Millis> = None;
    let mut later = |at: Millis| next = Some(next.map_or(at, |next| next.min(at)));
    for (key, track) in &facts.ledger.tracks.all {
        let mut add = |cause, since| found.push(Trouble { key, track, cause, since, is_news: false });
        match track.said.state {
            State::Blocked if track.said.kind == Kind::Team => add(Cause::TeamHalted, track.entered),
            State::Blocked => add(Cause::WaitsForPerson, track.entered),
            State::Running => match left(facts.ledger, key, track) {
                Some(left) if left + millis(GRACE) <= now => add(Cause::WorkerGone, left),
                left => {
                    let silent = track.last.max(facts.ledger.woke).saturating_add(silent_after);
                    if silent <= now {
                        add(Cause::WorkerSilent, track.last);
                    } else {
                        later(silent);
                    }
                    if let Some(left) = left {
                        later(left + millis(GRACE));
                    }
                }
            },
            _ => {}
        }
    }
    found.sort_by_key(|trouble| (trouble.cause, trouble.since, trouble.key));
    (found, next)
}

/// Tells when the agent of a track that runs ended: the session that the track names as its context, or the last of the
/// sessions that ran in its own task folder. None = it lives, or it is not known which it is.
fn left(ledger: &Ledger, key: &str, track: &Track) -> Option<Millis> {
    if let Some(session) = ledger.sessions.get(&track.said.context).filter(|_| !track.said.context.is_empty())
    {
        return session.ended;
    }
    let folder = task_folder(key)?;
    let is_in = |session: &&Session| {
        let rest = session.folder.strip_prefix(folder.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut last = None;
    for session in ledger.sessions.values().filter(is_in) {
        last = last.max(Some(session.ended?));
    }
    last.filter(|ended| *ended >= track.since)
}

/// Tells whether a track is at work as far as anybody can know, and until when that explains silence: it runs, it was
/// heard of lately, and nobody who could see its tools does. In a session whose hooks run they are seen.
pub fn explains_until(facts: &Facts<'_>, key: &str, track: &Track) -> Option<Millis> {
    if track.said.state != State::Running || left(facts.ledger, key, track).is_some() {
        return None;
    }
    let is_seen = match track.said.kind {
        Kind::Task => facts.ledger.live().any(|(id, _)| *id == track.said.context),
        Kind::Team => facts.ledger.live().any(|(id, _)| !id.is_empty() && !facts.dead.contains(id)),
    };
    let silent_after = millis(facts.ledger.graph.rules().silent_after);
    (!is_seen).then(|| track.last.max(facts.ledger.woke).saturating_add(silent_after))
}

impl Trouble<'_> {
    /// The key under which it is remembered as told.
    pub fn told_key(&self) -> String {
        format!("{} {}", self.cause.word(), self.key)
    }

    /// Why it is a stall, with what was found in the track.
    pub fn diagnosis(&self, facts: &Facts<'_>) -> Diagnosis {
        let said = &self.track.said;
        let name = plain(self.key, 120);
        let since = clock(self.since);
        let step = match said.step.as_str() {
            "" => String::new(),
            step => format!(" (step {})", own_words(step, 60)),
        };
        let reason = match said.reason.as_str() {
            "" => String::new(),
            reason => format!(": {}", own_words(reason, 200)),
        };
        let halts = self.track.halted.iter().filter(|halted| !(self.is_news && halted.told));
        let halts: Vec<String> = halts
            .map(|halted| format!("since {}: {}", clock(halted.since), plain(&halted.halt.reason, 200)))
            .collect();
        let words = match self.cause {
            Cause::WorkerGone => {
                format!("{name} runs{step}, and its agent ended at {since} without a terminal signal.")
            }
            Cause::WorkerSilent => format!("{name} runs{step}, and has said nothing since {since}."),
            Cause::TeamHalted if !halts.is_empty() => {
                format!("{name} has been halted for a person {}.", halts.join("; "))
            }
            Cause::TeamHalted => format!("{name} has been halted for a person since {since}{reason}."),
            _ => format!("{name} has been blocked{step} and waits for a person since {since}{reason}."),
        };
        let mut evidence = Vec::new();
        if !said.stamp.is_empty() {
            let state = said.state.word();
            evidence.push(format!("its last signal says {state}{step}, stamped {}", plain(&said.stamp, 40)));
        }
        let latest = self.track.agents.iter().max_by_key(|(_, agent)| agent.at);
        evidence.extend(latest.map(|(name, agent)| {
            let kind = if agent.kind.is_empty() { "message" } else { agent.kind.as_str() };
            format!("its last message is a {} of {} at {}", plain(kind, 40), plain(name, 60), clock(agent.at))
        }));
        evidence.extend(turns(self.track).into_iter().take(MOST_TURNS).map(|turn| {
            let (role, by) = (plain(turn.role, 60), plain(turn.by, 60));
            let last = turn
                .last
                .map_or_else(|| "nothing so far".to_owned(), |last| format!("nothing since {}", clock(last)));
            format!(
                "it is the turn of {role}: {by} addressed it at {}, and it has posted {last}",
                clock(turn.since)
            )
        }));
        let found = facts.ledger.tracks.findings.iter().rev().filter(|found| found.finding.track == self.key);
        evidence.extend(found.take(MOST_FINDINGS).map(|found| found.finding.words()));
        if evidence.is_empty() {
            evidence.push(words.trim_end_matches('.').to_owned());
        }
        Diagnosis {
            cause: self.cause,
            root: self.key.to_owned(),
            session: String::new(),
            confidence: if self.cause == Cause::WorkerSilent { Confidence::Medium } else { Confidence::High },
            words,
            evidence,
        }
    }
}

/// What explains a silence best among the tracks that should move: one whose agent is gone, then one that is silent.
pub fn worst(facts: &Facts<'_>, now: Millis) -> Option<Diagnosis> {
    let (all, _) = troubles(facts, now);
    let mut all =
        all.iter().filter(|trouble| matches!(trouble.cause, Cause::WorkerGone | Cause::WorkerSilent));
    let mut diagnosis = all.next()?.diagnosis(facts);
    diagnosis.evidence.extend(all.take(3).map(|other| format!("also: {}", other.diagnosis(facts).words)));
    Some(diagnosis)
}

/// A track that waits for a person, if there is one: the one that has waited longest.
pub fn blocked(facts: &Facts<'_>, now: Millis) -> Option<Diagnosis> {
    let (all, _) = troubles(facts, now);
    let mut all = all.iter().filter(|trouble| trouble.track.said.state == State::Blocked);
    all.next().map(|trouble| trouble.diagnosis(facts))
}

/// Returns what is to be told of tracks now, and when there may be more. `person_after` = who waits for a person for this
/// long is told of.
pub fn notes(facts: &Facts<'_>, person_after: Duration, now: Millis) -> (Vec<Note>, Option<Millis>) {
    let (all, mut next) = troubles(facts, now);
    let mut notes = Vec::new();
    for mut trouble in all {
        let untold = trouble.track.halted.iter().filter(|halted| !halted.told);
        if let Some(since) = untold.map(|halted| halted.since).min() {
            (trouble.since, trouble.is_news) = (since, true);
        }
        let waits = trouble.track.said.state == State::Blocked;
        let due = if waits { trouble.since.saturating_add(millis(person_after)) } else { now };
        if trouble.track.is_told(trouble.cause.word()) {
            continue;
        }
        if due > now {
            next = Some(next.map_or(due, |next| next.min(due)));
            continue;
        }
        notes.push(Note {
            key: trouble.told_key(),
            since: trouble.since,
            diagnosis: trouble.diagnosis(facts),
            log: None,
        });
    }
    (notes, next)
}

#[cfg(test)]
mod tests;
