//! `start`, `stop`, `ensure`: the daemon of one project.

use std::process::ExitCode;
use std::time::Duration;

use super::place::Place;
use crate::store::file::FileError;
use crate::store::recovery::{Note, recover};
use crate::store::{activity_file, flag_file, sessions, state_file, transient};
use crate::system::launch::{self, Started};
use crate::system::{clients, clock};

/// How long these commands wait for the lock.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn start(place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    place.config(Some(&root))?;
    let started = launch::ensure(&root, clock::now(), place.flags())?;
    say!("{}", words(started));
    if flag_file::is_there(&root) {
        say!(
            "DEADLOCK.flag lies there: nothing is nudged until \"watchdog ensure\" or a new session clears it."
        );
    } else if state_file::stage(&root)?.is_none() {
        say!("There is no pipeline yet: .kiln/STATE.md names no stage.");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn stop(place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    if !root.tmp().try_exists().map_err(FileError::of("find", &root.tmp()))? {
        say!("No daemon was running.");
        return Ok(ExitCode::SUCCESS);
    }
    // Until the files are gone nobody may start another, or its files would go with them.
    let starts = launch::hold_starts(&root)?;
    let stopped = launch::stop(&root, &starts);
    if !stopped && launch::is_named(&root) {
        anyhow::bail!("the daemon that holds {} cannot be ended; try again", root.daemon_lock().display());
    }
    // While a session goes on the activity is its own.
    if sessions::any_other(&root, "", clients::may_live) {
        transient::remove(&root, transient::Daemon::Ends)?;
    } else {
        transient::remove_all(&root, activity_file::hold(&root, PATIENCE).ok(), transient::Daemon::Ends)?;
    }
    drop(starts);
    say!("{}", if stopped { "The daemon was stopped." } else { "No daemon was running." });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn ensure(place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    if state_file::stage(&root)?.is_none_or(|stage| stage == "complete") {
        say!("There is no active pipeline: nothing to watch.");
        return Ok(ExitCode::SUCCESS);
    }
    let now = clock::now();
    if flag_file::is_there(&root) {
        let held = activity_file::hold(&root, PATIENCE)?;
        if recover(&root, &held, "ensure", Note::Leave, now.wall)? {
            say!("DEADLOCK.flag was cleared{}.", if root.is_kiln() { "; STATE.md has a note" } else { "" });
        }
    }
    say!("{}", words(launch::ensure(&root, now, place.flags())?));
    Ok(ExitCode::SUCCESS)
}

fn words(started: Started) -> &'static str {
    match started {
        Started::Already => "A daemon is watching.",
        Started::New => "A daemon was started.",
        Started::Replaced => "A daemon was started in place of one that was stuck or older.",
    }
}
