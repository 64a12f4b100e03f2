//! A recorded run, judged again: the daemon's own steps on values instead of files. What hooks and the daemon would
//! have written is kept here and nowhere else, so no pipeline is touched, and the same record gives the same lines.

mod hooks;

use std::sync::Arc;
use std::time::Duration;

use super::activity::Activity;
use super::cause::{Cause, Confidence, Diagnosis};
use super::diagnosis::diagnose;
use super::event::{Event, What};
use super::judge::{Held, Reason, Verdict};
use super::ledger::Ledger;
use super::moment::{Millis, Moment, duration};
use super::nudge::{Nudge, id_of};
use super::order;
use super::pipeline::{Effect, End, Pipeline, Step};
use super::policy::{Mode, Policy};
use super::rule::Times;
use super::sight::Sight;
use super::signals::Rules;
use super::team::Team;
use super::wording::{self, clock, plain};

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// When, unix milliseconds.
    pub at: Millis,
    /// What happened.
    pub what: Happening,
}

/// What a line of a record tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An event.
    Event(Box<Event>),
    /// From now on the pipeline's record says this stage; empty = there is no pipeline.
    Stage(String),
    /// Time passes until then.
    Nothing,
}

/// A change of verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When, unix milliseconds.
    pub at: Millis,
    /// quiet, nudge, note, escalate.
    pub verdict: &'static str,
    /// The reason's name.
    pub reason: &'static str,
    /// Which nudge; the nudges before, for the flag; 0 for a note.
    pub n: u32,
    /// Why, where there is a cause.
    pub why: Option<Diagnosis>,
}

/// Judges a record.
pub fn rehearse(items: &[Item], mut policy: Policy, rules: Arc<Rules>) -> Vec<Line> {
    // Nothing is acted upon here anyway; an observer's record is judged like any other.
    policy.daemon.mode = Mode::Act;
    let Some(first) = items.first() else { return Vec::new() };
    let mut run = Rehearsal {
        origin: first.at,
        now: first.at,
        ledger: Ledger::with(rules),
        pipeline: None,
        stage: None,
        activity: None,
        flag: None,
        pending: None,
        next: None,
        shown: None,
        lines: Vec::new(),
        policy,
    };
    run.begin();
    for group in items.chunk_by(|a, b| a.at == b.at) {
        run.advance(group[0].at);
        run.take(group);
        if !run.glance(group) {
            run.look();
        }
    }
    run.lines
}

struct Rehearsal {
    policy: Policy,
    origin: Millis,
    now: Millis,
    ledger: Ledger,
    /// The daemon; none while none runs.
    pipeline: Option<Pipeline>,
    stage: Option<String>,
    activity: Option<Activity>,
    flag: Option<i64>,
    pending: Option<Nudge>,
    /// When the daemon looks again at the latest.
    next: Option<Millis>,
    shown: Option<&'static str>,
    lines: Vec<Line>,
}

impl Rehearsal {
    fn moment(&self) -> Moment {
        let awake = duration(self.now - self.origin);
        Moment { wall: self.now, awake, boot: awake }
    }

    fn begin(&mut self) {
        self.pipeline = Some(Pipeline::new(self.policy.clone(), false, self.moment()));
    }

    fn is_active(&self) -> bool {
        self.stage.as_deref().is_some_and(|stage| stage != "complete")
    }

    fn sight(&self) -> Sight {
        Sight {
            is_gone: false,
            stage: self.stage.clone(),
            activity: self.activity.clone(),
            flag: self.flag,
            living: self.ledger.live().map(|(id, _)| id.clone()).filter(|id| !id.is_empty()).collect(),
            ..Sight::default()
        }
    }

    /// Lets time pass: the daemon looks at every deadline of its own.
    fn advance(&mut self, to: Millis) {
        while let Some(next) = self.next.filter(|next| *next < to) {
            self.now = next;
            self.look();
        }
        self.now = to;
    }

    /// Takes what happened at one point in time.
    fn take(&mut self, group: &[Item]) {
        let mut events: Vec<Event> = Vec::new();
        for item in group {
            match &item.what {
                Happening::Stage(stage) => self.stage = Some(stage.clone()).filter(|stage| !stage.is_empty()),
                Happening::Event(event) => events.push((**event).clone()),
                Happening::Nothing => {}
            }
        }
        order::settle(&mut events);
        for event in &events {
            self.happen(event);
        }
    }

    /// More work while work was seen anyway calls for no judgement: only its time is noted. Returns false where
    /// there is more to it.
    fn glance(&mut self, group: &[Item]) -> bool {
        let is_work = |item: &Item| match &item.what {
            Happening::Event(event) => {
                event.is_work() && !matches!(&event.what, What::ToolStart { tool, .. } if is_question(tool))
            }
            _ => false,
        };
        let is_plain = self.shown == Some("active")
            && self.flag.is_none()
            && self.pending.is_none()
            && self.ledger.api.is_none()
            && group.iter().all(is_work)
            && self.next.is_some_and(|next| next > self.now);
        let now = self.moment();
        let (Some(activity), Some(pipeline)) = (&self.activity, &mut self.pipeline) else { return false };
        if !is_plain || activity.nudge_count > 0 {
            return false;
        }
        let note = self.ledger.graph.teams.values().filter_map(Team::next_note).min();
        if note.is_some_and(|note| note <= self.now) {
            return false;
        }
        pipeline.glance(activity, &self.ledger, now);
        self.next = self.next.into_iter().chain(note).min();
        true
    }

    fn stage_message(&mut self, text: String, number: u32, session: Option<String>, wakes: bool) {
        let id = id_of(self.now, number);
        let timestamp = self.now.div_euclid(1000);
        self.pending = Some(Nudge { text, timestamp, number, id, session, wakes });
    }

    /// Looks, judges, acts: what was done is looked at again at once, as the daemon hears of its own files.
    fn look(&mut self) {
        for _ in 0..4 {
            let now = self.moment();
            let sight = self.sight();
            let Some(pipeline) = &mut self.pipeline else {
                self.next = None;
                return;
            };
            let step = pipeline.step(&sight, &self.ledger, now);
            self.next = Some(self.now + super::moment::millis(step.nap).max(1));
            self.show(&step);
            let acted = step
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Nudge { .. } | Effect::Escalate { .. }));
            for effect in &step.effects {
                self.carry_out(effect, &step, &sight);
            }
            if acted {
                continue;
            }
            if step.end.is_some_and(|end| end != End::Escalated) {
                self.leave();
            }
            return;
        }
    }

    /// The daemon leaves the root.
    fn leave(&mut self) {
        self.pipeline = None;
        self.next = None;
    }

    /// Puts a new reason to be quiet on a line.
    fn show(&mut self, step: &Step) {
        let Verdict::Quiet { reason, .. } = &step.verdict else {
            self.shown = None;
            return;
        };
        let word = reason.word();
        if self.shown.replace(word) == Some(word) {
            return;
        }
        let why = held(reason).map(|(cause, held)| held_by(cause, held));
        self.lines.push(Line { at: self.now, verdict: "quiet", reason: word, n: 0, why });
    }

    fn carry_out(&mut self, effect: &Effect, step: &Step, sight: &Sight) {
        let now = self.moment();
        match effect {
            Effect::Nudge { n, idle } => self.nudge(*n, *idle, sight),
            Effect::Escalate { nudges, idle, cause } => {
                let why = self.diagnose(sight, *idle);
                self.flag = Some(now.seconds());
                self.pending.take_if(|nudge| nudge.number > 0);
                let what = What::Escalated { n: *nudges, cause: (*cause).to_owned() };
                self.ledger.apply(&Event::of_root(self.now, what));
                self.push("escalate", "stalled", *nudges, why);
            }
            Effect::Note(note) => {
                let what = What::Noted {
                    key: note.key.clone(),
                    cause: note.diagnosis.cause.word().to_owned(),
                    root: note.diagnosis.root.clone(),
                    words: String::new(),
                };
                let session = note.diagnosis.session.clone();
                self.ledger.apply(&Event { session, ..Event::of_root(self.now, what) });
                let before = self.pending.take();
                let text = wording::note(&note.diagnosis, before.as_ref().map(|nudge| nudge.text.as_str()));
                let session = self.ledger.lead_session(|_| true).map(ToOwned::to_owned);
                self.stage_message(text, before.map_or(0, |nudge| nudge.number), session, true);
                self.push("note", step.verdict.reason_word(), 0, note.diagnosis.clone());
            }
            Effect::TellPerson(held) => {
                let event = Event::of_root(self.now, What::PersonTold);
                self.ledger.apply(&Event {
                    session: held.session.clone(),
                    agent: held.agent.clone(),
                    ..event
                });
            }
            Effect::TellPlan(key, held) => {
                let event = Event::of_root(self.now, What::PlanTold { key: key.clone() });
                self.ledger.apply(&Event { session: held.session.clone(), ..event });
            }
            Effect::CloseEpisode => {
                if let Some(activity) = &mut self.activity {
                    activity.nudge_count = 0;
                }
                self.ledger.apply(&Event::of_root(self.now, What::Closed));
            }
            Effect::ClearFlag => self.clear_flag(),
            Effect::EndSessions(ids) => {
                for id in ids {
                    let event = Event::of_root(self.now, What::SessionLost);
                    self.ledger.apply(&Event { session: id.clone(), ..event });
                }
            }
            Effect::Journal(what) => self.ledger.apply(&Event::of_root(self.now, what.clone())),
        }
    }

    fn diagnose(&self, sight: &Sight, idle: Duration) -> Diagnosis {
        diagnose(&sight.facts(&self.ledger, Times { idle, since_nudge: None }, None), self.now)
    }

    fn nudge(&mut self, n: u32, idle: Duration, sight: &Sight) {
        let now = self.moment();
        let why = self.diagnose(sight, idle);
        let facts = sight.facts(&self.ledger, Times { idle, since_nudge: None }, None);
        let activity = self.activity.clone().unwrap_or_default();
        let of = self.policy.rule.max_nudges;
        let text = wording::nudge(&facts, &activity, idle.as_secs(), n, of, self.now);
        let session = self.ledger.lead_session(|_| true).map(ToOwned::to_owned);
        self.stage_message(text, n, session, true);
        if let Some(activity) = &mut self.activity {
            activity.nudge_count = n;
            activity.last_nudge_ts = now.seconds();
        }
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.note_nudge(now);
        }
        let what = What::Nudged { n, id: id_of(self.now, n), idle_seconds: idle.as_secs() };
        self.ledger.apply(&Event::of_root(self.now, what));
        self.push("nudge", "stalled", n, why);
    }

    fn push(&mut self, verdict: &'static str, reason: &'static str, n: u32, why: Diagnosis) {
        self.lines.push(Line { at: self.now, verdict, reason, n, why: Some(why) });
    }
}

fn held_by(cause: Cause, held: &Held) -> Diagnosis {
    let proof = match cause {
        Cause::LongTool => {
            format!("{}: {} has been running since {}", held.who, plain(&held.what, 60), clock(held.since))
        }
        Cause::WaitsForPerson => format!(
            "{} has asked a person for {} since {}",
            held.who,
            plain(&held.what, 60),
            clock(held.since)
        ),
        _ => format!("the API answered {} at {} and holds", plain(&held.what, 60), clock(held.since)),
    };
    Diagnosis {
        cause,
        root: held.who.clone(),
        session: held.session.clone(),
        confidence: Confidence::High,
        words: format!("{proof}."),
        evidence: vec![proof],
    }
}

/// Tools that ask a person.
fn is_question(tool: &str) -> bool {
    matches!(tool, "AskUserQuestion" | "ExitPlanMode")
}

/// What holds an agent, as a cause.
pub fn held(reason: &Reason) -> Option<(Cause, &Held)> {
    match reason {
        Reason::ToolRunning(held) => Some((Cause::LongTool, held)),
        Reason::WaitsForPerson(held) => Some((Cause::WaitsForPerson, held)),
        Reason::ApiHold(held) => Some((Cause::ApiDead, held)),
        _ => None,
    }
}
