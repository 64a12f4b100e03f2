//! What the looks at all sessions gave, put together for the journal.

use super::super::View;
use crate::model::digest::digest;
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
    found: Vec<Finding>,
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

    /// Takes a violation. The same words in the same file are another violation if `case` is another: a line of a log, a
    /// state of the file.
    pub(super) fn find(&mut self, at: At<'_>, case: &[&str], fault: &Fault) {
        let case = [&[at.file][..], case, &[&fault.fact, &fault.of]].concat();
        self.found.push(Finding {
            track: one_line(at.track, MOST_TEXT),
            rule: fault.rule.word().to_owned(),
            place: one_line(&format!("{}{}", at.file, at.mark), MOST_TEXT),
            who: plain(at.who, MOST_TEXT),
            fact: plain(&fault.fact, MOST_TEXT),
            case: digest(&case),
            ..Finding::default()
        });
    }

    /// Returns what is for the journal, with what was found and was not noted before.
    pub(super) fn finish(mut self, view: &View<'_>) -> Vec<What> {
        let found = view.ledger.tracks.news(self.found, MOST);
        self.news.extend(found.into_iter().map(|finding| What::Found(Box::new(finding))));
        self.news
    }
}
