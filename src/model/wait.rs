//! What an agent waits for outside its team: a tool, a person.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::moment::{Millis, duration, millis};
use super::policy::Quiet;

/// A tool call that began and has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTool {
    /// The call's id; empty if the client gave none.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// When it began, unix milliseconds.
    pub since: Millis,
    /// Its own time limit, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// How a task is called that a turn left running when it ended.
pub const BACKGROUND: &str = " in the background";

/// Tells whether a call is such a task: it begins no turn.
pub fn is_background(tool: &str, id: &str) -> bool {
    id.is_empty() && tool.ends_with(BACKGROUND)
}

impl OpenTool {
    /// Returns until when this tool explains silence: the limit, or its own timeout and a minute if that is longer.
    pub fn explains_until(&self, quiet: &Quiet) -> Millis {
        let own = self
            .timeout_ms
            .map_or(0, |ms| Millis::try_from(ms).unwrap_or(Millis::MAX).saturating_add(60_000));
        self.since.saturating_add(own.max(millis(quiet.tool_limit)))
    }
}

/// A question that a person has not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Since when, unix milliseconds.
    pub since: Millis,
    /// For what.
    pub what: Question,
    /// The call that hangs on the answer; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// Calls that ran beside it when the question came up: their ends do not answer it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// The operator has been told.
    #[serde(default)]
    pub told: bool,
}

/// What a person is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Permission to use a tool.
    Permission(String),
    /// An answer (`AskUserQuestion`, an elicitation).
    Answer,
    /// Approval of a plan (`ExitPlanMode`).
    Plan,
    /// The next word in an interactive phase.
    Turn,
}

impl Question {
    /// Says it in a few words, for `status`, alerts and nudges.
    pub fn words(&self) -> String {
        match self {
            Self::Permission(tool) if tool.is_empty() => "permission".to_owned(),
            Self::Permission(tool) => format!("permission: {tool}"),
            Self::Answer => "an answer".to_owned(),
            Self::Plan => "approval of a plan".to_owned(),
            Self::Turn => "the next prompt of an interactive phase".to_owned(),
        }
    }
}

/// An API that said "wait".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiHold {
    /// The last failure, unix milliseconds.
    pub since: Millis,
    /// The client's name for it.
    pub error: String,
    /// Failures in a row of the session that has most of them.
    pub failures: u32,
    /// Failures in a row by session: one outage that many sessions meet is no longer for that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by: BTreeMap<String, u32>,
    /// Until when it asked to wait, unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<Millis>,
    /// It asks to wait; a failure that does not is only counted.
    pub holds: bool,
}

/// The first hold when the API did not say how long: 10 minutes, doubled with every failure in a row.
const FIRST_HOLD: Millis = 10 * 60_000;

impl ApiHold {
    /// Returns until when the API holds, unix milliseconds: the reset time if known, else 10, 20, 40 … minutes
    /// after the last failure; never longer than the policy's limit.
    pub fn until(&self, quiet: &Quiet) -> Millis {
        let most = self.since.saturating_add(millis(quiet.api_hold_max));
        let doubled = FIRST_HOLD.saturating_mul(1 << self.failures.saturating_sub(1).min(10));
        self.reset_at.filter(|at| *at > self.since).unwrap_or(self.since.saturating_add(doubled)).min(most)
    }
}

/// Says how long something has been going on, such as `12 min` or `3 h 05 min`.
pub fn span(since: Millis, now: Millis) -> String {
    let seconds = duration(now.saturating_sub(since)).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
