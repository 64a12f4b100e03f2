//! The wait-for graph for people: as lines, as DOT, as Mermaid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::chain::{Hold, View, views};
use super::judge::Facts;
use super::moment::Millis;
use super::node::{Duty, Node, Wait};
use super::overdue::due;
use super::wait::span;
use super::wording::plain;

/// One edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Who waits.
    pub from: String,
    /// For whom, or for what outside the team.
    pub to: String,
    /// What is waited for.
    pub what: String,
    /// Since when, unix milliseconds.
    pub since: Millis,
    /// How sure it is: due, never, likely, outside.
    pub kind: &'static str,
    /// When the answer is overdue, if one is due.
    pub due: Option<Millis>,
    /// What the awaited one stands at.
    pub standing: String,
}

/// Returns all edges, the oldest first.
pub fn edges(facts: &Facts<'_>, now: Millis) -> Vec<Edge> {
    let graph = &facts.ledger.graph;
    let mut edges = Vec::new();
    for view in views(facts, now) {
        let call = |name: &str| plain(&graph.display(view.session, name), 60);
        for wait in view.team.waits.values() {
            edges.push(Edge {
                from: call(&wait.from),
                to: call(wait.debtor()),
                what: plain(wait.what(), 60),
                since: wait.since,
                kind: kind(wait),
                due: (wait.duty == Duty::Due).then(|| due(graph, wait)),
                standing: standing(&view, &call(wait.debtor()), wait, now),
            });
        }
        for (name, hold) in &view.holds {
            let (to, what, since) = match hold {
                Hold::Tool { tool, since } => ("a tool", tool.clone(), *since),
                Hold::Person { what, since } => ("a person", what.clone(), *since),
                Hold::Api { error, since } => ("the API", error.clone(), *since),
            };
            edges.push(Edge {
                from: call(name),
                to: to.to_owned(),
                what: plain(&what, 60),
                since,
                kind: "outside",
                due: None,
                standing: String::new(),
            });
        }
    }
    edges.sort_by(|a, b| (a.since, &a.from, &a.to).cmp(&(b.since, &b.from, &b.to)));
    edges
}

fn kind(wait: &Wait) -> &'static str {
    match wait.duty {
        Duty::Due => "due",
        Duty::Never => "never",
        Duty::Free | Duty::None => "likely",
    }
}

fn standing(view: &View<'_>, name: &str, wait: &Wait, now: Millis) -> String {
    match view.node(wait.debtor()) {
        None if !wait.delivered => format!("nobody is called {name}"),
        None => format!("{name} was never seen"),
        Some(Node { gone: Some(gone), .. }) => format!("{name} ended {} ago", span(*gone, now)),
        Some(node) => match node.turn.ended {
            Some(ended) => format!("{name}'s turn ended {} ago", span(ended, now)),
            None if node.turn.began > 0 => {
                format!("{name} has been at work for {}", span(node.turn.began, now))
            }
            None => format!("{name} has had no turn"),
        },
    }
}

/// As lines: `coder → reviewer   REVIEW_REQUEST   12 min   reviewer's turn ended 11 min ago`.
pub fn lines(edges: &[Edge], now: Millis) -> Vec<String> {
    let rows: Vec<[String; 4]> = edges
        .iter()
        .map(|edge| {
            let likely = if edge.kind == "likely" { " (likely)" } else { "" };
            [
                format!("{} → {}", edge.from, edge.to),
                format!("{}{likely}", edge.what),
                span(edge.since, now),
                edge.standing.clone(),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                write!(line, "{cell:<width$}   ").ok();
            }
            line.push_str(&row[3]);
            line.trim_end().to_owned()
        })
        .collect()
}

/// As DOT.
pub fn dot(edges: &[Edge], now: Millis) -> String {
    let mut text = "digraph waits {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for edge in edges {
        let style = match edge.kind {
            "likely" => ", style=dashed",
            "outside" => ", style=dotted",
            _ => "",
        };
        writeln!(
            text,
            "  \"{}\" -> \"{}\" [label=\"{} ({})\"{style}];",
            quoted(&edge.from),
            quoted(&edge.to),
            quoted(&edge.what),
            span(edge.since, now)
        )
        .ok();
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// As Mermaid.
pub fn mermaid(edges: &[Edge], now: Millis) -> String {
    let names: BTreeSet<&str> =
        edges.iter().flat_map(|edge| [edge.from.as_str(), edge.to.as_str()]).collect();
    let ids: BTreeMap<&str, String> =
        names.iter().enumerate().map(|(place, name)| (*name, format!("n{place}"))).collect();
    let mut text = "flowchart LR\n".to_owned();
    for (name, id) in &ids {
        writeln!(text, "  {id}[\"{}\"]", entities(name)).ok();
    }
    for edge in edges {
        let arrow = if matches!(edge.kind, "likely" | "outside") { "-.->" } else { "-->" };
        let label = entities(&format!("{} ({})", edge.what, span(edge.since, now)));
        writeln!(text, "  {} {arrow}|\"{label}\"| {}", ids[edge.from.as_str()], ids[edge.to.as_str()]).ok();
    }
    text
}

fn entities(text: &str) -> String {
    text.replace('#', "#35;")
        .replace('"', "#quot;")
        .replace('<', "#lt;")
        .replace('>', "#gt;")
        .replace('|', "#124;")
}

#[cfg(test)]
mod tests;
