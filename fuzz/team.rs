//! What must hold of the files of a team session.

use watchdog::protocol::team_check::places;
use watchdog::protocol::team_meta::Meta;
use watchdog::protocol::team_rule::Fault;
use watchdog::protocol::{cache_index, team_meta, team_msg};

/// Whatever lies in a session's files, no reading of them ends early, and what is said of it is short and plain.
pub fn team(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let (message, faults) = team_msg::read(line);
        plain(&faults);
        let Some(message) = message else { continue };
        let names = [&message.id, &message.from, &message.to, &message.kind];
        assert!(names.iter().all(|name| name.chars().count() <= 80 && !name.contains(char::is_control)));
        let Some(update) = message.update else { continue };
        assert!(!update.task.contains(char::is_whitespace) && update.task.chars().count() <= 80);
        assert!(update.blocks == 0 || update.halt().is_some(), "blocks halt");
        for place in places(&update.reference, ".workflow/.team/x", "/home/me/project").into_iter().flatten() {
            let climbs = place.starts_with('/') || place.split('/').any(|part| part == "..");
            assert!(!climbs, "{place} leaves the project");
        }
    }
    let (meta, faults) = team_meta::read(bytes);
    plain(&faults);
    let mut meta = meta.unwrap_or_default();
    meta.add_session(bytes);
    meta.add_shared(bytes);
    assert!(meta.roles.iter().all(|role| meta.knows(role)) && Meta::default().knows("anybody"));
    team_meta::tasks(bytes);
    let (entries, faults) = cache_index::read(bytes);
    let last = bytes.split(|byte| *byte == b'\n').count();
    assert!(faults.iter().all(|(line, _)| (1..=last).contains(line)));
    plain(&faults.into_iter().map(|(_, fault)| fault).collect::<Vec<_>>());
    for entry in entries.into_iter().flatten() {
        assert!(!entry.file.contains('/') && entry.file != "..");
    }
}

fn plain(faults: &[Fault]) {
    for fault in faults {
        assert!(fault.fact.chars().count() <= 400 && !fault.fact.contains(char::is_control), "{fault:?}");
    }
}
