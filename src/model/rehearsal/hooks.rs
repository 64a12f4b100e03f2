//! What hooks would have done about each event of a record.

use super::{Line, Rehearsal};
use crate::model::activity::Activity;
use crate::model::cause::{Cause, Confidence, Diagnosis};
use crate::model::event::{Event, What};
use crate::model::judge::LEAD;
use crate::model::nudge::Nudge;
use crate::model::track;
use crate::model::wait::is_background;
use crate::model::wording::{self, ApiAdvice, clock, plain};

impl Rehearsal {
    pub(super) fn happen(&mut self, event: &Event) {
        match &event.what {
            What::Stage { stage } => self.stage = Some(stage.clone()).filter(|stage| !stage.is_empty()),
            What::Snapshot { .. } => return self.resume_from(event),
            What::Recovered { by } if matches!(by.as_str(), "SessionStart" | "daemon") => return,
            What::Recovered { .. } => self.clear_flag(),
            What::DaemonStart { kilnless, .. } => {
                self.ledger.kilnless = *kilnless;
                return;
            }
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
            | What::DaemonStop { .. }
            | What::Fault { .. } => return,
            _ => {}
        }
        if self.is_active() {
            self.hook(event);
        }
        if self.ledger.kilnless && event.moved_track().is_some() {
            self.work(event);
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
        let takes = match &event.what {
            What::Prompt { .. } => true,
            What::ToolStart { tool, id, .. } => !is_background(tool, id),
            _ => false,
        };
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
        let is_unresumed = || self.ledger.episode.as_ref().is_some_and(|episode| episode.resumed.is_none());
        let resumes = activity.is_resumed_by(matches!(event.what, What::Idle { .. }), is_unresumed);
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

    pub(super) fn clear_flag(&mut self) {
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
            confidence: Confidence::High,
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
        What::Track(said) => track::source(&said.track),
        What::Posted(post) => track::source(&post.track),
        _ => LEAD.to_owned(),
    }
}
