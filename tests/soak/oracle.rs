//! What must hold of the journal and the files, given the driver's own log.

use std::collections::BTreeMap;

use watchdog::model::event::{Event, What};
use watchdog::store::activity_file;
use watchdog::system::clock;

use super::field::{BEATS, Field, LIMIT};

/// Silence that makes a stall, milliseconds, as the settings have it.
const IDLE_AFTER: i64 = 2000;

/// No update of `activity.json` is lost and none is made up: its epoch is the number of writes in its life. A daemon
/// that was killed between a write and its line may have made one that is not in the journal.
pub(crate) fn updates(field: &Field) {
    let (deeds, events, kills) = field.life;
    let mut seen = (0, 0);
    let began = clock::now();
    while clock::now().awake_since(began) < LIMIT {
        let Some(before) = activity_file::load(&field.root) else { return };
        let beats = field.deeds.lock().unwrap()[deeds..]
            .iter()
            .filter(|deed| BEATS.contains(&deed.event.as_str()))
            .count();
        let ours = field.recorded(|all| all[events..].iter().filter(|event| is_write(event)).count());
        let least = (beats + ours) as u64;
        let most = least + (field.kills() - kills) as u64;
        seen = (before.activity.epoch, least);
        if (least..=most).contains(&before.activity.epoch) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    field.violate(format!("activity.json has epoch {} after {} writes", seen.0, seen.1));
}

/// Events behind each of which lies one write of `activity.json` by us.
fn is_write(event: &Event) -> bool {
    matches!(event.what, What::Nudged { n: 1.., .. } | What::Closed | What::Recovered { .. })
}

/// Every nudge was due, each was taken once at most, and no fault was noted.
pub(crate) fn journal(field: &Field) {
    let deeds = field.deeds.lock().unwrap().clone();
    let hushes = field.hushes.lock().unwrap().clone();
    field.recorded(|events| {
        let mut claims = BTreeMap::<&str, usize>::new();
        let mut staged = BTreeMap::<&str, usize>::new();
        for event in events {
            match &event.what {
                What::Nudged { n: 1.., id, .. } => {
                    *staged.entry(id).or_default() += 1;
                    let is_early =
                        |began: i64, ended: i64| ended <= event.at && event.at - began <= IDLE_AFTER;
                    let beats = deeds.iter().filter(|deed| BEATS.contains(&deed.event.as_str()));
                    if let Some(beat) = beats.rev().find(|deed| is_early(deed.began, deed.ended)) {
                        field.violate(format!("nudge {id} came right after {beat:?}"));
                    }
                    if let Some(hush) = hushes.iter().find(|hush| (hush.from..=hush.to).contains(&event.at)) {
                        field.violate(format!("nudge {id} came although {}", hush.why));
                    }
                }
                What::Claimed { id, .. } => *claims.entry(id).or_default() += 1,
                What::Fault { fault } => field.violate(format!("fault: {fault}")),
                _ => {}
            }
        }
        for (id, count) in claims.iter().filter(|(_, count)| **count > 1) {
            field.violate(format!("nudge {id} was taken {count} times"));
        }
        for (id, count) in staged.iter().filter(|(_, count)| **count > 1) {
            field.violate(format!("nudge {id} was staged {count} times"));
        }
        let delivered = deeds.iter().filter(|deed| deed.delivered).count();
        let claimed: usize = claims.values().sum();
        if delivered != claimed {
            field.violate(format!("{delivered} answers carried a nudge, {claimed} were taken"));
        }
    });
}

/// Every call that the driver made stands in the journal once, across all rotations.
pub(crate) fn whole_journal(field: &Field) {
    let deeds = field.deeds.lock().unwrap().clone();
    field.recorded(|events| {
        let mut lines = BTreeMap::<(&str, bool), usize>::new();
        for event in events {
            match &event.what {
                What::ToolStart { id, .. } => *lines.entry((id, false)).or_default() += 1,
                What::ToolEnd { id, .. } => *lines.entry((id, true)).or_default() += 1,
                _ => {}
            }
        }
        for deed in &deeds {
            let end = match deed.event.as_str() {
                "PreToolUse" => false,
                "PostToolUse" => true,
                _ => continue,
            };
            let count = lines.get(&(deed.call.as_str(), end)).copied().unwrap_or(0);
            if count != 1 {
                field.violate(format!("{} {} stands in the journal {count} times", deed.event, deed.call));
            }
        }
    });
}

/// What was looked at.
pub(crate) fn summary(field: &Field) -> String {
    let hooks = field.deeds.lock().unwrap().len();
    field.recorded(|events| {
        let count = |is_it: fn(&What) -> bool| events.iter().filter(|event| is_it(&event.what)).count();
        format!(
            "{hooks} hooks, {} events, {} daemons ({} killed), {} nudges, {} taken, {} withdrawn, {} flags, \
             {} recovered, {} clients lost, {} rotations",
            events.len(),
            count(|what| matches!(what, What::DaemonStart { .. })),
            field.kills(),
            count(|what| matches!(what, What::Nudged { n: 1.., .. })),
            count(|what| matches!(what, What::Claimed { .. })),
            count(|what| matches!(what, What::Withdrawn { .. })),
            count(|what| matches!(what, What::Escalated { .. })),
            count(|what| matches!(what, What::Recovered { .. })),
            count(|what| matches!(what, What::SessionLost)),
            count(|what| matches!(what, What::Snapshot { .. })),
        )
    })
}
