//! Team message sessions (`knowledge-transfer-protocols`): each line of a log that is new becomes an event, and so does
//! where the session stands and what violates the protocol. How far all was read is in the journal, so that a daemon
//! that is started anew repeats nothing and misses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::{News, Source, View};
use crate::model::event::{Event, What};
use crate::model::moment::Millis;
use crate::model::reading::LOG;
use crate::store::team_session::{MOST, Session, bases, find, is_gone};

mod files;
mod report;
mod session;

use report::Report;
use session::State;

/// Sessions whose folders are watched, besides the folders in which sessions appear: four folders each. The tick serves
/// the rest.
const WATCHED: usize = 16;
/// A look is wanted this soon while something is under way.
const SOON: Duration = Duration::from_secs(2);

/// The team sessions of one root.
#[derive(Default)]
pub(super) struct Teams {
    sessions: BTreeMap<String, State>,
    /// Sessions whose folders were not there at the last look.
    missing: BTreeSet<String>,
    folders: Vec<PathBuf>,
    again: bool,
}

impl Source for Teams {
    fn look(&mut self, view: &View<'_>) -> News {
        let patterns = &view.policy.team.sessions;
        let found = find(view.root, patterns);
        let mut report = Report::default();
        if found.count > MOST {
            let fault = format!(
                "there are {} team sessions; the {MOST} that were written last are watched",
                found.count
            );
            report.faults.push(fault);
        }
        self.folders = bases(view.root, patterns);
        self.sessions.retain(|track, _| found.watched.iter().any(|session| session.track() == *track));
        for (place, session) in found.watched.iter().enumerate() {
            let state = self.sessions.entry(session.track()).or_default();
            state.look(view, session, &mut report);
            if place < WATCHED {
                self.folders.extend(session.folders(view.root));
            }
        }
        self.mind_the_gone(view, &found.watched, &mut report);
        self.again = report.again;
        let faults = std::mem::take(&mut report.faults);
        News { events: dated(report.finish(view), view.now.wall), faults }
    }

    fn forget(&mut self) {
        self.sessions.clear();
        self.again = true;
    }

    fn again(&self) -> Option<Duration> {
        self.again.then_some(SOON)
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.folders.clone()
    }
}

impl Teams {
    /// A session is gone when nothing is left of it at two looks: a log that is replaced by another is not there for a
    /// moment.
    fn mind_the_gone(&mut self, view: &View<'_>, watched: &[Session], report: &mut Report) {
        let is_watched = |track: &String| watched.iter().any(|session| session.track() == *track);
        let mut missing = BTreeSet::new();
        for track in view.ledger.readings.tracks().filter(|track| !is_watched(track)) {
            let log = view.ledger.readings.file(track, LOG);
            if !log.is_some_and(|log| is_gone(view.root, &log.folder)) {
                continue;
            }
            if self.missing.contains(track) {
                report.news.push(What::TrackGone { track: track.clone() });
            } else {
                missing.insert(track.clone());
                report.again = true;
            }
        }
        self.missing = missing;
    }
}

/// Gives each event a time of its own, the last one the present: what is folded later is the later one.
fn dated(news: Vec<What>, now: Millis) -> Vec<Event> {
    let first = now.saturating_sub(news.len() as Millis).saturating_add(1);
    let at = |place: usize| first.saturating_add(place as Millis);
    news.into_iter().enumerate().map(|(place, what)| Event::of_root(at(place), what)).collect()
}

#[cfg(test)]
mod tests;
