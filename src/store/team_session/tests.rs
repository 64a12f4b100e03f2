//! Sessions of a project.

use std::os::unix::fs::symlink;

use super::*;
use crate::store::scratch::{Scratch, project};

fn put(root: &Scratch, path: &str) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x\n").unwrap();
}

fn patterns() -> Vec<String> {
    vec![".workflow/.team/*".to_owned()]
}

fn one(root: &Scratch) -> Session {
    put(root, ".workflow/.team/TLS-a/.msg/messages.jsonl");
    find(root, &patterns()).watched.remove(0)
}

#[test]
fn sessions_are_found_at_their_place_and_at_the_older_ones() {
    let root = project();
    assert_eq!(find(&root, &patterns()), Sessions::default());
    put(&root, ".workflow/.team/TLS-a/.msg/messages.jsonl");
    put(&root, ".workflow/.team/TLS-b/.msg/meta.json");
    put(&root, ".workflow/.team/TLS-c/artifacts/x.md");
    put(&root, ".workflow/.team-msg/TLS-c/messages.jsonl");
    put(&root, ".workflow/.team-msg/TLS-d/messages.jsonl");
    put(&root, ".workflow/.team-msg/TLS-a/messages.jsonl");
    put(&root, ".workflow/.team/no-session/notes.md");
    let mut found: Vec<_> =
        find(&root, &patterns()).watched.into_iter().map(|s| (s.folder, s.messages)).collect();
    found.sort();
    let pair =
        |folder: &str, messages: &str| (format!(".workflow/{folder}"), format!(".workflow/{messages}"));
    let wanted = [
        pair(".team-msg/TLS-d", ".team-msg/TLS-d"),
        pair(".team/TLS-a", ".team/TLS-a/.msg"),
        pair(".team/TLS-b", ".team/TLS-b/.msg"),
        pair(".team/TLS-c", ".team-msg/TLS-c"),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn the_sessions_that_were_written_last_are_watched() {
    let root = project();
    for n in 0..MOST + 10 {
        let path = format!(".workflow/.team/TLS-{n:03}/.msg/messages.jsonl");
        put(&root, &path);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + n as u64);
        fs::File::options().write(true).open(root.path().join(path)).unwrap().set_modified(time).unwrap();
    }
    let found = find(&root, &patterns());
    assert_eq!((found.count, found.watched.len()), (MOST + 10, MOST));
    assert_eq!(found.watched[0].id, format!("TLS-{:03}", MOST + 9));
    assert!(!found.watched.iter().any(|session| session.id == "TLS-009"));
}

#[test]
fn a_ref_is_followed_to_its_file() {
    let root = project();
    let session = one(&root);
    put(&root, ".workflow/.team/TLS-a/artifacts/IMPL-001-api.md");
    put(&root, "src/router.ts");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("IMPL-001-x.md"), "x").unwrap();
    symlink(outside.path(), root.path().join(".workflow/.team/TLS-a/artifacts/out")).unwrap();
    symlink("IMPL-001-api.md", root.path().join(".workflow/.team/TLS-a/artifacts/link.md")).unwrap();
    let artifact = Target::Artifact("IMPL-001-api.md".to_owned());
    let whole = root.path().join(".workflow/.team/TLS-a/artifacts/IMPL-001-api.md").display().to_string();
    for (reference, wanted) in [
        ("artifacts/IMPL-001-api.md", &artifact),
        (".workflow/.team/TLS-a/artifacts/IMPL-001-api.md", &artifact),
        ("<session>/artifacts/IMPL-001-api.md", &artifact),
        ("artifacts/link.md", &artifact),
        (whole.as_str(), &artifact),
        ("src/router.ts", &Target::Elsewhere),
        ("artifacts", &Target::Missing),
        ("artifacts/IMPL-002-x.md", &Target::Missing),
        ("artifacts/out/IMPL-001-x.md", &Target::Outside),
        ("/etc/hostname", &Target::Outside),
        ("../../../../../../etc/hostname", &Target::Outside),
    ] {
        assert_eq!(session.target(&root, reference), *wanted, "{reference}");
    }
    assert!(session.has_artifact(&root, "IMPL-001"));
    assert!(!session.has_artifact(&root, "IMPL-00") && !session.has_artifact(&root, ""));
}

#[test]
fn wisdom_and_explorations_are_files_of_the_session_alone() {
    let root = project();
    let session = one(&root);
    put(&root, ".workflow/.team/TLS-a/wisdom/learnings.md");
    put(&root, ".workflow/.team/TLS-a/wisdom/notes.txt");
    put(&root, ".workflow/.team/TLS-a/explorations/explore-a.json");
    symlink("/etc/hostname", root.path().join(".workflow/.team/TLS-a/wisdom/link.md")).unwrap();
    assert_eq!(session.wisdom(&root), ["wisdom/learnings.md"]);
    assert_eq!(session.beginning(&root, "wisdom/learnings.md").unwrap(), Some(b"x".to_vec()));
    assert_eq!(session.beginning(&root, "wisdom/other.md").unwrap(), None);
    assert!(session.beginning(&root, "wisdom/link.md").is_err());
    assert!(session.has_exploration(&root, "explore-a.json"));
    assert!(!session.has_exploration(&root, "explore-b.json"));
    put(&root, ".workflow/.team/TLS-a/explorations/cache-index.json");
    let names: Vec<String> = session.explorations(&root).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["explore-a.json"]);
    assert_eq!(session.folders(&root).len(), 4);
    for n in 0..MOST_WISDOM + 5 {
        put(&root, &format!(".workflow/.team/TLS-a/wisdom/w{n}.md"));
    }
    assert_eq!(session.wisdom(&root).len(), MOST_WISDOM);
}

#[test]
fn a_session_is_gone_when_its_log_and_its_record_are() {
    let root = project();
    let session = one(&root);
    put(&root, ".workflow/.team/TLS-a/.msg/meta.json");
    assert!(!is_gone(&root, &session.folder));
    fs::remove_file(root.path().join(session.message_file("messages.jsonl"))).unwrap();
    assert!(!is_gone(&root, &session.folder));
    fs::remove_dir_all(root.path().join(&session.messages)).unwrap();
    assert!(is_gone(&root, &session.folder));
    assert_eq!(bases(&root, &patterns()), [root.path().join(".workflow/.team")]);
}
