//! What a look at a root shows, as values.

use std::collections::BTreeSet;
use std::time::Duration;

use super::activity::Activity;
use super::judge::Facts;
use super::ledger::Ledger;
use super::rule::Times;

/// One look at a root.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// The folder `.kiln` is gone.
    pub is_gone: bool,
    /// The pipeline's stage; none = there is no pipeline.
    pub stage: Option<String>,
    /// The last sign of work.
    pub activity: Option<Activity>,
    /// The flag lies there, with its time (unix seconds; 0 = unknown).
    pub flag: Option<i64>,
    /// Sessions whose client lives, or did not say which process it is.
    pub living: Vec<String>,
    /// Sessions whose client is gone without a word.
    pub dead: BTreeSet<String>,
    /// What could not be read, in words.
    pub faults: Vec<String>,
}

impl Sight {
    /// Puts the facts together for the judge.
    pub fn facts<'a>(&'a self, ledger: &'a Ledger, times: Times, settling: Option<Duration>) -> Facts<'a> {
        Facts {
            stage: self.stage.as_deref(),
            activity: self.activity.as_ref(),
            ledger,
            flagged: self.flag.is_some(),
            times,
            settling,
            dead: &self.dead,
        }
    }

    /// Tells whether there is a pipeline and it is not complete.
    pub fn is_active(&self) -> bool {
        self.stage.as_deref().is_some_and(|stage| stage != "complete")
    }
}
