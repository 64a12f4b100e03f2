//! The project folder that holds `.kiln/`, and where everything lies in it.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::file::{FileError, check_folder, own_folder};

/// A project folder that holds `.kiln/`, by its real path (no symlinks, so that one root has one name).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root(PathBuf);

impl Root {
    /// Takes a folder that holds `.kiln/`.
    ///
    /// # Errors
    /// It does not.
    pub fn at(folder: &Path) -> Result<Self, FileError> {
        let real = folder.canonicalize().map_err(FileError::of("find", folder))?;
        let root = Self(real);
        if root.kiln().is_dir() {
            return Ok(root);
        }
        let error = io::Error::new(
            io::ErrorKind::NotFound,
            "there is no .kiln folder here or above; run this in the project, or name it with --root",
        );
        Err(FileError::of("watch", folder)(error))
    }

    /// Looks from `folder` upwards for the nearest folder that holds `.kiln/`.
    pub fn above(folder: &Path) -> Option<Self> {
        let real = folder.canonicalize().ok()?;
        real.ancestors().find(|folder| folder.join(".kiln").is_dir()).map(|folder| Self(folder.to_owned()))
    }

    /// Takes the first of the folders from which a root is found. An explicit folder is not searched upwards.
    pub fn find(
        explicit: Option<&OsString>,
        folders: impl IntoIterator<Item = Option<PathBuf>>,
    ) -> Option<Self> {
        if let Some(folder) = explicit.filter(|folder| !folder.is_empty()) {
            return Self::at(Path::new(folder)).ok();
        }
        folders
            .into_iter()
            .flatten()
            .filter(|folder| folder.is_absolute())
            .find_map(|folder| Self::above(&folder))
    }

    /// The project folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `.kiln/`
    pub fn kiln(&self) -> PathBuf {
        self.0.join(".kiln")
    }

    /// `.kiln/tmp/`, the folder whose changes are watched.
    pub fn tmp(&self) -> PathBuf {
        self.0.join(".kiln/tmp")
    }

    /// `.kiln/tmp/watchdog/`: our own files, and temporary ones, which nobody watches.
    pub fn own(&self) -> PathBuf {
        self.0.join(".kiln/tmp/watchdog")
    }

    /// A file of the pipeline, below `.kiln/`.
    pub fn in_kiln(&self, name: &str) -> PathBuf {
        self.kiln().join(name)
    }

    /// A file below `.kiln/tmp/`.
    pub fn in_tmp(&self, name: &str) -> PathBuf {
        self.tmp().join(name)
    }

    /// A file below `.kiln/tmp/watchdog/`.
    pub fn in_own(&self, name: &str) -> PathBuf {
        self.own().join(name)
    }

    /// `.kiln/STATE.md`
    pub fn state(&self) -> PathBuf {
        self.in_kiln("STATE.md")
    }

    /// `.kiln/DEADLOCK.flag`
    pub fn flag(&self) -> PathBuf {
        self.in_kiln("DEADLOCK.flag")
    }

    /// `.kiln/tmp/activity.json`
    pub fn activity(&self) -> PathBuf {
        self.in_tmp("activity.json")
    }

    /// `.kiln/tmp/pending-nudge.json`
    pub fn pending(&self) -> PathBuf {
        self.in_tmp("pending-nudge.json")
    }

    /// `.kiln/tmp/watchdog/daemon.lock`
    pub fn daemon_lock(&self) -> PathBuf {
        self.in_own("daemon.lock")
    }

    /// `.kiln/tmp/watchdog/sessions/`
    pub fn sessions(&self) -> PathBuf {
        self.in_own("sessions")
    }

    /// Makes the folders that we write in, and refuses them if they are not ours to trust. `.kiln` itself is never
    /// made: a project that somebody removes at this moment must not come back.
    ///
    /// # Errors
    /// One cannot be made, is a symlink, or belongs to another user.
    pub fn prepare(&self) -> Result<(), FileError> {
        check_folder(&self.kiln())?;
        own_folder(&self.tmp(), 0o755)?;
        own_folder(&self.own(), 0o700)?;
        own_folder(&self.sessions(), 0o700)
    }

    /// Tells whether `.kiln` is no more. That it cannot be looked at (a network that is down, a right that was taken)
    /// does not mean that.
    pub fn is_gone(&self) -> bool {
        match std::fs::metadata(self.kiln()) {
            Ok(meta) => !meta.is_dir(),
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }

    /// Refuses our folders if they are not ours to trust, as [`Root::prepare`] does, and makes none.
    ///
    /// # Errors
    /// One is a symlink, or belongs to another user.
    pub fn check(&self) -> Result<(), FileError> {
        [self.kiln(), self.tmp(), self.own(), self.sessions()]
            .iter()
            .try_for_each(|folder| check_folder(folder))
    }

    /// The root's path as people read it: control characters shown as escapes, other bytes marked.
    pub fn display(&self) -> String {
        String::from_utf8_lossy(self.0.as_os_str().as_bytes()).escape_debug().to_string().replace("\\'", "'")
    }
}

#[cfg(test)]
mod tests;
