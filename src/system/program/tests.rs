//! By which path this program is called, and whether another can be run.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// A folder with `store/v1/watchdog` and the link `bin/watchdog` to it.
fn tree() -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let file = tree.path().join("store/v1/watchdog");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::create_dir(tree.path().join("bin")).unwrap();
    script(&file, "echo watchdog 9.9.9");
    symlink("../store/v1/watchdog", tree.path().join("bin/watchdog")).unwrap();
    tree
}

fn script(path: &Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Asks again while another test's child still holds the script open for writing, as it does between fork and exec.
fn said(path: &Path, patience: Duration) -> io::Result<String> {
    loop {
        match version(path, patience) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            answer => return answer,
        }
    }
}

fn own_path(tree: &TempDir, called: &str, folder: &str) -> String {
    let origin = Origin {
        running: tree.path().join("store/v1/watchdog").canonicalize().unwrap(),
        called: called.replace("TREE", &tree.path().display().to_string()).into(),
        folder: tree.path().join(folder),
        search: OsString::from(format!("/nowhere:{}/bin", tree.path().display())),
    };
    let path = origin.own_path().display().to_string();
    path.replace(&tree.path().canonicalize().unwrap().display().to_string(), "TREE")
        .replace(&tree.path().display().to_string(), "TREE")
}

#[test]
fn a_link_by_which_we_were_called_is_our_path() {
    let tree = tree();
    assert_eq!(own_path(&tree, "watchdog", ""), "TREE/bin/watchdog");
    assert_eq!(own_path(&tree, "TREE/bin/watchdog", ""), "TREE/bin/watchdog");
    assert_eq!(own_path(&tree, "./bin/watchdog", ""), "TREE/bin/watchdog");
    assert_eq!(own_path(&tree, "../bin/./watchdog", "store"), "TREE/bin/watchdog");
}

#[test]
fn a_name_that_leads_elsewhere_is_not() {
    let tree = tree();
    for called in ["", "sh", "/bin/sh", "nothing", "bin/nothing", "TREE/bin"] {
        assert_eq!(own_path(&tree, called, ""), "TREE/store/v1/watchdog", "{called}");
    }
}

#[test]
fn what_cannot_be_run_is_said_in_words() {
    let tree = tree();
    let plain = tree.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert_eq!(check(&tree.path().join("bin/watchdog")), Ok(()));
    assert_eq!(check(&plain), Err("it cannot be executed"));
    assert_eq!(check(&tree.path().join("bin")), Err("it is not a file"));
    assert_eq!(check(&tree.path().join("none")), Err("there is no such file"));
    assert_eq!(check(&plain.join("below")), Err("it cannot be reached"));
}

#[test]
fn a_program_says_its_version_or_is_ended() {
    let tree = tree();
    let long = Duration::from_secs(60);
    assert_eq!(said(&tree.path().join("bin/watchdog"), long).unwrap(), "watchdog 9.9.9");
    let silent = tree.path().join("silent");
    script(&silent, "exec sleep 600");
    let error = said(&silent, Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    // Half an answer and no end of it is an answer all the same.
    let slow = tree.path().join("slow");
    script(&slow, "printf 'watchdog 1'; exec sleep 600");
    assert_eq!(said(&slow, long).unwrap(), "watchdog 1");
    assert!(said(&tree.path().join("none"), long).is_err());
}
