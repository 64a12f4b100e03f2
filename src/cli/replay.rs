//! `replay`: a recorded run, judged again. Nothing of any pipeline is touched.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use serde_json::{Value, json};

use super::json;
use super::place::Place;
use crate::model::rehearsal::{Line, rehearse};
use crate::model::wording::{clock, plain};
use crate::protocol::trace;
use crate::store::signals;

/// Options of `replay`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A journal, or a trace: JSON lines of payloads, stages and passing time ("-" = standard input)
    file: PathBuf,
    /// A table of signals to judge by besides the built-in ones (can be repeated)
    #[arg(long, value_name = "FILE")]
    table: Vec<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    // A project's settings count only if it is named: a record is not the project one happens to stand in.
    let mut policy = place.config(place.named_root()?.as_ref())?.policy;
    for path in &args.table {
        policy.tables.push(signals::read(path)?.into());
    }
    let text = read(&args.file)?;
    let items = trace::read(&text)
        .map_err(|error| anyhow!("{}:{}: {}", args.file.display(), error.line, error.fault))?;
    let rules = signals::rules(&policy);
    let lines = rehearse(&items, policy, rules);
    let mut out = anstream::stdout().lock();
    for line in &lines {
        if args.json {
            writeln!(out, "{}", json::line(&data(line)))?;
        } else {
            writeln!(out, "{}", words(line))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().lock().read_to_end(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn data(line: &Line) -> Value {
    let why = line.why.as_ref();
    json!({
        "at": line.at, "verdict": line.verdict, "reason": line.reason, "n": line.n,
        "cause": why.map(|why| why.cause.word()), "root": why.map(|why| why.root.as_str()),
        "evidence": why.map(|why| why.evidence.clone()).unwrap_or_default(),
    })
}

fn words(line: &Line) -> String {
    let what = match line.verdict {
        "nudge" => format!("nudge {}", line.n),
        "escalate" => format!("escalate after {}", line.n),
        verdict => verdict.to_owned(),
    };
    let head = format!("{}  {what:<10}  {:<16}", clock(line.at), line.reason);
    match &line.why {
        Some(why) => {
            let proof: Vec<String> =
                why.evidence.iter().map(|line| format!("\n    {}", plain(line, 400))).collect();
            format!("{head}  {}, root {}{}", why.cause.word(), plain(&why.root, 60), proof.concat())
        }
        None => head.trim_end().to_owned(),
    }
}
