//! `status`: is it watching, is the pipeline moving, what happens next and when, who is active, what is pending.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::explain::diagnosis_json;
use super::graph::edge_json;
use super::json_line;
use super::place::Place;
use super::recognised::Recognised;
use super::status_tasks;
use super::status_text::{self, local};
use super::status_tracks;
use crate::daemon::sight::{Memo, find_stage, look};
use crate::model::cause::Diagnosis;
use crate::model::diagnosis::diagnose;
use crate::model::judge::{Reason, Verdict, agents, judge, name_of};
use crate::model::ledger::{Ledger, State};
use crate::model::moment::{Millis, Moment};
use crate::model::nudge::Flag;
use crate::model::policy::Policy;
use crate::model::rule::{Times, nudges_so_far};
use crate::model::sight::Sight;
use crate::model::stall::{Memory, Seen, effective_stamp};
use crate::model::wait::span;
use crate::model::wording::{clock as stamp, plain};
use crate::store::beacon::Beacon;
use crate::store::file::obstacle;
use crate::store::pending::{self, Pending};
use crate::store::root::Root;
use crate::store::{flag_file, journal, signals};
use crate::system::process::boot_id;
use crate::system::{clock, launch};

/// Options of `status`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show it again every second until interrupted
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    if !args.watch {
        let view = View::of(place)?;
        show(&view, args.json)?;
        return Ok(ExitCode::from(view.exit()));
    }
    let is_terminal = std::io::stdout().is_terminal();
    loop {
        let view = View::of(place)?;
        if is_terminal {
            write!(anstream::stdout(), "\x1b[H\x1b[2J")?;
        }
        show(&view, args.json)?;
        thread::sleep(Duration::from_secs(1));
    }
}

fn show(view: &View, json: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    if json {
        writeln!(out, "{}", json_line(&view.json()))?;
    } else {
        write!(out, "{}", status_text::render(view))?;
    }
    out.flush()?;
    Ok(())
}

/// All that `status` and `check` know of a root.
pub(super) struct View {
    pub(super) root: Root,
    pub(super) policy: Policy,
    pub(super) now: Moment,
    pub(super) sight: Sight,
    pub(super) ledger: Ledger,
    pub(super) daemon: launch::Daemon,
    pub(super) verdict: Verdict,
    pub(super) times: Times,
    pub(super) pending: Pending,
    pub(super) flag: Option<Flag>,
}

impl View {
    /// Looks at the project.
    pub(super) fn of(place: &Place) -> anyhow::Result<Self> {
        let root = place.root()?;
        let policy = place.config(Some(&root))?.policy;
        let now = clock::now();
        let mut sight = look(&root, &mut Memo::default());
        let mut ledger = journal::fold_with(&root, signals::rules(&policy)).unwrap_or_else(|error| {
            sight.faults.push(crate::store::file::chain(&error));
            Ledger::default()
        });
        ledger.kilnless = !root.is_kiln();
        find_stage(&root, &ledger, &mut sight);
        let daemon = launch::look(&root, now);
        let beacon = match &daemon {
            launch::Daemon::Running(Some(beacon)) | launch::Daemon::Stuck(beacon) => Some(beacon.as_ref()),
            _ => None,
        };
        sight.faults.extend(beacon.iter().flat_map(|beacon| beacon.faults.iter().cloned()));
        sight.faults.extend(obstacle(&root.home()));
        sight.faults.extend(root.check().err().map(|error| crate::store::file::chain(&error)));
        let seen: BTreeSet<String> = std::mem::take(&mut sight.faults).into_iter().collect();
        sight.faults = seen.into_iter().collect();
        let times =
            sight.activity.as_ref().map_or(Times { idle: Duration::ZERO, since_nudge: None }, |activity| {
                memory(beacon, activity.last_activity_ts, activity.last_nudge_ts)
                    .times(activity, &ledger, now)
            });
        // A daemon that is settling says nothing for a while: so do we for it.
        let settling = beacon.filter(|beacon| beacon.reason == "settling").map(|beacon| {
            Duration::from_millis(beacon.tick_ms)
                .saturating_sub(launch::silence(beacon, now))
                .max(Duration::from_millis(1))
        });
        let verdict = judge(&sight.facts(&ledger, times, settling), &policy, now);
        let (pending, flag) = (pending::look(&root), flag_file::load(&root));
        Ok(Self { root, policy, now, sight, ledger, daemon, verdict, times, pending, flag })
    }

    /// Why it is silent, if it is.
    pub(super) fn diagnosis(&self) -> Option<Diagnosis> {
        let facts = self.sight.facts(&self.ledger, self.times, None);
        (self.sight.is_active() && (self.is_stalled() || self.flag.is_some()))
            .then(|| diagnose(&facts, self.now.wall))
    }

    /// Silent, and nudged or about to be.
    pub(super) fn is_stalled(&self) -> bool {
        !matches!(&self.verdict, Verdict::Quiet { reason, .. } if *reason != Reason::Debounce)
    }

    /// 0 watching and healthy, 1 stalled or nudged, 2 flagged, 3 no daemon, 4 no pipeline.
    pub(super) fn exit(&self) -> u8 {
        if !self.sight.is_active() {
            return 4;
        }
        if self.flag.is_some() {
            return 2;
        }
        match self.daemon {
            launch::Daemon::None | launch::Daemon::Stuck(_) => 3,
            launch::Daemon::Running(_) => u8::from(self.is_stalled()),
        }
    }

    fn json(&self) -> Value {
        let facts = self.sight.facts(&self.ledger, self.times, None);
        let agents: Vec<Value> = agents(&facts)
            .map(|(session, id, agent)| {
                json!({
                    "session": session, "id": id, "name": name_of(id, agent), "state": state_word(agent.state),
                    "since": stamp(agent.since),
                    "tools": agent.tools.iter().map(|tool| json!({"tool": tool.tool, "since": stamp(tool.since)})).collect::<Vec<_>>(),
                    "asks": agent.asked.as_ref().map(|asked| json!({"for": asked.what.words(), "since": stamp(asked.since)})),
                })
            })
            .collect();
        let until = match &self.verdict {
            Verdict::Quiet { until, .. } => until.map(stamp),
            _ => None,
        };
        let activity = self.sight.activity.as_ref().map(|activity| {
            json!({
                "last_activity": stamp(activity.last_activity_ts * 1000), "source": activity.last_activity_source,
                "idle_seconds": self.times.idle.as_secs(), "active_teammates": activity.teammates().collect::<Vec<_>>(),
                "nudge_count": activity.nudge_count, "epoch": activity.epoch,
            })
        });
        let [plans, tasks, idle] = status_tasks::json(self);
        let (tracks, findings) = status_tracks::json(self);
        json!({
            "v": 1, "root": self.root.path().to_string_lossy(), "at": stamp(self.now.wall), "exit": self.exit(),
            "daemon": self.daemon_json(), "stage": self.sight.stage, "active": self.sight.is_active(),
            "verdict": self.verdict.word(), "reason": self.verdict.reason_word(), "held": self.held(), "until": until,
            "next": self.next(), "activity": activity, "agents": agents,
            "sessions": {"living": self.sight.living, "dead": self.sight.dead},
            "diagnosis": self.diagnosis().as_ref().map(diagnosis_json),
            "waits": self.edges().iter().map(edge_json).collect::<Vec<_>>(),
            "plans": plans, "tasks": tasks, "idle": idle,
            "recognised": self.recognised().json(), "tracks": tracks, "findings": findings,
            "pending": self.pending_json(), "flag": self.flag_json(), "faults": self.sight.faults,
        })
    }

    /// What the project was recognised by.
    pub(super) fn recognised(&self) -> Recognised {
        Recognised::of(&self.root, &self.policy, self.sight.stage.as_deref())
    }

    fn daemon_json(&self) -> Value {
        let (state, beacon) = match &self.daemon {
            launch::Daemon::None => ("none", None),
            launch::Daemon::Running(beacon) => ("running", beacon.as_ref()),
            launch::Daemon::Stuck(beacon) => ("stuck", Some(beacon)),
        };
        let mut value = json!({"state": state});
        if let Some(beacon) = beacon {
            value["pid"] = json!(beacon.pid);
            value["version"] = json!(beacon.version);
            value["since"] = json!(stamp(beacon.started));
            value["last_tick"] = json!(stamp(beacon.last_tick));
            value["watching"] = json!(beacon.watching);
            value["mode"] = json!(beacon.mode);
        }
        value
    }

    fn held(&self) -> Value {
        match &self.verdict {
            Verdict::Quiet {
                reason:
                    Reason::ToolRunning(held)
                    | Reason::WaitsForPerson(held)
                    | Reason::WorkerRunning(held)
                    | Reason::ApiHold(held),
                ..
            } => {
                json!({"who": held.who, "what": held.what, "since": stamp(held.since), "session": held.session})
            }
            _ => Value::Null,
        }
    }

    fn pending_json(&self) -> Value {
        match &self.pending {
            Pending::Nothing => Value::Null,
            Pending::Staged(nudge) => {
                json!({"n": nudge.number, "since": stamp(nudge.timestamp * 1000), "session": nudge.session})
            }
            Pending::Broken(fault) => json!({"broken": fault}),
        }
    }

    fn flag_json(&self) -> Value {
        self.flag.as_ref().map_or(Value::Null, |flag| {
            let mut value = json!({
                "since": stamp(flag.timestamp * 1000), "cause": flag.cause, "diagnosis": flag.diagnosis,
                "error": flag.error,
            });
            if let Some(why) = &flag.why {
                value["why"] = json!(why);
                value["root"] = json!(flag.root);
                value["evidence"] = json!(flag.evidence);
            }
            value
        })
    }

    /// What happens next and when, in one sentence.
    pub(super) fn next(&self) -> String {
        let watched = matches!(self.daemon, launch::Daemon::Running(_));
        let unless = if watched { "" } else { " (by a daemon, once one runs)" };
        match &self.verdict {
            Verdict::Quiet { reason: Reason::Active, until: Some(until) } => {
                format!("{}{unless} if nothing happens until {}", self.due(), local(*until, self.now.wall))
            }
            Verdict::Quiet { reason: Reason::Debounce, until: Some(until) } => {
                format!("{}{unless} at {} unless work is seen", self.due(), local(*until, self.now.wall))
            }
            Verdict::Quiet { reason, until } => reason_words(reason, *until, self.now.wall),
            _ => format!("{}{unless} now", self.due()),
        }
    }

    fn due(&self) -> String {
        let rule = &self.policy.rule;
        let so_far = self.sight.activity.as_ref().map_or(0, |activity| {
            let stamp = effective_stamp(activity, &self.ledger).min(self.now.seconds());
            nudges_so_far(&activity.by(stamp), rule)
        });
        if so_far < rule.max_nudges {
            format!("nudge {} of {}", so_far + 1, rule.max_nudges)
        } else {
            "the flag".to_owned()
        }
    }
}

/// What the daemon remembers of the stamps, as far as it is still about them.
fn memory(beacon: Option<&Beacon>, activity: i64, nudge: i64) -> Memory {
    let Some(beacon) = beacon.filter(|beacon| beacon.boot_id == boot_id()) else { return Memory::default() };
    let seen = |seen: Option<(i64, u64, u64)>, stamp: i64| {
        seen.filter(|(known, ..)| *known == stamp).map(|(stamp, awake, before)| Seen {
            stamp,
            awake: Duration::from_millis(awake),
            before: Duration::from_millis(before),
        })
    };
    Memory { activity: seen(beacon.seen_activity, activity), nudge: seen(beacon.seen_nudge, nudge) }
}

/// Why it is quiet, and how that ends.
pub(super) fn reason_words(reason: &Reason, until: Option<Millis>, now: Millis) -> String {
    let by = until.map(|until| format!(" until {}", local(until, now))).unwrap_or_default();
    match reason {
        Reason::NoPipeline => "there is no pipeline: .kiln/STATE.md names no stage".to_owned(),
        Reason::Complete => "the pipeline is complete".to_owned(),
        Reason::Flagged => "DEADLOCK.flag lies there; a person has to look".to_owned(),
        Reason::Paused => format!("paused by the operator{by}"),
        Reason::ExemptPhase(phase) => format!("silence is no stall in phase {}", plain(phase, 40)),
        Reason::Active if until.is_none() => "no work has been seen yet".to_owned(),
        Reason::Active => format!("work was seen; no stall{by}"),
        Reason::Debounce => {
            format!("nudged a short time ago; the next step is due{}", by.replace(" until", " at"))
        }
        Reason::Settling => {
            "the watcher has just begun, could not write, or the clock jumped or slept: a moment of grace"
                .to_owned()
        }
        Reason::ToolRunning(held) => {
            format!(
                "{} runs {} since {}; that explains silence{by}",
                plain(&held.who, 40),
                plain(&held.what, 40),
                local(held.since, now)
            )
        }
        Reason::WorkerRunning(held) => {
            let step = if held.what.is_empty() {
                String::new()
            } else {
                format!(" (step {})", plain(&held.what, 40))
            };
            let since = local(held.since, now);
            format!(
                "{} runs{step}, last heard of at {since}; that explains silence{by}",
                plain(&held.who, 80)
            )
        }
        Reason::WaitsForPerson(held) => {
            format!(
                "{} waits for a person since {} ({}); a nudge would not help",
                plain(&held.who, 40),
                local(held.since, now),
                plain(&held.what, 60)
            )
        }
        Reason::ApiHold(held) => {
            format!("the API answered {} {} ago and holds{by}", plain(&held.what, 40), span(held.since, now))
        }
    }
}

/// An agent's state in one word.
pub(super) fn state_word(state: State) -> &'static str {
    match state {
        State::Working => "working",
        State::TurnOver => "turn over",
        State::Gone => "gone",
    }
}
