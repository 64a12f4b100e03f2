//! One root in the daemon's care: its lock, its pid file, its beacon, and what is done about each look.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::act::{Outcome, Scene, act};
use super::beat::{beat, restore};
use super::rosters::Rosters;
use super::sight::{Memo, find_stage, follow, look};
use super::sources::Sources;
use crate::model::event::{Event, What};
use crate::model::moment::Moment;
use crate::model::pipeline::{Effect, End, Pipeline, Step};
use crate::model::policy::{Mode, Policy};
use crate::model::sight::Sight;
use crate::model::wording::report;
use crate::store::beacon::Beacon;
use crate::store::file::{FileError, chain};
use crate::store::journal::{self, Follower, ROTATE_AT};
use crate::store::root::Root;
use crate::store::{activity_file, lock, pid_file, signals};
use crate::system::alert::Report;
use crate::system::clock;
use crate::system::process::{Identity, boot_id};

mod telling;

/// A daemon without a beacon cannot be stopped and looks stuck: it is tried again this soon.
const UNSEEN: Duration = Duration::from_secs(5);

/// One root in the daemon's care.
pub struct Post {
    root: Root,
    lock: File,
    pipeline: Pipeline,
    follower: Follower,
    memo: Memo,
    beacon: Beacon,
    /// What was broken at the last look, so that it is logged once.
    faults: Vec<String>,
    /// Events since the last look, and looks that found changes without any.
    heard: bool,
    unheard: u32,
    stamp: Option<(i64, u64)>,
    rosters: Rosters,
    sources: Sources,
    /// The journal was there before: of its events nobody is told any more.
    caught_up: bool,
}

/// What came of a look.
pub struct Look {
    /// How long to wait before the next at the latest.
    pub nap: Duration,
    /// The root is to be left.
    pub end: Option<End>,
    /// What people are to be told.
    pub reports: Vec<Report>,
}

impl Post {
    /// Takes a root whose lock is held.
    ///
    /// # Errors
    /// The pid file cannot be written, or the system does not say when this process began: the daemon must not run
    /// untracked, or nobody could stop it.
    pub fn open(root: Root, lock: File, policy: Policy, stays: bool, now: Moment) -> Result<Self, FileError> {
        let own = Identity::own();
        if own.start_time == 0 {
            let error = io::Error::other("it does not say when this process began");
            return Err(FileError::of("read", Path::new("/proc/self/stat"))(error));
        }
        pid_file::store(&root, pid_file::DAEMON, std::process::id())?;
        activity_file::prepare_unstored(&root);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let beacon = Beacon {
            v: 1,
            pid: own.pid,
            start_time: own.start_time,
            boot_id: boot_id(),
            version: version.clone(),
            started: now.wall,
            stays,
            ..Beacon::default()
        };
        let kilnless = !root.is_kiln();
        let start = What::DaemonStart { pid: own.pid, version, kilnless };
        journal::append(&root, &[Event::of_root(now.wall, start)]).ok();
        let follower = Follower::with(signals::rules(&policy));
        let pipeline = Pipeline::new(policy, stays, now);
        Ok(Self {
            root,
            lock,
            pipeline,
            follower,
            memo: Memo::default(),
            beacon,
            faults: Vec::new(),
            heard: false,
            unheard: 0,
            stamp: None,
            rosters: Rosters::default(),
            sources: Sources::default(),
            caught_up: false,
        })
    }

    /// The root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The settings in force.
    pub fn policy(&self) -> &Policy {
        self.pipeline.policy()
    }

    /// Takes new settings.
    pub fn set_policy(&mut self, policy: Policy) {
        self.follower.ledger.graph.set_rules(signals::rules(&policy));
        self.pipeline.set_policy(policy);
    }

    /// The last verdict and its reason.
    pub fn verdict(&self) -> String {
        format!("{}: {}", self.beacon.verdict, self.beacon.reason)
    }

    /// Tells whether the last verdict was quiet.
    pub fn is_quiet(&self) -> bool {
        self.beacon.verdict != "nudge" && self.beacon.verdict != "escalate"
    }

    /// The folders of others whose changes call for a look.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.sources.folders()
    }

    /// An event told of a change.
    pub fn hear(&mut self) {
        self.heard = true;
        self.unheard = 0;
    }

    /// Tells whether several looks in a row found changes of which no event told.
    pub fn is_unheard(&self) -> bool {
        self.unheard >= 2
    }

    /// Looks, judges, acts.
    pub fn look(&mut self, watching: &str) -> Look {
        let now = clock::now();
        let mut sight = look(&self.root, &mut self.memo);
        match self.mind_the_lock(&sight) {
            Ok(None) => {}
            Ok(Some(end)) => return Look { nap: Duration::ZERO, end: Some(end), reports: Vec::new() },
            Err(error) => return self.shut_out(&error),
        }
        self.mind_the_marks(&mut sight);
        self.mind_the_ears(&sight);
        self.rosters.mind(&self.root, &sight, now);
        let mut events = follow(&mut self.follower, &self.root, &mut sight);
        if !std::mem::replace(&mut self.caught_up, true) {
            events.clear();
        }
        let due =
            self.sources.mind(&self.root, &mut sight, &self.follower.ledger, self.pipeline.policy(), now);
        let news = follow(&mut self.follower, &self.root, &mut sight);
        self.take_news(&news, &mut sight, now);
        events.extend(news);
        if self.pipeline.policy().daemon.mode == Mode::Act
            && let Err(error) = restore(&self.root, &mut sight, &self.follower.ledger, now)
        {
            sight.faults.push(chain(&error));
        }
        let step = self.pipeline.step(&sight, &self.follower.ledger, now);
        let mut faults = std::mem::take(&mut sight.faults);
        let (end, told) = self.carry_out(&step, &sight, now, &mut faults);
        let mut after = Sight::default();
        events.extend(follow(&mut self.follower, &self.root, &mut after));
        self.rotate(now, &mut faults);
        let display = self.root.display();
        let policy = self.pipeline.policy();
        let mut reports: Vec<Report> = events
            .iter()
            .filter_map(|event| report(event, policy.rule.max_nudges))
            .map(|(on, summary)| Report {
                on,
                root: display.clone(),
                summary: format!("{display}: {summary}"),
                at: now.wall,
            })
            .collect();
        reports.extend(told.into_iter().map(|summary| Report {
            on: "waiting",
            root: display.clone(),
            summary: format!("{display}: {summary}"),
            at: now.wall,
        }));
        self.log(&step, faults);
        let stored = self.keep_beacon(&step, watching, now);
        let nap = due.map_or(step.nap, |due| step.nap.min(due));
        Look { nap: if stored { nap } else { nap.min(UNSEEN) }, end, reports }
    }

    /// What the journal now tells of tracks counts as work, and says the stage, where there is no `.kiln/`.
    fn take_news(&mut self, news: &[Event], sight: &mut Sight, now: Moment) {
        let ledger = &mut self.follower.ledger;
        ledger.kilnless = !self.root.is_kiln();
        if let Err(error) = beat(&self.root, sight, ledger, news, now) {
            sight.faults.push(chain(&error));
        }
        find_stage(&self.root, ledger, sight);
    }

    /// The folder around the lock may have been removed: the lock is taken anew where others look for it, or two
    /// daemons would watch one root.
    fn mind_the_lock(&mut self, sight: &Sight) -> Result<Option<End>, FileError> {
        let path = self.root.daemon_lock();
        if sight.is_gone || lock::is_in_place(&self.lock, &path) {
            return Ok(None);
        }
        match self.take_again(&path) {
            Ok(true) => {
                info!(root = self.root.display(), "watching again, in a folder that was made again");
                Ok(None)
            }
            Ok(false) => Ok(Some(End::Displaced)),
            // In a sandbox of a service manager only a new process can write in the new folder.
            Err(_) if self.beacon.stays => Ok(Some(End::ShutOut)),
            Err(error) => Err(error),
        }
    }

    /// What stands in place of our folder is not ours: nothing is read, written or removed in it.
    fn shut_out(&mut self, error: &FileError) -> Look {
        let faults = vec![chain(error)];
        if self.faults != faults {
            warn!(root = self.root.display(), fault = faults[0], "fault");
            self.faults = faults;
        }
        Look { nap: self.pipeline.policy().daemon.tick, end: None, reports: Vec::new() }
    }

    /// Returns false if another daemon was faster.
    fn take_again(&mut self, path: &Path) -> Result<bool, FileError> {
        self.root.prepare()?;
        let Some(lock) = lock::acquire(path, Duration::ZERO)? else { return Ok(false) };
        self.lock = lock;
        self.pipeline.forget_sessions();
        activity_file::prepare_unstored(&self.root);
        // What is not there is due.
        self.beacon.last_tick_awake_ms = 0;
        pid_file::store(&self.root, pid_file::DAEMON, std::process::id())?;
        Ok(true)
    }

    /// A session's end takes our marks away and asks us to end. If it died in between we go on, and are to be found.
    fn mind_the_marks(&mut self, sight: &mut Sight) {
        let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
        if !sight.is_gone && !is_there(self.root.in_tmp(pid_file::DAEMON)) {
            let stored = pid_file::store(&self.root, pid_file::DAEMON, std::process::id());
            sight.faults.extend(stored.err().map(|error| chain(&error)));
        }
        if !is_there(self.root.in_own("daemon.json")) {
            self.beacon.last_tick_awake_ms = 0;
        }
    }

    /// Counts looks that find a new stamp although nothing was heard.
    fn mind_the_ears(&mut self, sight: &Sight) {
        let stamp = sight.activity.as_ref().map(|activity| (activity.last_activity_ts, activity.epoch));
        let changed = self.stamp.is_some() && self.stamp != stamp;
        self.unheard = if changed && !self.heard {
            self.unheard + 1
        } else if self.heard {
            0
        } else {
            self.unheard
        };
        self.heard = false;
        self.stamp = stamp;
    }

    /// Carries out the effects. Returns the end, which holds only if what it rests on was stored, and what the
    /// operator is to be told.
    fn carry_out(
        &mut self,
        step: &Step,
        sight: &Sight,
        now: Moment,
        faults: &mut Vec<String>,
    ) -> (Option<End>, Vec<String>) {
        let mut end = step.end;
        let mut told = Vec::new();
        for effect in &step.effects {
            let scene = Scene {
                root: &self.root,
                sight,
                ledger: &self.follower.ledger,
                policy: self.pipeline.policy(),
                now,
            };
            let outcome = act(scene, effect);
            match (effect, &outcome) {
                (Effect::Nudge { n, idle }, Ok(Outcome::Done | Outcome::Uncounted(_))) => {
                    info!(root = self.root.display(), n, idle_seconds = idle.as_secs(), "nudged");
                    self.pipeline.note_nudge(now);
                }
                (Effect::Escalate { nudges, cause, .. }, Ok(Outcome::Done)) => {
                    warn!(root = self.root.display(), nudges, cause, "escalated");
                }
                (Effect::Escalate { .. }, result) => {
                    end = None;
                    if result.is_err() {
                        self.pipeline.note_unwritable(now);
                    }
                }
                (Effect::Nudge { .. }, Err(_)) => self.pipeline.note_unwritable(now),
                (Effect::TellPerson(held) | Effect::TellPlan(_, held), _) => told.push(held.words()),
                _ => {}
            }
            match outcome {
                Err(error) => faults.push(chain(&error)),
                Ok(Outcome::Uncounted(fault)) => faults.push(fault),
                Ok(_) => {}
            }
        }
        if !step.effects.is_empty() {
            // Our own write is heard, and is no change of others.
            self.stamp = None;
        }
        (end, told)
    }

    fn rotate(&self, now: Moment, faults: &mut Vec<String>) {
        let limit = ROTATE_AT + self.follower.base();
        if self.follower.offset() > limit
            && let Err(error) = journal::rotate_with(
                &self.root,
                now.wall,
                limit,
                Arc::clone(self.follower.ledger.graph.rules()),
            )
        {
            faults.push(chain(&error));
        }
    }

    /// Leaves the root: the marks go, the lock is released last.
    pub fn close(self, reason: &str) {
        let event = Event::of_root(clock::now().wall, What::DaemonStop { reason: reason.to_owned() });
        if self.root.own().is_dir() {
            journal::append(&self.root, &[event]).ok();
        }
        pid_file::remove_if(&self.root, pid_file::DAEMON, std::process::id());
        if lock::is_in_place(&self.lock, &self.root.daemon_lock()) {
            std::fs::remove_file(self.root.in_own("daemon.json")).ok();
        }
    }
}
