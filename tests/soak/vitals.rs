//! Memory, descriptors, threads of the daemon, and what lies under `.kiln`: none of them grows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use watchdog::model::moment::Moment;

use super::field::Field;

/// A daemon of this age has grown to its size.
const WARM: Duration = Duration::from_secs(30);
/// What a daemon's memory may gain after that, KiB: a journal is read whole after each rotation, 1 MiB and its events.
const MORE_KIB: u64 = 4 * 1024;
/// What a moment may add to descriptors and threads.
const MORE: u64 = 4;
/// All files of ours: two journals that are looked at every fraction of a second, a log that is capped.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// All files of ours: 50 sessions and what is there once.
const MOST_FILES: u64 = 120;

#[derive(Debug, Default, Clone, Copy)]
struct Sample {
    kib: u64,
    descriptors: u64,
    threads: u64,
}

impl Sample {
    fn most(self, other: Self) -> Self {
        Self {
            kib: self.kib.max(other.kib),
            descriptors: self.descriptors.max(other.descriptors),
            threads: self.threads.max(other.threads),
        }
    }
}

/// One daemon: since when it is known, and its sizes until it was warm and later.
#[derive(Debug)]
struct Life {
    since: Moment,
    warm: Sample,
    later: Option<Sample>,
}

#[derive(Debug, Default)]
pub(crate) struct Vitals {
    daemons: BTreeMap<i32, Life>,
    oldest: Duration,
    bytes: u64,
    files: u64,
}

impl Vitals {
    pub(crate) fn sample(&mut self, field: &Field, now: Moment) {
        let (bytes, files) = size(&field.root.kiln().join("tmp"));
        self.bytes = self.bytes.max(bytes);
        self.files = self.files.max(files);
        let Some(daemon) = field.daemon() else { return };
        let proc = format!("/proc/{}", daemon.pid);
        let entries =
            |name: &str| fs::read_dir(format!("{proc}/{name}")).map_or(0, |list| list.count() as u64);
        let status = fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
        let kib = |line: &str| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok();
        let Some(kib) = status.lines().find_map(kib) else { return };
        let sample = Sample { kib, descriptors: entries("fd"), threads: entries("task") };
        let life = self.daemons.entry(daemon.pid).or_insert(Life {
            since: now,
            warm: Sample::default(),
            later: None,
        });
        let age = now.awake_since(life.since);
        self.oldest = self.oldest.max(age);
        if age < WARM {
            life.warm = life.warm.most(sample);
        } else {
            life.later = Some(life.later.unwrap_or_default().most(sample));
        }
    }

    pub(crate) fn judge(&self, field: &Field) {
        if self.daemons.is_empty() {
            field.violate("no daemon was ever measured".to_owned());
        }
        let grew = |what: &str, warm: u64, later: u64, more: u64| {
            if later > warm + more {
                field.violate(format!("{what} grew from {warm} to {later}"));
            }
        };
        for life in self.daemons.values() {
            let Some(later) = life.later else { continue };
            grew("memory (KiB)", life.warm.kib, later.kib, MORE_KIB);
            grew("descriptors", life.warm.descriptors, later.descriptors, MORE);
            grew("threads", life.warm.threads, later.threads, MORE);
        }
        grew("bytes under .kiln/tmp", 0, self.bytes, MOST_BYTES);
        grew("files under .kiln/tmp", 0, self.files, MOST_FILES);
    }

    pub(crate) fn words(&self) -> String {
        let old = self.daemons.values().filter_map(|life| Some((life.warm, life.later?)));
        let shown = old.map(|(warm, later)| {
            format!(
                "{} then {} KiB, {} then {} descriptors, {} then {} threads; ",
                warm.kib, later.kib, warm.descriptors, later.descriptors, warm.threads, later.threads
            )
        });
        format!(
            "{}the oldest daemon was watched for {} s; at most {} bytes in {} files",
            shown.collect::<String>(),
            self.oldest.as_secs(),
            self.bytes,
            self.files
        )
    }
}

fn size(folder: &Path) -> (u64, u64) {
    let Ok(entries) = fs::read_dir(folder) else { return (0, 0) };
    entries.flatten().fold((0, 0), |(bytes, files), entry| {
        let Ok(meta) = entry.metadata() else { return (bytes, files) };
        let (more, count) = if meta.is_dir() { size(&entry.path()) } else { (meta.len(), 1) };
        (bytes + more, files + count)
    })
}
