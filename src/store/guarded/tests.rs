//! What is there, what is not, and what cannot be looked at.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::scratch::{give_away, project};
use super::*;

const CHUNK: &str = ".kiln/archive/milestone-1/chunk-2";

fn make(root: &Root, below: &str, text: &str) -> PathBuf {
    let path = root.path().join(below);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_file_is_its_text_or_missing_or_an_error() {
    let root = project();
    let path = make(&root, ".kiln/docs/patterns.md", "first\n");
    assert_eq!(text(&path).unwrap().as_deref(), Some("first\n"));
    assert_eq!(text(&root.in_kiln("docs/none.md")).unwrap(), None);
    assert_eq!(text(&make(&root, "latin", "")).unwrap().as_deref(), Some(""));
    fs::write(root.path().join("latin"), b"caf\xe9").unwrap();
    assert_eq!(text(&root.path().join("latin")).unwrap().as_deref(), Some("caf\u{fffd}"));
    symlink(&path, root.in_kiln("docs/link.md")).unwrap();
    assert!(text(&root.in_kiln("docs/link.md")).is_err(), "a link");
    assert!(text(&root.kiln()).is_err(), "a folder");
    fs::write(root.path().join("long"), vec![b'x'; MOST as usize + 1]).unwrap();
    assert!(text(&root.path().join("long")).is_err(), "too long");
    if give_away(&path) {
        assert!(text(&path).is_err(), "another user's");
    }
}

#[test]
fn a_written_path_is_found_by_its_real_folder() {
    let root = project();
    let path = make(&root, ".kiln/docs/patterns.md", "");
    let real = root.path();
    for written in [".kiln/docs/patterns.md", ".kiln/tmp/../docs/./patterns.md", path.to_str().unwrap()] {
        let found = find(&root, real, written);
        assert_eq!(found.as_deref(), Some(path.as_path()), "{written}");
        assert_eq!(below_kiln(&root, &found.unwrap()).as_deref(), Some("docs/patterns.md"), "{written}");
    }
    // By a link to the project, as a session may be in.
    let folder = tempfile::tempdir().unwrap();
    symlink(real, folder.path().join("project")).unwrap();
    assert_eq!(find(&root, &folder.path().join("project"), ".kiln/docs/patterns.md"), Some(path));
    for written in ["/etc/passwd", "../x.md", "nowhere/x.md", "", ".."] {
        assert_eq!(find(&root, real, written), None, "{written}");
    }
    assert_eq!(below_kiln(&root, &real.join("src/main.rs")), None);
    assert_eq!(below_kiln(&root, &root.kiln()), None);
}

#[test]
fn only_a_link_leads_to_another_name() {
    let root = project();
    make(&root, ".env", "TOKEN=x");
    symlink(".env", root.path().join("notes.txt")).unwrap();
    symlink("nowhere", root.path().join("dangling")).unwrap();
    assert!(behind_link(root.path(), "notes.txt").unwrap().ends_with("/.env"));
    for written in [".env", "dangling", "nowhere", "", ".kiln/.."] {
        assert_eq!(behind_link(root.path(), written).filter(|_| written != ".kiln/.."), None, "{written}");
    }
}

#[test]
fn evidence_is_looked_for_where_it_is_named_and_beside_the_verdict() {
    let root = project();
    let review = make(&root, &format!("{CHUNK}/review.md"), "");
    let names = |path: &str| format!("tdd_evidence_path: {path}\n");
    assert_eq!(evidence(&root, &review, "verdict: APPROVED"), Evidence::Unknown, "none is named");
    assert_eq!(evidence(&root, &review, &names(".kiln/tmp/tdd-evidence.md")), Evidence::Missing);
    make(&root, &format!("{CHUNK}/tdd-evidence.md"), "testable: no\n");
    // It was staged when the verdict was written, and has been archived since.
    let archived = Evidence::Read("testable: no\n".to_owned());
    assert_eq!(evidence(&root, &review, &names(".kiln/tmp/tdd-evidence.md")), archived);
    make(&root, ".kiln/tmp/tdd-evidence.md", "testable: yes\n");
    let staged = Evidence::Read("testable: yes\n".to_owned());
    assert_eq!(evidence(&root, &review, &names(".kiln/tmp/tdd-evidence.md")), staged);
    // One that names none has the chunk's own; in a folder of many chunks it may be another's.
    assert_eq!(evidence(&root, &review, "tdd_evidence_path: N/A (docs)"), archived);
    assert_eq!(evidence(&root, &root.in_tmp("review.md"), "tdd_evidence_path: N/A"), Evidence::Unknown);
    symlink("/etc/hostname", root.in_tmp("link.md")).unwrap();
    assert_eq!(evidence(&root, &review, &names(".kiln/tmp/link.md")), Evidence::Unknown);
}

#[test]
fn a_proof_is_read_missing_or_outside() {
    let root = project();
    make(&root, &format!("{CHUNK}/review.md"), "verdict: REJECTED\n");
    let read = proof(&root, &format!("{CHUNK}/review.md")).unwrap();
    assert_eq!(read, Found::Read("verdict: REJECTED\n".to_owned(), Evidence::Unknown));
    assert_eq!(proof(&root, &format!("{CHUNK}/none.md")).unwrap(), Found::Missing);
    assert_eq!(proof(&root, "no/such/folder/review.md").unwrap(), Found::Missing);
    assert_eq!(proof(&root, "/etc/passwd").unwrap(), Found::Outside);
    assert_eq!(proof(&root, "../review.md").unwrap(), Found::Outside);
    symlink("/etc/hostname", root.in_tmp("review.md")).unwrap();
    assert!(proof(&root, ".kiln/tmp/review.md").is_err(), "a link is not believed");
}

#[test]
fn the_chunks_of_the_archive_are_listed() {
    let root = project();
    assert_eq!(chunks(&root).unwrap(), []);
    make(&root, &format!("{CHUNK}/review.md"), "");
    make(&root, &format!("{CHUNK}/tdd-evidence.md"), "");
    make(&root, ".kiln/archive/milestone-2/chunk-1/notes.md", "");
    make(&root, ".kiln/archive/step-4/chunk-1/review.md", "");
    make(&root, ".kiln/archive/milestone-2/summary.md", "");
    let found: Vec<(String, usize)> =
        chunks(&root).unwrap().into_iter().map(|chunk| (chunk.place, chunk.files.len())).collect();
    assert_eq!(found, [(CHUNK.to_owned(), 2), (".kiln/archive/milestone-2/chunk-1".to_owned(), 1)]);
    for number in 0..=MOST_ENTRIES {
        make(&root, &format!("{CHUNK}/file-{number}"), "");
    }
    assert!(chunks(&root).is_err(), "too much to be looked at");
    let closed = root.in_kiln("archive");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let is_refused = fs::read_dir(&closed).is_err();
    assert!(!is_refused || chunks(&root).is_err());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
}
