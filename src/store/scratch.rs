//! A project folder for one test, removed with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::root::Root;

/// A project with `.kiln/` and a stage, its folders prepared.
pub(crate) struct Scratch {
    pub(crate) root: Root,
    _folder: TempDir,
}

impl std::ops::Deref for Scratch {
    type Target = Root;

    fn deref(&self) -> &Root {
        &self.root
    }
}

/// Makes a project.
pub(crate) fn project() -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".kiln")).unwrap();
    fs::write(folder.path().join(".kiln/STATE.md"), "- **stage**: build\n").unwrap();
    let root = Root::at(folder.path()).unwrap();
    root.prepare().unwrap();
    Scratch { root, _folder: folder }
}

/// The permission bits of a file or folder.
pub(crate) fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Gives a file to another user. Returns false where the test's own user may not.
pub(crate) fn give_away(path: &Path) -> bool {
    std::os::unix::fs::chown(path, Some(65_534), None).is_ok()
}

/// Runs an ignored test of this crate as a process of its own, with a word for it in the environment.
pub(crate) fn child(test: &str, word: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(WORD, word);
    command
}

/// The word that a child was given.
pub(crate) fn word() -> PathBuf {
    std::env::var_os(WORD).map(PathBuf::from).unwrap()
}

const WORD: &str = "WATCHDOG_TEST_CHILD";
