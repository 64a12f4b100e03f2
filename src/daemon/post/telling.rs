//! What a post says of itself: its log and its beacon.

use std::time::Duration;

use tracing::{info, warn};

use super::Post;
use crate::model::judge::Verdict;
use crate::model::moment::Moment;
use crate::model::pipeline::Step;
use crate::model::stall::Seen;
use crate::store::beacon::{self, Beacon};
use crate::store::file::chain;
use crate::store::settings::mode_word;

impl Post {
    pub(super) fn log(&mut self, step: &Step, faults: Vec<String>) {
        let verdict = (step.verdict.word(), step.verdict.reason_word());
        if verdict != (self.beacon.verdict.as_str(), self.beacon.reason.as_str()) {
            info!(root = self.root.display(), verdict = verdict.0, reason = verdict.1, "judged");
        }
        if faults != self.faults {
            for fault in faults.iter().filter(|fault| !self.faults.contains(fault)) {
                warn!(root = self.root.display(), fault, "fault");
            }
            // A full disk takes no line of the log either: this one is the first that says what was wrong.
            for fault in self.faults.iter().filter(|fault| !faults.contains(fault)) {
                info!(root = self.root.display(), fault, "over");
            }
            self.faults = faults;
        }
    }

    /// Rewrites the beacon when a tick has passed or what it says has changed. Returns whether what lies there is true.
    pub(super) fn keep_beacon(&mut self, step: &Step, watching: &str, now: Moment) -> bool {
        let policy = self.pipeline.policy();
        let until = match &step.verdict {
            Verdict::Quiet { until, .. } => *until,
            _ => None,
        };
        let awake = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let seen = |seen: Option<Seen>| seen.map(|seen| (seen.stamp, awake(seen.awake), awake(seen.before)));
        let memory = self.pipeline.memory();
        let next = Beacon {
            tick_ms: awake(policy.daemon.tick),
            watching: watching.to_owned(),
            mode: mode_word(policy.daemon.mode).to_owned(),
            verdict: step.verdict.word().to_owned(),
            reason: step.verdict.reason_word().to_owned(),
            faults: self.faults.clone(),
            ..self.beacon.clone()
        };
        let tick = policy.daemon.tick.mul_f32(0.9);
        let is_due = now.awake.saturating_sub(Duration::from_millis(self.beacon.last_tick_awake_ms)) >= tick;
        if next == self.beacon && !is_due {
            return true;
        }
        self.beacon = Beacon {
            last_tick: now.wall,
            last_tick_awake_ms: awake(now.awake),
            until,
            seen_activity: seen(memory.activity),
            seen_nudge: seen(memory.nudge),
            ..next
        };
        let Err(error) = beacon::store(&self.root, &self.beacon) else { return true };
        beacon::touch(&self.root, now.wall).ok();
        // Still due.
        self.beacon.last_tick_awake_ms = 0;
        self.pipeline.note_unwritable(now);
        let fault = chain(&error);
        if !self.faults.contains(&fault) {
            warn!(root = self.root.display(), fault, "fault");
            self.faults.push(fault);
        }
        false
    }
}
