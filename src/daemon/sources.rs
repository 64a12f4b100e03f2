//! Foreign files that are watched beside the pipeline: one file for each kind of source. What is new in them becomes
//! events of the journal; from there on they are judged like all else.

mod plans;
mod tasks;
mod team;

use std::path::PathBuf;
use std::time::Duration;

use crate::model::event::Event;
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::model::sight::Sight;
use crate::store::file::chain;
use crate::store::journal;
use crate::store::root::Root;

/// Foreign files are looked at this often at most, however often something else changes.
const EVERY: Duration = Duration::from_secs(1);

/// What a source goes by.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The root.
    pub root: &'a Root,
    /// The settings in force.
    pub policy: &'a Policy,
    /// The journal so far, folded: what is known needs not be told again, also by a daemon that was started anew.
    pub ledger: &'a Ledger,
    /// When.
    pub now: Moment,
}

/// What a source found.
#[derive(Debug, Default)]
pub struct News {
    /// What is new, for the journal.
    pub events: Vec<Event>,
    /// What could not be read, in words; shown by `status` as long as it lasts.
    pub faults: Vec<String>,
}

/// One kind of foreign files.
pub trait Source: Send {
    /// Looks. Nothing of foreign files may end it early or make it panic: what cannot be read is a fault.
    fn look(&mut self, view: &View<'_>) -> News;

    /// What was found at the last look could not be noted: it is to be found again.
    fn forget(&mut self) {}

    /// How soon another look is wanted, although no event may call for it.
    fn again(&self) -> Option<Duration> {
        None
    }

    /// The folders whose changes call for a look, for as many of which there is a watch; the tick serves the rest.
    fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Folders in which something may begin anew, for as many of which watches are left when all others have theirs.
    fn spare(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// All sources of one root.
pub struct Sources {
    all: Vec<Box<dyn Source>>,
    /// Awake time of the last look.
    looked: Option<Duration>,
    faults: Vec<String>,
}

impl Default for Sources {
    fn default() -> Self {
        Self::of(vec![
            Box::new(tasks::Tasks::default()),
            Box::new(team::Teams::default()),
            Box::new(plans::Plans::default()),
        ])
    }
}

impl Sources {
    /// Takes these sources.
    pub fn of(all: Vec<Box<dyn Source>>) -> Self {
        Self { all, looked: None, faults: Vec::new() }
    }

    /// Looks, if it is time to, and notes what is new. Returns how long to wait if it is not, or if a source asks for
    /// another look.
    pub fn mind(
        &mut self,
        root: &Root,
        sight: &mut Sight,
        ledger: &Ledger,
        policy: &Policy,
        now: Moment,
    ) -> Option<Duration> {
        if self.all.is_empty() || sight.is_gone {
            return None;
        }
        let left = self.looked.map(|at| EVERY.saturating_sub(now.awake.saturating_sub(at)));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            sight.faults.extend(self.faults.iter().cloned());
            return Some(left);
        }
        self.looked = Some(now.awake);
        self.faults.clear();
        for source in &mut self.all {
            let news = source.look(&View { root, policy, ledger, now });
            self.faults.extend(news.faults);
            if !news.events.is_empty()
                && let Err(error) = journal::append(root, &news.events)
            {
                self.faults.push(chain(&error));
                source.forget();
            }
        }
        sight.faults.extend(self.faults.iter().cloned());
        self.all.iter().filter_map(|source| source.again()).min().map(|again| again.max(EVERY))
    }

    /// The folders whose changes call for a look.
    pub fn folders(&self) -> Vec<PathBuf> {
        let folders = self.all.iter().flat_map(|source| source.folders());
        folders.chain(self.all.iter().flat_map(|source| source.spare())).collect()
    }
}

#[cfg(test)]
mod tests;
