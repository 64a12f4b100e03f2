//! A recorded run, judged again: the daemon's own steps on values instead of files. What hooks and the daemon would
//! have written is kept here and nowhere else, so no pipeline is touched, and the same record gives the same lines.

use std::sync::Arc;
use std::time::Duration;

use super::activity::Activity;
use super::diagnosis::{Cause, Diagnosis, diagnose};
use super::event::{Event, What};
use super::judge::{Held, LEAD, Reason, Verdict};
use super::ledger::Ledger;
use super::moment::{Millis, Moment, duration};
use super::nudge::{Nudge, id_of};
use super::order;
use super::pipeline::{Effect, End, Pipeline, Step};
use super::policy::Policy;
use super::rule::Times;
use super::sight::Sight;
use super::signals::Rules;
use super::wording::{self, ApiAdvice, clock, plain};

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
pub fn rehearse(items: Vec<Item>, policy: Policy, rules: Arc<Rules>) -> Vec<Line> {
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
        run.look();
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

    fn happen(&mut self, event: &Event) {
        match &event.what {
            What::Stage { stage } => self.stage = Some(stage.clone()).filter(|stage| !stage.is_empty()),
            What::Snapshot { .. } => return self.resume_from(event),
            What::Recovered { by } if matches!(by.as_str(), "SessionStart" | "daemon") => return,
            What::Recovered { .. } => self.clear_flag(),
            // What was done about the recorded run is no part of it.
            What::Nudged { .. }
            | What::Claimed { .. }
            | What::Withdrawn { .. }
            | What::Resumed
            | What::Closed
            | What::Escalated { .. }
            | What::WouldAct { .. }
            | What::PersonTold
            | What::Noted { .. }
            | What::Helped { .. }
            | What::DaemonStart { .. }
            | What::DaemonStop { .. }
            | What::Fault { .. } => return,
            _ => {}
        }
        if self.is_active() {
            self.hook(event);
        }
        self.ledger.apply(event);
        if let What::SessionEnd { reason } = &event.what {
            self.session_ended(reason);
        }
    }

    /// A rotated journal begins with all that came before, folded.
    fn resume_from(&mut self, event: &Event) {
        self.ledger.apply(event);
        self.ledger.episode = None;
        self.stage = Some(self.ledger.stage.clone()).filter(|stage| !stage.is_empty());
        if self.ledger.last_work > 0 {
            self.activity = Some(Activity {
                last_activity_ts: self.ledger.last_work.div_euclid(1000),
                last_activity_source: "journal".to_owned(),
                ..Activity::default()
            });
        }
    }

    /// What a hook does about an event.
    fn hook(&mut self, event: &Event) {
        let takes = matches!(event.what, What::Prompt { .. } | What::ToolStart { .. });
        if takes && event.is_lead() {
            self.claim(event);
        }
        if event.is_work() {
            self.work(event);
            if self.pipeline.is_none() {
                self.begin();
            }
        }
        match &event.what {
            What::SessionStart { source, .. } => {
                if source != "compact" && self.flag.is_some() {
                    self.clear_flag();
                }
                if self.pipeline.is_none() {
                    self.begin();
                }
            }
            What::ApiError { error, holds, .. } => self.api_failed(event, error, *holds),
            _ => {}
        }
    }

    fn claim(&mut self, event: &Event) {
        let is_mine = |nudge: &Nudge| match &nudge.session {
            Some(session) => *session == event.session || self.ledger.has_ended(session),
            None => true,
        };
        if let Some(nudge) = self.pending.take_if(|nudge| is_mine(nudge)) {
            let what = What::Claimed { id: nudge.id, n: nudge.number, via: source(&event.what) };
            self.ledger.apply(&Event { session: event.session.clone(), ..Event::of_root(event.at, what) });
        }
    }

    fn work(&mut self, event: &Event) {
        let mut activity = self.activity.take().unwrap_or_default();
        let resumes = activity.last_nudge_ts > 0
            && activity.nudge_count > 0
            && activity.last_activity_ts <= activity.last_nudge_ts;
        let stage = self.stage.clone().unwrap_or_default();
        activity.note_work(&source(&event.what), &stage, event.at.div_euclid(1000));
        match &event.what {
            What::AgentStart if !event.name.is_empty() => activity.add_teammate(&event.name, event.at / 1000),
            What::AgentStop if !self.ledger.another_runs(&event.name, &event.agent) => {
                activity.active_teammates.remove(&event.name);
            }
            _ => {}
        }
        self.activity = Some(activity);
        if resumes {
            self.pending.take_if(|nudge| nudge.number > 0);
            self.ledger.apply(&Event::of_root(event.at, What::Resumed));
        }
    }

    fn clear_flag(&mut self) {
        self.flag = None;
        self.pending = None;
        if let Some(activity) = &mut self.activity {
            activity.reset_nudges();
        }
        self.ledger.apply(&Event::of_root(self.now, What::Recovered { by: "SessionStart".to_owned() }));
    }

    fn session_ended(&mut self, reason: &str) {
        let goes_on = matches!(reason, "clear" | "resume");
        if !goes_on && self.ledger.live().all(|(id, _)| id.is_empty()) {
            self.activity = None;
            self.pending = None;
        }
    }

    /// The API ended the lead's turn: the flag where nothing but a person helps, then a note.
    fn api_failed(&mut self, event: &Event, error: &str, holds: bool) {
        let advice = if holds { ApiAdvice::Wait } else { ApiAdvice::of(error) };
        let (session, name) = self.ledger.graph.place(&event.session, &event.agent, &event.name);
        let root = self.ledger.graph.display(&session, &name);
        let proof = format!("the API ended {root}'s turn at {} with {}", clock(event.at), plain(error, 60));
        let why = Diagnosis {
            cause: Cause::ApiDead,
            words: format!("{proof}."),
            evidence: vec![proof],
            session,
            confidence: super::diagnosis::Confidence::High,
            root,
        };
        if advice == ApiAdvice::Person && self.flag.is_none() {
            self.flag = Some(event.at.div_euclid(1000));
            let n = self.activity.as_ref().map_or(0, |activity| activity.nudge_count);
            self.lines.push(Line {
                at: event.at,
                verdict: "escalate",
                reason: "stalled",
                n,
                why: Some(why.clone()),
            });
        }
        if self.pending.is_some() {
            return;
        }
        let text = wording::api_note(error, "", advice, event.at);
        self.stage_message(text, 0, Some(event.session.clone()).filter(|id| !id.is_empty()), false);
        let reason = if holds { "api-hold" } else { self.shown.unwrap_or("active") };
        self.lines.push(Line { at: event.at, verdict: "note", reason, n: 0, why: Some(why) });
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
            self.show(&step, &sight);
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
    fn show(&mut self, step: &Step, sight: &Sight) {
        let Verdict::Quiet { reason, .. } = &step.verdict else {
            self.shown = None;
            return;
        };
        let word = reason.word();
        if self.shown.replace(word) == Some(word) {
            return;
        }
        let why = held(reason).map(|(cause, held)| self.held_by(cause, held, sight));
        self.lines.push(Line { at: self.now, verdict: "quiet", reason: word, n: 0, why });
    }

    fn held_by(&self, cause: Cause, held: &Held, _sight: &Sight) -> Diagnosis {
        let proof = match cause {
            Cause::LongTool => {
                format!(
                    "{}: {} has been running since {}",
                    held.who,
                    plain(&held.what, 60),
                    clock(held.since)
                )
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
            confidence: super::diagnosis::Confidence::High,
            words: format!("{proof}."),
            evidence: vec![proof],
        }
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

/// What holds an agent, as a cause.
pub fn held(reason: &Reason) -> Option<(Cause, &Held)> {
    match reason {
        Reason::ToolRunning(held) => Some((Cause::LongTool, held)),
        Reason::WaitsForPerson(held) => Some((Cause::WaitsForPerson, held)),
        Reason::ApiHold(held) => Some((Cause::ApiDead, held)),
        _ => None,
    }
}

/// What `activity.json` calls an event.
fn source(what: &What) -> String {
    match what {
        What::Prompt { .. } => "UserPromptSubmit".to_owned(),
        What::ToolStart { tool, .. } => format!("PreToolUse:{tool}"),
        What::ToolEnd { tool, failed: false, .. } => format!("PostToolUse:{tool}"),
        What::ToolEnd { tool, .. } => format!("PostToolUseFailure:{tool}"),
        What::AgentStart => "SubagentStart".to_owned(),
        What::AgentStop => "SubagentStop".to_owned(),
        What::Idle { .. } => "TeammateIdle".to_owned(),
        _ => LEAD.to_owned(),
    }
}
