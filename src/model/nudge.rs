//! A staged message: what the lead is told, and to whom it belongs.

use super::moment::Millis;

/// A message staged in `pending-nudge.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nudge {
    /// What the agent will read.
    pub text: String,
    /// When it was staged, unix seconds.
    pub timestamp: i64,
    /// Which nudge of the episode; 0 = a note, which is not counted.
    pub number: u32,
    /// Ours: tells one staged message from another.
    pub id: String,
    /// Ours: the session whose lead is meant; none = any lead of the pipeline.
    pub session: Option<String>,
    /// Ours: whether it may wake a session that is idle. Notes of a failing API wait for the next prompt instead.
    pub wakes: bool,
}

/// The durable record of giving up, `DEADLOCK.flag`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flag {
    /// When, unix seconds.
    pub timestamp: i64,
    /// Nudges that were staged before; none for the flag of a failed API.
    pub nudge_count: Option<u32>,
    /// The last sign of work.
    pub last_activity_source: Option<String>,
    /// `stop_failure` when the API's answer, not silence, was the reason.
    pub source: Option<String>,
    /// The API's error, by its own name.
    pub error: Option<String>,
    /// The API's words, bounded.
    pub error_details: Option<String>,
    /// Ours: one word for what happened, such as `no_recovery` or `session_lost`.
    pub cause: Option<String>,
    /// Ours: the same for people.
    pub diagnosis: Option<String>,
    /// Ours: why the pipeline stood still, by the cause's name.
    pub why: Option<String>,
    /// Ours: the agent whose move would have freed it.
    pub root: Option<String>,
    /// Ours: what that rests on.
    pub evidence: Vec<String>,
}

/// Names a staged message: unique for one root as long as its number or its time differs.
pub fn id_of(at: Millis, number: u32) -> String {
    format!("{at}-{number}")
}
