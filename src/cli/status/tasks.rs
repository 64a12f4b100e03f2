//! What `status` says of plans that wait for a decision, of blocked tasks and of idle workers.

use serde_json::{Value, json};

use super::super::view::View;
use super::super::when::local;
use crate::model::chain::views;
use crate::model::idle::Why;
use crate::model::plan;
use crate::model::wait::span;
use crate::model::wording::{clock as stamp, plain};

/// Lines of one kind that are shown; the rest are counted.
const MOST: usize = 6;

/// The lines, each with its label.
pub(super) fn lines(view: &View) -> Vec<(&'static str, String)> {
    let now = view.now.wall;
    let facts = view.sight.facts(&view.ledger, view.times, None);
    let mut out = Vec::new();
    let plans = plan::waiting(&facts).into_iter().map(|(_, held, until, _)| {
        let ends = if until > now {
            format!("it expires at {}", local(until, now))
        } else {
            format!("it expired by the protocol at {}", local(until, now))
        };
        format!("{} has waited for a decision for {}; {ends}", plain(&held.who, 40), span(held.since, now))
    });
    add(&mut out, "plan", plans.collect());
    let teams = views(&facts, now);
    let blocked = teams.iter().flat_map(|team| {
        let call = |name: &str| plain(&view.ledger.graph.display(team.session, name), 40);
        team.team.blocked().into_iter().map(move |(id, task)| {
            let by = if task.blocker.is_empty() { "nothing says by what" } else { task.blocker.as_str() };
            format!(
                "task {} of {} for {}: {}",
                plain(id, 40),
                call(&task.owner),
                span(task.since, now),
                plain(by, 200)
            )
        })
    });
    add(&mut out, "blocked", blocked.collect());
    let idle = teams.iter().flat_map(|team| {
        let call = |name: &str| plain(&view.ledger.graph.display(team.session, name), 40);
        let nodes = team.team.nodes.iter().filter(|(name, _)| team.team.is_idle(name));
        nodes.filter_map(move |(name, node)| Some((call(name), node.idle.as_ref()?))).map(|(name, idle)| {
            let why = match idle.why {
                Why::Acknowledged => "its task is completed and acknowledged",
                Why::Ready => "ready for its next task",
            };
            let leaving = if idle.leaving { "; it was asked to shut down" } else { "" };
            format!("{name} for {}: {why}{leaving}", span(idle.since, now))
        })
    });
    add(&mut out, "idle", idle.collect());
    out
}

fn add(out: &mut Vec<(&'static str, String)>, label: &'static str, all: Vec<String>) {
    let rest = all.len().saturating_sub(MOST);
    out.extend(
        all.into_iter()
            .take(MOST)
            .enumerate()
            .map(|(place, line)| (if place == 0 { label } else { "" }, line)),
    );
    if rest > 0 {
        out.push(("", format!("and {rest} more")));
    }
}

/// The same as JSON: plans, tasks that are not completed, idle workers.
pub(super) fn json(view: &View) -> [Value; 3] {
    let now = view.now.wall;
    let facts = view.sight.facts(&view.ledger, view.times, None);
    let plans = plan::waiting(&facts).into_iter().map(|(key, held, until, told)| {
        let queued = view.ledger.plans.get(&key);
        json!({
            "id": queued.map(|_| &key), "request_id": queued.map(|plan| &plan.request), "worker": held.who,
            "session": held.session, "since": stamp(held.since), "age_seconds": (now - held.since).max(0) / 1000,
            "expires": stamp(until), "told": told,
        })
    });
    let plans = plans.collect();
    let teams = views(&facts, now);
    let tasks = teams.iter().flat_map(|team| {
        team.team.tasks.iter().filter(|(_, task)| task.state.is_open()).map(move |(id, task)| {
            let blocker = Some(&task.blocker).filter(|blocker| !blocker.is_empty());
            let owner = Some(&task.owner).filter(|owner| !owner.is_empty());
            json!({
                "id": id, "session": team.session, "state": task.state.word(), "since": stamp(task.since),
                "owner": owner, "blocker": blocker,
            })
        })
    });
    let tasks = tasks.collect();
    let idle = teams.iter().flat_map(|team| {
        team.team.nodes.iter().filter(|(name, _)| team.team.is_idle(name)).filter_map(move |(name, node)| {
            let idle = node.idle.as_ref()?;
            Some(json!({
                "name": name, "session": team.session, "since": stamp(idle.since),
                "why": match idle.why { Why::Acknowledged => "acknowledged", Why::Ready => "ready" },
                "leaving": idle.leaving,
            }))
        })
    });
    [Value::Array(plans), Value::Array(tasks), Value::Array(idle.collect())]
}
