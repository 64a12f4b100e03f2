//! Which calls a trace shows, and how each can fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One call that fails, or before which the process is killed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// The call's name.
    pub(crate) call: String,
    /// Which of the calls of that name, from 1, in every process.
    pub(crate) nth: usize,
    /// The error; none = SIGKILL.
    pub(crate) error: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(out, "{}:error={error}:when={}", self.call, self.nth),
            None => write!(out, "{}:signal=SIGKILL:when={}", self.call, self.nth),
        }
    }
}

impl Fault {
    /// Reads what `fmt` writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (call, rest) = text.split_once(':')?;
        let (what, nth) = rest.split_once(":when=")?;
        let error = what.strip_prefix("error=").map(ToOwned::to_owned);
        Some(Self { call: call.to_owned(), nth: nth.parse().ok()?, error })
    }
}

/// What is written to an eventfd.
const WAKE: &str = r#""\1\0\0\0\0\0\0\0", 8)"#;

/// Tells whether a fault also met what is not a file: the wake of another thread, which cannot fail, or the message on
/// stderr that was to tell of the fault. A call is counted in each process, so one fault can meet several.
pub(crate) fn is_beyond_files(trace: &str) -> bool {
    trace.lines().filter(|line| line.ends_with("(INJECTED)")).any(|line| {
        line.contains(WAKE) || line.contains(" write(2, ") || line.contains("<... write resumed>")
    })
}

/// How a call can fail, by its name and arguments; none = it is not about files. Of `close` only death is asked: the
/// kernel closes whatever it returns, an injected error would not.
fn errors(call: &str, args: &str) -> Option<&'static [&'static str]> {
    Some(match call {
        "open" | "openat" | "openat2" | "creat" if args.contains("O_CREAT") => {
            &["ENOSPC", "EIO", "EACCES", "EROFS", "EMFILE", "EINTR", "EDQUOT"]
        }
        "open" | "openat" | "openat2" if args.contains("O_WRONLY") || args.contains("O_RDWR") => {
            &["EIO", "EACCES", "EROFS", "EMFILE", "EINTR"]
        }
        "open" | "openat" | "openat2" => &["EIO", "EACCES", "EMFILE", "EINTR"],
        "read" | "pread64" | "readv" => &["EIO", "EINTR"],
        // A wake of one thread by another, not a file.
        "write" if args.contains(WAKE) => &[],
        "write" | "pwrite64" | "writev" | "fsync" | "fdatasync" => &["ENOSPC", "EIO", "EINTR", "EDQUOT"],
        "rename" | "renameat" | "renameat2" | "link" | "linkat" | "symlink" | "symlinkat" | "mkdir"
        | "mkdirat" => &["ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT"],
        "unlink" | "unlinkat" | "rmdir" | "chmod" | "fchmod" | "fchmodat" | "ftruncate" => {
            &["EIO", "EACCES", "EROFS"]
        }
        "stat" | "lstat" | "newfstatat" | "statx" | "access" | "faccessat" | "faccessat2" | "readlink"
        | "readlinkat" | "chdir" => &["EIO", "EACCES"],
        "fstat" | "getdents64" | "getdents" | "statfs" | "fstatfs" => &["EIO"],
        "flock" => &["EINTR"],
        "inotify_add_watch" => &["ENOSPC", "EACCES"],
        "inotify_init1" | "epoll_create1" | "pipe2" | "eventfd2" | "dup" | "dup2" | "dup3" => &["EMFILE"],
        "close" | "lseek" | "getcwd" | "inotify_rm_watch" | "fcntl" => &[],
        _ => return None,
    })
}

/// Makes the matrix of a trace: `strace -f` lines, each with the process first.
pub(crate) fn faults(trace: &str) -> Vec<Fault> {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut faults = BTreeSet::new();
    for line in trace.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let Some((call, args)) = rest.trim_start().split_once('(') else { continue };
        let Some(errors) = errors(call, args) else { continue };
        let nth = seen.entry((process, call)).or_default();
        *nth += 1;
        let fault = |error: Option<&str>| Fault {
            call: call.to_owned(),
            nth: *nth,
            error: error.map(ToOwned::to_owned),
        };
        faults.insert(fault(None));
        faults.extend(errors.iter().map(|error| fault(Some(error))));
    }
    faults.into_iter().collect()
}

/// Counts calls, and faults of each kind.
pub(crate) fn size(faults: &[Fault]) -> (usize, BTreeMap<String, usize>) {
    let mut kinds = BTreeMap::new();
    for fault in faults {
        *kinds.entry(fault.error.clone().unwrap_or_else(|| "SIGKILL".to_owned())).or_default() += 1;
    }
    (faults.iter().filter(|fault| fault.error.is_none()).count(), kinds)
}
