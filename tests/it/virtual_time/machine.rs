//! A machine of values around the daemon's own loop and pipeline: clocks that can be set, a project in memory, hooks
//! that write into it, and a record of what the daemon did when.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until};

use watchdog::daemon::run::{Order, World, run};
use watchdog::daemon::watch::Hint;
use watchdog::model::activity::Activity;
use watchdog::model::event::{Event, What};
use watchdog::model::ledger::Ledger;
use watchdog::model::moment::{Millis, Moment, millis};
use watchdog::model::pipeline::{Effect, Pipeline};
use watchdog::model::policy::Policy;
use watchdog::model::sight::Sight;

/// When the machine's story begins, by its wall clock. Not at a whole second: stamps lose a part.
const BEGIN: Millis = 1_800_000_000_000 + PART;
const PART: Millis = 400;
/// How long it had been running by then.
const UPTIME: Duration = Duration::from_secs(90_000);

/// The machine. Clones are the same one.
#[derive(Clone)]
pub(super) struct Machine(Rc<RefCell<Inner>>);

struct Inner {
    began: Instant,
    /// What was added to the wall clock, and to the time that counts sleep.
    stepped: Millis,
    slept: Duration,
    pipeline: Pipeline,
    project: Project,
    hints: UnboundedSender<Hint>,
    heard: Option<UnboundedReceiver<Hint>>,
    is_deaf: bool,
    looks: usize,
    /// What was done, with the seconds since the beginning.
    done: Vec<(u64, String)>,
}

/// What lies in the project's folder.
pub(super) struct Project {
    pub(super) stage: Option<String>,
    pub(super) activity: Option<Activity>,
    pub(super) ledger: Ledger,
    /// When the flag was written, unix seconds.
    pub(super) flag: Option<i64>,
    /// The number of the nudge that is staged.
    pub(super) pending: Option<u32>,
    pub(super) living: Vec<String>,
    pub(super) dead: BTreeSet<String>,
}

/// The session of all events.
pub(super) const SESSION: &str = "s";

pub(super) fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

pub(super) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

impl Machine {
    /// A machine whose lead worked this moment, in stage `build`, with a daemon that just began.
    pub(super) fn new() -> Self {
        Self::with(Policy::default(), false)
    }

    pub(super) fn with(policy: Policy, stays: bool) -> Self {
        let machine = Self::silent(policy, stays);
        machine.hook(
            "",
            What::SessionStart { source: "startup".to_owned(), pid: Some(7), entry: "cli".to_owned() },
        );
        machine.work();
        machine
    }

    /// The same with nothing in its project but the stage.
    pub(super) fn silent(policy: Policy, stays: bool) -> Self {
        let (hints, heard) = unbounded_channel();
        let project = Project {
            stage: Some("build".to_owned()),
            activity: None,
            ledger: Ledger::default(),
            flag: None,
            pending: None,
            living: vec![SESSION.to_owned()],
            dead: BTreeSet::new(),
        };
        let began = Instant::now();
        let start = Moment { wall: BEGIN, awake: UPTIME, boot: UPTIME };
        let pipeline = Pipeline::new(policy, stays, start);
        let (done, heard) = (Vec::new(), Some(heard));
        let (stepped, slept, is_deaf, looks) = (0, Duration::ZERO, false, 0);
        let inner = Inner { began, stepped, slept, pipeline, project, hints, heard, is_deaf, looks, done };
        Self(Rc::new(RefCell::new(inner)))
    }

    /// Lets the daemon run beside the script; both see the same virtual time. Ends with the script.
    pub(super) async fn play(&self, script: impl Future<Output = ()>) {
        let (stop, mut orders) = unbounded_channel();
        let mut heard = self.0.borrow_mut().heard.take().expect("it is played once");
        let mut world = self.clone();
        let daemon = async {
            run(&mut world, &mut heard, &mut orders).await;
        };
        let script = async {
            script.await;
            stop.send(Order::Stop).ok();
        };
        tokio::join!(daemon, script);
    }

    /// Lets the daemon run for so long with nothing else happening.
    pub(super) async fn idle(&self, span: Duration) {
        self.play(sleep(span)).await;
    }

    /// What the daemon (and a hook, of an episode) did: minutes and seconds since the beginning, and what.
    fn done(&self) -> Vec<String> {
        let show = |(at, what): &(u64, String)| format!("{}:{:02} {what}", at / 60, at % 60);
        self.0.borrow().done.iter().map(show).collect()
    }

    /// Checks what was done.
    #[track_caller]
    pub(super) fn did(&self, wanted: &[&str]) {
        assert_eq!(self.done(), wanted);
    }

    /// The same as numbers.
    pub(super) fn record(&self) -> Vec<(u64, String)> {
        self.0.borrow().done.clone()
    }

    pub(super) fn looks(&self) -> usize {
        self.0.borrow().looks
    }

    /// File events are lost from now on.
    pub(super) fn go_deaf(&self) {
        self.0.borrow_mut().is_deaf = true;
    }

    /// Waits until so long after the beginning.
    pub(super) async fn at(&self, span: Duration) {
        let began = self.0.borrow().began;
        sleep_until(began + span).await;
    }

    // -- what happens to the machine ---------------------------------------------------------------------------

    /// Sets the wall clock by so many milliseconds.
    pub(super) fn step_wall(&self, by: Millis) {
        self.0.borrow_mut().stepped += by;
    }

    /// Puts the machine to sleep: running time stands still, the others go on.
    pub(super) fn sleep(&self, span: Duration) {
        let mut inner = self.0.borrow_mut();
        inner.slept += span;
        inner.stepped += millis(span);
    }

    pub(super) fn now(&self) -> Moment {
        self.0.borrow().now()
    }

    /// Changes the project behind the daemon's back, and tells it.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Project) -> T) -> T {
        let result = change(&mut self.0.borrow_mut().project);
        self.tell();
        result
    }

    fn tell(&self) {
        let inner = self.0.borrow();
        if !inner.is_deaf {
            inner.hints.send(Hint::Root(0)).ok();
        }
    }

    // -- what hooks do -----------------------------------------------------------------------------------------

    /// A sign of the lead's work that leaves nothing open.
    pub(super) fn work(&self) {
        self.hook("", What::Prompt { wake: false });
    }

    /// An event of an agent (the lead's name is empty), written down as a hook does.
    pub(super) fn hook(&self, agent: &str, what: What) {
        self.0.borrow_mut().hook(agent, what);
        self.tell();
    }

    /// The lead's session takes what is staged, by a way that is no sign of work.
    pub(super) fn wake(&self) -> Option<u32> {
        let taken = self.change(|project| project.pending.take());
        if let Some(n) = taken {
            self.hook("", What::Claimed { id: String::new(), n, via: "bridge".to_owned() });
            self.hook("", What::Prompt { wake: true });
        }
        taken
    }
}

impl Inner {
    fn now(&self) -> Moment {
        let ran = self.began.elapsed();
        Moment {
            wall: BEGIN + millis(ran) + self.stepped,
            awake: UPTIME + ran,
            boot: UPTIME + ran + self.slept,
        }
    }

    /// Notes it with whole seconds, as stamps are.
    fn note(&mut self, what: impl Into<String>) {
        let ran = self.began.elapsed() + Duration::from_millis(PART.unsigned_abs());
        self.done.push((ran.as_secs(), what.into()));
    }

    fn apply(&mut self, what: What) {
        self.project.ledger.apply(&Event::of_root(self.now().wall, what));
    }

    fn hook(&mut self, agent: &str, what: What) {
        let now = self.now();
        let (session, agent) = (SESSION.to_owned(), agent.to_owned());
        let event = Event { session, name: agent.clone(), agent, ..Event::of_root(now.wall, what) };
        self.project.ledger.apply(&event);
        if !event.is_work() {
            return;
        }
        let stage = self.project.stage.clone().unwrap_or_default();
        let activity = self.project.activity.get_or_insert_default();
        let (is_idle, in_chain) =
            (matches!(event.what, What::Idle { .. }), activity.last_activity_source == "TeammateIdle");
        let is_past_nudge = activity.last_activity_ts > activity.last_nudge_ts;
        let unresumed = self.project.ledger.episode.as_ref().is_some_and(|episode| episode.resumed.is_none());
        let resumes = activity.nudge_count > 0
            && if is_past_nudge { in_chain && !is_idle && unresumed } else { !(in_chain && is_idle) };
        activity.note_work(if is_idle { "TeammateIdle" } else { "x" }, &stage, now.seconds());
        activity.epoch += 1;
        if resumes {
            let withdrawn = self.project.pending.take().map_or("", |_| ", nudge withdrawn");
            self.apply(What::Resumed);
            self.note(format!("resumed{withdrawn}"));
        }
    }

    fn act(&mut self, effect: Effect) {
        let now = self.now();
        match effect {
            Effect::Nudge { n, idle } => {
                let activity = self.project.activity.get_or_insert_default();
                (activity.nudge_count, activity.last_nudge_ts) = (n, now.seconds());
                activity.epoch += 1;
                self.project.pending = Some(n);
                self.apply(What::Nudged { n, id: String::new(), idle_seconds: idle.as_secs() });
                self.pipeline.note_nudge(now);
                self.note(format!("nudge {n}"));
            }
            Effect::Escalate { nudges, cause, .. } => {
                self.project.flag = Some(now.seconds());
                self.project.pending = None;
                self.apply(What::Escalated { n: nudges, cause: cause.to_owned() });
                self.note(format!("flag after {nudges} ({cause})"));
            }
            Effect::TellPlan(key, held) => {
                let event = Event::of_root(now.wall, What::PlanTold { key });
                self.project.ledger.apply(&Event { session: held.session.clone(), ..event });
                self.note(format!("told: {} waits for {}", held.who, held.what));
            }
            Effect::TellPerson(held) => {
                let (session, agent) = (held.session.clone(), held.agent.clone());
                let what = What::PersonTold;
                let event = Event { session, agent, ..Event::of_root(now.wall, what) };
                self.project.ledger.apply(&event);
                self.note(format!("told: {} waits for {}", held.who, held.what));
            }
            Effect::CloseEpisode => {
                self.project.activity.get_or_insert_default().nudge_count = 0;
                self.apply(What::Closed);
                self.note("closed");
            }
            Effect::ClearFlag => {
                self.project.flag = None;
                self.project.activity.get_or_insert_default().reset_nudges();
                self.apply(What::Recovered { by: "daemon".to_owned() });
                self.note("flag cleared");
            }
            Effect::EndSessions(ids) => {
                self.project.dead.clear();
                for session in ids {
                    let event = Event { session, ..Event::of_root(now.wall, What::SessionLost) };
                    self.project.ledger.apply(&event);
                }
                self.note("sessions lost");
            }
            Effect::Note(note) => self.note(format!("note: {}", note.diagnosis.cause.word())),
            Effect::Journal(what) => {
                if let What::WouldAct { verdict, n } = &what {
                    self.note(format!("would {verdict} {n}"));
                }
                self.apply(what);
            }
        }
    }
}

impl World for Machine {
    fn roots(&self) -> usize {
        1
    }

    fn look(&mut self, _place: usize) -> Option<Duration> {
        let mut inner = self.0.borrow_mut();
        inner.looks += 1;
        let now = inner.now();
        let project = &inner.project;
        let sight = Sight {
            stage: project.stage.clone(),
            activity: project.activity.clone(),
            flag: project.flag,
            living: project.living.clone(),
            dead: project.dead.clone(),
            ..Sight::default()
        };
        let ledger = project.ledger.clone();
        let step = inner.pipeline.step(&sight, &ledger, now);
        let wrote = !step.effects.is_empty();
        for effect in step.effects {
            inner.act(effect);
        }
        if let Some(end) = step.end {
            inner.note(format!("left: {}", end.words()));
            return None;
        }
        drop(inner);
        if wrote {
            self.tell();
        }
        Some(step.nap)
    }

    fn heard(&mut self, _place: usize) {}

    fn reload(&mut self) {}

    fn ping(&mut self) -> Option<Duration> {
        None
    }

    async fn sleep_until(&self, at: Instant) {
        sleep_until(at).await;
    }
}
