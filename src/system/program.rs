//! Programs by their paths: the one that we are, under a name that stays, and what another one says of itself.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Access, access};

/// Where we were started from.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The running file, with all links resolved.
    pub running: PathBuf,
    /// The name that we were called by.
    pub called: PathBuf,
    /// The working folder.
    pub folder: PathBuf,
    /// `PATH`.
    pub search: std::ffi::OsString,
}

impl Origin {
    /// Asks the system.
    ///
    /// # Errors
    /// The running file has no name any more.
    pub fn of_process() -> io::Result<Self> {
        Ok(Self {
            running: std::env::current_exe()?,
            called: std::env::args_os().next().unwrap_or_default().into(),
            folder: std::env::current_dir().unwrap_or_default(),
            search: std::env::var_os("PATH").unwrap_or_default(),
        })
    }

    /// Our path. If we were called by a link, the link: it stays when an update puts another file behind it.
    pub fn own_path(&self) -> PathBuf {
        let by_name = if self.called.components().count() > 1 || self.called.is_absolute() {
            Some(self.folder.join(&self.called))
        } else {
            find(&self.called, &self.search)
        };
        by_name
            .map(|path| without_dots(&path))
            .filter(|path| path.is_absolute() && is_same(path, &self.running))
            .unwrap_or_else(|| self.running.clone())
    }
}

/// Finds a program in the folders of `PATH`.
pub fn find(name: &Path, search: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search).map(|folder| folder.join(name)).find(|path| check(path).is_ok())
}

/// Tells whether two names lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Checks that a file can be run, and says in words what is wrong.
///
/// # Errors
/// It cannot.
pub fn check(path: &Path) -> Result<(), &'static str> {
    match path.metadata() {
        Ok(meta) if !meta.is_file() => Err("it is not a file"),
        Ok(_) if access(path, Access::EXEC_OK).is_err() => Err("it cannot be executed"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("there is no such file"),
        Err(_) => Err("it cannot be reached"),
    }
}

/// Runs `PATH --version` and returns the first line of its answer.
///
/// # Errors
/// It cannot be run, or gives no answer in time.
pub fn version(path: &Path, patience: Duration) -> io::Result<String> {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let answer = child.stdout.take().and_then(|mut pipe| {
        let mut fds = [PollFd::new(&pipe, PollFlags::IN)];
        let is_ready = poll(&mut fds, Some(&patience.try_into().ok()?)).is_ok_and(|ready| ready > 0);
        // One read takes what is there; a second one might wait for ever.
        let mut bytes = [0; 200];
        let length = if is_ready { pipe.read(&mut bytes).ok()? } else { return None };
        String::from_utf8_lossy(&bytes[..length]).lines().next().map(ToOwned::to_owned)
    });
    // Whatever else it does is of no interest, and it must not outlive us.
    child.kill().ok();
    child.wait()?;
    answer.ok_or_else(|| {
        io::Error::new(io::ErrorKind::TimedOut, format!("no answer for {} s", patience.as_secs()))
    })
}

/// Makes a path absolute, without `.` and `..`.
///
/// # Errors
/// It is empty, or relative and the working folder is gone.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path).map(|path| without_dots(&path))
}

/// Takes `.` and `..` out of a path as far as that does not change where it leads.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !plain.is_symlink() && plain.pop() => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
