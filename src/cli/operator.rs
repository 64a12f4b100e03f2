//! `pause`, `resume`, `nudge`: the operator's own moves.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use super::place::Place;
use super::when::local;
use crate::model::event::{Event, What};
use crate::model::moment::millis;
use crate::model::nudge::{Nudge, id_of};
use crate::model::wording::{self, MARK};
use crate::store::pending::{self, Pending};
use crate::store::{activity_file, journal, sessions, settings};
use crate::system::{clients, clock};

/// How long these commands wait for the lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// Options of `pause`.
#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    /// For how long, such as 30m or 2h
    #[arg(value_name = "FOR")]
    span: String,
}

/// Options of `nudge`.
#[derive(Debug, clap::Args)]
pub(super) struct NudgeArgs {
    /// What the lead will read (2,000 characters at most)
    text: String,
    /// Replace a message that is staged and that nobody has taken
    #[arg(long)]
    replace: bool,
}

pub(super) fn pause(args: &PauseArgs, place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    let span = settings::span(&toml::Value::String(args.span.clone()))
        .map_err(anyhow::Error::msg)
        .context("pause")?;
    let now = clock::now();
    let until = now.wall + millis(span);
    root.make_home()?;
    journal::append(&root, &[Event::of_root(now.wall, What::Paused { until })])?;
    say!("Quiet until {}. \"watchdog resume\" ends it sooner.", local(until, now.wall));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn resume(place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    let now = clock::now();
    let was_paused = journal::fold(&root)?.paused_until.is_some_and(|until| until > now.wall);
    if !was_paused {
        say!("It was not paused.");
        return Ok(ExitCode::SUCCESS);
    }
    journal::append(&root, &[Event::of_root(now.wall, What::Unpaused)])?;
    say!("Watching as before.");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn nudge(args: &NudgeArgs, place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    let most = wording::MOST - MARK.len() - 40;
    if args.text.trim().is_empty() || args.text.chars().count() > most {
        bail!("a text of 1 to {most} characters is wanted");
    }
    let now = clock::now();
    let held = activity_file::hold(&root, PATIENCE)?;
    if matches!(pending::look(&root), Pending::Staged(_)) && !args.replace {
        bail!(
            "a message is staged already and nobody has taken it; \"watchdog status\" shows it, --replace replaces it"
        );
    }
    let alive: Vec<String> = sessions::all(&root)
        .into_iter()
        .filter(clients::may_live)
        .map(|session| session.session_id)
        .collect();
    let ledger = journal::fold(&root)?;
    let session = ledger.lead_session(|id| alive.iter().any(|known| known == id)).map(ToOwned::to_owned);
    let message = Nudge {
        text: format!("{MARK} a note from the operator: {}", args.text.trim()),
        timestamp: now.seconds(),
        number: 0,
        id: id_of(now.wall, 0),
        session: session.clone(),
        wakes: true,
    };
    pending::stage(&root, &message)?;
    drop(held);
    journal::append(
        &root,
        &[Event::of_root(now.wall, What::Nudged { n: 0, id: message.id, idle_seconds: 0 })],
    )?;
    if let Some(session) = session {
        say!("Staged for session {}.", wording::plain(&session, 100));
    } else {
        say!("Staged. No session is known: the next one of this pipeline takes it.");
    }
    Ok(ExitCode::SUCCESS)
}
