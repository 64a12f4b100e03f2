//! subctl's queue of plans: what is pending for this root, what was decided, and what an hour has passed over.

use std::collections::{BTreeMap, BTreeSet};

use super::{News, Source, View};
use crate::model::digest::digest;
use crate::model::event::{Event, What};
use crate::model::plan::{self, LIFE, PlanState, Record};
use crate::model::policy::Mode;
use crate::model::team::Team;
use crate::model::track::{Finding, MOST_TEXT};
use crate::model::wording::{one_line, plain};
use crate::store::file::chain;
use crate::store::plan_file::{self, Reader};

/// The latest lines of which is told that they are no records.
const LATEST: usize = 100;
/// Faults of the queue that are shown at once.
const MOST_FAULTS: usize = 3;
/// Records of which is told at one look that they are not as they should be; the rest are counted.
const MOST_FOUND: usize = 16;
/// The rule that a record which is not as it should be breaks.
const RULE: &str = "plan-record";

/// The queue as this root sees it.
#[derive(Debug, Default)]
pub(super) struct Plans {
    reader: Reader,
    /// Records of this root that were seen: what is wrong in them may come after the decision.
    ours: BTreeSet<String>,
}

impl Source for Plans {
    fn look(&mut self, view: &View<'_>) -> News {
        let mut news = News::default();
        let settings = &view.policy.subctl;
        let path = plan_file::path(view.policy).filter(|_| settings.enabled != Some(false));
        let Some(path) = path else { return news };
        let is_known = speaks(view);
        if let Err(error) = self.reader.follow(&path)
            && is_known
        {
            news.faults.push(chain(&error));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let expires = settings.expire_plans && view.policy.daemon.mode == Mode::Act;
        self.ours.retain(|id| self.reader.queue.records.contains_key(id));
        for (id, (_, record)) in &self.reader.queue.records {
            let told = plan::news(view.ledger, &settings.teams, id, record);
            if told.is_some() || view.ledger.plans.contains_key(id) {
                self.ours.insert(id.clone());
            }
            if let Some((session, told)) = told {
                let what = What::Plan(Box::new(told));
                news.events.push(Event { session, ..Event::of_root(view.now.wall, what) });
            } else if expires && is_over(view, id, record) {
                let outcome = plan_file::expire(&path, id, view.now.wall);
                news.faults.extend(outcome.err().map(|error| chain(&error)));
            }
        }
        self.find(view, &name, &mut news);
        if is_known || speaks_by(&news) {
            self.tell_of_nobodys(&name, &mut news);
        }
        news
    }
}

impl Plans {
    /// What is wrong in records of this root is found once. What is no record can be nobody's.
    fn find(&self, view: &View<'_>, name: &str, news: &mut News) {
        let queue = &self.reader.queue;
        let mut by_line: BTreeMap<usize, (&str, Vec<&str>)> = BTreeMap::new();
        for fault in queue.faults.iter().filter(|fault| self.ours.contains(&fault.id)) {
            by_line.entry(fault.line).or_insert((&fault.id, Vec::new())).1.push(&fault.fault);
        }
        let found = by_line.into_iter().map(|(line, (id, facts))| {
            let who = queue.records.get(id).map(|(_, record)| record.worker.as_str()).unwrap_or_default();
            let fact = facts.join("; ");
            Finding {
                rule: RULE.to_owned(),
                place: one_line(&format!("{name}:{line}"), MOST_TEXT),
                who: plain(who, MOST_TEXT),
                case: digest(&[name, &line.to_string(), id, &fact]),
                fact: plain(&fact, MOST_TEXT),
                ..Finding::default()
            }
        });
        let found = view.ledger.tracks.news(found.collect(), MOST_FOUND);
        let event = |finding| Event::of_root(view.now.wall, What::Found(Box::new(finding)));
        news.events.extend(found.into_iter().map(event));
    }

    fn tell_of_nobodys(&self, name: &str, news: &mut News) {
        let queue = &self.reader.queue;
        let latest = queue.lines().saturating_sub(LATEST);
        let nobodys = queue.faults.iter().rev().filter(|fault| fault.id.is_empty() && fault.line > latest);
        news.faults
            .extend(nobodys.take(MOST_FAULTS).map(|fault| format!("{name}:{}: {}", fault.line, fault.fault)));
    }
}

/// Tells whether the root is known to speak subctl's protocol: by a setting, a plan of its own, or what the journal saw. The
/// queue is all projects'; what is wrong with it is no business of others.
fn speaks(view: &View<'_>) -> bool {
    let (settings, ledger) = (&view.policy.subctl, view.ledger);
    let has_shown = |team: &Team| !team.subctl.is_empty() || team.waits.values().any(|wait| wait.operator);
    settings.enabled == Some(true)
        || !settings.teams.is_empty()
        || !ledger.plans.is_empty()
        || ledger.graph.teams.values().any(has_shown)
}

/// The same by what was found just now.
fn speaks_by(news: &News) -> bool {
    news.events.iter().any(|event| matches!(event.what, What::Plan(_)))
}

/// It is of this root, pending, and an hour has passed over it.
fn is_over(view: &View<'_>, id: &str, record: &Record) -> bool {
    record.state == PlanState::Pending
        && view.ledger.plans.contains_key(id)
        && view.now.wall.saturating_sub(record.created) > LIFE
}

#[cfg(test)]
mod tests;
