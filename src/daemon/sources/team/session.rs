//! One session: its record, its log, and where it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::View;
use super::files::Rest;
use super::report::{At, Report};
use crate::model::digest::of_bytes;
use crate::model::event::What;
use crate::model::reading::{LOG, Reading, STATE_UPDATE};
use crate::model::track::{Posting, Said, State as Standing};
use crate::protocol::team_check::{artifact, behind, undeclared};
use crate::protocol::team_meta::{self, Meta, Status};
use crate::protocol::team_msg::Message;
use crate::protocol::team_rule::Fault;
use crate::protocol::team_standing::{SHUTDOWN, standing};
use crate::store::file::read_own;
use crate::store::settled::{Look, Seen};
use crate::store::team_log::{Log, News, last};
use crate::store::team_session::Session;

/// What is read of one file at most.
pub(super) const MOST: u64 = 1024 * 1024;
/// A session that was silent for this long when it is first seen is no team at work, milliseconds.
const AT_REST: i64 = 24 * 3600 * 1000;
/// Parts of a log that are read at the first look at a session at rest, at most.
const MOST_PARTS: usize = 256;
/// A record is late if a report of this age is not in it; until then it is looked at again.
const RECORDED: Duration = Duration::from_secs(11);

/// What is known of one session between two looks. All that must survive a restart is in the ledger.
#[derive(Default)]
pub(super) struct State {
    log: Log,
    record: Seen,
    /// What is wrong with the record, and which bytes it has.
    record_faults: (Vec<Fault>, String),
    meta: Option<Meta>,
    rest: Rest,
}

/// One look at one session.
pub(super) struct Scene<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) session: &'a Session,
    pub(super) track: &'a str,
    /// It was over or at rest before it was watched: it is taken as it is, and nothing in it is told.
    pub(super) is_quiet: bool,
    /// When something of the session was last noted: what happens to a file between two such times happens once, and is
    /// another thing than the same before.
    pub(super) turn: String,
}

impl State {
    /// Looks at all of a session.
    pub(super) fn look(&mut self, view: &View<'_>, session: &Session, report: &mut Report) {
        let track = session.track();
        let turn = view.ledger.readings.of(&track).map_or(0, |files| files.at).to_string();
        let mut scene = Scene { view, session, track: &track, is_quiet: false, turn };
        self.read_record(&scene, report);
        let meta = self.meta.clone().unwrap_or_default();
        let before = view.ledger.tracks.get(&track).map(|known| &known.said);
        let is_known = view.ledger.readings.file(&track, LOG).is_some() || before.is_some();
        scene.is_quiet = !is_known && is_at_rest(&scene, &meta);
        let Some((reading, news)) = self.read_log(&scene, report) else { return };
        scene.is_quiet |=
            before.is_some_and(|said| said.state == Standing::Ended) && news.messages.is_empty();
        if !scene.is_quiet {
            let file = session.message_file("meta.json");
            let (faults, bytes) = &self.record_faults;
            for fault in faults {
                report.find(At { track: &track, file: &file, mark: "", who: "" }, &[bytes], fault);
            }
        }
        tell_messages(&scene, &news, &meta, report);
        tell_standing(&scene, before, &news, &meta, report);
        if let Some(reading) = reading {
            report.news.push(What::Read(Box::new(reading)));
        }
        if !scene.is_quiet {
            mind_the_record(&scene, &meta, report);
        }
        self.rest.look(&scene, &meta, report);
    }

    /// Reads the session's record, and what older files say beside it.
    fn read_record(&mut self, scene: &Scene<'_>, report: &mut Report) {
        let path = scene.view.root.path().join(scene.session.message_file("meta.json"));
        let look = self.record.look(&path, MOST, scene.view.now.wall);
        let (meta, faults, bytes) = match look {
            Ok(Look::Same) => return,
            Ok(Look::Missing) => (Some(Meta::default()), Vec::new(), String::new()),
            Ok(Look::Changed { bytes, is_settled }) => match team_meta::read(&bytes) {
                (None, _) if !is_settled => return report.again = true,
                // What cannot be read is another thing each time; what can be read is what it says.
                (None, faults) => (None, faults, of_bytes(&bytes)),
                (meta, faults) => (meta, faults, String::new()),
            },
            Err(error) => return report.cannot(&error),
        };
        self.record.done();
        self.record_faults = (faults, bytes);
        // A record that cannot be read leaves what it said before.
        if let Some(mut meta) = meta {
            let older = |name: &str| {
                let path = scene.view.root.path().join(scene.session.file(name));
                read_own(&path, MOST).ok().flatten().unwrap_or_default()
            };
            meta.add_session(&older("team-session.json"));
            meta.add_shared(&older("shared-memory.json"));
            self.meta = Some(meta);
        }
    }

    /// Reads what is new in the log. The reading is none if nothing is to be noted.
    fn read_log(&mut self, scene: &Scene<'_>, report: &mut Report) -> Option<(Option<Reading>, News)> {
        let (view, session) = (scene.view, scene.session);
        let known = view.ledger.readings.file(scene.track, LOG);
        let mut reading = known.cloned().unwrap_or_else(|| Reading {
            track: scene.track.to_owned(),
            file: LOG.to_owned(),
            folder: session.folder.clone(),
            ..Reading::default()
        });
        let path = view.root.path().join(session.message_file(LOG));
        let mut all = News::default();
        for part in 0..MOST_PARTS {
            match self.log.follow(&path, &mut reading, view.now.wall) {
                Ok(Some(mut news)) => {
                    if scene.is_quiet {
                        keep_reports(&mut news);
                    }
                    all.messages.extend(news.messages);
                    all.faults.extend(news.faults);
                    all.is_another |= news.is_another;
                    all.again = news.again;
                }
                Ok(None) => break,
                Err(error) => {
                    report.cannot(&error);
                    if part == 0 {
                        return None;
                    }
                    break;
                }
            }
            // What is to be told is told look by look; what is taken as it is is taken as a whole.
            if !scene.is_quiet {
                break;
            }
        }
        report.again |= all.again;
        if all.is_another {
            report.faults.push(format!(
                "{}: none of the messages that were read is left; it is read from its beginning",
                path.display()
            ));
            let anew = Reading { lines: 0, bytes: 0, torn: 0, ..reading.clone() };
            report.news.push(What::Read(Box::new(anew)));
        }
        if reading.hash.is_empty() {
            reading.hash = of_bytes(b"");
        }
        let is_news = known != Some(&reading);
        Some((is_news.then_some(reading), all))
    }
}

/// Tells whether a session that was not known is one in which nothing happens any more.
fn is_at_rest(scene: &Scene<'_>, meta: &Meta) -> bool {
    let is_closed = matches!(meta.status, Some(Status::Completed | Status::Archived));
    let age = scene.view.now.wall.saturating_sub(scene.session.changed);
    let path = scene.view.root.path().join(scene.session.message_file(LOG));
    is_closed || age >= AT_REST || last(&path).is_some_and(|message| message.kind == SHUTDOWN)
}

/// Of a session at rest only reports are noted, and the last message.
fn keep_reports(news: &mut News) {
    let last = news.messages.last().map(|(line, _)| *line);
    news.messages.retain(|(line, message)| message.kind == STATE_UPDATE || Some(*line) == last);
    news.faults.clear();
}

/// Notes each message, and what is wrong with it.
fn tell_messages(scene: &Scene<'_>, news: &News, meta: &Meta, report: &mut Report) {
    let Scene { view, track, .. } = scene;
    let file = scene.session.message_file(LOG);
    let files = view.ledger.readings.of(track);
    let posted: BTreeSet<&str> = news.messages.iter().map(|(_, message)| message.from.as_str()).collect();
    let has_posted =
        |role: &str| posted.contains(role) || files.is_some_and(|files| files.posted.contains_key(role));
    let mut faults: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (line, from, fault) in &news.faults {
        faults.entry(*line).or_default().push((from.as_str(), fault.clone()));
    }
    for (line, message) in &news.messages {
        report.news.push(What::Posted(Box::new(posting(track, *line, message))));
        if scene.is_quiet {
            continue;
        }
        let more = [undeclared(message, meta, has_posted), held_against_files(scene, message)];
        faults
            .entry(*line)
            .or_default()
            .extend(more.into_iter().flatten().map(|fault| (message.from.as_str(), fault)));
    }
    if !scene.is_quiet {
        for (line, faults) in faults {
            for (who, fault) in faults {
                let mark = &format!(":{line}");
                report.find(At { track, file: &file, mark, who }, &[mark, &scene.turn], &fault);
            }
        }
    }
}

fn posting(track: &str, line: u64, message: &Message) -> Posting {
    Posting {
        track: track.to_owned(),
        line,
        from: message.from.clone(),
        to: message.to.clone(),
        kind: message.kind.clone(),
        id: message.id.clone(),
        task: message.task().to_owned(),
        sent: message.at.unwrap_or(0),
    }
}

fn held_against_files(scene: &Scene<'_>, message: &Message) -> Option<Fault> {
    let update = message.update.as_ref().filter(|update| !update.is_of_pipeline)?;
    let root = scene.view.root;
    let target = (!update.reference.is_empty()).then(|| scene.session.target(root, &update.reference));
    artifact(update, target.as_ref(), scene.session.has_artifact(root, &update.task))
}

fn tell_standing(scene: &Scene<'_>, before: Option<&Said>, news: &News, meta: &Meta, report: &mut Report) {
    let messages = news.messages.iter().map(|(_, message)| message);
    // What halted in another log halts no more.
    let before = before.filter(|_| !news.is_another);
    let mut said = standing(scene.track, before, messages, meta);
    if scene.is_quiet && before.is_none() {
        said = Said { track: said.track, kind: said.kind, state: Standing::Ended, ..Said::default() };
    }
    if !scene.view.ledger.tracks.is_said(&said) {
        report.news.push(What::Track(Box::new(said)));
    }
}

/// Holds the record against the reports that were noted at earlier looks.
fn mind_the_record(scene: &Scene<'_>, meta: &Meta, report: &mut Report) {
    let Scene { view, track, .. } = scene;
    let Some(files) = view.ledger.readings.of(track) else { return };
    let now = view.now.wall;
    let file = scene.session.message_file(LOG);
    for (who, late, fault) in behind(meta, files, now) {
        let (mark, sent) = (&format!(":{}", late.line), &late.sent.to_string());
        report.find(At { track, file: &file, mark, who }, &[mark, sent], &fault);
    }
    let is_young = |sent: i64| now.saturating_sub(sent) < crate::model::moment::millis(RECORDED);
    report.again |= files.posted.values().any(|late| late.sent <= now && is_young(late.sent));
}
