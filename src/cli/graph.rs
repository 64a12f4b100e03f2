//! `graph`: who waits for whom, as lines, DOT or Mermaid.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use super::json;
use super::place::Place;
use super::view::View;
use crate::model::drawing::{dot, lines, mermaid};

/// Options of `graph`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How to draw it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Dot,
    Mermaid,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let view = View::of(place)?;
    let edges = view.edges();
    let now = view.now.wall;
    let text = match args.format {
        _ if args.json => {
            let waits: Vec<_> = edges.iter().map(json::edge).collect();
            json::line(&json!({"v": 1, "waits": waits})) + "\n"
        }
        Format::Dot => dot(&edges, now),
        Format::Mermaid => mermaid(&edges, now),
        Format::Text if edges.is_empty() => "Nobody waits for anything.\n".to_owned(),
        Format::Text => lines(&edges, now).join("\n") + "\n",
    };
    let mut out = anstream::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
