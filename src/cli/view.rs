//! What there is to say of a root: looked at and judged as the daemon does, for the commands that tell of it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::place::Place;
use super::recognised::Recognised;
use super::when::local;
use crate::daemon::sight::{Memo, find_stage, look};
use crate::model::cause::Diagnosis;
use crate::model::diagnosis::diagnose;
use crate::model::drawing::{Edge, edges};
use crate::model::judge::{Reason, Verdict, judge};
use crate::model::ledger::Ledger;
use crate::model::moment::{Millis, Moment};
use crate::model::nudge::Flag;
use crate::model::policy::Policy;
use crate::model::rule::{Times, nudges_so_far};
use crate::model::sight::Sight;
use crate::model::stall::{Memory, Seen, effective_stamp};
use crate::model::wait::span;
use crate::model::wording::plain;
use crate::store::beacon::Beacon;
use crate::store::file::{chain, obstacle};
use crate::store::pending::{self, Pending};
use crate::store::root::Root;
use crate::store::{flag_file, journal, signals};
use crate::system::process::boot_id;
use crate::system::{clock, launch};

/// All that is known of a root.
pub(super) struct View {
    pub(super) root: Root,
    pub(super) policy: Policy,
    pub(super) now: Moment,
    pub(super) sight: Sight,
    pub(super) ledger: Ledger,
    pub(super) daemon: launch::Daemon,
    pub(super) verdict: Verdict,
    pub(super) times: Times,
    pub(super) pending: Pending,
    pub(super) flag: Option<Flag>,
}

impl View {
    /// Looks at the project.
    pub(super) fn of(place: &Place) -> anyhow::Result<Self> {
        let root = place.root()?;
        let policy = place.config(Some(&root))?.policy;
        let now = clock::now();
        let mut sight = look(&root, &mut Memo::default());
        let mut ledger = journal::fold_with(&root, signals::rules(&policy)).unwrap_or_else(|error| {
            sight.faults.push(chain(&error));
            Ledger::default()
        });
        ledger.kilnless = !root.is_kiln();
        find_stage(&root, &ledger, &mut sight);
        let daemon = launch::look(&root, now);
        let beacon = match &daemon {
            launch::Daemon::Running(Some(beacon)) | launch::Daemon::Stuck(beacon) => Some(beacon.as_ref()),
            _ => None,
        };
        sight.faults.extend(beacon.iter().flat_map(|beacon| beacon.faults.iter().cloned()));
        sight.faults.extend(obstacle(&root.home()));
        sight.faults.extend(root.check().err().map(|error| chain(&error)));
        let seen: BTreeSet<String> = std::mem::take(&mut sight.faults).into_iter().collect();
        sight.faults = seen.into_iter().collect();
        let times =
            sight.activity.as_ref().map_or(Times { idle: Duration::ZERO, since_nudge: None }, |activity| {
                memory(beacon, activity.last_activity_ts, activity.last_nudge_ts)
                    .times(activity, &ledger, now)
            });
        // A daemon that is settling says nothing for a while: so do we for it.
        let settling = beacon.filter(|beacon| beacon.reason == "settling").map(|beacon| {
            Duration::from_millis(beacon.tick_ms)
                .saturating_sub(launch::silence(beacon, now))
                .max(Duration::from_millis(1))
        });
        let verdict = judge(&sight.facts(&ledger, times, settling), &policy, now);
        let (pending, flag) = (pending::look(&root), flag_file::load(&root));
        Ok(Self { root, policy, now, sight, ledger, daemon, verdict, times, pending, flag })
    }

    /// Why it is silent, if it is.
    pub(super) fn diagnosis(&self) -> Option<Diagnosis> {
        let facts = self.sight.facts(&self.ledger, self.times, None);
        (self.sight.is_active() && (self.is_stalled() || self.flag.is_some()))
            .then(|| diagnose(&facts, self.now.wall))
    }

    /// Silent, and nudged or about to be.
    pub(super) fn is_stalled(&self) -> bool {
        !matches!(&self.verdict, Verdict::Quiet { reason, .. } if *reason != Reason::Debounce)
    }

    /// 0 watching and healthy, 1 stalled or nudged, 2 flagged, 3 no daemon, 4 no pipeline.
    pub(super) fn exit(&self) -> u8 {
        if !self.sight.is_active() {
            return 4;
        }
        if self.flag.is_some() {
            return 2;
        }
        match self.daemon {
            launch::Daemon::None | launch::Daemon::Stuck(_) => 3,
            launch::Daemon::Running(_) => u8::from(self.is_stalled()),
        }
    }

    /// Who waits for whom.
    pub(super) fn edges(&self) -> Vec<Edge> {
        edges(&self.sight.facts(&self.ledger, self.times, None), self.now.wall)
    }

    /// What the project was recognised by.
    pub(super) fn recognised(&self) -> Recognised {
        Recognised::of(&self.root, &self.policy, self.sight.stage.as_deref())
    }

    /// What happens next and when, in one sentence.
    pub(super) fn next(&self) -> String {
        let watched = matches!(self.daemon, launch::Daemon::Running(_));
        let unless = if watched { "" } else { " (by a daemon, once one runs)" };
        match &self.verdict {
            Verdict::Quiet { reason: Reason::Active, until: Some(until) } => {
                format!("{}{unless} if nothing happens until {}", self.due(), local(*until, self.now.wall))
            }
            Verdict::Quiet { reason: Reason::Debounce, until: Some(until) } => {
                format!("{}{unless} at {} unless work is seen", self.due(), local(*until, self.now.wall))
            }
            Verdict::Quiet { reason, until } => reason_words(reason, *until, self.now.wall),
            _ => format!("{}{unless} now", self.due()),
        }
    }

    fn due(&self) -> String {
        let rule = &self.policy.rule;
        let so_far = self.sight.activity.as_ref().map_or(0, |activity| {
            let stamp = effective_stamp(activity, &self.ledger).min(self.now.seconds());
            nudges_so_far(&activity.by(stamp), rule)
        });
        if so_far < rule.max_nudges {
            format!("nudge {} of {}", so_far + 1, rule.max_nudges)
        } else {
            "the flag".to_owned()
        }
    }
}

/// What the daemon remembers of the stamps, as far as it is still about them.
fn memory(beacon: Option<&Beacon>, activity: i64, nudge: i64) -> Memory {
    let Some(beacon) = beacon.filter(|beacon| beacon.boot_id == boot_id()) else { return Memory::default() };
    let seen = |seen: Option<(i64, u64, u64)>, stamp: i64| {
        seen.filter(|(known, ..)| *known == stamp).map(|(stamp, awake, before)| Seen {
            stamp,
            awake: Duration::from_millis(awake),
            before: Duration::from_millis(before),
        })
    };
    Memory { activity: seen(beacon.seen_activity, activity), nudge: seen(beacon.seen_nudge, nudge) }
}

/// Why it is quiet, and how that ends.
pub(super) fn reason_words(reason: &Reason, until: Option<Millis>, now: Millis) -> String {
    let by = until.map(|until| format!(" until {}", local(until, now))).unwrap_or_default();
    match reason {
        Reason::NoPipeline => "there is no pipeline: .kiln/STATE.md names no stage".to_owned(),
        Reason::Complete => "the pipeline is complete".to_owned(),
        Reason::Flagged => "DEADLOCK.flag lies there; a person has to look".to_owned(),
        Reason::Paused => format!("paused by the operator{by}"),
        Reason::ExemptPhase(phase) => format!("silence is no stall in phase {}", plain(phase, 40)),
        Reason::Active if until.is_none() => "no work has been seen yet".to_owned(),
        Reason::Active => format!("work was seen; no stall{by}"),
        Reason::Debounce => {
            format!("nudged a short time ago; the next step is due{}", by.replace(" until", " at"))
        }
        Reason::Settling => {
            "the watcher has just begun, could not write, or the clock jumped or slept: a moment of grace"
                .to_owned()
        }
        Reason::ToolRunning(held) => {
            format!(
                "{} runs {} since {}; that explains silence{by}",
                plain(&held.who, 40),
                plain(&held.what, 40),
                local(held.since, now)
            )
        }
        Reason::WorkerRunning(held) => {
            let step = if held.what.is_empty() {
                String::new()
            } else {
                format!(" (step {})", plain(&held.what, 40))
            };
            let since = local(held.since, now);
            format!(
                "{} runs{step}, last heard of at {since}; that explains silence{by}",
                plain(&held.who, 80)
            )
        }
        Reason::WaitsForPerson(held) => {
            format!(
                "{} waits for a person since {} ({}); a nudge would not help",
                plain(&held.who, 40),
                local(held.since, now),
                plain(&held.what, 60)
            )
        }
        Reason::ApiHold(held) => {
            format!("the API answered {} {} ago and holds{by}", plain(&held.what, 40), span(held.since, now))
        }
    }
}
