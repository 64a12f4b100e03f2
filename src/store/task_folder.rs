//! A worker's task folder: its checklist, its signal, its manifest, what it leaves in `artifacts/`
//! (`worker-signal-protocol`, "File location").

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::file::{self, Access, FileError, chain};
use super::lock::{self, Kind};
use crate::protocol::worker_mark::{self, CHECKLIST, LARGEST, MANIFEST, TASK, Target};
use crate::protocol::worker_probe::Found;
use crate::protocol::worker_terminal::{Contract, Shelf, is_inside};

/// What is read at most of a signal, a manifest or a contract.
pub const MOST_JSON: u64 = LARGEST as u64;
/// What is read at most of a checklist.
const MOST_TEXT: u64 = 4 * 1024 * 1024;
/// What is read at most of an artifact to see whether there is anything in it, or whether it is JSON.
const MOST_ARTIFACT: u64 = 64 * 1024 * 1024;
/// How long a command waits for another in the same folder.
const PATIENCE: Duration = Duration::from_secs(10);
/// Names that are tried for what is put aside.
const MOST_ASIDE: u8 = 9;
/// What a run of its own may demand.
const CONTRACT: &str = "inputs/worker-terminal-contract.json";

/// A task folder.
#[derive(Debug, Clone)]
pub struct TaskFolder(PathBuf);

/// A checklist as it was read.
#[derive(Debug)]
pub struct Checklist {
    /// Its bytes.
    pub bytes: Vec<u8>,
    mode: u32,
}

impl TaskFolder {
    /// Takes a folder. What is in it is not looked at.
    pub fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Holds the folder against other commands, until the result is dropped. Nothing is left in it.
    ///
    /// # Errors
    /// It cannot be opened, or another command holds it for too long.
    pub fn hold(&self) -> Result<File, FileError> {
        let folder = File::open(&self.0).map_err(FileError::of("open", &self.0))?;
        if lock::lock(&folder, Kind::Exclusive, PATIENCE).map_err(FileError::of("lock", &self.0))? {
            return Ok(folder);
        }
        let error = io::Error::other("another mark holds it; if it is stopped, continue or end it");
        Err(FileError::of("lock", &self.0)(error))
    }

    /// Which files are meant: those of this checklist, else of the one that the manifest names, else the worker's own.
    ///
    /// # Errors
    /// The name is none of a checklist, or the manifest is broken.
    pub fn target(&self, checklist: Option<&str>) -> Result<Target, String> {
        if let Some(name) = checklist {
            return worker_mark::target(name);
        }
        match file::read_own(&self.0.join(MANIFEST), MOST_JSON) {
            Ok(Some(bytes)) => worker_mark::manifest(&bytes).map_err(|fault| {
                format!("{MANIFEST}: {fault}; mend or remove it, or name the file with --checklist")
            }),
            Ok(None) if !self.has(TASK) && self.has(CHECKLIST) => worker_mark::target(CHECKLIST),
            Ok(None) => worker_mark::target(TASK),
            Err(error) => Err(chain(&error)),
        }
    }

    /// Tells whether there is something of this name, whatever it is.
    pub fn has(&self, name: &str) -> bool {
        self.0.join(name).symlink_metadata().is_ok()
    }

    /// Tells whether the manifest names a checklist that is not there.
    pub fn misses(&self, target: &Target) -> bool {
        self.has(MANIFEST) && !self.has(&target.checklist) && self.target(None).as_ref() == Ok(target)
    }

    /// What is wrong where the manifest [misses](Self::misses) a checklist, and the way out.
    pub fn misled(&self, target: &Target) -> String {
        format!("{MANIFEST} names {}, which is not there; mend or remove it", target.checklist)
    }

    /// Tells whether something shows that it is a worker's: one of the files that are meant, a manifest, or `mark`.
    pub fn is_task(&self, target: &Target) -> bool {
        [target.checklist.as_str(), &target.signal, MANIFEST, "mark"].into_iter().any(|name| self.has(name))
    }

    /// Reads a checklist. None = it is not there.
    ///
    /// # Errors
    /// It is a symlink, not ours, too large, or cannot be read.
    pub fn checklist(&self, name: &str) -> Result<Option<Checklist>, FileError> {
        let path = self.0.join(name);
        let Some(bytes) = file::read_own(&path, MOST_TEXT)? else { return Ok(None) };
        let meta = fs::symlink_metadata(&path).map_err(FileError::of("read", &path))?;
        Ok(Some(Checklist { bytes, mode: meta.permissions().mode() }))
    }

    /// Replaces a checklist, if it still is as it was read. It keeps its permissions.
    ///
    /// # Errors
    /// It was changed meanwhile, or cannot be replaced.
    pub fn store_checklist(&self, name: &str, before: &Checklist, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.0.join(name);
        if file::read_own(&path, MOST_TEXT)?.as_ref() != Some(&before.bytes) {
            let error = io::Error::other("another program has just written it; run this again");
            return Err(FileError::of("change", &path)(error));
        }
        file::replace(&path, bytes, &self.0, Access::Like(before.mode), false)
    }

    /// Reads what a signal file holds, for those who carry parts of it on; nothing if it is not there.
    ///
    /// # Errors
    /// It cannot be used: it cannot be read, is no regular file of ours, is too large or no JSON object.
    pub fn members(&self, name: &str) -> Result<Map<String, Value>, String> {
        let read = file::read_own(&self.0.join(name), MOST_JSON);
        let Some(bytes) = read.map_err(|error| error.source.to_string())? else { return Ok(Map::new()) };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => Ok(members),
            Ok(_) => Err("it is no JSON object".to_owned()),
            Err(error) => Err(format!("it is not JSON (line {}, column {})", error.line(), error.column())),
        }
    }

    /// Replaces a signal file.
    ///
    /// # Errors
    /// It cannot be replaced.
    pub fn store_signal(&self, name: &str, signal: &Value) -> Result<(), FileError> {
        let text = worker_mark::text(signal);
        file::replace(&self.0.join(name), text.as_bytes(), &self.0, Access::Shared, false)
    }

    /// Gives what cannot be used another name, under which nobody looks for it. What has that name is replaced if it is
    /// of the same kind, else left alone. Returns the name.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn put_aside(&self, name: &str) -> Result<String, FileError> {
        let path = self.0.join(name);
        for n in 1..=MOST_ASIDE {
            let aside = if n == 1 { format!("{name}.broken") } else { format!("{name}.broken-{n}") };
            match fs::rename(&path, self.0.join(&aside)) {
                Ok(()) => return Ok(aside),
                Err(error) if is_in_the_way(&error) => {}
                Err(error) => return Err(FileError::of("rename", &path)(error)),
            }
        }
        let error = io::Error::other(format!("{name}.broken and others like it are in the way; remove them"));
        Err(FileError::of("rename", &path)(error))
    }

    /// What a worker must leave behind.
    ///
    /// # Errors
    /// There is a contract file that cannot be used: why.
    pub fn contract(&self, checklist: &str) -> Result<Contract, String> {
        let flow = self.flow(checklist);
        match file::read_own(&self.0.join(CONTRACT), MOST_JSON) {
            Ok(None) => Ok(Contract::of_flow(flow.as_deref())),
            Ok(Some(bytes)) => match Contract::read(&bytes, flow.as_deref()) {
                (contract, faults) if faults.is_empty() => Ok(contract),
                (_, faults) => Err(format!("{CONTRACT}: {}", faults.join("; "))),
            },
            Err(error) => Err(chain(&error)),
        }
    }

    /// The flow of a task: that of the role whose checklist is meant, else the folder's own in `.task/FLOW/ID`.
    fn flow(&self, checklist: &str) -> Option<String> {
        if let Some(role) = worker_mark::role(checklist) {
            return Some(role.to_owned());
        }
        let real = self.0.canonicalize().ok()?;
        let mut above = real.ancestors().skip(1);
        let (flow, tasks) = (above.next()?, above.next()?);
        let is_tasks = tasks.file_name().is_some_and(|name| name == ".task");
        is_tasks.then(|| flow.file_name().map(|name| name.to_string_lossy().into_owned()))?
    }

    /// How an artifact is found.
    pub fn shelf(&self, path: &str) -> Shelf {
        if !is_inside(path) {
            return Shelf::Refused("it lies outside the task folder".to_owned());
        }
        let whole = self.0.join(path);
        let opened = match file::open_own(&whole) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Shelf::Absent,
            Err(error) => return Shelf::Refused(error.source.to_string()),
        };
        let mut text = io::BufReader::new(opened.take(MOST_ARTIFACT));
        if Path::new(path).extension().is_some_and(|end| end == "json") {
            return match serde_json::from_reader::<_, IgnoredAny>(text) {
                Ok(_) => Shelf::Full,
                Err(error) if error.is_eof() && error.line() <= 1 && error.column() == 0 => Shelf::Empty,
                Err(error) if error.is_io() => Shelf::Refused(error.to_string()),
                Err(_) => Shelf::NotJson,
            };
        }
        match is_blank(&mut text) {
            Ok(true) => Shelf::Empty,
            Ok(false) => Shelf::Full,
            Err(error) => Shelf::Refused(error.to_string()),
        }
    }

    /// Looks for the signal file that a probe asks for.
    pub fn probe(&self, target: &Result<Target, String>) -> Found {
        if !self.0.is_dir() {
            return Found::NoFolder;
        }
        let target = match target {
            Ok(target) => target,
            Err(why) => return Found::NoPath(why.clone()),
        };
        match file::read_own(&self.0.join(&target.signal), MOST_JSON) {
            Ok(Some(bytes)) => Found::Bytes(bytes),
            Ok(None) if self.misses(target) => Found::NoPath(self.misled(target)),
            Ok(None) if !self.has(&target.checklist) => {
                Found::NoPath(format!("it is no task folder: it holds no {}", target.checklist))
            }
            Ok(None) => Found::NoFile,
            Err(error) => Found::Unreadable(chain(&error)),
        }
    }
}

/// Tells whether something of another kind, or a folder that is not empty, has the name that was to be given.
fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
}

/// Tells whether there is nothing but space.
fn is_blank(text: &mut impl Read) -> io::Result<bool> {
    let mut piece = [0; 4096];
    loop {
        match text.read(&mut piece)? {
            0 => return Ok(true),
            length if piece[..length].iter().any(|byte| !byte.is_ascii_whitespace()) => return Ok(false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
