//! The project's side: the folder, the settings, the last sign of work, the daemon.

use std::io::Write;

use super::super::client_places::shown;
use super::Finding;
use crate::model::moment::{Millis, Moment, millis};
use crate::model::policy::Policy;
use crate::model::wait::span;
use crate::model::wording::plain;
use crate::store::config::Layers;
use crate::store::file::chain;
use crate::store::root::Root;
use crate::store::{activity_file, flag_file, sessions, state_file};
use crate::system::clients;
use crate::system::launch::{self, Daemon, is_older};

/// Stamps may be this far ahead: they are whole seconds, and others' clocks are not ours.
const TOLERANCE: Millis = 60_000;

/// All that is to be said of it.
pub(super) fn findings(root: Option<&Root>, layers: &Layers, policy: &Policy, now: Moment) -> Vec<Finding> {
    let mut findings = vec![settings(root, layers)];
    let Some(root) = root else {
        let finding = "there is nothing to watch here or above: no .kiln, no .watchdog, no task folder, no team session";
        let remedy = "run this in the project, name it with --root, or run \"watchdog init\"";
        findings.push(Finding::fair("folder", finding, remedy));
        return findings;
    };
    findings.push(folder(root));
    findings.extend(activity(root, policy, now));
    findings.push(daemon(root, now));
    findings
}

fn settings(root: Option<&Root>, layers: &Layers) -> Finding {
    match layers.read(root) {
        Ok(config) if config.sources.is_empty() => {
            Finding::good("values", "every setting has its built-in value")
        }
        Ok(config) => Finding::good(
            "values",
            format!("not built in: {}; \"watchdog config\" lists all", config.sources.len()),
        ),
        Err(error) => Finding::wrong(
            "values",
            error.to_string(),
            "mend or remove it; until then no command and no daemon starts",
        ),
    }
}

/// The state folder: there, ours, and writable in fact.
fn folder(root: &Root) -> Finding {
    let own = root.own();
    if !root.is_kiln() && !own.is_dir() {
        let finding = format!("{} is not there yet", shown(&root.home()));
        return Finding::good(
            "folder",
            format!("{finding}; \"watchdog init\", a start or the first hook makes it"),
        );
    }
    let probe = || -> std::io::Result<()> { tempfile::tempfile_in(&own)?.write_all(b"probe") };
    let fault = match root.prepare() {
        Err(error) => chain(&error),
        Ok(()) => match probe() {
            Ok(()) => return Finding::good("folder", format!("{} can be written", shown(&root.home()))),
            Err(error) => format!("cannot write in {}: {error}", shown(&own)),
        },
    };
    let home = root.home_name();
    let remedy = format!("make {home} and the folders in it yours and writable, with room on the disk");
    Finding::wrong("folder", fault, remedy)
}

/// `activity.json`: readable, of this time, and fresh.
fn activity(root: &Root, policy: &Policy, now: Moment) -> Vec<Finding> {
    const NAME: &str = "heartbeat";
    let stage = state_file::stage(root).ok().flatten();
    let is_active = root.is_kiln() && stage.is_some_and(|stage| stage != "complete");
    let Some(loaded) = activity_file::load(root) else {
        let none = "no activity.json: no hook has run here since the last session ended";
        return vec![if is_active {
            Finding::fair(NAME, none, "start a session here; it must trust the folder to run hooks")
        } else {
            Finding::good(NAME, "none, and no pipeline is active")
        }];
    };
    let mut findings = Vec::new();
    if !loaded.faults.is_empty() {
        let finding = format!("{}: {}", shown(&root.activity()), plain(&loaded.faults.join("; "), 300));
        let remedy = format!(
            "the next hook mends it and keeps a copy as {}/tmp/watchdog/activity.broken; if it stays broken, no \
             hook runs: see \"hooks\" and \"program\"",
            root.home_name()
        );
        findings.push(Finding::wrong("activity", finding, remedy));
    }
    let activity = loaded.activity;
    let ahead = activity.last_activity_ts.max(activity.last_nudge_ts).saturating_mul(1000);
    // Of a broken file it is the modification time that was taken, not a stamp.
    if ahead > now.wall + TOLERANCE && loaded.faults.is_empty() {
        let finding = format!("activity.json has a stamp {} ahead of this clock", span(now.wall, ahead));
        let remedy = "set the clocks right (\"timedatectl\"); the next hook writes a present stamp";
        findings.push(Finding::wrong("stamps", finding, remedy));
        return findings;
    }
    let last = activity.last_activity_ts * 1000;
    let finding = match activity.last_activity_ts {
        0 => "no work has been seen so far".to_owned(),
        _ => format!(
            "the last one was {} ago ({})",
            span(last, now.wall),
            plain(&activity.last_activity_source, 60)
        ),
    };
    let is_silent = is_active && now.wall - last > millis(policy.rule.idle_after);
    findings.push(if is_silent {
        let remedy = "\"watchdog status\" says who waits; if sessions do work, their hooks do not run";
        Finding::fair(NAME, finding, remedy)
    } else {
        Finding::good(NAME, finding)
    });
    findings
}

fn daemon(root: &Root, now: Moment) -> Finding {
    let name = "daemon";
    match launch::look(root, now) {
        Daemon::None => no_daemon(root),
        Daemon::Stuck(beacon) => {
            let finding =
                format!("pid {} has not ticked for {}", beacon.pid, span(beacon.last_tick, now.wall));
            Finding::wrong(name, finding, "run \"watchdog start\", which replaces it")
        }
        Daemon::Running(None) => Finding::good(name, "it is starting"),
        Daemon::Running(Some(beacon)) => {
            let own = env!("CARGO_PKG_VERSION");
            let who = format!("pid {} watches, by {}", beacon.pid, plain(&beacon.watching, 120));
            if !beacon.faults.is_empty() {
                let finding = format!("{who}; {}", plain(&beacon.faults.join("; "), 300));
                Finding::fair(name, finding, format!("see {}/tmp/watchdog/watchdog.log", root.home_name()))
            } else if is_older(&beacon.version, own) {
                let finding = format!("{who}; it is version {}, this is {own}", plain(&beacon.version, 30));
                Finding::fair(name, finding, "run \"watchdog start\", which replaces it")
            } else if beacon.watching == "inotify" {
                Finding::good(name, who)
            } else {
                Finding::fair(name, who, "nudges come up to a tick later; see \"inotify\"")
            }
        }
    }
}

fn no_daemon(root: &Root) -> Finding {
    let name = "daemon";
    match state_file::stage(root) {
        Err(error) => {
            Finding::wrong(name, chain(&error), "make STATE.md readable; without it nothing is watched")
        }
        Ok(None) => Finding::good(name, "none runs; there is no pipeline to watch"),
        Ok(Some(_))
            if !root.is_kiln()
                && !flag_file::is_there(root)
                && !sessions::all(root).iter().any(clients::may_live) =>
        {
            let finding = "none runs: no session is open, and workers without hooks are not watched";
            Finding::fair(name, finding, "run \"watchdog start\"; a session that starts here does the same")
        }
        Ok(Some(stage)) if stage == "complete" => Finding::good(name, "none runs; the pipeline is complete"),
        Ok(Some(_)) if flag_file::is_there(root) => Finding::fair(
            name,
            "none runs: DEADLOCK.flag lies there, and a person has to look",
            "\"watchdog status\" says why; \"watchdog ensure\" clears it and starts again",
        ),
        // The last session that ends takes the daemon with it.
        Ok(Some(stage)) if !sessions::all(root).iter().any(clients::may_live) => Finding::fair(
            name,
            format!("none runs: stage {}, but no session is open", plain(&stage, 40)),
            "a session that starts here starts it; if one is open, its hooks do not run",
        ),
        Ok(Some(stage)) => Finding::wrong(
            name,
            format!("none runs, and a session is open in stage {}", plain(&stage, 40)),
            format!(
                "run \"watchdog start\"; {}/tmp/watchdog/watchdog.log says why it ended",
                root.home_name()
            ),
        ),
    }
}
