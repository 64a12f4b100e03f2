//! The signals of the teams' protocols: who sends what to whom, who owes an answer, which answers count, within what
//! time. The tables themselves are data (`src/protocol/tables/`); this is their meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::judge::LEAD;

/// All that is known of the protocols in force, and what a person set about agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The tables, the project's own first; the built-in ones are shared by all roots.
    pub tables: Vec<Arc<Table>>,
    /// What the lead is called.
    pub lead: String,
    /// Agents that exist although nothing was seen of them.
    pub members: Vec<String>,
    /// Tools that are meant to be called again and again.
    pub polling: BTreeSet<String>,
    /// An answer that no table gives a time is overdue after this.
    pub reply_after: Duration,
    /// Whether teams are held to subctl's protocol; none = those that are known to speak it.
    pub subctl: Option<bool>,
    /// The lead is told of a worker that has been parked for this long.
    pub parked_after: Duration,
    /// A track that runs is silent for too long after this.
    pub silent_after: Duration,
}

/// The signals of one protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Which agents play a role, by patterns of their names or kinds; `*` stands for any rest.
    pub roles: BTreeMap<String, Vec<String>>,
    /// Names that a signal carries, by key, and the role that it gives them.
    pub named: BTreeMap<String, String>,
    /// The signals, in order: the first that fits counts.
    pub signals: Vec<Signal>,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a record of independent facts")]
pub struct Signal {
    /// The head; `*` is any, `MILESTONE_*` any that begins so.
    pub head: String,
    /// What it is called where its head says nothing; unique in its table.
    pub name: String,
    /// Roles of its senders; it says who is meant, and is no condition unless the head is `*`.
    pub from: Vec<String>,
    /// Roles of its recipients.
    pub to: Vec<String>,
    /// The row counts only where the recipient plays one of these; empty = everywhere.
    pub only_to: Vec<String>,
    /// The row counts only where a person decides on the answer.
    pub operator: bool,
    /// Whether an answer is due.
    pub reply: Reply,
    /// What answers it. Any one of them does.
    pub answers: Vec<Answer>,
    /// The recipient's duty passes to whoever sends one of these to the recipient.
    pub passes: Vec<Answer>,
    /// The answer is overdue after this.
    pub within: Option<Duration>,
    /// An overdue answer is also written to the pipeline's iteration log.
    pub log: bool,
    /// The protocol does not use it any more.
    pub retired: bool,
    /// It tells who works with whom.
    pub pairs: bool,
}

/// Whether a signal's recipient owes an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It does: the sender stops and waits.
    Due,
    /// It does not; the sender has done its part.
    None,
    /// Nobody ever answers it: a sender that stops for an answer waits in vain.
    Never,
}

/// What answers a signal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Heads; patterns as in [`Signal::head`].
    pub heads: Vec<String>,
    /// From whom: `recipient`, `sender`, `pair` (the recipient's partner), or a role.
    pub from: Vec<String>,
    /// To whom: `sender`, `recipient`, `anyone`, or a role.
    pub to: Vec<String>,
    /// Instead of a message: turns begun by the agents that the signal names under these keys, all of them.
    pub started: Vec<String>,
    /// The answer's `request_id` must be the signal's.
    pub same_request: bool,
    /// Roles to which an answer of any head goes by mistake: what no table knows, sent to one of them who asked nothing.
    pub astray: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            tables: Vec::new(),
            lead: LEAD.to_owned(),
            members: Vec::new(),
            polling: POLLING.iter().map(ToString::to_string).collect(),
            reply_after: Duration::from_secs(15 * 60),
            subctl: None,
            parked_after: Duration::from_secs(10 * 60),
            silent_after: Duration::from_secs(30 * 60),
        }
    }
}

/// Tools that are meant to be called again and again.
pub const POLLING: [&str; 7] =
    ["TaskOutput", "BashOutput", "TaskGet", "TaskList", "ListAgents", "Monitor", "ScheduleWakeup"];

/// What is known of an agent when its role is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known<'a> {
    /// Its name; the lead is [`LEAD`].
    pub name: &'a str,
    /// Its kind; empty if unknown.
    pub kind: &'a str,
    /// The role that a signal gave it; empty if none did.
    pub given: &'a str,
}

impl Rules {
    /// Finds a row by its table and name.
    pub fn row(&self, table: &str, name: &str) -> Option<&Signal> {
        let table: &Table = self.tables.iter().find(|entry| entry.name == table)?;
        table.signals.iter().find(|signal| signal.name == name)
    }

    /// Finds the row that a message falls under: one that names its head, else one for messages of any head.
    pub fn find(
        &self,
        head: &str,
        operator: bool,
        from: Known<'_>,
        to: Known<'_>,
    ) -> Option<(&Table, &Signal)> {
        let tables = self.tables.iter().map(AsRef::as_ref);
        let mut rows = tables.flat_map(|table: &Table| table.signals.iter().map(move |row| (table, row)));
        let named = rows.clone().find(|(table, row)| {
            row.head != "*"
                && matches(&row.head, head)
                && (!row.operator || operator)
                && (row.only_to.is_empty() || table.plays_any(to, &row.only_to))
        });
        named.or_else(|| {
            rows.find(|(table, row)| {
                row.head == "*" && table.plays_any(from, &row.from) && table.plays_any(to, &row.to)
            })
        })
    }
}

impl Table {
    /// Tells whether an agent plays one of the roles; no roles are all.
    pub fn plays_any(&self, agent: Known<'_>, roles: &[String]) -> bool {
        roles.is_empty() || roles.iter().any(|role| self.plays(agent, role))
    }

    /// Tells whether an agent plays a role.
    pub fn plays(&self, agent: Known<'_>, role: &str) -> bool {
        if role == "lead" {
            return agent.name == LEAD;
        }
        if agent.name == LEAD {
            return false;
        }
        if !agent.given.is_empty() {
            return agent.given == role;
        }
        let patterns = self.roles.get(role).map(Vec::as_slice).unwrap_or_default();
        patterns.iter().any(|pattern| {
            matches(pattern, agent.name) || (!agent.kind.is_empty() && matches(pattern, agent.kind))
        })
    }

    /// Tells whether an agent plays any role of this table.
    pub fn knows(&self, agent: Known<'_>) -> bool {
        agent.name == LEAD || !agent.given.is_empty() || self.roles.keys().any(|role| self.plays(agent, role))
    }

    /// Finds whether a role given by name binds, such as `coder_name`.
    pub fn role_named(&self, key: &str) -> Option<&str> {
        self.named.get(key).map(String::as_str)
    }
}

impl Signal {
    /// Tells whether turns of agents that it names answer it.
    pub fn is_answered_by_starts(&self) -> bool {
        self.answers.iter().any(|answer| !answer.started.is_empty())
    }
}

impl Answer {
    /// Tells whether a head is one of the answer's.
    pub fn has_head(&self, head: &str) -> bool {
        self.heads.iter().any(|pattern| matches(pattern, head))
    }
}

/// Tells whether a word fits a pattern, in which `*` at either end stands for any rest.
pub fn matches(pattern: &str, word: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(rest), Some(_)) => word.contains(rest.trim_end_matches('*')),
        (Some(end), None) => word.ends_with(end),
        (None, Some(start)) => word.starts_with(start),
        (None, None) => pattern == word,
    }
}
