//! One line of the journal: what happened, when, in which session, by which agent. No message bodies, no tool
//! inputs, no secrets: names, heads of signals, ids and hashes.
//!
//! The journal is a format of our own and the record of this model, so its types carry their own serialisation.
//! Fields that are empty are left out; an event of a newer version is read as [`What::Unknown`].

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::moment::Millis;
use super::plan::PlanNews;
use super::reading::{Exploration, Reading};
use super::task::TaskChange;
use super::track::{Finding, Posting, Said};
use super::wait::is_background;

mod call;

pub use call::{Message, Spawn};

/// The version that every line carries as `v`.
pub const VERSION: u32 = 1;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The format's version.
    #[serde(default)]
    pub v: u32,
    /// When, unix milliseconds.
    pub at: Millis,
    /// The session's id; empty when the event belongs to none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The agent's id; empty for the lead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The agent's name; empty for the lead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Heads of signals that stand in the text an agent ended its turn with, whether or not they were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<String>,
    /// The agent that a call began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn: Option<Spawn>,
    /// The agent that a call ended, by name or id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stopped: String,
    /// What became of a task of the team's list.
    #[serde(rename = "task_change", default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<TaskChange>>,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A client began or resumed a session.
    SessionStart {
        /// startup, resume, clear, compact, fork.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        source: String,
        /// The client's process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<i32>,
        /// How the client was entered: `cli`, `sdk-cli`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        entry: String,
    },
    /// A session was seen to work in a folder below the root.
    WorksIn {
        /// The folder, relative to the root.
        folder: String,
    },
    /// A session ended, by the client's own word.
    SessionEnd {
        /// clear, resume, logout, `prompt_input_exit`, other.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The client of a session is gone without a word.
    SessionLost,
    /// A prompt reached the lead.
    Prompt {
        /// It was our own wake, not a person or another program.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wake: bool,
    },
    /// A tool began.
    ToolStart {
        /// The tool's name.
        tool: String,
        /// The call's id; empty if the client gave none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// The call's own time limit, milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Hash of tool and input: equal calls have equal hashes.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        hash: String,
    },
    /// A tool ended.
    ToolEnd {
        /// The tool's name.
        tool: String,
        /// The call's id.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// It failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        /// The message it sent, if it was `SendMessage`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
    },
    /// An agent began a turn: it was spawned, resumed, or handles a message.
    AgentStart,
    /// An agent's turn is over.
    AgentStop,
    /// A teammate went idle.
    Idle {
        /// It was told that it is still listed as working.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        told: bool,
    },
    /// A person is asked for permission.
    Permission {
        /// For which tool.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tool: String,
    },
    /// The client notified its user.
    Notice {
        /// `permission_prompt`, `idle_prompt`, `elicitation_dialog`, ….
        kind: String,
    },
    /// The lead's turn is over.
    TurnEnd,
    /// The API ended the lead's turn.
    ApiError {
        /// The client's name for it.
        error: String,
        /// It asks to wait.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        holds: bool,
        /// Until when, unix milliseconds, if it said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reset_at: Option<Millis>,
    },
    /// An event of the client that means nothing to us.
    Other {
        /// Its name.
        hook: String,
    },
    /// A nudge or note was staged.
    Nudged {
        /// Which of the episode; 0 = a note.
        n: u32,
        /// The staged message's id.
        id: String,
        /// Silence at that time, whole seconds.
        #[serde(default)]
        idle_seconds: u64,
    },
    /// A staged message was taken, once.
    Claimed {
        /// The staged message's id.
        id: String,
        /// Which of the episode.
        n: u32,
        /// The way it went: an event's name, or `bridge`.
        via: String,
    },
    /// A staged message was taken back: it was no longer true.
    Withdrawn {
        /// The staged message's id.
        id: String,
    },
    /// Work was seen again after a nudge.
    Resumed,
    /// The episode ended: it worked for long enough.
    Closed,
    /// The flag was written.
    Escalated {
        /// Nudges before.
        n: u32,
        /// Why, one word.
        cause: String,
    },
    /// The flag was cleared.
    Recovered {
        /// By whom: an event's name, `ensure`, `daemon`.
        by: String,
    },
    /// An observing daemon would have acted.
    WouldAct {
        /// nudge or escalate.
        verdict: String,
        /// Which nudge.
        n: u32,
    },
    /// The machine slept or its clock was set: until then no silence of a track counts.
    Woke,
    /// The operator asked for quiet.
    Paused {
        /// Until when, unix milliseconds.
        until: Millis,
    },
    /// The operator ended the quiet.
    Unpaused,
    /// The operator was told that a person is waited for.
    PersonTold,
    /// The lead was told of something that does not stop the whole pipeline: an overdue reply, a livelock.
    Noted {
        /// What, so that it is told once.
        key: String,
        /// The cause by its name.
        cause: String,
        /// The agent whose move would help.
        root: String,
        /// In one sentence, if it concerns a track.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
    },
    /// The sender was told at once what became of a message of its own.
    Helped {
        /// Which case, so that it is told once.
        key: String,
    },
    /// A guard of the protocol refused something, or named what is wrong with a file.
    Guarded {
        /// The guard, by its setting's name.
        guard: String,
        /// What it is about: a task, a file below `.kiln/`, an agent, a glob.
        place: String,
        /// The fields that are missing or wrong; empty = what was wrong is in order again.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        fact: String,
    },
    /// The members of the team of a session, as its client keeps them.
    Roster {
        /// Their names, the lead's left out.
        members: Vec<String>,
        /// The lead's name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        lead: String,
    },
    /// What a track says of itself, if it is new.
    Track(Box<Said>),
    /// One line of a team's message log, without its text.
    Posted(Box<Posting>),
    /// A track's folder was removed.
    TrackGone {
        /// Its key.
        track: String,
    },
    /// A violation of a protocol, told once.
    Found(Box<Finding>),
    /// The session is of a subctl team, by its environment.
    Subctl {
        /// lead or worker.
        role: String,
    },
    /// The queue of plans says something new of a plan of this root.
    Plan(Box<PlanNews>),
    /// The operator was told of a plan that waits for a decision.
    PlanTold {
        /// The plan's id in the queue, or the key of the wait for it.
        key: String,
    },
    /// How far a file of a team session was read.
    Read(Box<Reading>),
    /// An entry of a team session's exploration cache is new, or is gone.
    Explored(Exploration),
    /// A daemon began to watch.
    DaemonStart {
        /// Its process.
        pid: i32,
        /// Its version.
        version: String,
        /// The root has no `.kiln/`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kilnless: bool,
    },
    /// A daemon ended.
    DaemonStop {
        /// Why.
        reason: String,
    },
    /// The pipeline's stage changed; empty = there is no pipeline any more.
    Stage {
        /// The new stage.
        stage: String,
    },
    /// Something was broken and was mended or worked around.
    Fault {
        /// What, in words.
        fault: String,
    },
    /// The first line of a rotated journal: all that came before, folded.
    Snapshot {
        /// The ledger at that point.
        ledger: Box<Ledger>,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}

/// Before a number: the key of an agent in a list of those that a signal asks for, such as `REQUEST_WORKERS`.
pub const WORKER: &str = "worker_";

impl Event {
    /// Makes an event that belongs to no session.
    pub fn of_root(at: Millis, what: What) -> Self {
        Self {
            v: VERSION,
            at,
            session: String::new(),
            agent: String::new(),
            name: String::new(),
            heads: Vec::new(),
            spawn: None,
            stopped: String::new(),
            task: None,
            what,
        }
    }

    /// Tells whether the lead (not a teammate) is the agent.
    pub fn is_lead(&self) -> bool {
        self.agent.is_empty()
    }

    /// Says of which track this is news. Where there is no `.kiln/` that is a sign of work.
    pub fn moved_track(&self) -> Option<&str> {
        match &self.what {
            What::Track(said) => Some(&said.track),
            What::Posted(post) => Some(&post.track),
            _ => None,
        }
    }

    /// Tells whether the event is a sign of work. A teammate going idle is one by the protocol; see
    /// [`Ledger::idle_since`] for why the judge counts a chain of them once.
    pub fn is_work(&self) -> bool {
        match &self.what {
            What::Prompt { wake } => !wake,
            What::ToolStart { tool, id, .. } => !is_background(tool, id),
            What::ToolEnd { .. } | What::AgentStart | What::AgentStop | What::Idle { .. } => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
