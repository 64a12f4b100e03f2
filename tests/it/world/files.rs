//! Files of a test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Removes a folder in which others may be writing: it is gone at once, and nothing new can come into it meanwhile.
#[track_caller]
pub(crate) fn take_away(folder: &Path) {
    let aside = folder.with_extension("taken-away");
    fs::rename(folder, &aside).and_then(|()| fs::remove_dir_all(&aside)).expect("a folder is removed");
}

/// Replaces a file as its writers do: readers see the old or the new.
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    let temp = path.with_extension(format!("put-{}", std::process::id()));
    fs::write(&temp, bytes).and_then(|()| fs::rename(&temp, path)).expect("a file is replaced");
}

/// Reads a file of JSON. None = it is not there.
#[track_caller]
pub(crate) fn read_json(path: &Path) -> Option<Value> {
    let bytes = fs::read(path).ok()?;
    Some(serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// All below a folder: every name with its content and its time of change.
pub(crate) fn listing(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let meta = entry.metadata().expect("an entry");
            if meta.is_dir() {
                folders.push(entry.path());
            }
            let content = fs::read(entry.path()).unwrap_or_default();
            all.insert(entry.path(), (content, meta.mtime(), meta.mtime_nsec()));
        }
    }
    all
}

/// The names below a folder, relative to it.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    listing(folder).keys().map(|path| name(path)).collect()
}
