//! Violations: which are the same, which are news, and how many are kept and told at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Found, Tracks};
use crate::model::digest::digest;
use crate::model::moment::Millis;

/// Findings that are kept at most.
pub(super) const MOST_FINDINGS: usize = 1024;
/// Findings that are kept no more and still known by their hash, at most.
pub(super) const MOST_PAST: usize = 8192;

impl Finding {
    /// Tells whether the other is the same violation.
    fn is_same(&self, other: &Self) -> bool {
        let is_of_one = self.track == other.track && self.rule == other.rule;
        if self.case.is_empty() || other.case.is_empty() {
            return is_of_one && self.place == other.place;
        }
        is_of_one && self.case == other.case
    }

    /// By what it is known when it is kept no more.
    fn mark(&self) -> String {
        let case = if self.case.is_empty() { &self.place } else { &self.case };
        digest(&[&self.track, &self.rule, case])
    }
}

impl Tracks {
    /// Tells whether this violation was noted before.
    pub fn is_found(&self, finding: &Finding) -> bool {
        self.findings.iter().any(|found| found.finding.is_same(finding))
            || !self.past.is_empty() && self.past.contains(&finding.mark())
    }

    /// Returns what is news among what was found at one look, in order: each violation once, of one rule and track at most
    /// `most`, and in one more finding how many others there are. As long as those others are the same, nothing more is told.
    pub fn news(&self, found: Vec<Finding>, most: usize) -> Vec<Finding> {
        let mut known = BTreeSet::new();
        let mut groups: BTreeMap<(String, String), Vec<Finding>> = BTreeMap::new();
        let mut order = Vec::new();
        for finding in found {
            if known.insert(finding.mark()) && !self.is_found(&finding) {
                let group = (finding.track.clone(), finding.rule.clone());
                if !groups.contains_key(&group) {
                    order.push(group.clone());
                }
                groups.entry(group).or_default().push(finding);
            }
        }
        let mut news = Vec::new();
        for mut group in order.iter().filter_map(|group| groups.remove(group)) {
            // What was counted at an earlier look and told no further.
            if rest(&group).is_some_and(|rest| self.is_found(&rest)) {
                continue;
            }
            // One that would be left alone is told itself.
            let told = if group.len() == most + 1 { most + 1 } else { group.len().min(most) };
            let more = rest(&group[told..]);
            group.truncate(told);
            news.extend(group);
            news.extend(more.filter(|more| !self.is_found(more)));
        }
        news
    }

    /// Takes a violation, once.
    pub(in crate::model) fn find(&mut self, at: Millis, finding: &Finding) {
        if self.is_found(finding) {
            return;
        }
        if self.findings.len() >= MOST_FINDINGS {
            let oldest = self.findings.remove(0);
            if self.past.len() >= MOST_PAST {
                self.past.pop_first();
            }
            self.past.insert(oldest.finding.mark());
        }
        self.found += 1;
        self.findings.push(Found { at, finding: finding.clone() });
    }

    /// Returns the findings that nobody has been told of, oldest first, as far as they are still kept.
    pub fn untold(&self) -> impl Iterator<Item = &Found> {
        let count = usize::try_from(self.found.saturating_sub(self.told.0)).unwrap_or(usize::MAX);
        let known = self.findings.len();
        self.findings[known - count.min(known)..].iter().filter(|found| !found.finding.told)
    }

    /// How many findings nobody has been told of and are kept no more.
    pub fn untold_past(&self) -> u64 {
        let count = self.found.saturating_sub(self.told.0);
        count.saturating_sub(self.findings.len() as u64)
    }
}

/// Puts findings that are not told one by one into one. None = there are none.
fn rest(findings: &[Finding]) -> Option<Finding> {
    let first = findings.first()?;
    let marks: BTreeSet<String> = findings.iter().map(Finding::mark).collect();
    let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
    Some(Finding {
        track: first.track.clone(),
        rule: first.rule.clone(),
        place: first.place.clone(),
        fact: format!("{} more of this kind, the first of them here", findings.len()),
        case: digest(&marks),
        ..Finding::default()
    })
}
