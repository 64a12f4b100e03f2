//! Every setting: its name, what it means, how it is read and shown. `docs/operations.md` lists the same, and a
//! test keeps them in step.

use std::time::Duration;

use toml::Value;

use crate::model::policy::{Mode, Policy};

/// One setting.
pub struct Key {
    /// Section and name, such as `rule.idle_after`.
    pub name: &'static str,
    /// What it means, in one line.
    pub doc: &'static str,
    /// Takes a value.
    pub set: fn(&mut Policy, &Value) -> Result<(), String>,
    /// Shows the value as it would be written in the file.
    pub show: fn(&Policy) -> String,
}

/// All settings but `[[alert]]`, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    Key {
        name: "rule.idle_after",
        doc: "silence that makes a stall",
        set: |policy, value| put(&mut policy.rule.idle_after, span(value)),
        show: |policy| show_span(policy.rule.idle_after),
    },
    Key {
        name: "rule.nudge_every",
        doc: "at least this long between two nudges",
        set: |policy, value| put(&mut policy.rule.nudge_every, span(value)),
        show: |policy| show_span(policy.rule.nudge_every),
    },
    Key {
        name: "rule.max_nudges",
        doc: "nudges in one episode before the flag",
        set: |policy, value| put(&mut policy.rule.max_nudges, count(value)),
        show: |policy| policy.rule.max_nudges.to_string(),
    },
    Key {
        name: "rule.recovered_after",
        doc: "work for this long after a nudge ends the episode",
        set: |policy, value| put(&mut policy.rule.recovered_after, span(value)),
        show: |policy| show_span(policy.rule.recovered_after),
    },
    Key {
        name: "rule.reply_after",
        doc: "an answer that an agent owes another is overdue after this, where its table of signals sets no time",
        set: |policy, value| put(&mut policy.rule.reply_after, span(value)),
        show: |policy| show_span(policy.rule.reply_after),
    },
    Key {
        name: "rule.exempt_phases",
        doc: "phases in which silence is no stall",
        set: |policy, value| put(&mut policy.rule.exempt_phases, words(value)),
        show: |policy| show_words(&policy.rule.exempt_phases),
    },
    Key {
        name: "rule.interactive_phases",
        doc: "phases in which a lead whose turn is over waits for a person",
        set: |policy, value| put(&mut policy.rule.interactive_phases, words(value)),
        show: |policy| show_words(&policy.rule.interactive_phases),
    },
    Key {
        name: "quiet.tool_limit",
        doc: "a running tool explains silence for this long (or for its own timeout and a minute)",
        set: |policy, value| put(&mut policy.quiet.tool_limit, span(value)),
        show: |policy| show_span(policy.quiet.tool_limit),
    },
    Key {
        name: "quiet.tell_person_after",
        doc: "a person who has been asked for this long is told once more, by alert",
        set: |policy, value| put(&mut policy.quiet.tell_person_after, span(value)),
        show: |policy| show_span(policy.quiet.tell_person_after),
    },
    Key {
        name: "quiet.person_limit",
        doc: "a question to a person explains silence for this long",
        set: |policy, value| put(&mut policy.quiet.person_limit, span(value)),
        show: |policy| show_span(policy.quiet.person_limit),
    },
    Key {
        name: "quiet.api_hold_max",
        doc: "the longest hold for an API that asked to wait",
        set: |policy, value| put(&mut policy.quiet.api_hold_max, span(value)),
        show: |policy| show_span(policy.quiet.api_hold_max),
    },
    Key {
        name: "daemon.tick",
        doc: "the longest sleep between two looks; verdicts are this late at most when file events are lost",
        set: |policy, value| put(&mut policy.daemon.tick, tick(value)),
        show: |policy| show_span(policy.daemon.tick),
    },
    Key {
        name: "daemon.mode",
        doc: "\"act\", or \"observe\": write the journal and touch nothing else",
        set: |policy, value| put(&mut policy.daemon.mode, mode(value)),
        show: |policy| format!("{:?}", mode_word(policy.daemon.mode)),
    },
    Key {
        name: "daemon.linger",
        doc: "a daemon outlives the last session that ended by this much",
        set: |policy, value| put(&mut policy.daemon.linger, span(value)),
        show: |policy| show_span(policy.daemon.linger),
    },
    Key {
        name: "daemon.lost_after",
        doc: "clients gone without a word for this long are lost, and a pipeline in flight is flagged",
        set: |policy, value| put(&mut policy.daemon.lost_after, span(value)),
        show: |policy| show_span(policy.daemon.lost_after),
    },
    Key {
        name: "bridge.life",
        doc: "the longest life of one bridge; run \"watchdog install\" again after a change",
        set: |policy, value| put(&mut policy.bridge.life, span(value)),
        show: |policy| show_span(policy.bridge.life),
    },
    Key {
        name: "tasks.folders",
        doc: "where task folders of workers are, below the project; * stands for any name or part of one",
        set: |policy, value| put(&mut policy.tasks.folders, places(value)),
        show: |policy| show_words(&policy.tasks.folders),
    },
    Key {
        name: "tasks.silent_after",
        doc: "a worker or team session that runs and is silent for this long is a stall of its own",
        set: |policy, value| put(&mut policy.tasks.silent_after, span(value)),
        show: |policy| show_span(policy.tasks.silent_after),
    },
    Key {
        name: "team.sessions",
        doc: "where team message sessions are, below the project; * stands for any name or part of one",
        set: |policy, value| put(&mut policy.team.sessions, places(value)),
        show: |policy| show_words(&policy.team.sessions),
    },
    Key {
        name: "agents.roster",
        doc: "agents whose spawn is acknowledged; \"coder*\" matches any rest",
        set: |policy, value| put(&mut policy.roster, words(value)),
        show: |policy| show_words(&policy.roster),
    },
    Key {
        name: "agents.lead",
        doc: "what the lead is called by its team",
        set: |policy, value| put(&mut policy.lead, word(value)),
        show: |policy| format!("{:?}", policy.lead),
    },
    Key {
        name: "agents.members",
        doc: "agents that exist although no event of them is seen",
        set: |policy, value| put(&mut policy.members, words(value)),
        show: |policy| show_words(&policy.members),
    },
    Key {
        name: "agents.polling_tools",
        doc: "tools that are meant to be called again and again: no livelock",
        set: |policy, value| put(&mut policy.polling_tools, words(value)),
        show: |policy| show_words(&policy.polling_tools),
    },
    Key {
        name: "guards.task_created",
        doc: "guard: critical tasks say milestone, chunk and role when they are made",
        set: |policy, value| put(&mut policy.guards.task_created, flag(value)),
        show: |policy| policy.guards.task_created.to_string(),
    },
    Key {
        name: "guards.task_completed",
        doc: "guard: critical tasks are done only when their metadata proves it",
        set: |policy, value| put(&mut policy.guards.task_completed, flag(value)),
        show: |policy| policy.guards.task_completed.to_string(),
    },
    Key {
        name: "guards.state_files",
        doc: "guard: persistent-state files, TDD evidence and verdicts have the protocol's shape",
        set: |policy, value| put(&mut policy.guards.state_files, flag(value)),
        show: |policy| policy.guards.state_files.to_string(),
    },
    Key {
        name: "guards.subagent_stop",
        doc: "guard: minds, reviewers and the boss do not stop with work undone",
        set: |policy, value| put(&mut policy.guards.subagent_stop, flag(value)),
        show: |policy| policy.guards.subagent_stop.to_string(),
    },
    Key {
        name: "guards.secrets",
        doc: "guard: nobody reads or writes the protocol's files of secrets",
        set: |policy, value| put(&mut policy.guards.secrets, flag(value)),
        show: |policy| policy.guards.secrets.to_string(),
    },
    Key {
        name: "subctl.enabled",
        doc: "\"auto\": teams that are known to speak subctl's protocol are held to it; true: all are; false: none is",
        set: |policy, value| put(&mut policy.subctl.enabled, switch(value)),
        show: |policy| policy.subctl.enabled.map_or("\"auto\"".to_owned(), |is_on| is_on.to_string()),
    },
    Key {
        name: "subctl.plan_queue",
        doc: "the queue of plans; empty: subctl/plan-approvals.jsonl in $XDG_STATE_HOME or ~/.local/state",
        set: |policy, value| put(&mut policy.subctl.plan_queue, file(value)),
        show: |policy| format!("{:?}", policy.subctl.plan_queue),
    },
    Key {
        name: "subctl.expire_plans",
        doc: "requests for approval that are older than 60 minutes are expired in the queue by this daemon",
        set: |policy, value| put(&mut policy.subctl.expire_plans, flag(value)),
        show: |policy| policy.subctl.expire_plans.to_string(),
    },
    Key {
        name: "subctl.teams",
        doc: "teams of this project as the queue of plans names them, where no message tells",
        set: |policy, value| put(&mut policy.subctl.teams, words(value)),
        show: |policy| show_words(&policy.subctl.teams),
    },
    Key {
        name: "subctl.parked_after",
        doc: "the lead is told once of a worker that has been idle for this long after its task",
        set: |policy, value| put(&mut policy.subctl.parked_after, span(value)),
        show: |policy| show_span(policy.subctl.parked_after),
    },
];

fn put<T>(slot: &mut T, value: Result<T, String>) -> Result<(), String> {
    *slot = value?;
    Ok(())
}

/// Finds a setting.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The setting whose name is nearest, for an error that helps.
pub fn nearest(name: &str) -> &'static str {
    let last = name.rsplit('.').next().unwrap_or(name);
    KEYS.iter()
        .max_by(|a, b| likeness(a.name, name, last).total_cmp(&likeness(b.name, name, last)))
        .map_or("rule.idle_after", |key| key.name)
}

fn likeness(key: &str, name: &str, last: &str) -> f32 {
    let own = key.rsplit('.').next().unwrap_or(key);
    let ratio = |a: &str, b: &str| similar::TextDiff::from_chars(a, b).ratio();
    ratio(key, name).max(ratio(own, last))
}

/// How a mode is written.
pub fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Act => "act",
        Mode::Observe => "observe",
    }
}

/// Reads a duration: `"5m"`, `"300s"`, or whole seconds.
pub fn span(value: &Value) -> Result<Duration, String> {
    let span = match value {
        Value::Integer(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
        Value::String(text) => match text.trim().parse::<u64>() {
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) => humantime::parse_duration(text.trim()).ok(),
        },
        _ => None,
    };
    let longest = Duration::from_secs(366 * 86_400);
    match span {
        Some(span) if !span.is_zero() && span <= longest => Ok(span),
        _ => {
            Err("a duration is wanted, above zero and at most a year, such as \"5m\" or \"300s\"".to_owned())
        }
    }
}

fn tick(value: &Value) -> Result<Duration, String> {
    let tick = span(value)?;
    if tick < Duration::from_millis(50) {
        return Err("a tick of at least \"50ms\" is wanted".to_owned());
    }
    Ok(tick)
}

fn count(value: &Value) -> Result<u32, String> {
    let number = match value {
        Value::Integer(number) => u32::try_from(*number).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .filter(|number| *number <= 1000)
        .ok_or_else(|| "a whole number from 0 to 1000 is wanted".to_owned())
}

fn mode(value: &Value) -> Result<Mode, String> {
    match value.as_str() {
        Some("act") => Ok(Mode::Act),
        Some("observe") => Ok(Mode::Observe),
        _ => Err("\"act\" or \"observe\" is wanted".to_owned()),
    }
}

fn word(value: &Value) -> Result<String, String> {
    let word = value.as_str().map(str::trim).filter(|word| !word.is_empty() && word.len() <= 200);
    word.map(ToOwned::to_owned).ok_or_else(|| "a name is wanted, such as \"team-lead\"".to_owned())
}

fn flag(value: &Value) -> Result<bool, String> {
    match (value, value.as_str().map(str::trim)) {
        (Value::Boolean(value), _) => Ok(*value),
        (_, Some("true")) => Ok(true),
        (_, Some("false")) => Ok(false),
        _ => Err("true or false is wanted".to_owned()),
    }
}

fn switch(value: &Value) -> Result<Option<bool>, String> {
    if value.as_str().map(str::trim) == Some("auto") {
        return Ok(None);
    }
    flag(value).map(Some).map_err(|_| "\"auto\", true or false is wanted".to_owned())
}

fn file(value: &Value) -> Result<String, String> {
    let path = value.as_str().map(str::trim).filter(|path| path.is_empty() || path.starts_with('/'));
    path.map(ToOwned::to_owned)
        .ok_or_else(|| "the whole path of a file is wanted, such as \"/home/me/queue.jsonl\"".to_owned())
}

/// Reads a list of words; in the environment they are separated by commas.
fn words(value: &Value) -> Result<Vec<String>, String> {
    let wanted = || "a list of words is wanted, such as [\"idle\", \"complete\"]".to_owned();
    match value {
        Value::Array(list) => {
            list.iter().map(|word| word.as_str().map(ToOwned::to_owned).ok_or_else(wanted)).collect()
        }
        Value::String(text) => {
            Ok(text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect())
        }
        _ => Err(wanted()),
    }
}

/// Reads a list of places below the project.
fn places(value: &Value) -> Result<Vec<String>, String> {
    let places = words(value)?;
    let is_place = |place: &String| {
        !place.is_empty()
            && place.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains("**"))
    };
    if let Some(place) = places.iter().find(|place| !is_place(place)) {
        return Err(format!("{place:?} is no place below the project; one such as \".task/*/*\" is wanted"));
    }
    Ok(places)
}

fn show_span(span: Duration) -> String {
    format!("\"{}\"", humantime::format_duration(span))
}

fn show_words(words: &[String]) -> String {
    let list: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", list.join(", "))
}

#[cfg(test)]
mod tests;
