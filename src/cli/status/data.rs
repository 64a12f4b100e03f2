//! What `status --json` prints.

use serde_json::{Value, json};

use super::super::json;
use super::super::view::View;
use super::{tasks, tracks};
use crate::model::judge::{Reason, Verdict, agents, name_of};
use crate::model::wording::clock as stamp;
use crate::store::pending::Pending;
use crate::system::launch;

/// All that `status` knows.
pub(super) fn json(view: &View) -> Value {
    let facts = view.sight.facts(&view.ledger, view.times, None);
    let agents: Vec<Value> = agents(&facts)
        .map(|(session, id, agent)| {
            json!({
                "session": session, "id": id, "name": name_of(id, agent), "state": agent.state.word(),
                "since": stamp(agent.since),
                "tools": agent.tools.iter().map(|tool| json!({"tool": tool.tool, "since": stamp(tool.since)})).collect::<Vec<_>>(),
                "asks": agent.asked.as_ref().map(|asked| json!({"for": asked.what.words(), "since": stamp(asked.since)})),
            })
        })
        .collect();
    let until = match &view.verdict {
        Verdict::Quiet { until, .. } => until.map(stamp),
        _ => None,
    };
    let activity = view.sight.activity.as_ref().map(|activity| {
        json!({
            "last_activity": stamp(activity.last_activity_ts * 1000), "source": activity.last_activity_source,
            "idle_seconds": view.times.idle.as_secs(), "active_teammates": activity.teammates().collect::<Vec<_>>(),
            "nudge_count": activity.nudge_count, "epoch": activity.epoch,
        })
    });
    let [plans, tasks, idle] = tasks::json(view);
    let (tracks, findings) = tracks::json(view);
    json!({
        "v": 1, "root": view.root.path().to_string_lossy(), "at": stamp(view.now.wall), "exit": view.exit(),
        "daemon": daemon(view), "stage": view.sight.stage, "active": view.sight.is_active(),
        "verdict": view.verdict.word(), "reason": view.verdict.reason_word(), "held": held(view), "until": until,
        "next": view.next(), "activity": activity, "agents": agents,
        "sessions": {"living": view.sight.living, "dead": view.sight.dead},
        "diagnosis": view.diagnosis().as_ref().map(json::diagnosis),
        "waits": view.edges().iter().map(json::edge).collect::<Vec<_>>(),
        "plans": plans, "tasks": tasks, "idle": idle,
        "recognised": view.recognised().json(), "tracks": tracks, "findings": findings,
        "pending": pending(view), "flag": flag(view), "faults": view.sight.faults,
    })
}

fn daemon(view: &View) -> Value {
    let (state, beacon) = match &view.daemon {
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

fn held(view: &View) -> Value {
    match &view.verdict {
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

fn pending(view: &View) -> Value {
    match &view.pending {
        Pending::Nothing => Value::Null,
        Pending::Staged(nudge) => {
            json!({"n": nudge.number, "since": stamp(nudge.timestamp * 1000), "session": nudge.session})
        }
        Pending::Broken(fault) => json!({"broken": fault}),
    }
}

fn flag(view: &View) -> Value {
    view.flag.as_ref().map_or(Value::Null, |flag| {
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
