//! One root as the daemon follows it: what it remembers between two looks, and what follows from the next. Pure:
//! looks and time come in, steps go out.

use std::collections::BTreeSet;
use std::time::Duration;

use super::activity::Activity;
use super::event::What;
use super::judge::{Held, Verdict, judge};
use super::ledger::Ledger;
use super::moment::{Moment, duration};
use super::overdue::Note;
use super::policy::{Mode, Policy};
use super::rule::{Times, has_recovered};
use super::sight::Sight;
use super::stall::{Memory, effective_stamp};

mod ending;
mod telling;

/// What a look calls for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Stage a nudge.
    Nudge {
        /// Which of the episode.
        n: u32,
        /// Silence so far.
        idle: Duration,
    },
    /// Write the flag.
    Escalate {
        /// Nudges before.
        nudges: u32,
        /// Silence so far.
        idle: Duration,
        /// Why: `no_recovery`, `session_lost`.
        cause: &'static str,
    },
    /// Tell the operator who has been asked for what, since when.
    TellPerson(Held),
    /// Tell the operator of a plan that waits for a decision; the key is what it is remembered by.
    TellPlan(String, Held),
    /// The episode is over: counters back to zero.
    CloseEpisode,
    /// It works again in spite of the flag: clear it.
    ClearFlag,
    /// Clients are gone without a word: end their sessions.
    EndSessions(Vec<String>),
    /// Tell the lead of something that does not stop the whole pipeline.
    Note(Note),
    /// Write down what happened.
    Journal(What),
}

/// Why the daemon leaves a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The flag is written; a person has to look.
    Escalated,
    /// The pipeline is complete.
    Complete,
    /// The folder is gone.
    RootGone,
    /// The last session ended.
    NoSession,
    /// The last client is gone without a word.
    SessionLost,
    /// The folder was made again, and another daemon watches there by now.
    Displaced,
    /// The folder was made again, and we may not write in it.
    ShutOut,
}

impl End {
    /// The reason in words, for the log and the journal.
    pub fn words(self) -> &'static str {
        match self {
            Self::Escalated => "escalated",
            Self::Complete => "the pipeline is complete",
            Self::RootGone => "the folder is gone",
            Self::NoSession => "no session is left",
            Self::SessionLost => "the client is gone without a word",
            Self::Displaced => "another daemon watches it by now",
            Self::ShutOut => "the folder was made again and cannot be written from here",
        }
    }

    /// Tells whether a service manager should start us again: what we watched may be back by then.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::RootGone | Self::Displaced | Self::ShutOut)
    }
}

/// What follows from a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The verdict.
    pub verdict: Verdict,
    /// What is to be done, in order.
    pub effects: Vec<Effect>,
    /// When to look again at the latest.
    pub nap: Duration,
    /// Leave the root after the effects; an escalation only if its flag was stored.
    pub end: Option<End>,
}

/// One root as the daemon follows it.
#[derive(Debug, Clone)]
pub struct Pipeline {
    policy: Policy,
    stays: bool,
    memory: Memory,
    /// The last step, and how long a nap it called for.
    last: Option<(Moment, Duration)>,
    /// Awake time until which nothing is judged.
    settling: Duration,
    had_sessions: bool,
    /// Awake time since which no session is left.
    empty: Option<Duration>,
    /// Awake time since which clients are gone without a word.
    lost: Option<Duration>,
    /// Awake time of our last nudge: it counts even if its counter could not be stored.
    nudged: Option<Duration>,
    told: Option<Held>,
    would: Option<(Verdict, i64)>,
    /// Notes that were called for, so that one that could not be stored is not called for at every look.
    noted: BTreeSet<(String, String)>,
}

/// The machine slept, or the wall clock was set, if it is off by more than this.
const JUMP: Duration = Duration::from_secs(2);

impl Pipeline {
    /// Begins to follow a root. `stays` = wait for the next pipeline instead of leaving.
    pub fn new(policy: Policy, stays: bool, now: Moment) -> Self {
        let settling = now.awake + policy.daemon.tick;
        Self {
            policy,
            stays,
            memory: Memory::default(),
            last: None,
            settling,
            had_sessions: false,
            empty: None,
            lost: None,
            nudged: None,
            told: None,
            would: None,
            noted: BTreeSet::new(),
        }
    }

    /// The settings in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Takes new settings.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// What was seen of the two stamps.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Takes note that a nudge was staged at `now`, whether or not its counter could be stored.
    pub fn note_nudge(&mut self, now: Moment) {
        self.nudged = Some(now.awake);
    }

    /// Takes note that nothing could be written at `now`. What hooks saw meanwhile could not be written either, so
    /// nothing is judged before a whole tick has passed in which they could.
    pub fn note_unwritable(&mut self, now: Moment) {
        self.settling = self.settling.max(now.awake + 2 * self.policy.daemon.tick);
    }

    /// Takes note that the sessions' files were taken away: that none is left does not mean that they ended.
    pub fn forget_sessions(&mut self) {
        self.had_sessions = false;
    }

    /// Takes note of a sign of work that changes nothing else, so that its time is known.
    pub fn glance(&mut self, activity: &Activity, ledger: &Ledger, now: Moment) {
        self.memory.see(activity, ledger, now);
    }

    /// Judges a look.
    pub fn step(&mut self, sight: &Sight, ledger: &Ledger, now: Moment) -> Step {
        let woke = self.settle(now);
        if let Some(activity) = &sight.activity {
            self.memory.see(activity, ledger, now);
        }
        let settling = self.settling.checked_sub(now.awake).filter(|left| !left.is_zero());
        let verdict =
            judge(&sight.facts(ledger, self.times(sight, ledger, now), settling), &self.policy, now);
        let mut step = Step { verdict, effects: Vec::new(), nap: self.policy.daemon.tick, end: None };
        note_stage(sight, ledger, &mut step);
        if woke && ledger.tracks.is_awaited(self.policy.quiet.person_limit, now.wall) {
            step.effects.push(Effect::Journal(What::Woke));
        }
        self.act_on_verdict(sight, now, &mut step);
        self.tell_person(sight, ledger, now, &mut step);
        self.tell_lead(sight, ledger, now, &mut step);
        self.tell_of_tracks(sight, ledger, now, &mut step);
        self.end_episode(sight, ledger, now, &mut step);
        self.watch_sessions(sight, ledger, now, &mut step);
        self.watch_pipeline(sight, ledger, now, &mut step);
        if let Verdict::Quiet { until: Some(until), .. } = &step.verdict {
            step.nap = step.nap.min(duration(until - now.wall));
        }
        step.nap = step.nap.max(Duration::from_millis(10));
        self.last = Some((now, step.nap));
        step
    }

    /// Returns the times that the rule looks at.
    pub fn times(&self, sight: &Sight, ledger: &Ledger, now: Moment) -> Times {
        let Some(activity) = &sight.activity else {
            return Times { idle: Duration::ZERO, since_nudge: None };
        };
        let mut times = self.memory.times(activity, ledger, now);
        if let Some(nudged) = self.nudged {
            let since = now.awake.saturating_sub(nudged);
            let is_in_force = since <= self.policy.rule.nudge_every;
            times.since_nudge = if is_in_force {
                Some(times.since_nudge.unwrap_or(since).min(since))
            } else {
                times.since_nudge
            };
        }
        times
    }

    /// After a gap in our own looks, a sleep or a step of the wall clock nothing is judged for a tick: whoever else
    /// stood still must get a chance to move first.
    /// Returns whether the machine slept or the clock was set.
    fn settle(&mut self, now: Moment) -> bool {
        let Some((last, nap)) = self.last else { return false };
        let tick = self.policy.daemon.tick;
        let late = now.awake_since(last).saturating_sub(nap) > tick.max(JUMP);
        let woke = now.slept_since(last) > JUMP || now.stepped_since(last) > JUMP;
        if woke || late {
            self.settling = self.settling.max(now.awake + tick);
        }
        woke
    }

    fn act_on_verdict(&mut self, sight: &Sight, now: Moment, step: &mut Step) {
        let effect = match step.verdict {
            Verdict::Quiet { .. } => return,
            Verdict::Nudge { n, idle } => Effect::Nudge { n, idle },
            Verdict::Escalate { nudges, idle } => Effect::Escalate { nudges, idle, cause: "no_recovery" },
        };
        if self.policy.daemon.mode == Mode::Act {
            if matches!(effect, Effect::Escalate { .. }) {
                step.end = Some(End::Escalated);
            }
            step.effects.push(effect);
            return;
        }
        // An observer says once what it would have done, and then goes on as if it had.
        let (word, n) = match &step.verdict {
            Verdict::Nudge { n, .. } => ("nudge", *n),
            _ => ("escalate", 0),
        };
        let key =
            (step.verdict.clone_without_idle(), sight.activity.as_ref().map_or(0, |a| a.last_activity_ts));
        if self.would.as_ref() != Some(&key) {
            step.effects.push(Effect::Journal(What::WouldAct { verdict: word.to_owned(), n }));
            self.would = Some(key);
        }
        self.note_nudge(now);
    }

    fn end_episode(&self, sight: &Sight, ledger: &Ledger, now: Moment, step: &mut Step) {
        let Some(activity) = &sight.activity else { return };
        let activity = activity.by(effective_stamp(activity, ledger).min(now.seconds()));
        match sight.flag {
            None if activity.nudge_count > 0 && has_recovered(&activity, &self.policy.rule) => {
                step.effects.push(Effect::CloseEpisode);
            }
            Some(flagged) if flagged > 0 => {
                let worked = u64::try_from(activity.last_activity_ts - flagged).unwrap_or(0);
                if worked > self.policy.rule.recovered_after.as_secs() {
                    step.effects.push(Effect::ClearFlag);
                }
            }
            _ => {}
        }
    }
}

fn note_stage(sight: &Sight, ledger: &Ledger, step: &mut Step) {
    let stage = sight.stage.clone().unwrap_or_default();
    if stage != ledger.stage && !sight.is_gone {
        step.effects.push(Effect::Journal(What::Stage { stage }));
    }
}

impl Verdict {
    /// The verdict without its measure, to tell a new one from the same once more.
    fn clone_without_idle(&self) -> Self {
        match self.clone() {
            Self::Nudge { n, .. } => Self::Nudge { n, idle: Duration::ZERO },
            Self::Escalate { nudges, .. } => Self::Escalate { nudges, idle: Duration::ZERO },
            quiet @ Self::Quiet { .. } => quiet,
        }
    }
}
