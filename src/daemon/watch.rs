//! File events: two folders of each root, non-recursive; only changes of files that matter. Events are a hint to
//! look sooner; the tick is the floor when they are lost.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
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

/// Watches the folders of all roots.
#[derive(Default)]
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    /// What was watched, by its place on the disk: a folder that was made again is another.
    folders: HashMap<PathBuf, Place>,
    fault: Option<String>,
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
        let places: HashMap<PathBuf, usize> = roots
            .iter()
            .enumerate()
            .flat_map(|(place, root)| [(root.kiln(), place), (root.tmp(), place)])
            .collect();
        let hints = hints.clone();
        // If the watcher's own thread dies, this closure is dropped with its sender's clone; see `set_deaf`.
        match notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Some(hint) = hint(event, &places) {
                hints.send(hint).ok();
            }
        }) {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.fault = Some(explain(&error)),
        }
        watch.refresh(roots);
        watch
    }

    /// Watches folders that are new or were made again.
    pub fn refresh(&mut self, roots: &[Root]) {
        let Some(watcher) = &mut self.watcher else { return };
        self.fault = None;
        for folder in roots.iter().flat_map(|root| [root.kiln(), root.tmp()]) {
            let Ok(meta) = fs::metadata(&folder) else {
                self.folders.remove(&folder);
                continue;
            };
            let id = (meta.dev(), meta.ino(), meta.created().ok());
            if self.folders.get(&folder) == Some(&id) {
                continue;
            }
            let outcome = guarded(|| {
                watcher.unwatch(&folder).ok();
                watcher.watch(&folder, RecursiveMode::NonRecursive)
            });
            match outcome {
                Some(Ok(())) => {
                    self.folders.insert(folder, id);
                }
                Some(Err(error)) => {
                    self.folders.remove(&folder);
                    self.fault = Some(explain(&error));
                }
                None => self.is_dead = true,
            }
        }
    }

    /// How this daemon learns of changes in a root: `inotify`, or `polling (why)`.
    pub fn words(&self, place: usize) -> String {
        match &self.fault {
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
        let deaf = std::mem::take(&mut self.deaf);
        *self = Self::new(roots, hints);
        self.deaf = deaf;
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

fn hint(event: notify::Result<Event>, places: &HashMap<PathBuf, usize>) -> Option<Hint> {
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
    is_change.then(|| event.paths.iter().find_map(|path| place(path, places)))?.map(Hint::Root)
}

fn place(path: &Path, places: &HashMap<PathBuf, usize>) -> Option<usize> {
    if let Some(place) = places.get(path) {
        return Some(*place);
    }
    let name = path.file_name()?.to_str()?;
    NAMES.contains(&name).then(|| places.get(path.parent()?).copied())?
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
