//! The machine's side: file events and the clock.

use std::fs;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::Finding;
use crate::model::moment::Moment;
use crate::store::root::Root;

/// Limits below these run out on a busy desktop.
const INSTANCES: u64 = 128;
const WATCHES: u64 = 8192;
/// 2024-01-01: a clock before it was never set.
const EPOCH: i64 = 1_704_067_200_000;
/// File systems that report no changes made elsewhere, by their magic numbers.
const REMOTE: [(i64, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
];

/// All that is to be said of it.
pub(super) fn findings(root: Option<&Root>, now: Moment) -> Vec<Finding> {
    let watched = root.map(Root::tmp).filter(|folder| folder.is_dir());
    let limit = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).unwrap_or_default();
        text.trim().parse::<u64>().ok()
    };
    let limits = (limit("max_user_instances"), limit("max_user_watches"));
    let folder = watched.as_deref().unwrap_or(Path::new("/"));
    vec![inotify(limits, attempt(folder), remote(folder)), clock(now)]
}

/// Makes an instance and a watch, as the daemon will.
fn attempt(folder: &Path) -> Result<(), Errno> {
    let instance = init(CreateFlags::CLOEXEC)?;
    add_watch(&instance, folder, WatchFlags::MOVED_TO).map(|_| ())
}

fn remote(folder: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(folder).ok()?.f_type;
    REMOTE.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}

fn inotify(limits: (Option<u64>, Option<u64>), attempt: Result<(), Errno>, remote: Option<&str>) -> Finding {
    let name = "inotify";
    let shown = |limit: Option<u64>| limit.map_or_else(|| "unknown".to_owned(), |limit| limit.to_string());
    let words = format!("{} instances and {} watches a user", shown(limits.0), shown(limits.1));
    let raise = |limit: &str, to: u64| {
        format!(
            "run \"sudo sysctl fs.inotify.{limit}={to}\" (and put it into /etc/sysctl.d); until then the daemon polls"
        )
    };
    match attempt {
        Err(Errno::MFILE) => {
            Finding::wrong(name, format!("no instance is left of {words}"), raise("max_user_instances", 1024))
        }
        Err(Errno::NOSPC) => {
            Finding::wrong(name, format!("no watch is left of {words}"), raise("max_user_watches", 524_288))
        }
        Err(error) => Finding::fair(
            name,
            format!("it does not work here: {error}"),
            "the daemon polls, up to a tick later",
        ),
        Ok(()) if remote.is_some() => Finding::fair(
            name,
            format!(
                "the project lies on {}, which reports no changes from elsewhere",
                remote.unwrap_or_default()
            ),
            "the daemon's tick finds them later; a local disk is better",
        ),
        Ok(()) if limits.0.is_some_and(|limit| limit < INSTANCES) => {
            Finding::fair(name, format!("works, but few: {words}"), raise("max_user_instances", 1024))
        }
        Ok(()) if limits.1.is_some_and(|limit| limit < WATCHES) => {
            Finding::fair(name, format!("works, but few: {words}"), raise("max_user_watches", 524_288))
        }
        Ok(()) => Finding::good(name, format!("works: {words}")),
    }
}

fn clock(now: Moment) -> Finding {
    if now.wall < EPOCH {
        let finding = "the wall clock shows a time before 2024: it was never set";
        return Finding::wrong("clock", finding, "set it (\"timedatectl set-ntp true\")");
    }
    Finding::good("clock", "set")
}

#[cfg(test)]
mod tests;
