//! An agent's turn is about to end: a mind without its marker, a reviewer with an approval that the boss has not heard
//! of, a boss that called the build complete too early or passed over a silent mind.

use super::super::scene::Scene;
use super::{Refusal, seen};
use crate::model::event::Event;
use crate::model::ledger::Ledger;
use crate::model::moment::millis;
use crate::model::signals::Rules;
use crate::model::team::Team;
use crate::model::wording::clock;
use crate::protocol::guards::Violation;
use crate::protocol::guards::artifact::{MINDS, status};
use crate::protocol::guards::handoff::{
    Archive, Who, archive, called_complete, is_leaving, unanswered, unpaired,
};
use crate::store::{guarded, iter_log, journal, signals};

const GUARD: &str = "subagent_stop";
/// The lines of a journal that tell who plays what, and what was said.
const WORDS: [&str; 6] =
    ["\"agent_st", "\"session_", "\"spawn\":", "\"message\":", "\"roster\"", "\"snapshot\""];

/// Looks at the agent that is about to stop.
pub(super) fn look(scene: &Scene) -> Option<Refusal> {
    let name = scene.event.name.as_str();
    if name.is_empty() {
        return None;
    }
    let mind = MINDS.iter().find(|(mind, _)| is_called(name, mind));
    let violation = match mind {
        Some((_, file)) => Some(marker(scene, file)?),
        None => None,
    };
    let events = seen(scene, journal::selected(&scene.root, &WORDS))?;
    let who = Who { session: &scene.event.session, agent: &scene.event.agent };
    // Agreeing to its end ends an agent: nothing may hold up the teardown of its team.
    if is_leaving(&events, who) {
        return None;
    }
    let violations = match violation {
        Some(violation) => vec![violation],
        None => by_role(scene, &events, who),
    };
    Refusal::of(GUARD, name, &format!("{name} is about to stop with work undone."), &violations)
}

fn is_called(name: &str, mind: &str) -> bool {
    name.strip_prefix(mind).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The mind's file does not begin with the marker.
fn marker(scene: &Scene, file: &str) -> Option<Violation> {
    let text = seen(scene, guarded::text(&scene.root.in_kiln(file)))?;
    status(&format!(".kiln/{file}"), text.as_deref())
}

/// What the agent's role asks of it; roles are those of the tables and those that CYCLE_WORKERS gave.
fn by_role(scene: &Scene, events: &[Event], who: Who<'_>) -> Vec<Violation> {
    let Some(policy) = scene.settings() else { return Vec::new() };
    let rules = signals::rules(&policy);
    let mut ledger = Ledger::with(rules.clone());
    for event in events {
        ledger.apply(event);
    }
    let graph = &ledger.graph;
    let (session, name) = graph.place(&scene.event.session, &scene.event.agent, &scene.event.name);
    let none = Team::default();
    let team = graph.teams.get(&session).unwrap_or(&none);
    let plays = |name: &str, role: &str| {
        let name = team.resolve(&rules, name);
        rules.tables.iter().any(|table| table.plays(team.known(&name), role))
    };
    if plays(&name, "reviewer") {
        return reviewer(&name, unpaired(events, who, &|to| plays(to, "boss")));
    }
    if plays(&name, "boss") {
        return boss(scene, events, who, &rules, &|to| plays(to, "mind"));
    }
    Vec::new()
}

fn reviewer(name: &str, unpaired: u32) -> Vec<Violation> {
    let fault = match unpaired {
        0 => return Vec::new(),
        1 => "is not paired with IMPLEMENTATION_APPROVED to the boss".to_owned(),
        n => format!("is not paired with IMPLEMENTATION_APPROVED to the boss, {n} times"),
    };
    let way_out = "every APPROVED goes with an IMPLEMENTATION_APPROVED by SendMessage to krs-one; a closing text reaches \
                   the lead at most";
    vec![Violation::new(name, "APPROVED", fault, way_out)]
}

fn boss(
    scene: &Scene,
    events: &[Event],
    boss: Who<'_>,
    rules: &Rules,
    is_mind: &dyn Fn(&str) -> bool,
) -> Vec<Violation> {
    let name = scene.event.name.as_str();
    let mut found = Vec::new();
    if called_complete(events, boss) {
        let fault = match archive(events, boss.session) {
            Archive::NotAsked => Some("was sent without a FINAL_ARCHIVE_CHECK to thoth"),
            Archive::Open => Some("was sent before thoth answered FINAL_ARCHIVE_CHECK"),
            Archive::Blocked => Some("was sent although thoth answered ARCHIVE_BLOCKED"),
            Archive::Ready => None,
        };
        let way_out = "BUILD_COMPLETE follows thoth's ARCHIVE_READY";
        found.extend(fault.map(|fault| Violation::new(name, "BUILD_COMPLETE", fault, way_out)));
    }
    let within = rules.row("kiln", "ITERATION_UPDATE").and_then(|row| row.within).map_or(60_000, millis);
    let silent = unanswered(events, boss, within, is_mind);
    if silent.is_empty() {
        return found;
    }
    let Some(written) = seen(scene, iter_log::written(&scene.root)) else { return found };
    for asked in silent.iter().filter(|asked| written.is_none_or(|written| written < asked.asked)) {
        let fault = format!(
            "has no line since {} of {} to {} was not answered",
            asked.head,
            clock(asked.asked),
            asked.mind
        );
        let way_out = "a mind that is passed over after 60 s leaves a warning in the iteration log";
        found.push(Violation::new(".kiln/docs/iter-log.md", "the log", fault, way_out));
    }
    found
}
