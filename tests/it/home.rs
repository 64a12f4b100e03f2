//! A home with a project in it, in which the real program runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A home with a project in it, and nothing of this machine's own environment.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("project/.git")).unwrap();
        Self(home)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.path("project/.claude/settings.json")
    }

    /// Writes the project's settings.
    pub(crate) fn write(&self, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path("project/.claude")).unwrap();
        fs::write(self.settings(), text).unwrap();
    }

    pub(crate) fn read(&self) -> String {
        fs::read_to_string(self.settings()).unwrap()
    }

    /// Prepares the program in the project, with this home.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.0.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.path("project"));
        command
    }

    pub(crate) fn output(&self, line: &str) -> Output {
        self.command(PROGRAM).args(line.split_whitespace()).output().unwrap()
    }

    /// Runs a command that must end well, and returns what it says, with this home as HOME.
    pub(crate) fn run(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "{line}: {output:?}");
        self.plain(&output.stdout)
    }

    /// Runs a command that must be refused, and returns why.
    pub(crate) fn refused(&self, line: &str) -> String {
        let output = self.output(line);
        assert_eq!(output.status.code(), Some(1), "{line}: {output:?}");
        assert!(output.stdout.is_empty(), "{line}: {output:?}");
        self.plain(&output.stderr)
    }

    pub(crate) fn plain(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).replace(PROGRAM, "PROGRAM");
        let real = self.0.path().canonicalize().unwrap();
        text.replace(&real.display().to_string(), "HOME")
            .replace(&self.0.path().display().to_string(), "HOME")
    }

    /// Everything in the home: names, contents, links, permissions.
    pub(crate) fn everything(&self) -> Vec<String> {
        let mut all = Vec::new();
        list(self.0.path(), &mut all);
        all.sort();
        all
    }
}

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_watchdog");

fn list(folder: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        let content = match meta.file_type() {
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().display().to_string(),
            kind if kind.is_dir() => String::new(),
            _ => format!("{:?}", fs::read(&path).unwrap()),
        };
        all.push(format!("{} {:o} {content}", path.display(), meta.permissions().mode()));
        if meta.is_dir() {
            list(&path, all);
        }
    }
}
