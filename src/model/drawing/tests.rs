//! The three forms of the graph.

use super::{Edge, dot, lines, mermaid};

const NOW: i64 = 1_000_000;

fn edges() -> Vec<Edge> {
    let edge = |from: &str, to: &str, what: &str, ago: i64, kind, standing: &str| Edge {
        from: from.to_owned(),
        to: to.to_owned(),
        what: what.to_owned(),
        since: NOW - ago * 1000,
        kind,
        due: None,
        standing: standing.to_owned(),
    };
    vec![
        edge("coder", "reviewer", "REVIEW_REQUEST", 720, "due", "reviewer's turn ended 11 min ago"),
        edge("team-lead", "coder", "its \"task\"", 900, "likely", "coder's turn ended 12 min ago"),
        edge("rakim", "a tool", "Bash", 5, "outside", ""),
    ]
}

#[test]
fn the_graph_as_lines() {
    insta::assert_snapshot!(lines(&edges(), NOW).join("\n"), @r#"
    coder → reviewer    REVIEW_REQUEST        12 min   reviewer's turn ended 11 min ago
    team-lead → coder   its "task" (likely)   15 min   coder's turn ended 12 min ago
    rakim → a tool      Bash                  5 s
    "#);
}

#[test]
fn the_graph_as_dot() {
    insta::assert_snapshot!(dot(&edges(), NOW), @r#"
    digraph waits {
      rankdir=LR;
      node [shape=box];
      "coder" -> "reviewer" [label="REVIEW_REQUEST (12 min)"];
      "team-lead" -> "coder" [label="its \"task\" (15 min)", style=dashed];
      "rakim" -> "a tool" [label="Bash (5 s)", style=dotted];
    }
    "#);
}

#[test]
fn the_graph_as_mermaid() {
    insta::assert_snapshot!(mermaid(&edges(), NOW), @r#"
    flowchart LR
      n0["a tool"]
      n1["coder"]
      n2["rakim"]
      n3["reviewer"]
      n4["team-lead"]
      n1 -->|"REVIEW_REQUEST (12 min)"| n3
      n4 -.->|"its #quot;task#quot; (15 min)"| n1
      n2 -.->|"Bash (5 s)"| n0
    "#);
}
