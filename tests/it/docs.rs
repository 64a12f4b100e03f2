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

/// The cells of a table's line.
fn cells(line: &str) -> Vec<String> {
    // A bar within code marks or behind a backslash is a letter.
    let (mut cells, mut inside, mut escaped) = (vec![String::new()], false, false);
    for letter in line.trim().trim_start_matches('|').trim_end_matches('|').chars() {
        let ends = letter == '|' && !inside && !escaped;
        inside ^= letter == '`';
        escaped = letter == '\\';
        match cells.last_mut() {
            Some(cell) if !ends => cell.push(letter),
            _ => cells.push(String::new()),
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The names in code marks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What a table of a protocol claims: the line, and the cell under `test`.
fn claims(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut column) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        if !line.trim_start().starts_with('|') {
            column = None;
            continue;
        }
        let cells = cells(line);
        if cells.iter().all(|cell| !cell.is_empty() && cell.bytes().all(|byte| matches!(byte, b'-' | b':'))) {
            continue;
        }
        match column {
            Some(place) => found.push((number + 1, cells.get(place).cloned().unwrap_or_default())),
            None => column = cells.iter().position(|cell| cell == "test"),
        }
    }
    found
}

/// Tells whether a test exists: `file.rs::name` in a file whose path ends so, or a recorded run.
fn exists(sources: &[(String, String)], name: &str) -> bool {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some((file, test)) = name.split_once("::") else {
        return top.join("tests/traces").join(format!("{name}.jsonl")).is_file();
    };
    let is_meant = |path: &str| path == file || path.ends_with(&format!("/{file}"));
    let declares =
        |text: &str| text.contains(&format!("fn {test}(")) || text.contains(&format!("fn {test}<"));
    sources.iter().any(|(path, text)| is_meant(path) && declares(text))
}

/// All Rust files below `src` and `tests`, by their path.
fn sources() -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut found) = (vec![top.join("src"), top.join("tests")], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(top).expect("below the top").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    found
}

#[test]
fn every_test_that_a_protocol_s_document_names_exists() {
    let sources = sources();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/protocols");
    let mut faults = Vec::new();
    for path in fs::read_dir(folder).expect("documents").flatten().map(|entry| entry.path()) {
        let text = fs::read_to_string(&path).expect("a document");
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let claims = claims(&text);
        assert!(!claims.is_empty(), "{file} has no table with a column \"test\"");
        for (line, cell) in claims {
            if cell != "–" && names(&cell).next().is_none() {
                faults.push(format!("{file}:{line}: no test is named, nor \"–\" for none"));
            }
            let missing = names(&cell).filter(|name| !exists(&sources, name));
            faults.extend(missing.map(|name| format!("{file}:{line}: there is no test {name}")));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The check of the tests' names is only worth something if it finds what it looks for.
#[test]
fn a_planted_claim_is_found() {
    let text = "| rule | test |\n| --- | --- |\n| `a|b` \\| c | `x.rs::y`, `run` |\n| d | – |\n\n| other |\n| --- |\n| z |\n";
    let claims = claims(text);
    assert_eq!(claims, [(3, "`x.rs::y`, `run`".to_owned()), (4, "–".to_owned())]);
    assert_eq!(names(&claims[0].1).collect::<Vec<_>>(), ["x.rs::y", "run"]);
    let sources = [("tests/it/x.rs".to_owned(), "#[test]\nfn y() {}\n".to_owned())];
    for (name, wanted) in [
        ("x.rs::y", true),
        ("it/x.rs::y", true),
        ("tests/it/x.rs::y", true),
        ("t/x.rs::y", false),
        ("x.rs::z", false),
        ("z.rs::y", false),
        ("nobody-waits", true),
        ("nobody-waits.expected", true),
        ("no-such-run", false),
    ] {
        assert_eq!(exists(&sources, name), wanted, "{name}");
    }
}
