//! How `status` looks on a terminal: at most 80 columns, the answer first, nothing that a foreign field could break.

use anstyle::{AnsiColor, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};

use super::super::layout::{WIDTH, line};
use super::super::view::View;
use super::super::when::local;
use super::{tasks, tracks};
use crate::model::drawing::{Edge, lines};
use crate::model::judge::{Reason, Verdict, agents, name_of};
use crate::model::wait::span;
use crate::model::wording::plain;
use crate::store::pending::Pending;
use crate::system::launch::Daemon;

/// Agents that are listed; the rest are counted.
const MOST_AGENTS: usize = 12;

/// Renders it.
pub(super) fn render(view: &View) -> String {
    let mut out = String::new();
    let (style, verdict) = verdict(view);
    line(&mut out, "verdict", &verdict, style);
    line(&mut out, "watching", &watching(view), Style::new());
    let recognised = view.recognised();
    line(&mut out, "project", &recognised.words(), Style::new());
    line(&mut out, "because", &recognised.why(), Style::new());
    line(&mut out, "pipeline", &pipeline(view), Style::new());
    line(&mut out, "next", &view.next(), Style::new());
    line(&mut out, "pending", &pending(view), Style::new());
    if let Some(flag) = &view.flag {
        let since = local(flag.timestamp * 1000, view.now.wall);
        let why = flag.diagnosis.as_deref().or(flag.error.as_deref()).unwrap_or("no reason is given in it");
        line(&mut out, "flag", &format!("written {since}: {}", plain(why, 600)), Style::new());
        line(&mut out, "", "\"watchdog ensure\" or the next session clears it", Style::new());
    }
    for fault in &view.sight.faults {
        line(&mut out, "fault", &plain(fault, 300), AnsiColor::Yellow.on_default());
    }
    if let Some(why) = view.diagnosis() {
        let words =
            format!("{}: {} Root: {}.", why.cause.word(), plain(&why.words, 400), plain(&why.root, 60));
        line(&mut out, "why", &words, Style::new());
    }
    for (label, text) in tasks::lines(view) {
        line(&mut out, label, &text, Style::new());
    }
    out.push_str(&agents_table(view));
    out.push_str(&waits(view));
    out.push_str(&tracks::render(view));
    out
}

/// Who waits for whom, as lines.
fn waits(view: &View) -> String {
    // What holds an agent outside its team stands in the table.
    let edges: Vec<Edge> = view.edges().into_iter().filter(|edge| edge.kind != "outside").collect();
    let rest = edges.len().saturating_sub(MOST_AGENTS);
    let shown = lines(&edges[edges.len().min(rest)..], view.now.wall);
    if shown.is_empty() {
        return String::new();
    }
    let rest = if rest > 0 { format!(" and {rest} older\n") } else { String::new() };
    let shown: Vec<String> = shown.iter().map(|line| plain(line, WIDTH)).collect();
    format!("\n{}\n{rest}", shown.join("\n"))
}

fn verdict(view: &View) -> (Style, String) {
    let good = AnsiColor::Green.on_default().bold();
    let bad = AnsiColor::Red.on_default().bold();
    let fair = AnsiColor::Yellow.on_default().bold();
    match view.exit() {
        0 => match &view.verdict {
            Verdict::Quiet { reason: Reason::WaitsForPerson(_), .. } => {
                (fair, "waiting for a person".to_owned())
            }
            Verdict::Quiet { reason: Reason::ApiHold(_), .. } => (fair, "waiting for the API".to_owned()),
            Verdict::Quiet { reason: Reason::Paused, .. } => (fair, "paused".to_owned()),
            _ => (good, "healthy".to_owned()),
        },
        1 => (bad, format!("STALLED: no work for {}", silence(view))),
        2 => (bad, "FLAGGED: nudging did not help; a person has to look".to_owned()),
        3 => (bad, "NOT WATCHED: run \"watchdog start\"".to_owned()),
        _ if view.sight.stage.is_some() => (fair, "nothing to watch: the pipeline is complete".to_owned()),
        _ => (fair, "nothing to watch: there is no pipeline".to_owned()),
    }
}

fn silence(view: &View) -> String {
    span(view.now.wall - i64::try_from(view.times.idle.as_millis()).unwrap_or(0), view.now.wall)
}

fn watching(view: &View) -> String {
    match &view.daemon {
        Daemon::None => "no daemon".to_owned(),
        Daemon::Running(None) => {
            "a daemon is starting, or something else holds its lock; \"watchdog start\" tells".to_owned()
        }
        Daemon::Running(Some(beacon)) => {
            let since = local(beacon.started, view.now.wall);
            let mode = if beacon.mode == "observe" { ", observing only" } else { "" };
            format!("yes, by {} since {since} (pid {}){mode}", plain(&beacon.watching, 120), beacon.pid)
        }
        Daemon::Stuck(beacon) => format!(
            "NO: the daemon (pid {}) has not ticked for {}; \"watchdog start\" replaces it",
            beacon.pid,
            span(beacon.last_tick, view.now.wall)
        ),
    }
}

fn pipeline(view: &View) -> String {
    let Some(stage) = &view.sight.stage else { return "none".to_owned() };
    let stage = plain(stage, 40);
    match &view.sight.activity {
        None => format!("stage {stage}; no work has been seen yet"),
        Some(activity) => {
            let source = match activity.last_activity_source.as_str() {
                "" => String::new(),
                source => format!(" ({})", plain(source, 60)),
            };
            format!("stage {stage}; last work {} ago{source}", silence(view))
        }
    }
}

fn pending(view: &View) -> String {
    match &view.pending {
        Pending::Nothing => "nothing".to_owned(),
        Pending::Broken(fault) => format!("pending-nudge.json cannot be delivered: {}", plain(fault, 200)),
        Pending::Staged(nudge) => {
            let what =
                if nudge.number == 0 { "a note".to_owned() } else { format!("nudge {}", nudge.number) };
            format!("{what}, staged {} ago, not taken yet", span(nudge.timestamp * 1000, view.now.wall))
        }
    }
}

fn agents_table(view: &View) -> String {
    let facts = view.sight.facts(&view.ledger, view.times, None);
    let mut all: Vec<_> = agents(&facts).collect();
    all.sort_by_key(|(_, id, agent)| (!id.is_empty(), std::cmp::Reverse(agent.last)));
    if all.is_empty() {
        return String::new();
    }
    let now = view.now.wall;
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH as u16).set_header(["agent", "state", "for", "doing"]);
    for (_, id, agent) in all.iter().take(MOST_AGENTS) {
        let doing = match (&agent.asked, agent.tools.iter().min_by_key(|tool| tool.since)) {
            (Some(asked), _) => format!(
                "asks a person for {} since {}",
                plain(&asked.what.words(), 60),
                local(asked.since, now)
            ),
            (None, Some(tool)) => format!("{} for {}", plain(&tool.tool, 60), span(tool.since, now)),
            (None, None) => String::new(),
        };
        let name = plain(&name_of(id, agent), 40);
        table.add_row([name, agent.state.word().to_owned(), span(agent.since, now), doing]);
    }
    table.set_constraints([ColumnConstraint::UpperBoundary(Width::Fixed(28))]);
    let rest = all.len().saturating_sub(MOST_AGENTS);
    let rest = if rest > 0 { format!(" and {rest} more\n") } else { String::new() };
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("\n{}\n{rest}", lines.join("\n"))
}
