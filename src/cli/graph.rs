//! `graph`: who waits for whom, as lines, DOT or Mermaid.

use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::place::Place;
use super::status::View;
use crate::model::drawing::{Edge, dot, edges, lines, mermaid};
use crate::model::wording::clock;

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
            format!("{}\n", json!({"v": 1, "waits": edges.iter().map(edge_json).collect::<Vec<_>>()}))
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

/// One edge as `status`, `explain` and `graph` report it.
pub(super) fn edge_json(edge: &Edge) -> Value {
    json!({
        "from": edge.from, "to": edge.to, "what": edge.what, "since": clock(edge.since), "kind": edge.kind,
        "due": edge.due.map(clock), "standing": edge.standing,
    })
}

impl View {
    /// Who waits for whom.
    pub(super) fn edges(&self) -> Vec<Edge> {
        edges(&self.sight.facts(&self.ledger, self.times, None), self.now.wall)
    }
}
