//! Locks that are held, let go, held by a stopped process, and let go by death.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Kind, acquire, is_held, is_in_place, lock};
use crate::store::file::chain;
use crate::store::scratch::mode;

const PATIENT: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(30);

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.lock");
    (folder, path)
}

/// A shell that holds the lock as the pipeline's own scripts take it, until its stdin ends.
struct Holder(Child);

impl Holder {
    fn of(path: &Path) -> Self {
        let script = "exec 9>>\"$1\" && flock 9 && echo held && read -r _";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n", "flock(1) of util-linux is needed");
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_lock_is_taken_once_and_let_go_by_dropping_it() {
    let (_folder, path) = place();
    assert!(!is_held(&path));
    let held = acquire(&path, Duration::ZERO).unwrap().unwrap();
    assert!(is_held(&path));
    assert!(acquire(&path, SHORT).unwrap().is_none());
    drop(held);
    assert!(!is_held(&path));
    assert!(acquire(&path, Duration::ZERO).unwrap().is_some());
    // The file stays: a lock is always on the file that others see.
    assert_eq!((path.is_file(), mode(&path)), (true, 0o600));
}

#[test]
fn shared_locks_keep_out_an_exclusive_one_and_no_other() {
    let (_folder, path) = place();
    let open = || fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let (one, two, three) = (open(), open(), open());
    assert!(lock(&one, Kind::Shared, Duration::ZERO).unwrap());
    assert!(lock(&two, Kind::Shared, Duration::ZERO).unwrap());
    assert!(!lock(&three, Kind::Exclusive, SHORT).unwrap());
    drop((one, two));
    assert!(lock(&three, Kind::Exclusive, PATIENT).unwrap());
    assert!(!lock(&open(), Kind::Shared, SHORT).unwrap());
}

#[test]
fn many_who_wait_take_their_turns() {
    let (_folder, path) = place();
    let (path, count, inside) = (&path, &Mutex::new(0), &Mutex::new(()));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let _held = acquire(path, PATIENT).unwrap().unwrap();
                    let _alone = inside.try_lock().unwrap();
                    *count.lock().unwrap() += 1;
                }
            });
        }
    });
    assert_eq!(*count.lock().unwrap(), 320);
}

#[test]
fn a_holder_that_is_stopped_is_not_waited_for_beyond_the_limit() {
    let (_folder, path) = place();
    let holder = Holder::of(&path);
    holder.signal(Signal::STOP);
    assert!(acquire(&path, SHORT).unwrap().is_none());
    assert!(is_held(&path));
    holder.signal(Signal::CONT);
    assert!(acquire(&path, SHORT).unwrap().is_none());
}

#[test]
fn the_death_of_a_holder_lets_the_lock_go() {
    let (_folder, path) = place();
    let holder = Holder::of(&path);
    assert!(is_held(&path));
    holder.signal(Signal::KILL);
    assert!(acquire(&path, PATIENT).unwrap().is_some());
}

#[test]
fn the_pipeline_s_own_scripts_are_kept_out_by_ours() {
    let (_folder, path) = place();
    let script = || Command::new("flock").arg("-n").arg(&path).arg("true").status().unwrap();
    let held = acquire(&path, Duration::ZERO).unwrap().unwrap();
    assert!(!script().success());
    drop(held);
    assert!(script().success());
}

#[test]
fn a_lock_file_that_is_no_file_is_an_error_that_names_it() {
    let (folder, path) = place();
    let check = |path: &Path, cause: &str| {
        let error = chain(&acquire(path, SHORT).unwrap_err());
        assert!(error.starts_with(&format!("cannot open {}: {cause}", path.display())), "{error}");
    };
    check(&folder.path().join("none/some.lock"), "No such file or directory");
    symlink(folder.path().join("elsewhere"), &path).unwrap();
    check(&path, "");
    assert!(!folder.path().join("elsewhere").exists());
    let inside = folder.path().join("folder");
    fs::create_dir(&inside).unwrap();
    check(&inside, "Is a directory");
    assert!(!is_held(&inside.join("none")));
}

#[test]
fn a_lock_whose_folder_was_removed_is_no_longer_in_place() {
    let (_folder, path) = place();
    let held = acquire(&path, Duration::ZERO).unwrap().unwrap();
    assert!(is_in_place(&held, &path));
    fs::remove_file(&path).unwrap();
    assert!(!is_in_place(&held, &path));
    let other = acquire(&path, Duration::ZERO).unwrap().unwrap();
    assert!(is_in_place(&other, &path) && !is_in_place(&held, &path));
}
