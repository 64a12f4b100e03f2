//! Memory, descriptors, threads of the daemon, and what lies under `.kiln`: none of them grows.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::field::Field;

/// Until then everything may still grow to its size.
const WARM: Duration = Duration::from_secs(60);
/// What memory may gain after that, KiB. The ledger of a megabyte of journal comes and goes.
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

#[derive(Debug, Default)]
pub(crate) struct Vitals {
    warm: Sample,
    later: Sample,
    bytes: u64,
    files: u64,
    samples: usize,
}

impl Vitals {
    pub(crate) fn sample(&mut self, field: &Field, age: Duration) {
        let (bytes, files) = size(&field.root.kiln().join("tmp"));
        self.bytes = self.bytes.max(bytes);
        self.files = self.files.max(files);
        let Some(daemon) = field.daemon() else { return };
        let proc = format!("/proc/{}", daemon.pid);
        let entries =
            |name: &str| fs::read_dir(format!("{proc}/{name}")).map_or(0, |list| list.count() as u64);
        let status = fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        let sample = Sample { kib: kib.unwrap_or(0), descriptors: entries("fd"), threads: entries("task") };
        self.samples += 1;
        let slot = if age < WARM { &mut self.warm } else { &mut self.later };
        *slot = slot.most(sample);
    }

    pub(crate) fn judge(&self, field: &Field) {
        if self.samples == 0 {
            field.violate("no daemon was ever measured".to_owned());
        }
        let grew = |what: &str, warm: u64, later: u64, more: u64| {
            if later > warm + more {
                field.violate(format!("{what} grew from {warm} to {later}"));
            }
        };
        grew("memory (KiB)", self.warm.kib, self.later.kib, MORE_KIB);
        grew("descriptors", self.warm.descriptors, self.later.descriptors, MORE);
        grew("threads", self.warm.threads, self.later.threads, MORE);
        grew("bytes under .kiln/tmp", 0, self.bytes, MOST_BYTES);
        grew("files under .kiln/tmp", 0, self.files, MOST_FILES);
    }

    pub(crate) fn words(&self) -> String {
        let Self { warm, later, bytes, files, samples } = self;
        format!(
            "{samples} samples; memory {} then {} KiB, descriptors {} then {}, threads {} then {}; at most {bytes} bytes \
             in {files} files",
            warm.kib, later.kib, warm.descriptors, later.descriptors, warm.threads, later.threads
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
