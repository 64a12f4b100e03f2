//! What the looks at all sessions gave, put together for the journal.

use std::collections::{BTreeMap, BTreeSet};

use super::super::View;
use crate::model::event::What;
use crate::model::track::{Finding, MOST_TEXT};
use crate::model::wording::{one_line, plain};
use crate::protocol::team_rule::Fault;
use crate::store::file::{FileError, chain};

/// Findings of one rule that are told of one session at one look, each with its place; the rest are counted.
const MOST: usize = 16;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For the journal, in order.
    pub(super) news: Vec<What>,
    /// What could not be read.
    pub(super) faults: Vec<String>,
    /// Something is under way: another look is wanted soon.
    pub(super) again: bool,
    told: BTreeSet<(String, &'static str, String)>,
    counts: BTreeMap<(String, &'static str), usize>,
}

/// Where a violation was found, and whose doing it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    /// The track.
    pub(super) track: &'a str,
    /// The file, relative to the root.
    pub(super) file: &'a str,
    /// What is behind the file's name: `:LINE`, `#TASK`, or nothing.
    pub(super) mark: &'a str,
    /// The role; empty if nobody's.
    pub(super) who: &'a str,
}

impl Report {
    /// Takes a file that cannot be read.
    pub(super) fn cannot(&mut self, error: &FileError) {
        self.faults.push(chain(error));
    }

    /// Takes a violation, unless it was noted before.
    pub(super) fn find(&mut self, view: &View<'_>, at: At<'_>, fault: &Fault) {
        let place = format!("{}{}", at.file, at.mark);
        let word = fault.rule.word();
        let key = (at.track.to_owned(), word, place.clone());
        if view.ledger.tracks.is_found(at.track, word, &place) || !self.told.insert(key) {
            return;
        }
        let count = self.counts.entry((at.track.to_owned(), word)).or_default();
        *count += 1;
        let finding = |place: String, who: &str, fact: &str| {
            What::Found(Box::new(Finding {
                track: one_line(at.track, MOST_TEXT),
                rule: word.to_owned(),
                place: one_line(&place, MOST_TEXT),
                who: plain(who, MOST_TEXT),
                fact: plain(fact, MOST_TEXT),
                ..Finding::default()
            }))
        };
        if *count <= MOST {
            self.news.push(finding(place, at.who, &fault.fact));
        } else if *count == MOST + 1 {
            let fact = "there are more of this kind than are told one by one";
            self.news.push(finding(at.file.to_owned(), "", fact));
        }
    }

    /// The same for a file whose lines move when it is written anew: a violation is known by its words, too.
    pub(super) fn find_once(&mut self, view: &View<'_>, at: At<'_>, fault: &Fault) {
        let is_same = |found: &Finding| {
            found.track == at.track
                && found.rule == fault.rule.word()
                && found.place.starts_with(at.file)
                && found.fact == plain(&fault.fact, MOST_TEXT)
        };
        if !view.ledger.tracks.findings.iter().any(|found| is_same(&found.finding)) {
            self.find(view, at, fault);
        }
    }
}
