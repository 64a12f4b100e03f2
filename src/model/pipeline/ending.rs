//! When a root is left: its sessions ended, its client is gone, its pipeline is complete, its folder is no more.

use std::time::Duration;

use super::{Effect, End, Pipeline, Step};
use crate::model::judge::{Reason, Verdict};
use crate::model::ledger::Ledger;
use crate::model::moment::{Moment, duration, millis};
use crate::model::policy::Mode;
use crate::model::sight::Sight;
use crate::model::stage;

impl Pipeline {
    /// The last session that ended takes the daemon with it after a while. Clients that are gone without a word
    /// leave a flag if a pipeline was in flight.
    pub(super) fn watch_sessions(&mut self, sight: &Sight, ledger: &Ledger, now: Moment, step: &mut Step) {
        let awaited = ledger.tracks.is_awaited(self.policy.quiet.person_limit, now.wall);
        self.had_sessions |= !sight.living.is_empty() || !sight.dead.is_empty();
        let none_lives = self.had_sessions && sight.living.is_empty();
        self.empty = (none_lives && sight.dead.is_empty()).then(|| self.empty.unwrap_or(now.awake));
        self.lost = (!sight.dead.is_empty()).then(|| self.lost.unwrap_or(now.awake));
        let daemon = &self.policy.daemon;
        let mut due = |since: Option<Duration>, after: Duration| {
            let left = (since? + after).saturating_sub(now.awake);
            step.nap = if left.is_zero() { step.nap } else { step.nap.min(left) };
            left.is_zero().then_some(())
        };
        if due(self.empty, daemon.linger).is_some() && !self.stays && !awaited {
            step.end.get_or_insert(End::NoSession);
        }
        if due(self.lost, daemon.lost_after).is_none() {
            return;
        }
        step.effects.push(Effect::EndSessions(sight.dead.iter().cloned().collect()));
        self.lost = None;
        // Without a pipeline of Kiln a client that goes while nothing is under way leaves nothing behind, and workers that
        // run go on without it.
        let in_flight = match ledger.kilnless {
            true => !awaited && sight.stage.as_deref() == Some(stage::WORKING),
            false => sight.is_active(),
        };
        if none_lives && in_flight && sight.flag.is_none() && self.policy.daemon.mode == Mode::Act {
            let nudges = sight.activity.as_ref().map_or(0, |activity| activity.nudge_count);
            let idle =
                sight.activity.as_ref().map_or(0, |activity| now.seconds() - activity.last_activity_ts);
            step.effects.retain(|effect| !matches!(effect, Effect::Nudge { .. } | Effect::Escalate { .. }));
            step.effects.push(Effect::Escalate {
                nudges,
                idle: duration(idle * 1000),
                cause: "session_lost",
            });
            step.end = Some(End::SessionLost);
        } else if none_lives && !self.stays && !awaited {
            step.end.get_or_insert(End::SessionLost);
        }
    }

    /// A pipeline that is complete is left, unless a track beside it runs. Without one, what is complete may be followed by
    /// the next task at any moment: it is left when nothing has been heard for as long as a track may be silent.
    pub(super) fn watch_pipeline(&self, sight: &Sight, ledger: &Ledger, now: Moment, step: &mut Step) {
        if sight.is_gone {
            step.effects.clear();
            step.end = Some(End::RootGone);
            return;
        }
        if self.stays || !matches!(step.verdict, Verdict::Quiet { reason: Reason::Complete, .. }) {
            return;
        }
        let left = if ledger.kilnless {
            let until = ledger.tracks.last().saturating_add(millis(self.policy.tasks.silent_after));
            duration(until - now.wall)
        } else if ledger.tracks.is_awaited(self.policy.quiet.person_limit, now.wall) {
            return;
        } else {
            Duration::ZERO
        };
        if left.is_zero() {
            step.end = Some(End::Complete);
        } else {
            step.nap = step.nap.min(left);
        }
    }
}
