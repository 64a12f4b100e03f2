//! The project folder that is watched, and where everything lies in it: in `.kiln/` if there is one, else in `.watchdog/`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::file::{FileError, check_folder, own_folder};
use super::shape;

/// Which folder of a project holds the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// `.kiln/`, the pipeline's own.
    Kiln,
    /// `.watchdog/`, ours.
    Own,
}

impl Home {
    /// The folder's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kiln => ".kiln",
            Self::Own => ".watchdog",
        }
    }
}

/// A project that is watched, by its real path (no symlinks, so that one root has one name).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root {
    path: PathBuf,
    home: Home,
}

impl Root {
    /// Takes a folder that holds `.kiln/`, `.watchdog/`, or something that is watched without them.
    ///
    /// # Errors
    /// It does not.
    pub fn at(folder: &Path) -> Result<Self, FileError> {
        let real = folder.canonicalize().map_err(FileError::of("find", folder))?;
        if let Some(home) = marked(&real).or_else(|| shaped(&real)) {
            return Ok(Self { path: real, home });
        }
        let error = io::Error::new(
            io::ErrorKind::NotFound,
            "there is no .kiln folder here or above, no .watchdog of \"watchdog init\", no task folder of a worker \
             (.task/*/* with TASK.md or a signal file) and no team session (.workflow/.team/* with .msg); run this in the \
             project, name it with --root, or run \"watchdog init\"",
        );
        Err(FileError::of("watch", folder)(error))
    }

    /// Takes a folder whatever it holds: the project that is to be watched from now on.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn new(folder: &Path) -> Result<Self, FileError> {
        let path = folder.canonicalize().map_err(FileError::of("find", folder))?;
        let home = marked(&path).unwrap_or(Home::Own);
        Ok(Self { path, home })
    }

    /// Looks from `folder` upwards for the nearest folder that holds `.kiln/` or `.watchdog/`; only where there is none,
    /// for the nearest that holds something that is watched without them.
    pub fn above(folder: &Path) -> Option<Self> {
        let real = folder.canonicalize().ok()?;
        let nearest = |is_home: fn(&Path) -> Option<Home>| {
            real.ancestors().find_map(|path| Some(Self { path: path.to_owned(), home: is_home(path)? }))
        };
        nearest(marked).or_else(|| nearest(shaped))
    }

    /// Takes the first of the folders from which a root is found. An explicit folder is not searched upwards.
    pub fn find(
        explicit: Option<&OsString>,
        folders: impl IntoIterator<Item = Option<PathBuf>>,
    ) -> Option<Self> {
        if let Some(folder) = explicit.filter(|folder| !folder.is_empty()) {
            return Self::at(Path::new(folder)).ok();
        }
        // Most often they are one: a hook pays for each look at the file system.
        let mut looked = Vec::new();
        folders.into_iter().flatten().filter(|folder| folder.is_absolute()).find_map(|folder| {
            if looked.contains(&folder) {
                return None;
            }
            let found = Self::above(&folder);
            looked.push(folder);
            found
        })
    }

    /// The project folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether the project has a pipeline of Kiln, which has rules of its own.
    pub fn is_kiln(&self) -> bool {
        self.home == Home::Kiln
    }

    /// `.kiln/` or `.watchdog/`, where the state lies.
    pub fn home(&self) -> PathBuf {
        self.path.join(self.home.name())
    }

    /// The name of that folder.
    pub fn home_name(&self) -> &'static str {
        self.home.name()
    }

    /// `.kiln/`, whether or not there is one.
    pub fn kiln(&self) -> PathBuf {
        self.path.join(Home::Kiln.name())
    }

    /// `tmp/` in the home, the folder whose changes are watched.
    pub fn tmp(&self) -> PathBuf {
        self.in_home("tmp")
    }

    /// `tmp/watchdog/` in the home: our own files, and temporary ones, which nobody watches.
    pub fn own(&self) -> PathBuf {
        self.in_home("tmp/watchdog")
    }

    /// A file in the home.
    pub fn in_home(&self, name: &str) -> PathBuf {
        self.home().join(name)
    }

    /// A file of Kiln's pipeline, below `.kiln/`.
    pub fn in_kiln(&self, name: &str) -> PathBuf {
        self.kiln().join(name)
    }

    /// A file below `tmp/`.
    pub fn in_tmp(&self, name: &str) -> PathBuf {
        self.tmp().join(name)
    }

    /// A file below `tmp/watchdog/`.
    pub fn in_own(&self, name: &str) -> PathBuf {
        self.own().join(name)
    }

    /// `.kiln/STATE.md`
    pub fn state(&self) -> PathBuf {
        self.in_kiln("STATE.md")
    }

    /// `DEADLOCK.flag`
    pub fn flag(&self) -> PathBuf {
        self.in_home("DEADLOCK.flag")
    }

    /// `tmp/activity.json`
    pub fn activity(&self) -> PathBuf {
        self.in_tmp("activity.json")
    }

    /// `tmp/pending-nudge.json`
    pub fn pending(&self) -> PathBuf {
        self.in_tmp("pending-nudge.json")
    }

    /// `tmp/watchdog/daemon.lock`
    pub fn daemon_lock(&self) -> PathBuf {
        self.in_own("daemon.lock")
    }

    /// `tmp/watchdog/sessions/`
    pub fn sessions(&self) -> PathBuf {
        self.in_own("sessions")
    }

    /// Makes `.watchdog/`, which ignores itself in version control, if the state lies there; `.kiln` is never made.
    /// Returns whether it was made.
    ///
    /// # Errors
    /// It cannot be made, or is not ours to trust.
    pub fn make_home(&self) -> Result<bool, FileError> {
        let is_new = !self.is_kiln() && !self.tmp().is_dir();
        if is_new {
            own_folder(&self.home(), 0o755)?;
            let ignore = self.in_home(".gitignore");
            match fs::OpenOptions::new().write(true).create_new(true).open(&ignore) {
                Ok(mut file) => {
                    io::Write::write_all(&mut file, b"*\n").map_err(FileError::of("write", &ignore))?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::of("write", &ignore)(error)),
            }
        }
        self.prepare()?;
        Ok(is_new)
    }

    /// Makes the folders that we write in, and refuses them if they are not ours to trust. The home itself is not
    /// made: a project that somebody removes at this moment must not come back.
    ///
    /// # Errors
    /// One cannot be made, is a symlink, or belongs to another user.
    pub fn prepare(&self) -> Result<(), FileError> {
        check_folder(&self.home())?;
        own_folder(&self.tmp(), 0o755)?;
        own_folder(&self.own(), 0o700)?;
        own_folder(&self.sessions(), 0o700)
    }

    /// Tells whether the home is no more, or another has come before it: a `.kiln` that was made later. That it cannot be
    /// looked at (a network that is down, a right that was taken) does not mean that.
    pub fn is_gone(&self) -> bool {
        if !self.is_kiln() && self.kiln().is_dir() {
            return true;
        }
        match fs::metadata(self.home()) {
            Ok(meta) => !meta.is_dir(),
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }

    /// Refuses our folders if they are not ours to trust, as [`Root::prepare`] does, and makes none.
    ///
    /// # Errors
    /// One is a symlink, or belongs to another user.
    pub fn check(&self) -> Result<(), FileError> {
        [self.home(), self.tmp(), self.own(), self.sessions()]
            .iter()
            .try_for_each(|folder| check_folder(folder))
    }

    /// The root's path as people read it: control characters shown as escapes, other bytes marked.
    pub fn display(&self) -> String {
        String::from_utf8_lossy(self.path.as_os_str().as_bytes())
            .escape_debug()
            .to_string()
            .replace("\\'", "'")
    }
}

/// A folder that says itself that it is watched. A `.watchdog` of somebody else has no `tmp` in it.
fn marked(folder: &Path) -> Option<Home> {
    if folder.join(".kiln").is_dir() {
        return Some(Home::Kiln);
    }
    folder.join(".watchdog/tmp").is_dir().then_some(Home::Own)
}

/// A folder that is watched for what is in it.
fn shaped(folder: &Path) -> Option<Home> {
    shape::is_project(folder).then_some(Home::Own)
}

#[cfg(test)]
mod tests;
