//! Teams of subctl: what a call shows against their protocol is told to its sender, as facts, once. Other teams hear
//! nothing of it.

use std::env;

use super::scene::Scene;
use crate::model::event::What;
use crate::model::judge::LEAD;
use crate::model::subctl::{Breach, facts};
use crate::model::team::Team;
use crate::protocol::subctl::breaches;
use crate::store::{journal, signals};

/// The lines of a journal that tell who is there, what was told, and how the tasks stand.
const WHO: [&str; 9] = [
    "\"agent_st",
    "\"session_",
    "\"spawn\":",
    "\"names\":",
    "\"roster\"",
    "\"subctl",
    "\"task_change\":",
    "\"plan\"",
    "\"operator\":true",
];

/// The role that subctl gave this session: lead or worker; empty = none.
fn role() -> String {
    let role = env::var("SUBCTL_AGENT_ROLE").unwrap_or_default().trim().to_ascii_lowercase();
    if matches!(role.as_str(), "lead" | "worker") { role } else { String::new() }
}

/// A call ended: what its sender is told.
pub(super) fn told(scene: &Scene) -> Option<String> {
    let tool = scene.payload.tool();
    if scene.payload.event != "PostToolUse"
        || !matches!(tool, "SendMessage" | "Agent" | "Task" | "TaskCreate" | "TaskUpdate")
    {
        return None;
    }
    let role = role();
    let is_worker = !scene.event.is_lead() || role == "worker";
    let mut found = breaches(&scene.payload, is_worker);
    // Most calls end here: nothing could be told, and nothing is read.
    if found.is_empty() && scene.event.task.is_none() && role.is_empty() {
        return None;
    }
    let policy = scene.policy();
    if policy.subctl.enabled == Some(false) {
        return None;
    }
    let rules = signals::rules(&policy);
    let ledger = journal::fold_before(&scene.root, &WHO, rules, &scene.event).ok()?;
    let none = Team::default();
    let (team, who) = ledger.graph.team_of(&scene.event).unwrap_or((&none, LEAD.to_owned()));
    note_role(scene, team, &who, &role);
    if role.is_empty() && !team.is_subctl(ledger.graph.rules()) {
        return None;
    }
    let is_alone = role.is_empty() && !team.nodes.iter().any(|(name, node)| name != LEAD && node.teammate);
    found.retain(|breach| !(is_alone && matches!(breach, Breach::SpawnOutsideTeam { .. })));
    let actor = if role == "worker" && who == LEAD { "worker" } else { who.as_str() };
    found.extend(scene.event.task.iter().flat_map(|change| team.task_breaches(actor, change)));
    found.retain(|breach| !team.was_told(&breach.key(&who)));
    if found.is_empty() {
        return None;
    }
    let told = |breach: &Breach| scene.of_session(What::Helped { key: breach.key(&who) });
    scene.journal(&found.iter().map(told).collect::<Vec<_>>());
    Some(facts(&found))
}

/// The journal is told once what the session's environment says, so that the daemon knows it too.
fn note_role(scene: &Scene, team: &Team, who: &str, role: &str) {
    let is_known = if who == LEAD || scene.event.is_lead() && team.subctl.is_empty() {
        team.subctl == role
    } else {
        !team.subctl.is_empty()
    };
    if !role.is_empty() && !is_known {
        scene.journal(&[scene.of_session(What::Subctl { role: role.to_owned() })]);
    }
}

/// Tells whether the teammate that goes idle does so rightly: its work is acknowledged, it is ready for the next, or it
/// waits for a decision on its plan. Read only where it would be told otherwise.
pub(super) fn is_idle(scene: &Scene) -> bool {
    let rules = signals::rules(&scene.policy());
    journal::fold_with(&scene.root, rules).is_ok_and(|ledger| {
        ledger.graph.team_of(&scene.event).is_some_and(|(team, name)| {
            team.is_subctl(ledger.graph.rules())
                && (team.is_idle(&name) || team.waits_of(&name).any(|wait| wait.operator))
        })
    })
}
