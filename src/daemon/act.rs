//! Carrying out what a look calls for: files first, then counters, then the journal; under the lock, and only if
//! the world is still the one that was judged.

use std::time::Duration;

use crate::model::cause::Cause;
use crate::model::diagnosis::diagnose;
use crate::model::event::{Event, What};
use crate::model::judge::Facts;
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::nudge::{Flag, Nudge, id_of};
use crate::model::overdue::Note;
use crate::model::pipeline::Effect;
use crate::model::policy::{Mode, Policy};
use crate::model::rule::{Times, has_recovered};
use crate::model::sight::Sight;
use crate::model::wording;
use crate::store::activity_file::{self, Held, Loaded};
use crate::store::file::{FileError, chain};
use crate::store::recovery::{self, recover};
use crate::store::root::Root;
use crate::store::{flag_file, iter_log, journal, pending, sessions};

/// How long the daemon waits for the lock. It will look again anyway.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is judged and acted upon.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The root.
    pub root: &'a Root,
    /// The look that was judged.
    pub sight: &'a Sight,
    /// The journal, folded.
    pub ledger: &'a Ledger,
    /// The settings in force.
    pub policy: &'a Policy,
    /// When.
    pub now: Moment,
}

/// What came of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// A nudge was staged, but its counter could not be stored: why.
    Uncounted(String),
    /// The world has changed since the look: nothing was done.
    Overtaken,
}

/// Carries out one effect.
///
/// # Errors
/// A file could not be stored. A nudge that could not be stored is not counted, a flag that could not be stored
/// ends nothing.
pub fn act(scene: Scene<'_>, effect: &Effect) -> Result<Outcome, FileError> {
    let Scene { root, now, .. } = scene;
    match effect {
        Effect::Nudge { n, idle } => nudge(scene, *n, *idle),
        Effect::Escalate { nudges, idle, cause } => escalate(scene, *nudges, *idle, cause),
        Effect::TellPerson(held) => note(
            root,
            &[Event {
                session: held.session.clone(),
                agent: held.agent.clone(),
                ..Event::of_root(now.wall, What::PersonTold)
            }],
        ),
        Effect::TellPlan(key, held) => note(
            root,
            &[Event {
                session: held.session.clone(),
                ..Event::of_root(now.wall, What::PlanTold { key: key.clone() })
            }],
        ),
        Effect::CloseEpisode => close(scene),
        Effect::ClearFlag => {
            let held = activity_file::hold(root, PATIENCE)?;
            recover(root, &held, "daemon", recovery::Note::Omit, now.wall).map(|_| Outcome::Done)
        }
        Effect::EndSessions(ids) => {
            let lost =
                |id: &String| Event { session: id.clone(), ..Event::of_root(now.wall, What::SessionLost) };
            let events: Vec<Event> = ids.iter().map(lost).collect();
            for id in ids {
                sessions::end(root, id)?;
            }
            note(root, &events)
        }
        Effect::Note(told) => tell(scene, told),
        Effect::Journal(what) => note(root, &[Event::of_root(now.wall, what.clone())]),
    }
}

fn note(root: &Root, events: &[Event]) -> Result<Outcome, FileError> {
    journal::append(root, events).map(|()| Outcome::Done)
}

/// Takes the lock and reads again. None = somebody else has written since the look.
fn hold(scene: Scene<'_>) -> Result<Option<(Held<'_>, Loaded)>, FileError> {
    let held = activity_file::hold(scene.root, PATIENCE)?;
    // A file that the last session's end has taken away stays away.
    let Some(loaded) = activity_file::load(scene.root) else { return Ok(None) };
    let judged = scene.sight.activity.as_ref().map(|activity| (activity.epoch, activity.last_activity_ts));
    Ok((judged == Some((loaded.activity.epoch, loaded.activity.last_activity_ts))).then_some((held, loaded)))
}

fn facts(scene: Scene<'_>, idle: Duration) -> Facts<'_> {
    scene.sight.facts(scene.ledger, Times { idle, since_nudge: None }, None)
}

/// The file first, then the counter.
fn nudge(scene: Scene<'_>, n: u32, idle: Duration) -> Result<Outcome, FileError> {
    let Scene { root, policy, now, .. } = scene;
    let Some((held, mut loaded)) = hold(scene)? else { return Ok(Outcome::Overtaken) };
    let facts = facts(scene, idle);
    let session = scene.ledger.lead_session(|id| scene.sight.living.iter().any(|living| living == id));
    let nudge = Nudge {
        text: wording::nudge(&facts, &loaded.activity, idle.as_secs(), n, policy.rule.max_nudges, now.wall),
        timestamp: now.seconds(),
        number: n,
        id: id_of(now.wall, n),
        session: session.map(ToOwned::to_owned),
        wakes: true,
    };
    pending::stage(root, &nudge)?;
    loaded.activity.nudge_count = n;
    loaded.activity.last_nudge_ts = now.seconds();
    let counted = held.store(&mut loaded);
    let noted = note(
        root,
        &[Event::of_root(now.wall, What::Nudged { n, id: nudge.id, idle_seconds: idle.as_secs() })],
    );
    Ok(match (counted, noted) {
        (Err(error), _) => Outcome::Uncounted(chain(&error)),
        _ => Outcome::Done,
    })
}

/// A note for the lead, which is not counted. What is staged already is not lost: the note is added to it.
fn tell(scene: Scene<'_>, told: &Note) -> Result<Outcome, FileError> {
    let Scene { root, policy, now, .. } = scene;
    let session = scene.ledger.lead_session(|id| scene.sight.living.iter().any(|living| living == id));
    let is_of_track = told.diagnosis.session.is_empty() && told.diagnosis.cause.is_of_track();
    let noted = Event {
        session: told.diagnosis.session.clone(),
        ..Event::of_root(
            now.wall,
            What::Noted {
                key: told.key.clone(),
                cause: told.diagnosis.cause.word().to_owned(),
                root: told.diagnosis.root.clone(),
                words: if is_of_track { told.diagnosis.words.clone() } else { String::new() },
            },
        )
    };
    // Of a track the operator is told anyway, by what is noted: where there is no lead to tell, or a flag lies there, or
    // a person is waited for, that is all.
    let is_deaf = session.is_none() || !scene.sight.is_active() || scene.sight.flag.is_some();
    let is_for_person = matches!(told.diagnosis.cause, Cause::WaitsForPerson | Cause::TeamHalted);
    if policy.daemon.mode == Mode::Observe || (is_of_track && (is_deaf || is_for_person)) {
        return note(root, &[noted]);
    }
    if let Some(line) = &told.log {
        iter_log::append(root, line)?;
    }
    let held = activity_file::hold(root, PATIENCE)?;
    let before = pending::claim(root, |_| true)?;
    let nudge = Nudge {
        text: wording::note(&told.diagnosis, before.as_ref().map(|nudge| nudge.text.as_str())),
        timestamp: now.seconds(),
        number: before.as_ref().map_or(0, |nudge| nudge.number),
        id: id_of(now.wall, 0),
        session: session.map(ToOwned::to_owned),
        // What was found in files of others is worth knowing at the next turn, and no reason to begin one.
        wakes: told.diagnosis.cause != Cause::Violation || before.as_ref().is_some_and(|nudge| nudge.wakes),
    };
    pending::stage(root, &nudge)?;
    drop(held);
    let staged = Event::of_root(now.wall, What::Nudged { n: 0, id: nudge.id, idle_seconds: 0 });
    note(root, &[noted, staged])
}

fn escalate(scene: Scene<'_>, nudges: u32, idle: Duration, cause: &str) -> Result<Outcome, FileError> {
    let Scene { root, now, .. } = scene;
    // Clients that are gone change nothing any more: there is nothing to be overtaken by.
    let held = if cause == "session_lost" {
        None
    } else {
        match hold(scene)? {
            Some(held) => Some(held),
            None => return Ok(Outcome::Overtaken),
        }
    };
    let facts = facts(scene, idle);
    let why = diagnose(&facts, now.wall);
    let mut diagnosis = wording::flag(&facts, nudges, idle.as_secs(), now.wall);
    if cause == "session_lost" {
        diagnosis = format!("The client is gone without a word while the pipeline was active. {diagnosis}");
    }
    let flag = Flag {
        timestamp: now.seconds(),
        nudge_count: Some(nudges),
        last_activity_source: scene
            .sight
            .activity
            .as_ref()
            .map(|activity| wording::plain(&activity.last_activity_source, 200)),
        cause: Some(cause.to_owned()),
        diagnosis: Some(diagnosis),
        why: Some(why.cause.word().to_owned()),
        root: Some(why.root.clone()),
        evidence: why.evidence.clone(),
        ..Flag::default()
    };
    flag_file::store(root, &flag)?;
    // The flag speaks for itself from here on; a nudge that nobody took would only contradict it.
    pending::withdraw(root, |nudge| nudge.number > 0).ok();
    drop(held);
    // The flag is there: that its line is not must not keep the daemon from saying so.
    note(root, &[Event::of_root(now.wall, What::Escalated { n: nudges, cause: cause.to_owned() })]).ok();
    Ok(Outcome::Done)
}

fn close(scene: Scene<'_>) -> Result<Outcome, FileError> {
    let held = activity_file::hold(scene.root, PATIENCE)?;
    let Some(mut loaded) = activity_file::load(scene.root) else { return Ok(Outcome::Overtaken) };
    if loaded.activity.nudge_count == 0 || !has_recovered(&loaded.activity, &scene.policy.rule) {
        return Ok(Outcome::Overtaken);
    }
    loaded.activity.nudge_count = 0;
    held.store(&mut loaded)?;
    note(scene.root, &[Event::of_root(scene.now.wall, What::Closed)])
}
