//! Which events of the client run which command of ours: the one table that `install`, `doctor`, the plugin and
//! `docs/hooks.md` follow.

use std::time::Duration;

use super::client_settings::{Handler, Registration};

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The event's name.
    pub event: &'static str,
    /// What the group matches; none = everything.
    pub matcher: Option<&'static str>,
    /// The command's handlers.
    pub handlers: &'static [Command],
}

/// One command of ours that the client runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `watchdog hook`, which the client waits for.
    Hook,
    /// `watchdog hook`, which runs beside the session and may wake it.
    WakingHook,
    /// `watchdog bridge`, which runs beside the session for as long as the setting `bridge.life`.
    Bridge,
}

/// The client ends a hook after this many seconds; ours takes milliseconds.
const HOOK_SECONDS: u64 = 10;
/// The same for the hook that wakes a session.
const WAKING_SECONDS: u64 = 30;
/// The client's limit for the bridge lies this much above the bridge's own.
const BRIDGE_MARGIN_SECONDS: u64 = 60;

const fn plain(event: &'static str) -> Line {
    Line { event, matcher: None, handlers: &[Command::Hook] }
}

/// All registrations, in the order in which they are written.
pub const TABLE: [Line; 14] = [
    plain("SessionStart"),
    plain("UserPromptSubmit"),
    plain("PreToolUse"),
    plain("PostToolUse"),
    plain("PostToolUseFailure"),
    plain("SubagentStart"),
    plain("SubagentStop"),
    plain("TeammateIdle"),
    plain("PermissionRequest"),
    plain("Notification"),
    Line { event: "Stop", matcher: None, handlers: &[Command::Hook, Command::Bridge] },
    // A failed turn fires no Stop: without a bridge here an idle session would be out of its reach from then on.
    Line { event: "StopFailure", matcher: None, handlers: &[Command::Hook, Command::Bridge] },
    plain("SessionEnd"),
    Line {
        event: "FileChanged",
        matcher: Some("pending-nudge.json|DEADLOCK.flag"),
        handlers: &[Command::WakingHook],
    },
];

/// The word that makes a hook hold the guards of the Kiln protocol as well.
pub const GUARDS: &str = "--guards";

/// Events at which a guard has something to say, and which of them are registered for guards alone. Files are named at
/// SessionStart, and looked at when they change.
const GUARDED: [Line; 7] = [
    plain("SessionStart"),
    plain("PreToolUse"),
    plain("PostToolUse"),
    plain("SubagentStop"),
    plain("TaskCreated"),
    plain("TaskCompleted"),
    Line {
        event: "FileChanged",
        matcher: Some("pending-nudge.json|DEADLOCK.flag|codebase-state.md|patterns.md|architecture.md"),
        handlers: &[Command::WakingHook],
    },
];

/// Makes the registrations for a program. Without the life of a bridge none is registered; nudges then still
/// arrive, by FileChanged. With guards, the hook of every event that concerns one is told so.
pub fn registrations(program: &str, bridge: Option<Duration>, guards: bool) -> Vec<Registration> {
    let guarded = |event: &str| GUARDED.iter().find(|line| guards && line.event == event);
    let registration = |line: &Line| {
        let (line, is_guarded) = guarded(line.event).map_or((line, false), |line| (line, true));
        let handler = |command: &Command| {
            let (word, rewake, timeout) = match command {
                Command::Hook => ("hook", false, HOOK_SECONDS),
                Command::WakingHook => ("hook", true, WAKING_SECONDS),
                Command::Bridge => ("bridge", true, bridge?.as_secs() + BRIDGE_MARGIN_SECONDS),
            };
            let args =
                [word].into_iter().chain(is_guarded.then_some(GUARDS)).map(ToOwned::to_owned).collect();
            Some(Handler { command: program.to_owned(), args, rewake, timeout })
        };
        Registration {
            event: line.event.to_owned(),
            matcher: line.matcher.map(ToOwned::to_owned),
            handlers: line.handlers.iter().filter_map(handler).collect(),
        }
    };
    let is_more = |line: &&Line| guards && TABLE.iter().all(|known| known.event != line.event);
    TABLE.iter().chain(GUARDED.iter().filter(is_more)).map(registration).collect()
}

#[cfg(test)]
mod tests;
