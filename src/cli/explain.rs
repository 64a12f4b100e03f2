//! `explain`: why the verdict is what it is, or was: facts, thresholds and where each came from.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::place::Place;
use super::view::{View, reason_words};
use super::{json, when};
use crate::model::cause::Diagnosis;
use crate::model::diagnosis::diagnose;
use crate::model::drawing::{Edge, edges, lines};
use crate::model::judge::{Facts, Verdict};
use crate::model::ledger::Ledger;
use crate::model::moment::Millis;
use crate::model::rehearsal::{Happening, Item, rehearse};
use crate::model::rule::Times;
use crate::model::wording::{clock, plain};
use crate::protocol::trace;
use crate::store::config::Config;
use crate::store::settings::KEYS;
use crate::store::{journal, signals};
use crate::system;

/// Options of `explain`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The verdict of a time in the past: ISO 8601, unix time, or how long ago, such as 10m
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All that is to be said.
struct Account {
    at: Millis,
    verdict: &'static str,
    reason: &'static str,
    words: String,
    facts: Vec<String>,
    why: Option<Diagnosis>,
    waits: Vec<Edge>,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let root = place.root()?;
    let config = place.config(Some(&root))?;
    let account = match &args.at {
        None => present(&View::of(place)?),
        Some(at) => {
            let at = when::parse(at, system::clock::now().wall)?;
            past(&config, journal::all(&root)?, at)
        }
    };
    let mut out = anstream::stdout().lock();
    if args.json {
        writeln!(out, "{}", json::line(&data(&account, &config)))?;
    } else {
        write!(out, "{}", text(&account, &config))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn present(view: &View) -> Account {
    let facts = view.sight.facts(&view.ledger, view.times, None);
    let now = view.now.wall;
    let words = match &view.verdict {
        Verdict::Quiet { reason, until } => reason_words(reason, *until, now),
        Verdict::Nudge { n, .. } => format!("nudge {n} of {} is due", view.policy.rule.max_nudges),
        Verdict::Escalate { nudges, .. } => format!("the flag is due after {nudges} nudges"),
    };
    let from = if view.root.is_kiln() { ".kiln/STATE.md" } else { "by what is watched" };
    let mut known =
        vec![format!("stage: {} ({from})", plain(view.sight.stage.as_deref().unwrap_or("none"), 40))];
    if let Some(activity) = &view.sight.activity {
        known.push(format!(
            "last work: {} ({}), {} s ago ({}/tmp/activity.json)",
            clock(activity.last_activity_ts * 1000),
            plain(&activity.last_activity_source, 80),
            view.times.idle.as_secs(),
            view.root.home_name()
        ));
        let since =
            view.times.since_nudge.map_or("never".to_owned(), |since| format!("{} s ago", since.as_secs()));
        known.push(format!("nudges so far: {}; the last one: {since}", activity.nudge_count));
    }
    known.push(format!(
        "sessions: {} alive, {} gone without a word",
        view.sight.living.len(),
        view.sight.dead.len()
    ));
    known.extend(view.sight.faults.iter().map(|fault| format!("fault: {}", plain(fault, 200))));
    Account {
        at: now,
        verdict: view.verdict.word(),
        reason: view.verdict.reason_word(),
        words,
        facts: known,
        why: view.diagnosis(),
        waits: edges(&facts, now),
    }
}

/// What the daemon would have said then, by the journal alone.
fn past(config: &Config, events: Vec<crate::model::event::Event>, at: Millis) -> Account {
    let events: Vec<_> = events.into_iter().filter(|event| event.at <= at).collect();
    let rules = signals::rules(&config.policy);
    let mut ledger = Ledger::with(std::sync::Arc::clone(&rules));
    for event in &events {
        ledger.apply(event);
    }
    let count = events.len();
    let mut items = trace::of_journal(events);
    items.push(Item { at, what: Happening::Nothing });
    let lines = rehearse(&items, config.policy.clone(), rules);
    let line = lines.into_iter().rev().find(|line| line.at <= at);
    let dead = std::collections::BTreeSet::new();
    let times = Times { idle: std::time::Duration::ZERO, since_nudge: None };
    let stage = Some(ledger.stage.as_str()).filter(|stage| !stage.is_empty());
    let facts =
        Facts { stage, activity: None, ledger: &ledger, flagged: false, times, settling: None, dead: &dead };
    let waits = edges(&facts, at);
    let known = vec![
        format!("events in the journal until then: {count}"),
        format!(
            "last work: {}",
            if ledger.last_work > 0 { clock(ledger.last_work) } else { "none".to_owned() }
        ),
        format!("stage: {}", plain(stage.unwrap_or("unknown"), 40)),
    ];
    let (verdict, reason) = line.as_ref().map_or(("quiet", "active"), |line| (line.verdict, line.reason));
    let since = line.as_ref().map_or_else(String::new, |line| format!("since {}", clock(line.at)));
    let why = line
        .and_then(|line| line.why)
        .or_else(|| (verdict != "quiet" || reason == "debounce").then(|| diagnose(&facts, at)));
    Account { at, verdict, reason, words: since, facts: known, why, waits }
}

fn data(account: &Account, config: &Config) -> Value {
    let thresholds: Vec<Value> = thresholds(config)
        .map(|(name, value, source)| json!({"name": name, "value": value, "source": source}))
        .collect();
    json!({
        "v": 1, "at": clock(account.at), "verdict": account.verdict, "reason": account.reason, "words": account.words,
        "facts": account.facts, "thresholds": thresholds,
        "diagnosis": account.why.as_ref().map(json::diagnosis),
        "waits": account.waits.iter().map(json::edge).collect::<Vec<_>>(),
    })
}

/// The settings that a verdict rests on, each with its value and where it came from.
fn thresholds(config: &Config) -> impl Iterator<Item = (&'static str, String, &str)> {
    let counts =
        |name: &str| name.starts_with("rule.") || name.starts_with("quiet.") || name == "daemon.tick";
    KEYS.iter()
        .filter(move |key| counts(key.name))
        .map(|key| (key.name, (key.show)(&config.policy), config.source(key.name)))
}

fn text(account: &Account, config: &Config) -> String {
    let mut out = format!("{}: {}", account.verdict, account.reason);
    if !account.words.is_empty() {
        write!(out, " ({})", account.words).ok();
    }
    writeln!(out, "\nat {}", clock(account.at)).ok();
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            writeln!(out, "\n{title}").ok();
            for line in lines {
                writeln!(out, "  {line}").ok();
            }
        }
    };
    if let Some(why) = &account.why {
        let mut lines = vec![
            format!("cause: {} ({} confidence)", why.cause.word(), why.confidence.word()),
            format!("root:  {}", plain(&why.root, 60)),
            plain(&why.words, 400),
        ];
        lines.extend(why.evidence.iter().map(|line| format!("- {}", plain(line, 300))));
        part("why", lines);
    }
    part("facts", account.facts.clone());
    part("waits", lines(&account.waits, account.at));
    let rows: Vec<(&str, String, &str)> = thresholds(config).collect();
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let rows = rows.iter().map(|(name, value, source)| format!("{name:<width$} = {value}   ({source})"));
    part("thresholds", rows.collect());
    out
}
