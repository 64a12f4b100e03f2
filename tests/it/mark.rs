//! `mark`, driven as a worker drives it: linked into a task folder, step by step; and `signal probe`.

mod checks;
mod crashes;
mod places;
mod probe;
mod runs;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use watchdog::protocol::checklist;
use watchdog::protocol::worker_signal;

use crate::world::{Ran, finish, launch, put, read_json};

const BINARY: &str = env!("CARGO_BIN_EXE_watchdog");

/// A checklist of three items, with something beside them that only looks like one.
const CHECKLIST: &str = "# Worker: fix\n\n- [ ] **Reproduce** the bug\n- [ ] Fix it\n\n```sh\n- [ ] no item\n```\n\n- [ ] Finish\n";

/// A task folder with `mark` in it.
struct Task {
    top: TempDir,
    path: PathBuf,
}

impl Task {
    /// Of a flow, with [`CHECKLIST`].
    fn new(flow: &str) -> Self {
        let top = TempDir::with_prefix("watchdog-it-").unwrap();
        let path = top.path().join(".task").join(flow).join("proj-1");
        fs::create_dir_all(&path).unwrap();
        symlink(BINARY, path.join("mark")).unwrap();
        let task = Self { top, path };
        task.put("TASK.md", CHECKLIST);
        task
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, text.as_bytes());
    }

    /// What every successful end needs.
    fn with_evidence(self) -> Self {
        self.put("artifacts/learnings.md", "- nothing relevant\n");
        self.put("artifacts/report.md", "Fixed.\n");
        self
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).unwrap()
    }

    /// `./mark …` in the task folder.
    fn command(&self, arguments: &[&str]) -> Command {
        bare("./mark", &self.path, arguments)
    }

    fn mark(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments), b"")
    }

    /// It is written.
    #[track_caller]
    fn marked(&self, arguments: &[&str]) {
        let ran = self.mark(arguments);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    }

    /// It is refused with these words, and nothing in the folder has changed.
    #[track_caller]
    fn refused(&self, arguments: &[&str], told: &str) {
        let before = crate::world::listing(&self.path);
        let ran = self.mark(arguments);
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (1, "", format!("mark: {told}\n").as_str())
        );
        assert_eq!(crate::world::listing(&self.path), before, "{arguments:?}");
    }

    /// A signal file, which must be valid.
    #[track_caller]
    fn signal_of(&self, name: &str) -> Value {
        let path = self.path.join(name);
        let reading = worker_signal::read(&fs::read(&path).unwrap());
        assert!(reading.signal.is_some() && reading.faults.is_empty(), "{name}: {:?}", reading.faults);
        read_json(&path).unwrap()
    }

    #[track_caller]
    fn signal(&self) -> Value {
        self.signal_of("SIGNAL.json")
    }

    /// The numbers of the items that are ticked.
    fn ticked(&self, name: &str) -> Vec<usize> {
        let items = checklist::items(&fs::read(self.path.join(name)).unwrap());
        items.iter().filter(|item| item.is_done).map(|item| item.number).collect()
    }
}

/// A program in a folder, with an environment of its own.
fn bare(program: impl AsRef<std::ffi::OsStr>, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    command
}

/// What a signal says, in short.
fn said(signal: &Value) -> String {
    let word = |key: &str| signal[key].as_str().unwrap_or("-");
    format!("{} {} {} {}", word("status"), word("outcome"), word("disposition"), word("step"))
}

/// The numbers in the history of ticks.
fn history(signal: &Value) -> Vec<u64> {
    let events = signal["checklistTiming"]["events"].as_array().unwrap();
    events.iter().map(|event| event["stepNumber"].as_u64().unwrap()).collect()
}
