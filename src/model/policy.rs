//! Every number and list that the rule and the judge use. Nothing else in `model` holds a constant of its own
//! for them; `store::config` reads them from files, environment and flags.

use std::sync::Arc;
use std::time::Duration;

use super::judge::LEAD;
use super::signals::{POLLING, Rules, Table};

/// All that a person may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The rule of the Kiln protocol.
    pub rule: Rule,
    /// Limits of the reasons to stay quiet.
    pub quiet: Quiet,
    /// How the daemon runs.
    pub daemon: Daemon,
    /// How the bridge runs.
    pub bridge: Bridge,
    /// Which guards of the protocol hold, once they are registered.
    pub guards: Guards,
    /// Task folders of workers.
    pub tasks: Tasks,
    /// Team message sessions.
    pub team: Team,
    /// Who gets a spawn acknowledgement: agent names, without a leading `kiln:`. A trailing `*` matches any rest.
    pub roster: Vec<String>,
    /// What the lead is called.
    pub lead: String,
    /// Agents that exist although no event of them was seen.
    pub members: Vec<String>,
    /// Tools that are meant to be called again and again.
    pub polling_tools: Vec<String>,
    /// Tables of signals of the project's own.
    pub tables: Vec<Arc<Table>>,
    /// How teams of subctl are watched.
    pub subctl: Subctl,
    /// Whom to tell, and when.
    pub alerts: Vec<Alert>,
}

/// The rule's numbers (`kiln-protocol`, "Engine-internal hook mechanisms").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Silence that makes a stall; strictly more than this.
    pub idle_after: Duration,
    /// At least this long between two nudges; strictly more than this.
    pub nudge_every: Duration,
    /// Nudges in one episode before the flag.
    pub max_nudges: u32,
    /// Work for this long after a nudge ends the episode; strictly more than this.
    pub recovered_after: Duration,
    /// An answer for which no table of signals sets a time is overdue after this.
    pub reply_after: Duration,
    /// Phases in which silence is no stall.
    pub exempt_phases: Vec<String>,
    /// Phases in which a lead whose turn is over waits for a person.
    pub interactive_phases: Vec<String>,
}

/// Limits of the reasons to stay quiet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// A running tool explains silence for this long, or for its own timeout and a minute if that is longer.
    pub tool_limit: Duration,
    /// A person who has been asked for this long is told once more, out of band.
    pub tell_person_after: Duration,
    /// A question to a person explains silence for this long: a dialog that was dismissed leaves no event behind it.
    pub person_limit: Duration,
    /// The longest hold for an API that said "wait".
    pub api_hold_max: Duration,
}

/// How the daemon runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// The longest sleep between two looks; the floor when file events are lost.
    pub tick: Duration,
    /// Whether verdicts are carried out.
    pub mode: Mode,
    /// A daemon outlives the last session that ended by this much.
    pub linger: Duration,
    /// Clients that are gone without a word for this long are lost, and a pipeline in flight is flagged.
    pub lost_after: Duration,
}

/// Whether verdicts are carried out or only journalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nudge and escalate.
    Act,
    /// Write the journal, touch nothing else.
    Observe,
}

/// How the bridge runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// The longest life of one bridge. `install` registers the hook with a timeout a minute above it.
    pub life: Duration,
}

/// Which guards of the protocol hold (`watchdog install --guards`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one switch for each guard")]
pub struct Guards {
    /// Critical tasks say milestone, chunk and role when they are made.
    pub task_created: bool,
    /// Critical tasks are done when their metadata proves it.
    pub task_completed: bool,
    /// Persistent-state files and artifacts have the protocol's shape.
    pub state_files: bool,
    /// Minds, reviewers and the boss do not stop with work undone.
    pub subagent_stop: bool,
    /// Nobody reads or writes files of secrets.
    pub secrets: bool,
}

impl Guards {
    /// Tells whether a guard holds, by its setting's name.
    pub fn holds(&self, name: &str) -> bool {
        match name {
            "task_created" => self.task_created,
            "task_completed" => self.task_completed,
            "state_files" => self.state_files,
            "subagent_stop" => self.subagent_stop,
            "secrets" => self.secrets,
            _ => false,
        }
    }
}

/// How teams of subctl are watched (`subctl-team-protocol`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subctl {
    /// Whether teams are held to its protocol; none = those that are known to speak it.
    pub enabled: Option<bool>,
    /// The queue of plans; empty = where subctl's master keeps it.
    pub plan_queue: String,
    /// Requests that an hour has passed over are expired by us.
    pub expire_plans: bool,
    /// Teams of this project, as the queue names them.
    pub teams: Vec<String>,
    /// The lead is told of a worker that has been parked for this long.
    pub parked_after: Duration,
}

/// Task folders of workers (`worker-signal-protocol`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tasks {
    /// Where they are, relative to the root; `*` stands for any name or part of one.
    pub folders: Vec<String>,
    /// A track that runs and is silent for this long is a stall of its own. Without hooks the tools of its worker cannot
    /// be seen, and a long run of tests must be no alarm.
    pub silent_after: Duration,
}

/// Team message sessions (`knowledge-transfer-protocols`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// Where they are, relative to the root; `*` stands for any name or part of one.
    pub sessions: Vec<String>,
}

/// One way to tell a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The occasions: nudge, escalate, waiting, recovered, `session_lost`.
    pub on: Vec<String>,
    /// A command and its arguments; `{summary}` is replaced in each. The JSON report comes on stdin.
    pub run: Vec<String>,
}

impl Default for Policy {
    fn default() -> Self {
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Self {
            rule: Rule {
                idle_after: Duration::from_secs(300),
                nudge_every: Duration::from_secs(600),
                max_nudges: 3,
                recovered_after: Duration::from_secs(1800),
                reply_after: Duration::from_secs(15 * 60),
                exempt_phases: words(&["idle", "awaiting_user", "complete"]),
                interactive_phases: words(&["onboarding", "brainstorm"]),
            },
            quiet: Quiet {
                tool_limit: Duration::from_secs(30 * 60),
                tell_person_after: Duration::from_secs(5 * 60),
                person_limit: Duration::from_secs(12 * 3600),
                api_hold_max: Duration::from_secs(6 * 3600),
            },
            daemon: Daemon {
                tick: Duration::from_secs(60),
                mode: Mode::Act,
                linger: Duration::from_secs(10),
                lost_after: Duration::from_secs(60),
            },
            bridge: Bridge { life: Duration::from_secs(12 * 3600) },
            guards: Guards {
                task_created: true,
                task_completed: true,
                state_files: true,
                subagent_stop: true,
                secrets: true,
            },
            tasks: Tasks { folders: words(&[TASKS]), silent_after: Duration::from_secs(30 * 60) },
            team: Team { sessions: words(&[TEAMS]) },
            roster: words(ROSTER),
            lead: LEAD.to_owned(),
            members: Vec::new(),
            tables: Vec::new(),
            polling_tools: words(&POLLING),
            subctl: Subctl {
                enabled: None,
                plan_queue: String::new(),
                expire_plans: false,
                teams: Vec::new(),
                parked_after: Duration::from_secs(10 * 60),
            },
            alerts: Vec::new(),
        }
    }
}

/// Where task folders are (`worker-signal-protocol`, "File location").
pub const TASKS: &str = ".task/*/*";
/// Where team message sessions are.
pub const TEAMS: &str = ".workflow/.team/*";

/// The names that the Kiln protocol itself uses: persistent minds, boss, judges, step leads, worker pairs.
const ROSTER: &[&str] = &[
    "rakim",
    "sentinel",
    "thoth",
    "numerobis",
    "krs-one",
    "team-lead",
    "alpha",
    "da-vinci",
    "mi6",
    "aristotle",
    "argus",
    "omega",
    "ken",
    "ryu",
    "denzel",
    "judge-dredd",
    "coder*",
    "reviewer*",
    "builder*",
    "critical-thinker*",
    "the-curator*",
    "dial-a-coder*",
    "codex*",
    "sphinx*",
    "bossman",
];

impl Policy {
    /// Puts tables of signals (the project's own before the built-in ones) and the settings about agents together.
    pub fn rules(&self, built_in: &[Arc<Table>]) -> Rules {
        Rules {
            tables: self.tables.iter().chain(built_in).cloned().collect(),
            lead: self.lead.clone(),
            members: self.members.clone(),
            polling: self.polling_tools.iter().cloned().collect(),
            reply_after: self.rule.reply_after,
            subctl: self.subctl.enabled,
            parked_after: self.subctl.parked_after,
            silent_after: self.tasks.silent_after,
        }
    }

    /// Tells whether a spawn of `name` is acknowledged.
    pub fn is_on_roster(&self, name: &str) -> bool {
        self.roster.iter().any(|entry| match entry.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => {
                entry == name || name.strip_prefix(entry.as_str()).is_some_and(|rest| rest.starts_with('-'))
            }
        })
    }
}

#[cfg(test)]
mod tests;
