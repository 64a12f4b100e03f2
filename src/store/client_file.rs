//! The client's settings files. They are a person's own: links to them are followed and kept, permissions stay, a
//! copy is put aside before the first change, and what we made is gone again when we are.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use super::file::{FileError, remove};

/// What a backup's name ends with; a second one gets `.2`, and so on.
const BACKUP: &str = ".watchdog-backup";
/// What a copy holds if there was no file to copy.
const NO_FILE: &str = "// There was no settings file before \"watchdog install\".\n";
/// Lies in a folder that we made, so that we know it for ours later.
const MARK: &str = ".made-by-watchdog";
const MARK_TEXT: &str =
    "\"watchdog install\" made this folder; \"watchdog uninstall\" removes it if nothing else is in it.\n";
/// The largest file that is read.
const MOST: u64 = 1024 * 1024;
/// Links that are followed, one after the other, as the kernel does.
const MOST_LINKS: usize = 40;

/// A settings file, as it was found.
#[derive(Debug)]
pub struct ClientFile {
    /// The name that the client knows it by.
    pub path: PathBuf,
    /// Its text; none = there is no file.
    pub text: Option<String>,
    /// The file itself, behind all links.
    target: PathBuf,
    meta: Option<Metadata>,
}

/// A copy of the file from before us.
#[derive(Debug)]
pub struct Backup {
    /// Where it lies.
    pub path: PathBuf,
    /// The file's text; none = there was no file.
    pub text: Option<String>,
    number: u32,
}

impl ClientFile {
    /// Reads a settings file.
    ///
    /// # Errors
    /// It is there and cannot be read, or is no text.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let target = target(path).map_err(FileError::of("read", path))?;
        let (text, meta) = match text(&target) {
            Ok((text, meta)) => (Some(text), Some(meta)),
            Err(error) if is_missing(&error) => (None, None),
            Err(error) => return Err(FileError::of("read", path)(error)),
        };
        Ok(Self { path: path.to_owned(), text, target, meta })
    }

    /// Tells where the file itself lies, if its name is a link.
    pub fn behind_link(&self) -> Option<&Path> {
        self.path.is_symlink().then_some(&self.target)
    }

    /// Tells whether a write would be refused, without writing.
    ///
    /// # Errors
    /// The file is read-only.
    pub fn check_writable(&self) -> Result<(), FileError> {
        match &self.meta {
            // As root everything can be written; but the person who took the right away meant something by it.
            Some(meta) if meta.mode() & 0o222 == 0 => {
                Err(self.cannot("change", "it is read-only; run \"chmod u+w\" on it first"))
            }
            _ => Ok(()),
        }
    }

    /// Replaces the file by one with this text: whole, with the same permissions, behind the same links.
    ///
    /// # Errors
    /// It is read-only, has changed since it was read, or cannot be written; then it is as it was.
    pub fn write(&self, new: &str) -> Result<(), FileError> {
        self.check_writable()?;
        let temp = self.temp(new).map_err(FileError::of("write", &self.path))?;
        self.check_unchanged()?;
        temp.persist(&self.target).map_err(|error| FileError::of("replace", &self.path)(error.error))?;
        self.sync_folder();
        Ok(())
    }

    /// Removes the file; a link to it stays.
    ///
    /// # Errors
    /// It is read-only, has changed since it was read, or cannot be removed.
    pub fn remove(&self) -> Result<(), FileError> {
        self.check_writable()?;
        self.check_unchanged()?;
        remove(&self.target)?;
        self.sync_folder();
        Ok(())
    }

    /// Puts a copy of the file aside. An equal one that is there already will do; one that differs is never
    /// overwritten. None = there is no file to copy.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn back_up(&self) -> Result<Option<PathBuf>, FileError> {
        let last = self.last_backup();
        // That there was no file is worth a note only where an older copy says that there was one.
        let text = match (&self.text, &last) {
            (None, None) => return Ok(None),
            (None, Some(_)) => NO_FILE,
            (Some(text), _) => text,
        };
        let path = match last {
            Some(last) if last.text == self.text => last.path,
            last => {
                let path = self.backup_path(last.map_or(1, |last| last.number + 1));
                let temp = self.temp(text).map_err(FileError::of("write", &path))?;
                temp.persist_noclobber(&path).map_err(|error| FileError::of("write", &path)(error.error))?;
                path
            }
        };
        Ok(self.text.is_some().then_some(path))
    }

    /// The last copy that was put aside.
    pub fn last_backup(&self) -> Option<Backup> {
        let prefix = self.backup_path(1).file_name()?.to_str()?.to_owned();
        let number = |name: &str| match name.strip_prefix(&prefix)? {
            "" => Some(1),
            rest => rest.strip_prefix('.')?.parse::<u32>().ok().filter(|number| *number > 1),
        };
        fs::read_dir(self.folder())
            .ok()?
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| number(entry.file_name().to_str()?))
            .max()
            .and_then(|number| {
                let path = self.backup_path(number);
                let text = Some(text(&path).ok()?.0).filter(|text| text != NO_FILE);
                Some(Backup { path, text, number })
            })
    }

    /// Makes the folder of the file if it is missing, marked as ours. Returns whether it was.
    ///
    /// # Errors
    /// It cannot be made; the folder above it is not made.
    pub fn make_folder(&self) -> Result<bool, FileError> {
        let folder = self.folder();
        match fs::DirBuilder::new().mode(0o755).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(FileError::of("make", folder)(error)),
            Ok(()) => {}
        }
        fs::write(folder.join(MARK), MARK_TEXT).map_err(FileError::of("write", &folder.join(MARK)))?;
        Ok(true)
    }

    /// Removes the mark of a folder that we made, and the folder if nothing else is in it. Returns whether the folder
    /// is gone.
    pub fn unmake_folder(&self) -> bool {
        let folder = self.folder();
        let is_ours = fs::read_to_string(folder.join(MARK)).is_ok_and(|text| text == MARK_TEXT);
        is_ours && fs::remove_file(folder.join(MARK)).is_ok() && fs::remove_dir(folder).is_ok()
    }

    /// Tells whether the folder of the file is there.
    pub fn has_folder(&self) -> bool {
        self.folder().is_dir()
    }

    fn folder(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("/"))
    }

    fn backup_path(&self, number: u32) -> PathBuf {
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(BACKUP);
        if number > 1 {
            name.push(format!(".{number}"));
        }
        self.target.with_file_name(name)
    }

    /// Writes a file beside the target, ready to take its name.
    fn temp(&self, text: &str) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".settings-").suffix(".new");
        // Whatever the user's mask leaves of this is what a new file of theirs has.
        let open = Permissions::from_mode(0o666);
        let mut temp = builder.permissions(open).tempfile_in(self.folder())?;
        temp.write_all(text.as_bytes())?;
        if let Some(meta) = &self.meta {
            let own = temp.as_file().metadata()?;
            if (own.uid(), own.gid()) != (meta.uid(), meta.gid()) {
                fchown(temp.as_file(), Some(meta.uid()), Some(meta.gid()))?;
            }
            temp.as_file().set_permissions(Permissions::from_mode(meta.mode() & 0o7777))?;
        }
        temp.as_file().sync_all()?;
        Ok(temp)
    }

    /// The client writes the file too, when a person allows a tool for good.
    fn check_unchanged(&self) -> Result<(), FileError> {
        let now = match text(&self.target) {
            Ok((text, _)) => Some(text),
            Err(error) if is_missing(&error) => None,
            Err(error) => return Err(FileError::of("read", &self.path)(error)),
        };
        if now == self.text {
            Ok(())
        } else {
            Err(self.cannot("change", "another program has just written it; run this again"))
        }
    }

    fn cannot(&self, action: &'static str, why: &str) -> FileError {
        FileError::of(action, &self.path)(io::Error::other(why.to_owned()))
    }

    /// A rename is only durable once its folder is; that it is not yet is no reason to report a failure.
    fn sync_folder(&self) {
        File::open(self.folder()).and_then(|folder| folder.sync_all()).ok();
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Follows links to the file itself, which need not be there.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(next) = fs::read_link(&target) {
            target = target.parent().unwrap_or(Path::new("/")).join(next);
            continue;
        }
        // No link, or nothing: that is where it ends.
        let folder = target.parent().and_then(|folder| folder.canonicalize().ok());
        return Ok(match (folder, target.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => target,
        });
    }
    Err(io::Error::other("its links lead nowhere"))
}

fn text(path: &Path) -> io::Result<(String, Metadata)> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other(format!("it is larger than {MOST} bytes")));
    }
    String::from_utf8(bytes).map(|text| (text, meta)).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = memchr::memchr_iter(b'\n', good).count() + 1;
        io::Error::other(format!("line {line} is not UTF-8; save it as UTF-8"))
    })
}

#[cfg(test)]
mod tests;
