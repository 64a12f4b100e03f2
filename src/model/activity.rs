//! The last sign of work, as `activity.json` carries it between all readers and writers of the Kiln protocol.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ledger::Ledger;

/// The seven fields of `activity.json`, and whatever else its other writers keep there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    /// When work was last seen, unix seconds; 0 = never.
    pub last_activity_ts: i64,
    /// What was seen, such as `PostToolUse:Read`.
    pub last_activity_source: String,
    /// Agents at work by name, each with the unix seconds of its start.
    pub active_teammates: BTreeMap<String, Value>,
    /// When the last nudge was staged, unix seconds; 0 = never.
    pub last_nudge_ts: i64,
    /// Nudges staged in the present episode.
    pub nudge_count: u32,
    /// Raised by one with every write, so that a judgement can be told to be stale.
    pub epoch: u64,
    /// The stage of the pipeline when this was written.
    pub pipeline_phase: String,
    /// Fields of others, kept as they are.
    pub foreign: Map<String, Value>,
}

impl Activity {
    /// Tells whether work that is seen now is the first since the last nudge. A chain of teammates going idle is one
    /// sign of work, and goes on across a nudge; `is_unresumed` tells what the journal says.
    pub fn is_resumed_by(&self, is_idle: bool, is_unresumed: impl FnOnce() -> bool) -> bool {
        if self.last_nudge_ts <= 0 || self.nudge_count == 0 {
            return false;
        }
        let in_chain = self.last_activity_source == "TeammateIdle";
        if self.last_activity_ts <= self.last_nudge_ts {
            return !(in_chain && is_idle);
        }
        in_chain && !is_idle && is_unresumed()
    }

    /// Returns what the file would say by the journal alone, were it not for the teammates: None if no session has
    /// worked yet among those for which `is_live` holds.
    pub fn of_journal(ledger: &Ledger, is_live: impl Fn(&str) -> bool) -> Option<Self> {
        let begun = ledger.live().filter(|(id, _)| is_live(id)).map(|(_, session)| session.since).min()?;
        let episode = ledger.episode.as_ref();
        (ledger.last_work >= begun).then(|| Self {
            last_activity_ts: ledger.last_work / 1000,
            last_activity_source: "journal".to_owned(),
            last_nudge_ts: episode.map_or(0, |episode| episode.last.max(episode.since) / 1000),
            nudge_count: episode.map_or(0, |episode| episode.nudges),
            pipeline_phase: ledger.stage.clone(),
            ..Self::default()
        })
    }

    /// Takes note of work at `now` (unix seconds).
    pub fn note_work(&mut self, source: &str, stage: &str, now: i64) {
        self.last_activity_ts = now;
        source.clone_into(&mut self.last_activity_source);
        stage.clone_into(&mut self.pipeline_phase);
    }

    /// Adds a teammate that began a turn at `now` (unix seconds).
    pub fn add_teammate(&mut self, name: &str, now: i64) {
        self.active_teammates.insert(name.to_owned(), Value::from(now));
    }

    /// Returns what this says if work was done until `latest` (unix seconds) and not after it. A clock that was set
    /// back would otherwise read its own past as hours of work after a nudge.
    pub fn by(&self, latest: i64) -> Cow<'_, Self> {
        if self.last_activity_ts <= latest {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { last_activity_ts: latest, ..self.clone() })
    }

    /// Ends the episode: nothing nudged, nothing counted.
    pub fn reset_nudges(&mut self) {
        self.last_nudge_ts = 0;
        self.nudge_count = 0;
    }

    /// Returns the names of the teammates at work.
    pub fn teammates(&self) -> impl Iterator<Item = &str> {
        self.active_teammates.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
