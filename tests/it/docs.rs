//! Every command that the documents show is run; every link leads somewhere; the words of the glossary are used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn documents() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all: Vec<PathBuf> =
        vec![top.join("README.md"), top.join("CONTRIBUTING.md"), top.join("CHANGELOG.md")];
    for folder in ["docs", "docs/decisions", "docs/protocols"] {
        let entries = fs::read_dir(top.join(folder)).expect("a folder of documents");
        all.extend(
            entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|end| end == "md")),
        );
    }
    all.sort();
    all
}

/// The lines `$ command` of the blocks that are marked as `console`.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(kind) => inside = kind == "console",
            None => found.extend(line.strip_prefix("$ ").filter(|_| inside).map(ToOwned::to_owned)),
        }
    }
    found
}

/// A usage error, a crash or a missing program; every other status is an answer.
fn is_broken(code: Option<i32>) -> bool {
    matches!(code, None | Some(64 | 101 | 126 | 127))
}

#[test]
fn every_command_in_the_documents_runs() {
    let binary = Path::new(env!("CARGO_BIN_EXE_watchdog"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().expect("a folder").display());
    let mut ran = 0;
    for document in documents() {
        let project = tempfile::tempdir().expect("a project");
        fs::create_dir(project.path().join(".kiln")).expect("a pipeline");
        fs::write(project.path().join(".kiln/STATE.md"), "- **stage**: build\n").expect("a stage");
        let text = fs::read_to_string(&document).expect("a document");
        let run = |command: &str| {
            Command::new("sh")
                .args(["-c", command])
                .current_dir(project.path())
                .env_clear()
                .env("PATH", &path)
                .env("HOME", project.path())
                .stdin(Stdio::null())
                .output()
                .expect("a shell")
        };
        for command in commands(&text) {
            let output = run(&command);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!is_broken(output.status.code()), "{}: $ {command}: {said}", document.display());
            ran += 1;
        }
        run("watchdog stop");
    }
    assert!(ran >= 10, "only {ran} commands were found");
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            let path = document.parent().expect("a folder").join(file);
            assert!(path.exists(), "{}: {target} leads nowhere", document.display());
        }
    }
}

#[test]
fn the_architecture_document_stays_short() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).expect("it");
    let lines = text.lines().count();
    assert!(lines < 200, "{lines} lines");
}
