//! Whom a look tells what, beside the verdict: the operator, the lead.

use super::{Effect, Pipeline, Step};
use crate::model::cause::{Cause, Confidence, Diagnosis};
use crate::model::judge::{Held, Reason, Verdict, person};
use crate::model::ledger::Ledger;
use crate::model::moment::{Moment, duration, millis};
use crate::model::overdue::{self, Note};
use crate::model::plan;
use crate::model::rule::Times;
use crate::model::sight::Sight;
use crate::model::track::FOUND;
use crate::model::{silence, track};
use std::time::Duration;

/// Findings that one note tells at most.
const MOST_FINDINGS: usize = 6;

impl Pipeline {
    /// A person who has been asked for long enough is told once.
    pub(super) fn tell_person(&mut self, sight: &Sight, ledger: &Ledger, now: Moment, step: &mut Step) {
        let Some(stage) = sight.stage.as_deref().filter(|_| sight.is_active() && sight.flag.is_none()) else {
            return;
        };
        let facts = sight.facts(ledger, Times { idle: Duration::ZERO, since_nudge: None }, None);
        let after = self.policy.quiet.tell_person_after;
        let (plans, next) = plan::untold(&facts, after, now.wall);
        step.nap = next.map_or(step.nap, |next| step.nap.min(next));
        // One that could not be noted as told is not told of at every look.
        let is_new = |(key, held): &(String, Held)| self.noted.insert((held.session.clone(), key.clone()));
        step.effects.extend(plans.into_iter().filter(is_new).map(|(key, held)| Effect::TellPlan(key, held)));
        let Some((held, told)) = person(&facts, &self.policy, stage) else { return };
        let waited = duration(now.wall - held.since);
        if told || self.told.as_ref() == Some(&held) {
            return;
        }
        if waited < after {
            step.nap = step.nap.min(after.saturating_sub(waited) + Duration::from_millis(1));
            return;
        }
        self.told = Some(held.clone());
        step.effects.push(Effect::TellPerson(held));
    }

    /// The lead is told once of each answer that is overdue and of each livelock, even while others work.
    pub(super) fn tell_lead(&mut self, sight: &Sight, ledger: &Ledger, now: Moment, step: &mut Step) {
        let facts = sight.facts(ledger, Times { idle: Duration::ZERO, since_nudge: None }, None);
        if overdue::is_mute(&facts, &step.verdict, &self.policy, now) {
            return;
        }
        let (notes, next) = overdue::notes(&facts, now.wall);
        if let Some(next) = next {
            step.nap = step.nap.min(duration(next - now.wall));
        }
        for note in notes {
            if !self.noted.insert((note.diagnosis.session.clone(), format!("{} {}", note.key, note.since))) {
                continue;
            }
            step.effects.push(Effect::Note(note));
        }
    }

    /// Of each track that does not move the lead and the operator are told once, even while all else moves; of what was
    /// found in tracks, the lead. Nothing is told while the operator asked for quiet and before the watcher has settled; without
    /// `.kiln/` the nudges speak while all is silent.
    pub(super) fn tell_of_tracks(&mut self, sight: &Sight, ledger: &Ledger, now: Moment, step: &mut Step) {
        let is_paused = ledger.paused_until.is_some_and(|until| until > now.wall);
        if is_paused || sight.is_gone || self.settling > now.awake {
            return;
        }
        let is_nudged = match &step.verdict {
            Verdict::Quiet { reason, .. } => matches!(reason, Reason::Debounce | Reason::Flagged),
            _ => true,
        };
        let facts = sight.facts(ledger, Times { idle: Duration::ZERO, since_nudge: None }, None);
        if !(ledger.kilnless && is_nudged) {
            let (notes, next) = silence::notes(&facts, self.policy.quiet.tell_person_after, now.wall);
            if let Some(next) = next {
                step.nap = step.nap.min(duration(next - now.wall));
            }
            for note in notes {
                self.tell_once(note, step);
            }
        }
        let is_due = now.wall.saturating_sub(ledger.tracks.told.1) >= millis(self.policy.daemon.tick);
        let has_lead = ledger.lead_session(|id| sight.living.iter().any(|living| living == id)).is_some();
        let is_heard = has_lead && sight.is_active() && sight.flag.is_none() && !is_nudged;
        if let Some(note) = findings(&ledger.tracks).filter(|_| is_due && is_heard) {
            self.tell_once(note, step);
        }
    }

    fn tell_once(&mut self, note: Note, step: &mut Step) {
        let key = (note.diagnosis.session.clone(), format!("{} {}", note.key, note.since));
        if self.noted.insert(key) {
            step.effects.push(Effect::Note(note));
        }
    }
}

/// Puts what was found and not told into one note.
fn findings(tracks: &track::Tracks) -> Option<Note> {
    let untold: Vec<&track::Found> = tracks.untold().collect();
    let first = untold.first()?;
    let rest = (untold.len().saturating_sub(MOST_FINDINGS) as u64).saturating_add(tracks.untold_past());
    let mut evidence: Vec<String> =
        untold.iter().skip(1).take(MOST_FINDINGS - 1).map(|found| found.finding.words()).collect();
    if rest > 0 {
        evidence.push(format!("and {rest} more; \"watchdog history --kind found\" lists all"));
    }
    let finding = &first.finding;
    let root = [&finding.who, &finding.track].into_iter().find(|name| !name.is_empty());
    Some(Note {
        key: format!("{FOUND} {}", tracks.found),
        since: first.at,
        diagnosis: Diagnosis {
            cause: Cause::Violation,
            root: root.map_or_else(|| "unknown".to_owned(), Clone::clone),
            session: String::new(),
            confidence: Confidence::High,
            words: finding.words(),
            evidence,
        },
        log: None,
    })
}
