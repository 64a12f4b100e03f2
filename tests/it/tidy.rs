//! The shape of the source: which room may use which, what the pure rooms may not know, how large a file is, and
//! that no file is forgotten.

use std::fs;
use std::path::{Path, PathBuf};

use watchdog::store::settings::KEYS;

/// The rooms from the innermost out. One may use those before it; those of one row do not use each other.
const ROOMS: [&[&str]; 7] =
    [&["model"], &["protocol"], &["store"], &["system"], &["hook", "bridge", "daemon"], &["cli"], &["main"]];

/// Rooms that know no file, environment, process or clock.
const PURE: [&str; 2] = ["model", "protocol"];
/// What would tell them.
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "std::os",
    "std::io",
    "std::time::SystemTime",
    "std::time::Instant",
    "chrono::Local",
];

/// Where ending with 2 has a meaning for the client: it blocks a tool or wakes a session.
const ENDS_WITH_2: [&str; 2] = ["hook", "bridge"];

const MOST_LINES: usize = 400;

/// One file of Rust.
struct Source {
    /// Below the folder that was read, such as `model/rule.rs`.
    path: PathBuf,
    text: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.to_owned() }
    }

    /// The module that the file is: `model/rule/tests.rs` is `model`, `rule`, `tests`.
    fn module(&self) -> Vec<String> {
        let path = self.path.with_extension("");
        let mut parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts.pop_if(|last| last == "mod" || last == "lib");
        parts
    }

    fn room(&self) -> String {
        self.module().first().cloned().unwrap_or_default()
    }

    fn is_test(&self) -> bool {
        self.module().iter().skip(1).any(|part| part == "tests")
    }

    /// The lines that are no comments, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(place, line)| (place + 1, line.trim_start()));
        lines.filter(|(_, line)| !line.starts_with("//"))
    }

    fn fault(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path.display())
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads all Rust files below a folder of the project.
fn sources(folder: &str) -> Vec<Source> {
    let base = top().join(folder);
    let (mut folders, mut found) = (vec![base.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source { path: path.strip_prefix(&base).unwrap().to_owned(), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "{folder} holds no source");
    found
}

/// Asserts that there are no faults, and shows all of them if there are.
fn assert_none(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The names that follow a path's beginning in a line: one, or several in braces.
fn heads(line: &str, beginning: &str) -> Vec<String> {
    let mut heads = Vec::new();
    for (place, _) in line.match_indices(beginning) {
        let is_whole =
            !line[..place].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$'));
        if !is_whole {
            continue;
        }
        let rest = &line[place + beginning.len()..];
        let word = |text: &str| -> String {
            text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0;
                let inside: String = list
                    .chars()
                    .take_while(|c| {
                        depth += i32::from(*c == '{') - i32::from(*c == '}');
                        depth >= 0
                    })
                    .collect();
                heads.extend(inside.split(',').map(word));
            }
            None => heads.push(word(rest)),
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

/// The rooms that a file names in a line: from the crate's top, or by climbing there.
fn rooms_named(source: &Source, line: &str) -> Vec<String> {
    let mut named = heads(line, "crate::");
    named.extend(heads(line, "watchdog::"));
    let climb = "super::".repeat(source.module().len());
    named.extend(heads(line, &climb));
    named.retain(|name| row(name).is_some());
    named
}

fn row(room: &str) -> Option<usize> {
    ROOMS.iter().position(|row| row.contains(&room))
}

fn wrong_direction(source: &Source) -> Vec<String> {
    let room = source.room();
    let Some(own) = row(&room) else { return Vec::new() };
    let is_wrong = |named: &String| *named != room && row(named) >= Some(own);
    let faults = source.code().flat_map(|(number, line)| {
        let wrong = rooms_named(source, line).into_iter().filter(is_wrong);
        wrong.map(move |named| (number, named)).collect::<Vec<_>>()
    });
    faults.map(|(number, named)| source.fault(number, &format!("{room} uses {named}"))).collect()
}

fn impurities(source: &Source) -> Vec<String> {
    if !PURE.contains(&source.room().as_str()) || source.is_test() {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (number, line) in source.code() {
        for path in IMPURE {
            let (parent, name) = path.rsplit_once("::").unwrap();
            let is_named = heads(line, &format!("{parent}::")).iter().any(|head| head == name);
            // `use std::{fs, …}` and `use std::time::{Duration, Instant}` are seen by their heads.
            if is_named {
                faults.push(source.fault(number, &format!("a pure room knows {path}")));
            }
        }
        for call in ["Utc::now", "SystemTime", "Instant::now"] {
            if line.contains(call) {
                faults.push(source.fault(number, &format!("a pure room reads a clock: {call}")));
            }
        }
    }
    faults
}

fn ill_formed(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    if !source.text.starts_with("//! ") || source.text.starts_with("//! \n") {
        faults.push(source.fault(1, "does not begin by saying what it is for (`//! …`)"));
    }
    let lines = source.text.lines().count();
    if lines > MOST_LINES {
        faults.push(source.fault(lines, &format!("has {lines} lines; split it by subject at {MOST_LINES}")));
    }
    faults
}

fn exits_with_2(source: &Source) -> Vec<String> {
    if ENDS_WITH_2.contains(&source.room().as_str()) {
        return Vec::new();
    }
    let faults =
        source.code().filter(|(_, line)| line.contains("ExitCode::from(2)") || line.contains("exit(2)"));
    faults
        .map(|(number, _)| source.fault(number, "ends with 2, which blocks a tool or wakes a session"))
        .collect()
}

/// Files that no other declares, so that they are neither built nor run.
fn forgotten(sources: &[Source], roots: &[&str]) -> Vec<String> {
    let is_declared = |source: &Source| {
        let module = source.module();
        let Some((name, above)) = module.split_last() else { return true };
        sources.iter().any(|other| {
            let is_root = roots.iter().any(|root| other.path == Path::new(root));
            let is_above = if above.is_empty() { is_root } else { other.module() == above };
            is_above && other.code().any(|(_, line)| declares(line, name))
        })
    };
    let is_root = |source: &&Source| roots.iter().any(|root| source.path == Path::new(root));
    let lost = sources.iter().filter(|source| !is_root(source) && !is_declared(source));
    lost.map(|source| source.fault(1, "no file above it declares it with `mod`")).collect()
}

fn declares(line: &str, name: &str) -> bool {
    let line =
        line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
    line == format!("mod {name};")
}

#[test]
fn a_room_uses_only_rooms_above_it() {
    assert_none(sources("src").iter().flat_map(wrong_direction));
}

#[test]
fn every_file_of_the_source_is_in_a_room() {
    let homeless = sources("src")
        .into_iter()
        .filter(|source| row(&source.room()).is_none() && !source.module().is_empty());
    assert_none(homeless.map(|source| source.fault(1, "is in no room that docs/architecture.md knows")));
}

#[test]
fn model_and_protocol_know_no_file_clock_environment_or_process() {
    assert_none(sources("src").iter().flat_map(impurities));
}

#[test]
fn every_file_says_what_it_is_for_and_is_small() {
    let folders = ["src", "tests/it", "tests/system"];
    assert_none(folders.iter().flat_map(|folder| sources(folder)).flat_map(|source| ill_formed(&source)));
}

#[test]
fn only_a_hook_and_the_bridge_end_with_2() {
    assert_none(sources("src").iter().flat_map(exits_with_2));
}

#[test]
fn no_file_is_forgotten() {
    assert_none(forgotten(&sources("src"), &["lib.rs", "main.rs"]));
    assert_none(forgotten(&sources("tests/it"), &["main.rs"]));
    assert_none(forgotten(&sources("tests/system"), &["main.rs"]));
}

#[test]
fn every_setting_is_documented() {
    let text = fs::read_to_string(top().join("docs/operations.md")).unwrap();
    let missing = KEYS.iter().filter(|key| !text.contains(&format!("`{}`", key.name)));
    assert_none(missing.map(|key| format!("docs/operations.md does not name {}", key.name)));
}

/// The checks above are only worth something if they find what they look for.
#[test]
fn planted_faults_are_found() {
    let check = |path: &str, text: &str, find: fn(&Source) -> Vec<String>, wanted: &[&str]| {
        assert_eq!(find(&Source::new(path, text)), wanted, "{path}: {text}");
    };
    check(
        "model/rule.rs",
        "//! x\nuse crate::store::file;",
        wrong_direction,
        &["model/rule.rs:2: model uses store"],
    );
    check(
        "model/rule.rs",
        "let a = super::super::store::x;",
        wrong_direction,
        &["model/rule.rs:1: model uses store"],
    );
    check(
        "model/mod.rs",
        "use super::{model::rule, cli};",
        wrong_direction,
        &["model/mod.rs:1: model uses cli"],
    );
    check(
        "hook/mod.rs",
        "use crate::{store, daemon::act};",
        wrong_direction,
        &["hook/mod.rs:1: hook uses daemon"],
    );
    check("bridge.rs", "crate::hook::run()", wrong_direction, &["bridge.rs:1: bridge uses hook"]);
    check("store/lock.rs", "use crate::model::{a::{b, c}, d};\n// crate::cli", wrong_direction, &[]);
    check("store/lock/tests.rs", "use super::super::file::x;\nuse crate::store::a;", wrong_direction, &[]);
    check("main.rs", "use watchdog::{bridge, cli, hook};", wrong_direction, &[]);
    check("protocol/a.rs", "use std::fs;", impurities, &["protocol/a.rs:1: a pure room knows std::fs"]);
    check("model/a.rs", "use std::{fmt, env};", impurities, &["model/a.rs:1: a pure room knows std::env"]);
    check(
        "model/a.rs",
        "use std::time::{Duration, Instant};",
        impurities,
        &["model/a.rs:1: a pure room knows std::time::Instant"],
    );
    check("model/a.rs", "use std::time::Duration;\n/// std::fs", impurities, &[]);
    check("model/a/tests.rs", "use std::fs;", impurities, &[]);
    check("store/a.rs", "use std::fs;", impurities, &[]);
    check(
        "cli/a.rs",
        "ExitCode::from(2)",
        exits_with_2,
        &["cli/a.rs:1: ends with 2, which blocks a tool or wakes a session"],
    );
    check("hook/a.rs", "ExitCode::from(2)", exits_with_2, &[]);
    assert_eq!(ill_formed(&Source::new("a.rs", "use x;")).len(), 1);
    assert_eq!(ill_formed(&Source::new("a.rs", &format!("//! x\n{}", "\n".repeat(400)))).len(), 1);
    assert_eq!(ill_formed(&Source::new("a.rs", &format!("//! x\n{}", "\n".repeat(399)))).len(), 0);
}

#[test]
fn a_planted_file_that_nobody_declares_is_found() {
    let sources = [
        Source::new("lib.rs", "pub mod model;"),
        Source::new("model/mod.rs", "mod rule;\n// mod lost;"),
        Source::new("model/rule.rs", "mod tests;"),
        Source::new("model/rule/tests.rs", ""),
        Source::new("model/lost.rs", ""),
    ];
    assert_eq!(
        forgotten(&sources, &["lib.rs"]),
        ["model/lost.rs:1: no file above it declares it with `mod`"]
    );
}
