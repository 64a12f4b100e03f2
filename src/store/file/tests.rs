//! Whole files, old or new, whatever else happens to them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Access, FileError, chain, own_folder, read_other, read_own, remove, replace, sweep};
use crate::store::scratch::{give_away, mode, names};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn put(path: &Path, text: &str, temp: &Path) -> Result<(), String> {
    replace(path, text.as_bytes(), temp, Access::Private, false).map_err(|error| chain(&error))
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from(0o600), 0)
        .unwrap();
}

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
    let folder = folder();
    let (path, temp) = (folder.path().join("state.json"), folder.path().join("tmp"));
    fs::create_dir(&temp).unwrap();
    for text in ["first, and longer than the second", "second", ""] {
        put(&path, text, &temp).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(&temp), Vec::<String>::new());
    }
    replace(&path, b"synced", &temp, Access::Private, true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"synced");
}

#[test]
fn private_files_are_the_owner_s_alone_and_shared_ones_are_readable() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    replace(&path("own"), b"x", folder.path(), Access::Private, false).unwrap();
    replace(&path("all"), b"x", folder.path(), Access::Shared, false).unwrap();
    assert_eq!(mode(&path("own")), 0o600);
    // What the process masks is masked, but nobody gains a right to write.
    assert_eq!(mode(&path("all")) & !0o044, 0o600);
    // Replacing gives the new file its own rights, whatever the old one had.
    fs::set_permissions(path("own"), fs::Permissions::from_mode(0o666)).unwrap();
    replace(&path("own"), b"y", folder.path(), Access::Private, false).unwrap();
    assert_eq!(mode(&path("own")), 0o600);
}

#[test]
fn what_a_killed_writer_left_is_used_up_by_the_next() {
    let folder = folder();
    let (path, left) = (folder.path().join("state.json"), folder.path().join("state.json.new"));
    fs::write(&left, "half of something that was much longer than what comes now").unwrap();
    put(&path, "whole", folder.path()).unwrap();
    assert_eq!(names(folder.path()), ["state.json"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
}

#[test]
fn what_killed_writers_left_is_swept_away_and_what_is_being_written_stays() {
    let temp = folder();
    for name in ["left.json.new", "busy.json.new", "whole.json"] {
        fs::write(temp.path().join(name), "x").unwrap();
    }
    let busy = fs::File::open(temp.path().join("busy.json.new")).unwrap();
    busy.lock().unwrap();
    sweep(temp.path());
    assert_eq!(names(temp.path()), ["busy.json.new", "whole.json"]);
    drop(busy);
    sweep(temp.path());
    assert_eq!(names(temp.path()), ["whole.json"]);
    sweep(&temp.path().join("not-there"));
}

#[test]
fn what_was_planted_under_the_temporary_name_is_taken_away() {
    let plants: [fn(&Path, &Path); 3] = [
        |left, victim| symlink(victim, left).unwrap(),
        |left, _| pipe(left),
        |left, _| {
            fs::write(left, "another's").unwrap();
            // Where the test may not give a file away it still is a leftover.
            give_away(left);
        },
    ];
    for plant in plants {
        let folder = folder();
        let (path, victim) = (folder.path().join("state.json"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        plant(&folder.path().join("state.json.new"), &victim);
        put(&path, "ours", folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(read_own(&path, 100).unwrap().unwrap(), b"ours");
        assert_eq!(names(folder.path()), ["state.json", "victim"]);
    }
}

#[test]
fn a_link_under_the_target_s_name_is_replaced_not_followed() {
    let folder = folder();
    let (path, victim) = (folder.path().join("state.json"), folder.path().join("victim"));
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &path).unwrap();
    put(&path, "ours", folder.path()).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!path.is_symlink());
}

#[test]
fn what_cannot_be_replaced_is_as_it_was_and_the_error_says_what_and_why() {
    let folder = folder();
    let path = folder.path().join("state.json");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), "x").unwrap();
    let error = put(&path, "ours", folder.path()).unwrap_err();
    assert!(error.starts_with(&format!("cannot replace {}: ", path.display())), "{error}");
    assert_eq!(names(folder.path()), ["state.json"]);
    let nowhere = folder.path().join("none/state.json");
    let error = put(&nowhere, "ours", &folder.path().join("none")).unwrap_err();
    assert!(error.contains("No such file or directory"), "{error}");
}

#[test]
fn a_temporary_folder_on_another_file_system_is_no_hindrance() {
    let (here, shm) = (folder(), Path::new("/dev/shm"));
    let is_elsewhere = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).is_ok_and(|meta| meta.dev() != fs::metadata(here.path()).unwrap().dev())
    };
    if !is_elsewhere(shm) {
        eprintln!("there is no second file system here to try it with");
        return;
    }
    let temp = tempfile::tempdir_in(shm).unwrap();
    let path = here.path().join("state.json");
    put(&path, "ours", temp.path()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
    assert_eq!((names(here.path()), names(temp.path())), (vec!["state.json".to_owned()], vec![]));
}

/// Eight writers that take no lock of their own; a reader never sees anything but a whole text of one of them.
#[test]
fn readers_see_one_whole_text_of_many_writers() {
    let folder = folder();
    let path = folder.path().join("state.json");
    let text = |writer: usize| format!("{writer} ").repeat(500 + 300 * writer);
    let texts: Vec<String> = (0..8).map(text).collect();
    put(&path, &texts[0], folder.path()).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !stop.load(Ordering::Relaxed) || reads < 50 {
                let found = fs::read_to_string(&path).unwrap();
                assert!(texts.contains(&found), "{} bytes that nobody wrote", found.len());
                reads += 1;
            }
        });
        let writers: Vec<_> = texts
            .iter()
            .map(|text| {
                scope.spawn(|| {
                    for _ in 0..20 {
                        // On a slow machine one of a crowd may wait in vain for its turn, and is told so.
                        while let Err(error) = put(&path, text, folder.path()) {
                            assert!(error.contains("another process is writing it"), "{error}");
                        }
                    }
                })
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        // Before anything is asserted, or a failure would leave the reader reading.
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        assert!(written.iter().all(Result::is_ok));
    });
    assert_eq!(names(folder.path()), ["state.json"]);
}

#[test]
fn reading_has_a_limit() {
    let folder = folder();
    let path = folder.path().join("big");
    fs::write(&path, [b'x'; 100]).unwrap();
    assert_eq!(read_own(&path, 100).unwrap().unwrap().len(), 100);
    let error = chain(&read_own(&path, 99).unwrap_err());
    assert_eq!(error, format!("cannot read {}: larger than 99 bytes", path.display()));
    assert!(read_own(&folder.path().join("none"), 99).unwrap().is_none());
}

#[test]
fn what_is_no_regular_file_of_ours_is_refused() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let check = |name: &str, wanted: &str| {
        let error = chain(&read_own(&path(name), 99).unwrap_err());
        assert_eq!(error, wanted.replace("NAME", &path(name).display().to_string()));
    };
    fs::write(path("file"), "x").unwrap();
    symlink(path("file"), path("link")).unwrap();
    check("link", "cannot read NAME: it is a symlink");
    symlink(path("nowhere"), path("dangling")).unwrap();
    check("dangling", "cannot read NAME: it is a symlink");
    fs::create_dir(path("folder")).unwrap();
    check("folder", "cannot read NAME: not a regular file");
    pipe(&path("pipe"));
    check("pipe", "cannot read NAME: not a regular file");
    if give_away(&path("file")) {
        check("file", "cannot trust NAME: it belongs to another user");
    }
}

#[test]
fn a_folder_is_made_for_the_owner_and_others_folders_are_refused() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    own_folder(&path("own"), 0o700).unwrap();
    own_folder(&path("own"), 0o700).unwrap();
    assert_eq!(mode(&path("own")), 0o700);
    let check = |name: &str, wanted: &str| {
        let error = chain(&own_folder(&path(name), 0o700).unwrap_err());
        assert_eq!(error, wanted.replace("NAME", &path(name).display().to_string()));
    };
    symlink(path("own"), path("link")).unwrap();
    check("link", "cannot trust NAME: it is a symlink");
    fs::write(path("file"), "").unwrap();
    check("file", "cannot trust NAME: it is not a folder");
    fs::set_permissions(path("own"), fs::Permissions::from_mode(0o777)).unwrap();
    check("own", "cannot trust NAME: everybody can write it; run \"chmod o-w\" on it");
    fs::set_permissions(path("own"), fs::Permissions::from_mode(0o775)).unwrap();
    own_folder(&path("own"), 0o700).unwrap();
    if give_away(&path("own")) {
        check("own", "cannot trust NAME: it belongs to another user");
    }
    check("none/inside", "cannot make NAME: No such file or directory (os error 2)");
}

#[test]
fn many_that_make_a_folder_at_once_all_have_it() {
    let folder = folder();
    let path = folder.path().join("own");
    thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| own_folder(&path, 0o700))).collect();
        for one in all {
            one.join().unwrap().unwrap();
        }
    });
}

#[test]
fn removing_what_is_not_there_is_no_error() {
    let folder = folder();
    let path = folder.path().join("file");
    OpenOptions::new().create(true).truncate(true).write(true).open(&path).unwrap().write_all(b"x").unwrap();
    remove(&path).unwrap();
    remove(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = chain(&remove(&path).unwrap_err());
    assert!(error.starts_with(&format!("cannot remove {}: ", path.display())), "{error}");
}

#[test]
fn an_error_is_printed_with_its_causes_on_one_line() {
    let error = FileError::of("read", Path::new("/a/b"))(std::io::Error::other("the reason"));
    assert_eq!(error.to_string(), "cannot read /a/b");
    assert_eq!(chain(&error), "cannot read /a/b: the reason");
}

#[test]
fn a_file_of_another_program_is_read_through_links_and_a_pipe_is_never_waited_for() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let fault = |name: &str| chain(&read_other(&at(name), 8).unwrap_err());
    fs::write(at("a"), "12345678").unwrap();
    symlink("a", at("link")).unwrap();
    assert_eq!(read_other(&at("link"), 8).unwrap(), b"12345678");
    fs::write(at("long"), "123456789").unwrap();
    pipe(&at("pipe"));
    symlink("pipe", at("link to a pipe")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    for (name, why) in [
        ("none", "No such file"),
        ("long", "larger than 8 bytes"),
        ("pipe", "not a regular file"),
        ("link to a pipe", "not a regular file"),
        ("folder", "not a regular file"),
    ] {
        assert!(fault(name).contains(why), "{name}: {}", fault(name));
    }
}
