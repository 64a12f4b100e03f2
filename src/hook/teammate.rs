//! Agents other than the lead: they begin and end turns, go idle, and write to names that do not exist.

use super::Reply;
use super::answer;
use super::heartbeat;
use super::scene::Scene;
use super::subctl;
use crate::model::event::What;
use crate::model::judge::LEAD;
use crate::model::wording;
use crate::store::{activity_file, journal};

/// A teammate is told at most this often that it is still listed as working, until it works again.
const MOST_TOLD: u32 = 2;

/// An agent begins a turn.
pub(super) fn started(scene: &Scene) -> Reply {
    let name = scene.event.name.as_str();
    let now = scene.now.seconds();
    scene.note_fault(heartbeat::beat(scene, |activity| {
        if !name.is_empty() {
            activity.add_teammate(name, now);
        }
    }));
    if name.is_empty() || !scene.policy().is_on_roster(name) {
        return Reply::Silence;
    }
    let text = wording::spawn_acknowledged(name, scene.payload.agent());
    answer::acknowledgement(&scene.payload.event, &text)
}

/// An agent's turn is over. Its name stays listed while another agent of that name is in a turn; a stop without a
/// name is some internal helper's and removes nobody.
pub(super) fn stopped(scene: &Scene) {
    let name = scene.event.name.as_str();
    let another = || {
        journal::fold_lines_with(&scene.root, &["\"agent_st", "\"session_"])
            .is_ok_and(|ledger| ledger.another_runs(name, &scene.event.agent))
    };
    let stays = name.is_empty() || another();
    scene.note_fault(heartbeat::beat(scene, |activity| {
        if !stays {
            activity.active_teammates.remove(name);
        }
    }));
}

/// A teammate goes idle. Still listed as working, it is told so, at most twice until it works again: one that
/// rightly waits for a message must not be kept busy by us.
pub(super) fn idle(scene: &mut Scene) -> Reply {
    let name = scene.event.name.clone();
    let is_told = is_listed(scene, &name)
        && !scene.policy().rule.exempt_phases.iter().any(|phase| phase == scene.stage())
        && times_told(scene, &name) < MOST_TOLD
        && !subctl::is_idle(scene);
    scene.event.what = What::Idle { told: is_told };
    scene.note_fault(heartbeat::beat(scene, |_| ()));
    if is_told { Reply::Wake(wording::still_listed(&name, scene.stage())) } else { Reply::Silence }
}

fn is_listed(scene: &Scene, name: &str) -> bool {
    !name.is_empty()
        && activity_file::load(&scene.root)
            .is_some_and(|loaded| loaded.activity.active_teammates.contains_key(name))
}

fn times_told(scene: &Scene, name: &str) -> u32 {
    let event = &scene.event;
    journal::fold_lines_with(&scene.root, &[&event.agent, name])
        .map_or(0, |ledger| ledger.idle_told(&event.session, &event.agent))
}

/// Tells the sender which names exist in its session, the most alike first.
pub(super) fn undeliverable(scene: &Scene, to: &str) -> String {
    let mut names: Vec<String> = vec![LEAD.to_owned()];
    let listed = activity_file::load(&scene.root).map(|loaded| loaded.activity).unwrap_or_default();
    names.extend(listed.teammates().map(ToOwned::to_owned));
    if let Ok(ledger) = journal::fold_lines_with(&scene.root, &["\"agent_st", "\"session_"])
        && let Some(session) = ledger.sessions.get(&scene.event.session)
    {
        names.extend(session.agents.values().map(|agent| agent.name.clone()).filter(|name| !name.is_empty()));
    }
    names.sort();
    names.dedup();
    let own = if scene.event.is_lead() { LEAD } else { scene.event.name.as_str() };
    names.retain(|name| name != own);
    names.sort_by(|a, b| likeness(b, to).total_cmp(&likeness(a, to)));
    wording::undeliverable(to, &names)
}

fn likeness(name: &str, to: &str) -> f32 {
    let (name, to) = (name.to_lowercase(), to.to_lowercase());
    similar::TextDiff::from_chars(name.as_str(), to.as_str()).ratio()
}
