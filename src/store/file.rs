//! Reading with a limit and without trust, replacing whole files, and the error that both give.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::lock::{self, Kind};

/// How long a writer waits for another of the same file. One that is stopped delays no hook for longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A file could not be read, replaced or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    /// What was tried, as a verb: "read", "replace".
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl FileError {
    /// Names the action and the file for an I/O error.
    pub fn of(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, path: path.to_owned(), source }
    }
}

/// Who may read a file of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The owner alone: 0600.
    Private,
    /// Everybody, as the protocol's other readers expect: 0644.
    Shared,
    /// As the file that is replaced.
    Like(u32),
}

impl Access {
    fn mode(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Shared => 0o644,
            Self::Like(mode) => mode & 0o7777,
        }
    }
}

/// Opens a file that must be a regular file of ours. None = it is not there.
///
/// # Errors
/// It is a symlink, a folder, a pipe, belongs to another user, or cannot be opened.
pub fn open_own(path: &Path) -> Result<Option<File>, FileError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::of("read", path)(explain_symlink(error))),
    };
    let meta = file.metadata().map_err(FileError::of("read", path))?;
    if !meta.is_file() {
        return Err(FileError::of("read", path)(io::Error::other("not a regular file")));
    }
    if meta.uid() != euid() {
        return Err(FileError::of("trust", path)(io::Error::other("it belongs to another user")));
    }
    Ok(Some(file))
}

/// Reads at most `most` bytes of a file of ours. None = it is not there.
///
/// # Errors
/// As [`open_own`]; or it is larger than `most`.
pub fn read_own(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FileError> {
    let Some(file) = open_own(path)? else { return Ok(None) };
    // Most of these files are small: one read takes them whole.
    let mut bytes = Vec::with_capacity(2048);
    file.take(most + 1).read_to_end(&mut bytes).map_err(FileError::of("read", path))?;
    if bytes.len() as u64 > most {
        let error = io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {most} bytes"));
        return Err(FileError::of("read", path)(error));
    }
    Ok(Some(bytes))
}

/// Reads at most `most` bytes of a file that another program keeps for itself. A link is followed, as people keep such
/// folders elsewhere; a pipe would hold up a hook for ever and is never waited for.
///
/// # Errors
/// It is not there, is no regular file, cannot be read, or is larger than `most`.
pub fn read_other(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let read = || {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {most} bytes")));
        }
        Ok(bytes)
    };
    read().map_err(FileError::of("read", path))
}

/// Replaces `path` by a file of these bytes: readers see the old or the new, whole.
///
/// The new file is written in `temp_dir` first, under a name that depends on the target alone, so that what a
/// killed writer left behind is used up by the next. Writers of one target take turns by a lock on that file.
///
/// # Errors
/// The bytes could not be written or the name could not be given; then `path` is as it was.
pub fn replace(
    path: &Path,
    bytes: &[u8],
    temp_dir: &Path,
    access: Access,
    durable: bool,
) -> Result<(), FileError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temp = temp_dir.join(format!("{name}.new"));
    match replace_through(&temp, path, bytes, access, durable) {
        // The folder for temporary files may be a mount of its own.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            replace_through(&path.with_file_name(format!(".{name}.new")), path, bytes, access, durable)
        }
        result => result,
    }
    .map_err(FileError::of("replace", path))
}

fn replace_through(temp: &Path, path: &Path, bytes: &[u8], access: Access, durable: bool) -> io::Result<()> {
    // Held until the file has its name: the lock goes with it.
    let mut file = open_alone(temp, access)?;
    let result = write_new(&mut file, bytes, access, durable).and_then(|()| fs::rename(temp, path));
    if result.is_err() {
        fs::remove_file(temp).ok();
    } else if durable && let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    result
}

fn write_new(file: &mut File, bytes: &[u8], access: Access, durable: bool) -> io::Result<()> {
    if let Access::Like(mode) = access {
        // Whatever our mask, or a file that a killed writer left, would make of it.
        file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
    }
    file.set_len(0)?;
    file.write_all(bytes)?;
    if durable {
        file.sync_all()?;
    }
    Ok(())
}

/// Opens the temporary file for one writer alone, whether it is there or not.
fn open_alone(temp: &Path, access: Access) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    options.write(true).create(true).truncate(false).mode(access.mode()).custom_flags(flags);
    // The writer before us may have given the file that we opened its target's name: then there is a new one.
    for _ in 0..16 {
        let file = match options.open(temp) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            Err(error) => {
                fs::remove_file(temp).map_err(|_| error)?;
                continue;
            }
        };
        let meta = file.metadata()?;
        if !meta.is_file() || meta.uid() != euid() {
            // A planted pipe or a file of another user: take it away, then make our own.
            fs::remove_file(temp)?;
        } else if !lock::lock(&file, Kind::Exclusive, PATIENCE)? {
            break;
        } else if lock::is_in_place(&file, temp) {
            return Ok(file);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "another process is writing it; if it is stopped, continue or end it",
    ))
}

/// Removes a file. That it was not there is no error.
///
/// # Errors
/// It is there and stays there.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::of("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes what killed writers left in a folder for temporary files. A file that somebody writes at this moment stays.
pub fn sweep(temp_dir: &Path) {
    for entry in fs::read_dir(temp_dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|kind| kind != "new") {
            continue;
        }
        let Ok(Some(file)) = open_own(&path) else { continue };
        // Whoever waits for this lock looks afterwards whether the file is still in its place.
        if lock::lock(&file, Kind::Exclusive, Duration::ZERO).is_ok_and(|taken| taken)
            && lock::is_in_place(&file, &path)
        {
            fs::remove_file(&path).ok();
        }
    }
}

/// Makes a folder of ours (0700) if it is not there, and refuses one that is not ours.
///
/// # Errors
/// It is a symlink, belongs to another user, can be written by others, or cannot be made.
pub fn own_folder(path: &Path, mode: u32) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Ok(meta) => trust_folder(path, &meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match fs::DirBuilder::new().mode(mode).create(path) {
                // Another process was faster; whose folder it is has to be seen.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let meta = fs::symlink_metadata(path).map_err(FileError::of("read", path))?;
                    trust_folder(path, &meta)
                }
                result => result.map_err(FileError::of("make", path)),
            }
        }
        Err(error) => Err(FileError::of("read", path)(error)),
    }
}

/// Refuses a folder that is not ours. One that is not there is no fault.
///
/// # Errors
/// As [`own_folder`].
pub fn check_folder(path: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Ok(meta) => trust_folder(path, &meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(FileError::of("read", path)(error)),
    }
}

fn trust_folder(path: &Path, meta: &fs::Metadata) -> Result<(), FileError> {
    let fault = if meta.file_type().is_symlink() {
        "it is a symlink"
    } else if !meta.is_dir() {
        "it is not a folder"
    } else if meta.uid() != euid() {
        "it belongs to another user"
    } else if meta.mode() & 0o002 != 0 {
        "everybody can write it; run \"chmod o-w\" on it"
    } else {
        return Ok(());
    };
    Err(FileError::of("trust", path)(io::Error::other(fault)))
}

/// The user that we act as.
pub fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn explain_symlink(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return io::Error::other("it is a symlink");
    }
    error
}

/// Less room than this and whole files cannot be replaced.
const LITTLE: u64 = 64 * 1024;

/// Says what keeps files in a folder from being written, for those who only look: no space, no inode, read-only, a
/// quota.
pub fn obstacle(folder: &Path) -> Option<String> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let at = folder.display();
    if disk.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        return Some(format!("cannot write in {at}: it is mounted read-only; mount it read-write"));
    }
    if disk.f_blocks > 0 && free < LITTLE {
        return Some(format!("cannot write in {at}: {free} bytes are left on its disk; free some space"));
    }
    if disk.f_files > 0 && disk.f_favail == 0 {
        return Some(format!("cannot write in {at}: no inode is left on its disk; remove some files"));
    }
    is_over_quota(folder).then(|| {
        format!("cannot write in {at}: the disk quota is used up; free some space or have the quota raised")
    })
}

/// A quota is seen only by who writes: here a page into a file without a name, which is gone with this call.
fn is_over_quota(folder: &Path) -> bool {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let written = rustix::fs::open(folder, flags, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .and_then(|file| rustix::io::write(&file, &[0; 4096]));
    written == Err(rustix::io::Errno::DQUOT)
}

/// Prints an error with its causes on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        line.push_str(": ");
        line.push_str(&next.to_string());
        cause = next.source();
    }
    line
}

#[cfg(test)]
mod tests;
