//! The other files of a session: wisdom that may only grow, the index of explorations, the tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::report::{At, Report};
use super::session::{MOST, Scene};
use crate::model::digest::of_bytes;
use crate::model::event::What;
use crate::model::moment::millis;
use crate::model::reading::{Exploration, Files, Reading};
use crate::protocol::cache_index::{self, Entry};
use crate::protocol::team_check::{explored, grew, never_published, unreported};
use crate::protocol::team_meta::{self, Meta, Task};
use crate::protocol::team_rule::{Fault, Rule, shown};
use crate::store::settled::{Look, Seen};

/// The index of explorations, in the session's folder.
const INDEX: &str = "explorations/cache-index.json";
/// The tasks, in the session's folder.
const TASKS: &str = "tasks.json";
/// A role has this long to report a task that has ended, and to list an exploration that it has written.
const GRACE: Duration = Duration::from_secs(60);

/// What is known of these files between two looks.
#[derive(Default)]
pub(super) struct Rest {
    wisdom: BTreeMap<String, Seen>,
    index: Seen,
    /// The files that the index names.
    listed: BTreeSet<String>,
    /// The index cannot be read: what it names is not known.
    is_unreadable: bool,
    /// Files that were not there at the last look.
    missing: BTreeSet<String>,
    list: Seen,
    tasks: Vec<Task>,
    /// Awake time at which a task was first seen ended and not reported.
    ended: BTreeMap<String, Duration>,
}

impl Rest {
    /// Looks at all of them.
    pub(super) fn look(&mut self, scene: &Scene<'_>, meta: &Meta, report: &mut Report) {
        let files = scene.view.ledger.readings.of(scene.track).cloned().unwrap_or_default();
        self.mind_wisdom(scene, &files, report);
        self.mind_index(scene, &files, report);
        self.mind_unlisted(scene, report);
        if !scene.is_quiet {
            self.mind_tasks(scene, &files, meta, report);
        }
    }

    fn mind_wisdom(&mut self, scene: &Scene<'_>, files: &Files, report: &mut Report) {
        let (view, session) = (scene.view, scene.session);
        let mut names = session.wisdom(view.root);
        names.extend(files.read.keys().filter(|name| name.starts_with("wisdom/")).cloned());
        names.sort();
        names.dedup();
        for name in names {
            let path = view.root.path().join(session.file(&name));
            let seen = self.wisdom.entry(name.clone()).or_default();
            let look = seen.look_by(&path, view.now.wall, || session.beginning(view.root, &name));
            let known = files.read.get(&name);
            match look {
                Ok(Look::Same) => {}
                Ok(Look::Missing) => {
                    let Some(known) = known.filter(|_| self.is_missing_for_long(&name, report)) else {
                        continue;
                    };
                    let fact = format!("{name} had {} bytes and is gone; it is append-only", known.bytes);
                    tell(scene, &name, &[&scene.turn], &Fault::new(Rule::WisdomShrank, fact), report);
                    let gone = Reading { bytes: 0, hash: String::new(), ..known.clone() };
                    report.news.push(What::Read(Box::new(gone)));
                }
                Ok(Look::Changed { bytes, is_settled }) => {
                    self.missing.remove(&name);
                    let fault = known.and_then(|known| grew(known, &bytes));
                    if fault.is_some() && !is_settled {
                        report.again = true;
                        continue;
                    }
                    seen.done();
                    if let Some(fault) = fault {
                        tell(scene, &name, &[&scene.turn], &fault, report);
                    }
                    let (track, hash) = (scene.track.to_owned(), of_bytes(&bytes));
                    let new =
                        Reading { track, file: name, bytes: bytes.len() as u64, hash, ..Reading::default() };
                    if known != Some(&new) {
                        report.news.push(What::Read(Box::new(new)));
                    }
                }
                Err(error) => report.cannot(&error),
            }
        }
    }

    fn mind_index(&mut self, scene: &Scene<'_>, files: &Files, report: &mut Report) {
        let path = scene.view.root.path().join(scene.session.file(INDEX));
        match self.index.look(&path, MOST, scene.view.now.wall) {
            Ok(Look::Same) => {}
            Ok(Look::Missing) => {
                self.listed.clear();
                self.is_unreadable = false;
                if !files.explored.is_empty() && self.is_missing_for_long(INDEX, report) {
                    tell_explorations(scene, files, &[], report);
                }
            }
            Ok(Look::Changed { bytes, is_settled }) => {
                let (entries, faults) = cache_index::read(&bytes);
                if entries.is_none() && !is_settled {
                    report.again = true;
                    return;
                }
                self.index.done();
                self.missing.remove(INDEX);
                self.is_unreadable = entries.is_none();
                let entries = entries.as_deref();
                // What cannot be read is another thing each time.
                let state = if entries.is_none() { of_bytes(&bytes) } else { String::new() };
                for (line, fault) in faults {
                    let by = entries.into_iter().flatten().find(|entry| entry.line == line);
                    let who = by.map_or("", |entry| &entry.created_by);
                    tell_in_index(scene, line, who, &[&state], &fault, report);
                }
                if let Some(entries) = entries {
                    self.listed = entries.iter().map(|entry| entry.file.clone()).collect();
                    tell_explorations(scene, files, entries, report);
                }
            }
            Err(error) => report.cannot(&error),
        }
    }

    /// The result is written before its entry, so it has some time to come into the index.
    fn mind_unlisted(&self, scene: &Scene<'_>, report: &mut Report) {
        let (view, session) = (scene.view, scene.session);
        for (name, written) in session.explorations(view.root) {
            let is_listed = self.is_unreadable || self.listed.contains(&name);
            if !is_listed && view.now.wall.saturating_sub(written) >= millis(GRACE) {
                let fact = format!("{} is in no entry of cache-index.json", shown(&name));
                tell(
                    scene,
                    &format!("explorations/{name}"),
                    &[],
                    &Fault::new(Rule::CacheUnlisted, fact),
                    report,
                );
            }
        }
    }

    /// Tasks that ended and that nobody reported, after some time in which the report may still come.
    fn mind_tasks(&mut self, scene: &Scene<'_>, files: &Files, meta: &Meta, report: &mut Report) {
        let (view, session) = (scene.view, scene.session);
        let path = view.root.path().join(session.file(TASKS));
        match self.list.look(&path, MOST, view.now.wall) {
            Ok(Look::Changed { bytes, .. }) => {
                self.list.done();
                self.tasks = team_meta::tasks(&bytes);
            }
            Ok(Look::Missing) => self.tasks.clear(),
            Ok(Look::Same) => {}
            Err(error) => report.cannot(&error),
        }
        let open = unreported(&self.tasks, files, meta);
        self.ended.retain(|id, _| open.iter().any(|task| task.id == *id));
        for task in open {
            let since = *self.ended.entry(task.id.clone()).or_insert(view.now.awake);
            if view.now.awake.saturating_sub(since) < GRACE {
                report.again = true;
                continue;
            }
            let (file, mark) = (session.file(TASKS), format!("#{}", task.id));
            let at = At { track: scene.track, file: &file, mark: &mark, who: &task.role };
            report.find(at, &[&mark], &never_published(task));
        }
    }

    /// A file that is replaced by another is not there for a moment.
    fn is_missing_for_long(&mut self, name: &str, report: &mut Report) -> bool {
        let is_long = !self.missing.insert(name.to_owned());
        if is_long {
            self.missing.remove(name);
        } else {
            report.again = true;
        }
        is_long
    }
}

/// Notes entries that are new, gone or taken over, and those whose file is not there.
fn tell_explorations(scene: &Scene<'_>, files: &Files, entries: &[Entry], report: &mut Report) {
    let (faults, news) = explored(&files.explored, entries);
    for (line, fault) in faults {
        let by = entries.iter().find(|entry| entry.line == line);
        let who = by.map_or("", |entry| &entry.created_by);
        tell_in_index(scene, line, who, &[&scene.turn], &fault, report);
    }
    for entry in entries.iter().filter(|entry| !entry.file.is_empty()) {
        if !scene.session.has_exploration(scene.view.root, &entry.file) {
            let fact =
                format!("the file of the angle {} is not there: {}", shown(&entry.angle), shown(&entry.file));
            let fault =
                Fault::new(Rule::CacheFileMissing, fact).of(&format!("{} {}", entry.angle, entry.file));
            tell_in_index(scene, entry.line, &entry.created_by, &[], &fault, report);
        }
    }
    for (angle, by) in news {
        report.news.push(What::Explored(Exploration { track: scene.track.to_owned(), angle, by }));
    }
}

/// The lines of the index move when it is written anew: they tell no violation from another.
fn tell_in_index(
    scene: &Scene<'_>,
    line: usize,
    who: &str,
    case: &[&str],
    fault: &Fault,
    report: &mut Report,
) {
    if !scene.is_quiet {
        let (file, mark) = (scene.session.file(INDEX), format!(":{line}"));
        report.find(At { track: scene.track, file: &file, mark: &mark, who }, case, fault);
    }
}

fn tell(scene: &Scene<'_>, name: &str, case: &[&str], fault: &Fault, report: &mut Report) {
    if !scene.is_quiet {
        let file = scene.session.file(name);
        report.find(At { track: scene.track, file: &file, mark: "", who: "" }, case, fault);
    }
}
