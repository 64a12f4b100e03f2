//! The order of events that carry the same time: hooks run side by side, so the order in which their lines arrive
//! means nothing within one millisecond.

use super::event::{Event, What};
use super::wait::is_background;

/// Puts events of the same time into one order, whatever order they came in; the rest stay where they are.
pub fn settle(events: &mut [Event]) {
    for run in events.chunk_by_mut(|a, b| a.at == b.at) {
        if run.len() > 1 {
            run.sort_by_cached_key(|event| {
                let body = serde_json::to_string(event).unwrap_or_default();
                (rank(&event.what), event.session.clone(), event.agent.clone(), body)
            });
        }
    }
}

/// What begins comes before what ends.
fn rank(what: &What) -> u8 {
    match what {
        What::Snapshot { .. } => 0,
        What::SessionStart { .. } => 1,
        What::Stage { .. } => 2,
        What::Roster { .. } => 3,
        What::Prompt { .. } | What::AgentStart => 4,
        // It is noted behind the end of the turn that left it running.
        What::ToolStart { tool, id, .. } if is_background(tool, id) => 11,
        What::ToolStart { .. } => 5,
        What::Permission { .. } => 6,
        What::Notice { .. } => 7,
        What::ToolEnd { message: None, .. } => 8,
        What::ToolEnd { .. } => 9,
        What::AgentStop | What::TurnEnd | What::ApiError { .. } => 10,
        What::Idle { .. } => 11,
        What::SessionEnd { .. } | What::SessionLost => 12,
        _ => 13,
    }
}
