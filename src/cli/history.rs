//! `history`: what the journal holds, filtered.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use serde_json::Value;

use super::place::Place;
use super::{json, when};
use crate::model::event::{Event, What};
use crate::model::judge::LEAD;
use crate::model::wording::{clock, plain};
use crate::store::journal;
use crate::system;

/// Options of `history`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only events of this agent, by name or id (team-lead = the lead)
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only events of this kind, such as tool_end (can be repeated)
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only events since then: a time, or how long ago, such as 30m
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Print the journal's own JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    let now = system::clock::now().wall;
    let since = args.since.as_deref().map(|text| when::parse(text, now)).transpose()?;
    let mut out = anstream::stdout().lock();
    for event in journal::all(&root)? {
        let line = serde_json::to_value(&event)?;
        let kind = line.get("event").and_then(Value::as_str).unwrap_or("unknown").to_owned();
        let fits = since.is_none_or(|since| event.at >= since)
            && (args.kind.is_empty() || args.kind.contains(&kind))
            && args.agent.as_deref().is_none_or(|agent| is_of(&event, agent));
        if !fits {
            continue;
        }
        if args.json {
            writeln!(out, "{}", json::line(&line))?;
        } else {
            writeln!(out, "{}", words(&event, &kind, &line))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn is_of(event: &Event, agent: &str) -> bool {
    match event.agent.as_str() {
        "" => agent == LEAD && !event.session.is_empty(),
        id => id == agent || event.name == agent,
    }
}

/// One event on a line: when, who, what, and whatever else it carries.
fn words(event: &Event, kind: &str, line: &Value) -> String {
    let who = match (event.agent.as_str(), event.name.as_str()) {
        ("", _) if event.session.is_empty() => "-",
        ("", _) => LEAD,
        (id, "") => id,
        (_, name) => name,
    };
    let mut text = format!("{}  {:<20}  {kind:<14}", clock(event.at), plain(who, 40));
    // A snapshot is the whole ledger.
    if matches!(event.what, What::Snapshot { .. }) {
        return text.trim_end().to_owned();
    }
    for (key, value) in line.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "v" | "at" | "session" | "agent" | "name" | "event") {
            let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            write!(text, " {key}={}", plain(&value, 200)).ok();
        }
    }
    text.trim_end().to_owned()
}
