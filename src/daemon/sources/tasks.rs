//! Workers' signal files in task folders (`worker-signal-protocol`).
//!
//! Each look lists the task folders and compares the stamps of the folders and of the signal files in them with those of
//! the look before; only what differs is opened. Of the folders those are watched for events that have no end yet, the
//! newest first, and then those that have one, as far as there are watches: a worker may run there again. The tick serves
//! the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{News, Source, View};
use crate::model::digest::digest;
use crate::model::event::{Event, What};
use crate::model::moment::Millis;
use crate::model::policy::Policy;
use crate::model::track::{Finding, MOST_TEXT, Said, State, Track, task_folder};
use crate::model::wording::{one_line, plain};
use crate::protocol::worker_signal::{self, Reading, Signal};
use crate::protocol::worker_track::{self, INVALID, MISMATCH, STALE, Verdict};
use crate::store::file::{chain, read_own};
use crate::store::shape::{self, Passed};
use crate::store::task_folder::MOST_JSON;

/// Task folders of one root that are looked at.
const MOST_FOLDERS: usize = 10_000;
/// Signal files of one folder that are looked at: the worker's and those of its roles.
const MOST_FILES: usize = 16;
/// Folders with an end that are worth a watch.
const MOST_SPARE: usize = 512;
/// Entries of a folder that is not watched that are looked at to tell whether there is a worker in it.
const MOST_PASSED: usize = 256;
/// Violations that are told of one file, and folders that are told of as not watched.
const MOST_FAULTS: usize = 8;
/// A change within this time of the last may bear the same stamp: what is so young is read again, and a file that is
/// broken may not be written to its end yet.
const YOUNG: Millis = 2000;
/// The clock of a file system runs behind by so much at most: it goes by the ticks of the kernel.
const BEHIND: Millis = 100;
/// A worker that had said nothing for so long when watching began is over, whatever its signal says.
const ABANDONED: Millis = 24 * 3_600_000;

/// The task folders of one root.
#[derive(Debug)]
pub(super) struct Tasks {
    /// Task folders that are looked at.
    most: usize,
    folders: BTreeMap<String, Folder>,
    /// Folders above them.
    above: Vec<PathBuf>,
    root: PathBuf,
    /// Wall time of the last look.
    looked: Option<Millis>,
}

impl Default for Tasks {
    fn default() -> Self {
        let (folders, above, root) = (BTreeMap::new(), Vec::new(), PathBuf::new());
        Self { most: MOST_FOLDERS, folders, above, root, looked: None }
    }
}

/// A task folder.
#[derive(Debug, Default)]
struct Folder {
    /// When monitoring of it began: it was not there, or nobody looked, before.
    since: Millis,
    seen: Seen,
    files: BTreeMap<String, File>,
}

/// A signal file.
#[derive(Debug, Default)]
struct File {
    seen: Seen,
    /// It says that its worker runs, or nothing that can be taken.
    is_open: bool,
    fault: Option<String>,
    /// Looks in a row that did not find it: some writers remove a file before they write it anew.
    missed: u8,
}

/// Tells one state of a file or folder from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    place: (u64, u64, u64),
    times: (i64, i64, i64, i64),
    /// It is read again whatever its stamp: it might have changed since without another, or what was found in it is not
    /// known to be in the journal yet.
    is_open: bool,
}

impl Seen {
    fn of(meta: &Metadata, now: Millis) -> Self {
        let age = now.saturating_sub(changed(meta));
        Self {
            place: (meta.dev(), meta.ino(), meta.len()),
            times: (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()),
            is_open: (0..YOUNG).contains(&age),
        }
    }

    /// Takes the present state. Returns whether it is worth reading.
    fn take(&mut self, next: Self) -> bool {
        let before = std::mem::replace(self, next);
        before.is_open || (before.place, before.times) != (next.place, next.times)
    }
}

/// When a file's content or name was last changed, unix milliseconds; nobody can set it.
fn changed(meta: &Metadata) -> Millis {
    meta.ctime().saturating_mul(1000).saturating_add(meta.ctime_nsec() / 1_000_000)
}

impl Source for Tasks {
    fn look(&mut self, view: &View<'_>) -> News {
        let mut news = News::default();
        view.root.path().clone_into(&mut self.root);
        let found = self.list(view.policy, &mut news);
        let first = Some(view.ledger.tracks.floor).filter(|floor| *floor > 0).unwrap_or(view.now.wall);
        let floor = self.looked.replace(view.now.wall).unwrap_or(first);
        self.folders.retain(|name, _| found.contains(name));
        for name in found {
            let folder = self.folders.entry(name.clone()).or_default();
            if folder.since == 0 {
                folder.since = floor.max(1);
            }
            folder.look(&name, view, &mut news);
        }
        self.mind_the_gone(view, &mut news);
        news
    }

    fn folders(&self) -> Vec<PathBuf> {
        let mut open: Vec<_> = self
            .folders
            .iter()
            .filter(|(_, folder)| folder.is_open())
            .map(|(name, folder)| (folder.files.is_empty(), std::cmp::Reverse(folder.seen.times), name))
            .collect();
        open.sort();
        let open = open.into_iter().map(|(_, _, name)| self.root.join(name));
        self.above.iter().cloned().chain(open).collect()
    }

    fn spare(&self) -> Vec<PathBuf> {
        let ended = self.folders.iter().filter(|(_, folder)| !folder.is_open());
        let mut ended: Vec<_> =
            ended.map(|(name, folder)| (std::cmp::Reverse(folder.seen.times), name)).collect();
        ended.sort();
        ended.into_iter().take(MOST_SPARE).map(|(_, name)| self.root.join(name)).collect()
    }
}

impl Tasks {
    /// Lists the task folders, and those above them, in which new ones appear.
    fn list(&mut self, policy: &Policy, news: &mut News) -> BTreeSet<String> {
        let (mut found, mut above, mut passed) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for pattern in &policy.tasks.folders {
            let matches = shape::matching(&self.root, pattern, self.most);
            if matches.is_cut {
                news.faults.push(format!(
                    "{pattern}: there are more than {} task folders; move finished ones elsewhere",
                    self.most
                ));
            }
            found.extend(matches.folders);
            passed.extend(matches.passed);
            let parts: Vec<&str> = pattern.split('/').collect();
            for length in 1..parts.len() {
                let parents = shape::matching(&self.root, &parts[..length].join("/"), self.most);
                above.extend(parents.folders.iter().map(|name| self.root.join(name)));
            }
        }
        self.above = above.into_iter().collect();
        let unwatched = passed.iter().filter_map(|passed| unwatched(&self.root, passed, &found));
        news.faults.extend(unwatched.take(MOST_FAULTS));
        found
    }

    /// A track whose folder was removed is gone, and so is one whose file was. That a folder cannot be looked at does not
    /// mean that.
    fn mind_the_gone(&self, view: &View<'_>, news: &mut News) {
        for key in view.ledger.tracks.all.keys() {
            let Some(name) = task_folder(key) else { continue };
            let is_gone = match self.folders.get(&name) {
                Some(folder) => {
                    !folder.seen.is_open && !folder.files.keys().any(|file| is_of(key, &name, file))
                }
                None => fs::symlink_metadata(view.root.path().join(&name))
                    .is_err_and(|error| error.kind() == io::ErrorKind::NotFound),
            };
            if is_gone {
                news.events.push(Event::of_root(view.now.wall, What::TrackGone { track: key.clone() }));
            }
        }
    }
}

/// Says what keeps workers from being watched in a folder that was passed over. None = there is none in it that is not
/// watched by another name.
fn unwatched(root: &Path, passed: &Passed, found: &BTreeSet<String>) -> Option<String> {
    let top = root.canonicalize().ok()?;
    let is_found = |task: &PathBuf| {
        let real = task.canonicalize().ok();
        let name = real.as_ref().and_then(|real| real.strip_prefix(&top).ok()).and_then(Path::to_str);
        name.is_some_and(|name| found.contains(name))
    };
    let mut tasks = vec![root.join(&passed.path)];
    for _ in 0..passed.above {
        let below = tasks.iter().filter_map(|folder| fs::read_dir(folder).ok()).flat_map(Iterator::flatten);
        tasks = below.map(|entry| entry.path()).take(MOST_PASSED).collect();
    }
    tasks.iter().find(|task| shape::is_task(task) && !is_found(task))?;
    let at = one_line(&passed.path.to_string_lossy(), MOST_TEXT);
    let why = if passed.path.to_str().is_none() {
        "its name is not UTF-8, so no worker in it is watched; rename it"
    } else {
        "it is a link, so no worker behind it is watched; put the folder itself there"
    };
    Some(format!("{at}: {why}"))
}

fn is_of(key: &str, folder: &str, file: &str) -> bool {
    worker_track::key(folder, file).is_some_and(|found| found == key)
}

impl Folder {
    /// No worker has ended there, or one has not.
    fn is_open(&self) -> bool {
        self.files.is_empty() || self.files.values().any(|file| file.is_open)
    }

    fn look(&mut self, name: &str, view: &View<'_>, news: &mut News) {
        let (path, now) = (view.root.path().join(name), view.now.wall);
        let Ok(meta) = fs::symlink_metadata(&path) else { return };
        if self.seen.take(Seen::of(&meta, now)) {
            for file in signal_files(&path) {
                self.files.entry(file).or_default();
            }
        }
        let since = self.since;
        self.files.retain(|name_of_file, file| {
            let Some(key) = worker_track::key(name, name_of_file) else { return false };
            let whole = format!("{name}/{name_of_file}");
            file.look(&Place { key, file: whole, since }, view, news)
        });
    }
}

/// The names of signal files in a folder.
fn signal_files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| worker_track::key("", name).is_some()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.truncate(MOST_FILES);
    names
}

/// Where a signal file is.
struct Place {
    /// The track's key.
    key: String,
    /// The file, relative to the root.
    file: String,
    /// When monitoring of its folder began.
    since: Millis,
}

impl File {
    /// Looks. Returns false if the file is gone for good.
    fn look(&mut self, place: &Place, view: &View<'_>, news: &mut News) -> bool {
        let path = view.root.path().join(&place.file);
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) => return self.miss(&error),
        };
        self.missed = 0;
        if self.seen.take(Seen::of(&meta, view.now.wall)) {
            match read_own(&path, MOST_JSON) {
                Ok(Some(bytes)) => {
                    self.fault = None;
                    self.read(&bytes, changed(&meta), place, view, news);
                }
                Ok(None) => {}
                Err(error) => (self.fault, self.is_open) = (Some(chain(&error)), true),
            }
        }
        news.faults.extend(self.fault.clone());
        true
    }

    fn miss(&mut self, error: &io::Error) -> bool {
        self.missed = self.missed.saturating_add(1);
        error.kind() != io::ErrorKind::NotFound || self.missed < 2
    }

    fn read(&mut self, bytes: &[u8], changed: Millis, place: &Place, view: &View<'_>, news: &mut News) {
        let reading = worker_signal::read(bytes);
        self.is_open = reading.signal.as_ref().is_none_or(|signal| !signal.status.is_terminal());
        if reading.signal.is_none() && self.seen.is_open {
            return;
        }
        let before = news.events.len();
        tell_faults(&reading, place, view, news);
        if let Some(signal) = &reading.signal {
            self.is_open |= !take(signal, changed, place, view, news);
        }
        self.seen.is_open |= news.events.len() > before;
    }
}

/// Notes what is new in a signal. Returns false if it is not taken.
fn take(signal: &Signal, changed: Millis, place: &Place, view: &View<'_>, news: &mut News) -> bool {
    let (tracks, now) = (&view.ledger.tracks, view.now.wall);
    let said = worker_track::said(&place.key, signal);
    let known = tracks.get(&place.key);
    let was_over = |track: &Track| track.said.state == State::Ended && track.said.stamp == said.stamp;
    if tracks.is_said(&said) || known.is_some_and(was_over) {
        return true;
    }
    // What lay there before it was watched violates nothing: that worker is over.
    let is_old = known.is_none() && changed.saturating_add(BEHIND) < place.since;
    let over = Said { state: State::Ended, ..said.clone() };
    // Each terminal signal that is not taken is a violation of its own.
    let finding = |rule: &str, fact: &str| {
        let case = [&place.file, said.state.word(), &said.attempt, &said.stamp];
        found(place, rule, &place.file, fact, &signal.role, &case)
    };
    let mut find = |finding: Finding| {
        news.find(vec![finding], view);
        false
    };
    match worker_track::judge(known, signal, place.since, now) {
        Verdict::Mismatch(fact) => find(finding(MISMATCH, &fact)),
        Verdict::Stale(_) if is_old && !tracks.is_found(&finding(STALE, "")) => {
            if changed > tracks.forgotten {
                news.say(over, view);
            }
            true
        }
        Verdict::Stale(fact) => find(finding(STALE, &format!("{fact}; it is not taken"))),
        Verdict::Taken => {
            let is_abandoned =
                is_old && !signal.status.is_terminal() && changed < now.saturating_sub(ABANDONED);
            news.say(if is_abandoned { over } else { said }, view);
            true
        }
    }
}

/// What is wrong in a file is told once an attempt. That a field has another number or time each time is the same.
fn tell_faults(reading: &Reading, place: &Place, view: &View<'_>, news: &mut News) {
    let (role, attempt) = reading.signal.as_ref().map_or(("", ""), |signal| (&signal.role, &signal.attempt));
    let faults = reading.faults.iter().map(|fault| {
        let (fact, field) = (fault.to_string(), fault.field.as_str());
        let at = if field.is_empty() { place.file.clone() } else { format!("{}:{field}", place.file) };
        let words =
            if field.is_empty() { fact.clone() } else { fact.replace(|c: char| c.is_ascii_digit(), "") };
        found(place, INVALID, &at, &fact, role, &[&at, attempt, &words])
    });
    news.find(faults.collect(), view);
}

/// Makes a violation of a signal file.
fn found(place: &Place, rule: &str, at: &str, fact: &str, who: &str, case: &[&str]) -> Finding {
    Finding {
        track: place.key.clone(),
        rule: rule.to_owned(),
        place: one_line(at, MOST_TEXT),
        who: plain(who, MOST_TEXT),
        fact: plain(fact, MOST_TEXT),
        case: digest(case),
        ..Finding::default()
    }
}

impl News {
    fn say(&mut self, said: Said, view: &View<'_>) {
        self.events.push(Event::of_root(view.now.wall, What::Track(Box::new(said))));
    }

    /// Notes violations that were not noted before.
    fn find(&mut self, found: Vec<Finding>, view: &View<'_>) {
        for finding in view.ledger.tracks.news(found, MOST_FAULTS) {
            self.events.push(Event::of_root(view.now.wall, What::Found(Box::new(finding))));
        }
    }
}

#[cfg(test)]
mod tests;
