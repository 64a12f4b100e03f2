//! `run`: the daemon in the foreground, or detached by `start`.

use std::process::ExitCode;

use super::place::Place;
use crate::daemon::detach::detach;
use crate::daemon::log::{self, Target};
use crate::daemon::serve::{Orders, serve};
use crate::system::ready::Starter;

/// Options of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Wait for the next pipeline instead of ending with this one (for service managers)
    #[arg(long)]
    stay: bool,
    /// Go to the background and answer on standard output ("start" uses it)
    #[arg(long, hide = true)]
    detached: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let starter = if args.detached { Starter::Pipe } else { Starter::Foreground };
    let result = prepare(args, place).and_then(|orders| match orders {
        Some(orders) => serve(&orders),
        None => Ok(()),
    });
    if let Err(error) = &result {
        starter.refuse(&format!("{error:#}"));
    }
    result.map(|()| ExitCode::SUCCESS)
}

/// Detaches first: no thread and no runtime may exist. None = this process has done its part.
fn prepare(args: &Args, place: &Place) -> anyhow::Result<Option<Orders>> {
    let roots = place.roots()?;
    if args.detached && !detach().map_err(anyhow::Error::msg)? {
        return Ok(None);
    }
    let target = match roots.first() {
        Some(root) if args.detached => Target::File(root.in_own("watchdog.log")),
        _ => Target::Stderr,
    };
    log::start(target);
    let starter = if args.detached { Starter::Pipe } else { Starter::Foreground };
    Ok(Some(Orders { roots, stay: args.stay, layers: place.layers(), starter }))
}
