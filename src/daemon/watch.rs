//! File events: two folders of each root, non-recursive, and a bounded number of folders of others in it; only changes
//! of files that matter. Events are a hint to look sooner; the tick is the floor when they are lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedSender;

use crate::store::pid_file;
use crate::store::root::Root;

/// Something happened in a root's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Look at this root (by its place in the daemon's list).
    Root(usize),
    /// Events were lost: look at all.
    All,
}

/// Files whose change is worth a look.
const NAMES: [&str; 5] = ["STATE.md", "DEADLOCK.flag", "activity.json", "tmp", pid_file::DAEMON];

/// Folders of others that are watched in one root at most; the tick serves the rest.
const MOST: usize = 512;

/// Whose a watched folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The root's own: only some names matter.
    Root(usize),
    /// Another's: every change matters.
    Other(usize),
}

type Owners = Arc<Mutex<HashMap<PathBuf, Owner>>>;

/// Watches the folders of all roots.
#[derive(Default)]
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    /// Shared with the watcher's thread.
    owners: Owners,
    /// The folders of others, by root.
    others: HashMap<usize, Vec<PathBuf>>,
    /// What was watched, by its place on the disk: a folder that was made again is another.
    folders: HashMap<PathBuf, Place>,
    /// Why there is no watcher.
    fault: Option<String>,
    /// Why a root's own folder is not watched.
    faults: BTreeMap<usize, String>,
    /// Roots in which changes were found of which no event told.
    deaf: BTreeSet<usize>,
    is_dead: bool,
}

/// Device, number and birth: a folder that is made again often gets the number of the old one.
type Place = (u64, u64, Option<SystemTime>);

impl Watch {
    /// Starts a watcher for these roots. Without one the daemon polls, and says why.
    pub fn new(roots: &[Root], hints: &UnboundedSender<Hint>) -> Self {
        let mut watch = Self::default();
        let own = roots
            .iter()
            .enumerate()
            .flat_map(|(place, root)| [(root.home(), Owner::Root(place)), (root.tmp(), Owner::Root(place))]);
        let owners: Owners = Arc::new(Mutex::new(own.collect()));
        watch.owners = Arc::clone(&owners);
        let hints = hints.clone();
        // If the watcher's own thread dies, this closure is dropped with its sender's clone; see `set_deaf`.
        match notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Some(hint) = hint(event, &owners.lock().unwrap_or_else(PoisonError::into_inner)) {
                hints.send(hint).ok();
            }
        }) {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.fault = Some(explain(&error)),
        }
        for (place, root) in roots.iter().enumerate() {
            watch.refresh(place, root);
        }
        watch
    }

    /// Watches these folders of others in a root too, as many of them as there are watches for, and no longer those that
    /// were watched before and are not among them.
    pub fn follow(&mut self, place: usize, folders: &[PathBuf]) {
        let folders = &folders[..folders.len().min(MOST)];
        let before = self.others.get(&place).map_or(&[][..], Vec::as_slice);
        if before == folders {
            return;
        }
        let kept: BTreeSet<&PathBuf> = folders.iter().collect();
        let gone = self.change_owners(|owners| {
            let mut gone = before.to_vec();
            gone.retain(|folder| !kept.contains(folder) && owners.get(folder) == Some(&Owner::Other(place)));
            for folder in &gone {
                owners.remove(folder);
            }
            for folder in folders {
                owners.entry(folder.clone()).or_insert(Owner::Other(place));
            }
            gone
        });
        for folder in gone {
            self.folders.remove(&folder);
            if let Some(watcher) = &mut self.watcher {
                guarded(|| watcher.unwatch(&folder).ok());
            }
        }
        self.others.insert(place, folders.to_vec());
        self.watch_others(place);
    }

    /// The watcher's thread needs this lock for each event, and answers no call of ours until it has it: nothing of the
    /// watcher may be called under it.
    fn change_owners<T>(&self, change: impl FnOnce(&mut HashMap<PathBuf, Owner>) -> T) -> T {
        change(&mut self.owners.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Watches folders of a root that are new or were made again.
    pub fn refresh(&mut self, place: usize, root: &Root) {
        self.faults.remove(&place);
        for folder in [root.home(), root.tmp()] {
            if let Some(error) = self.watch_one(folder) {
                self.faults.insert(place, explain(&error));
            }
        }
        self.watch_others(place);
    }

    /// A root has been left: nothing in it is watched for others' sake, and its fault is nobody's any more.
    pub fn leave(&mut self, place: usize) {
        self.follow(place, &[]);
        self.faults.remove(&place);
    }

    /// That there is no watch for a folder of others is no fault: the tick serves it.
    fn watch_others(&mut self, place: usize) {
        for folder in self.others.get(&place).cloned().unwrap_or_default() {
            self.watch_one(folder);
        }
    }

    /// Watches a folder, if it is there and not watched yet.
    fn watch_one(&mut self, folder: PathBuf) -> Option<notify::Error> {
        let watcher = self.watcher.as_mut()?;
        let Ok(meta) = fs::metadata(&folder) else {
            self.folders.remove(&folder);
            return None;
        };
        let id = (meta.dev(), meta.ino(), meta.created().ok());
        if self.folders.get(&folder) == Some(&id) {
            return None;
        }
        let outcome = guarded(|| {
            watcher.unwatch(&folder).ok();
            watcher.watch(&folder, RecursiveMode::NonRecursive)
        });
        match outcome {
            Some(Ok(())) => {
                self.folders.insert(folder, id);
                None
            }
            Some(Err(error)) => {
                self.folders.remove(&folder);
                Some(error)
            }
            None => {
                self.is_dead = true;
                None
            }
        }
    }

    /// How this daemon learns of changes in a root: `inotify`, or `polling (why)`.
    pub fn words(&self, place: usize) -> String {
        // A limit that one root has met is all roots' limit.
        match self.fault.as_ref().or_else(|| self.faults.values().next_back()) {
            Some(fault) => format!("polling ({fault})"),
            None if self.is_deaf(place) => "polling (no events arrive from this file system)".to_owned(),
            None => "inotify".to_owned(),
        }
    }

    /// Takes note that changes were found in a root of which no event told, or that one did tell again.
    pub fn set_deaf(&mut self, place: usize, is_deaf: bool) {
        if is_deaf {
            self.deaf.insert(place);
        } else {
            self.deaf.remove(&place);
        }
    }

    /// Tells whether no event is expected from a root.
    pub fn is_deaf(&self, place: usize) -> bool {
        self.deaf.contains(&place)
    }

    /// Makes the watcher anew.
    pub fn renew(&mut self, roots: &[Root], hints: &UnboundedSender<Hint>) {
        let (deaf, others) = (std::mem::take(&mut self.deaf), std::mem::take(&mut self.others));
        *self = Self::new(roots, hints);
        self.deaf = deaf;
        for (place, folders) in others {
            self.follow(place, &folders);
        }
    }

    /// Tells whether the watcher's thread was found dead.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let watcher = self.watcher.take();
        guarded(move || drop(watcher));
    }
}

/// The watcher panics if its own thread has died; that must not end the daemon. None = it did.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

fn hint(event: notify::Result<Event>, owners: &HashMap<PathBuf, Owner>) -> Option<Hint> {
    let Ok(event) = event else { return Some(Hint::All) };
    if event.need_rescan() {
        return Some(Hint::All);
    }
    // Opening and reading are events too; to look because of one would be to look for ever.
    let is_change = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Create(_)
        | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        _ => false,
    };
    is_change.then(|| event.paths.iter().find_map(|path| place(path, owners)))?.map(Hint::Root)
}

fn place(path: &Path, owners: &HashMap<PathBuf, Owner>) -> Option<usize> {
    if let Some(Owner::Root(place) | Owner::Other(place)) = owners.get(path) {
        return Some(*place);
    }
    match owners.get(path.parent()?)? {
        Owner::Other(place) => Some(*place),
        Owner::Root(place) => NAMES.contains(&path.file_name()?.to_str()?).then_some(*place),
    }
}

/// Says which limit was met, instead of "no space left on device".
fn explain(error: &notify::Error) -> String {
    let os = match &error.kind {
        notify::ErrorKind::MaxFilesWatch => Some(rustix::io::Errno::NOSPC.raw_os_error()),
        notify::ErrorKind::Io(error) => error.raw_os_error(),
        _ => None,
    };
    match os.map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOSPC) => {
            "inotify: no watch is left; raise fs.inotify.max_user_watches".to_owned()
        }
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => {
            "inotify: no instance is left; raise fs.inotify.max_user_instances".to_owned()
        }
        _ => format!("inotify: {}", io::Error::other(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
