//! The fold, event by event and as a whole.

use super::Ledger;
use crate::model::event::{Event, What};

mod agents;
mod bounds;
mod fold;
mod sessions;
mod tools;

/// The agent that most tests are about: session, agent id, name.
type Who = (&'static str, &'static str, &'static str);

const LEAD: Who = ("s1", "", "");
const CODER: Who = ("s1", "a1", "coder");
const OTHER: Who = ("s1", "a2", "coder");

/// An event at a second of the tests' own time.
fn event(second: i64, who: Who, what: What) -> Event {
    let (session, agent, name) = (who.0.to_owned(), who.1.to_owned(), who.2.to_owned());
    Event { session, agent, name, ..Event::of_root(second * 1000, what) }
}

/// Folds events that come one second after another, from second 1.
fn folded(events: impl IntoIterator<Item = (Who, What)>) -> Ledger {
    let mut ledger = Ledger::default();
    for (place, (who, what)) in events.into_iter().enumerate() {
        ledger.apply(&event(place as i64 + 1, who, what));
    }
    ledger
}

fn started() -> What {
    What::SessionStart { source: "startup".to_owned(), pid: Some(100), entry: "cli".to_owned() }
}

fn session_start(source: &str, pid: Option<i32>) -> What {
    What::SessionStart { source: source.to_owned(), pid, entry: String::new() }
}

fn ended() -> What {
    What::SessionEnd { reason: "other".to_owned() }
}

fn prompt() -> What {
    What::Prompt { wake: false }
}

fn tool_start(tool: &str, id: &str) -> What {
    What::ToolStart { tool: tool.to_owned(), id: id.to_owned(), timeout_ms: None, hash: String::new() }
}

fn tool_end(tool: &str, id: &str) -> What {
    What::ToolEnd { tool: tool.to_owned(), id: id.to_owned(), failed: false, message: None }
}

fn tool_failed(tool: &str, id: &str) -> What {
    What::ToolEnd { tool: tool.to_owned(), id: id.to_owned(), failed: true, message: None }
}

fn permission(tool: &str) -> What {
    What::Permission { tool: tool.to_owned() }
}

fn notice(kind: &str) -> What {
    What::Notice { kind: kind.to_owned() }
}

fn idle(told: bool) -> What {
    What::Idle { told }
}

fn failure(error: &str, holds: bool) -> What {
    What::ApiError { error: error.to_owned(), holds, reset_at: None }
}

/// Shows every agent in one line: name or id, state, open tools, question.
fn shown(ledger: &Ledger) -> String {
    let mut lines = Vec::new();
    for (id, session) in &ledger.sessions {
        if let Some(at) = session.ended {
            lines.push(format!("{id} ended at {}", at / 1000));
        }
        for (key, agent) in &session.agents {
            let name = if key.is_empty() { "lead" } else { key };
            let tools: Vec<&str> = agent.tools.iter().map(|tool| tool.id.as_str()).collect();
            let asked = agent.asked.as_ref().map(|asked| format!(", asks for {}", asked.what.words()));
            let told =
                if agent.idle_told > 0 { format!(", told {}", agent.idle_told) } else { String::new() };
            lines.push(format!(
                "{id} {name} {:?} since {} [{}]{}{told}",
                agent.state,
                agent.since / 1000,
                tools.join(" "),
                asked.unwrap_or_default()
            ));
        }
    }
    lines.join("\n")
}
