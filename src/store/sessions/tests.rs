//! Sessions with ids of every kind, and whose a message is.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Asker, Session, all, belongs_to, clear, end, is_there, path, store};
use crate::store::root::Root;
use crate::store::scratch::{mode, names, project};

fn session(id: &str, pid: Option<i32>, since: i64) -> Session {
    Session { v: 1, session_id: id.to_owned(), pid, since, ..Session::default() }
}

fn put(root: &Root, id: &str, pid: Option<i32>, since: i64) {
    store(root, &session(id, pid, since)).unwrap();
}

#[test]
fn a_session_is_registered_replaced_and_ended() {
    let project = project();
    assert!(!is_there(&project, "s1"));
    put(&project, "s1", None, 5);
    put(&project, "s1", Some(77), 6);
    assert!(is_there(&project, "s1"));
    assert_eq!(all(&project), [session("s1", Some(77), 6)]);
    assert_eq!(mode(&path(&project, "s1")), 0o600);
    assert!(end(&project, "s1").unwrap());
    assert!(!end(&project, "s1").unwrap());
    assert_eq!(all(&project), []);
}

#[test]
fn an_id_of_any_kind_has_a_file_of_its_own_in_the_folder() {
    let project = project();
    let long = "x".repeat(5_000);
    let ids = [
        "",
        ".",
        "..",
        ".hidden",
        "../../../../etc/passwd",
        "a/b",
        "a\0b",
        "a\nb",
        "Straße",
        "日本",
        "a b",
        "daemon",
        "activity",
        "hash-0",
        &long,
        &long[1..],
        "00000001-0000-4000-8000-000000000001",
        "x.json",
    ];
    for (place, id) in ids.iter().enumerate() {
        assert_eq!(path(&project, id).parent(), Some(project.sessions().as_path()), "{id:?}");
        put(&project, id, None, place as i64);
    }
    assert_eq!(names(&project.sessions()).len(), ids.len());
    let found: Vec<String> = all(&project).into_iter().map(|session| session.session_id).collect();
    assert_eq!(found, ids);
    for id in ids {
        assert!(end(&project, id).unwrap(), "{id:?}");
    }
    assert_eq!(names(&project.sessions()), Vec::<String>::new());
}

#[test]
fn sessions_come_in_the_order_in_which_they_began() {
    let project = project();
    for (id, since) in [("b", 9), ("a", 9), ("c", 3)] {
        put(&project, id, None, since);
    }
    let ids: Vec<String> = all(&project).into_iter().map(|session| session.session_id).collect();
    assert_eq!(ids, ["c", "a", "b"]);
}

#[test]
fn files_that_cannot_be_read_are_left_out() {
    let project = project();
    put(&project, "good", None, 1);
    let write = |name: &str, text: &str| fs::write(project.sessions().join(name), text).unwrap();
    write("empty.json", "");
    write("half.json", "{\"session_id\":\"ha");
    write("list.json", "[]");
    write("other.txt", "{\"session_id\":\"x\",\"since\":1}");
    write("big.json", &format!("{{\"session_id\":\"big\",\"since\":1,\"x\":\"{}\"}}", "x".repeat(20_000)));
    write("least.json", "{\"session_id\":\"least\",\"since\":2,\"of_a_newer_version\":[1]}");
    symlink(path(&project, "good"), project.sessions().join("link.json")).unwrap();
    let ids: Vec<String> = all(&project).into_iter().map(|session| session.session_id).collect();
    assert_eq!(ids, ["good", "least"]);
    clear(&project);
    assert_eq!(names(&project.sessions()), Vec::<String>::new());
    fs::remove_dir(project.sessions()).unwrap();
    assert_eq!(all(&project), []);
    clear(&project);
}

#[test]
fn a_message_belongs_to_its_session_its_client_or_whoever_asks_once_that_is_gone() {
    let project = project();
    put(&project, "lead", Some(77), 1);
    put(&project, "unknown-client", None, 2);
    let check = |addressee: Option<&str>, session: &str, pid: Option<i32>, lives: bool, wanted: bool| {
        let found = belongs_to(&project, addressee, Asker { session, pid }, |_| lives);
        assert_eq!(found, wanted, "{addressee:?} {session} {pid:?} {lives}");
    };
    check(None, "other", None, true, true);
    check(Some("lead"), "lead", None, true, true);
    check(Some("lead"), "other", Some(78), true, false);
    check(Some("lead"), "other", None, true, false);
    // After a clear the same client asks under a new id.
    check(Some("lead"), "cleared", Some(77), true, true);
    check(Some("unknown-client"), "other", None, true, false);
    // Whose addressee is dead, or was never registered, is anybody's.
    check(Some("lead"), "other", Some(78), false, true);
    check(Some("gone"), "other", Some(78), true, true);
}
