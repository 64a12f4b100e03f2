//! `status`: is it watching, is the pipeline moving, what happens next and when, who is active, what is pending.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::place::Place;
use super::view::View;

mod data;
mod tasks;
mod text;
mod tracks;

/// Options of `status`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show it again every second until interrupted
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    if !args.watch {
        let view = View::of(place)?;
        show(&view, args.json)?;
        return Ok(ExitCode::from(view.exit()));
    }
    let is_terminal = std::io::stdout().is_terminal();
    loop {
        let view = View::of(place)?;
        if is_terminal {
            write!(anstream::stdout(), "\x1b[H\x1b[2J")?;
        }
        show(&view, args.json)?;
        thread::sleep(Duration::from_secs(1));
    }
}

fn show(view: &View, json: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    if json {
        writeln!(out, "{}", super::json::line(&data::json(view)))?;
    } else {
        write!(out, "{}", text::render(view))?;
    }
    out.flush()?;
    Ok(())
}
