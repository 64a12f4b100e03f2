//! The guards of the Kiln protocol: what a task, an artifact, a closing turn or a tool call lacks by the protocol's
//! rules (`kiln-protocol`). All pure: texts in, violations out. `hook::guards` reads what they need and answers the
//! client.

pub mod artifact;
pub mod browser;
pub mod fields;
pub mod handoff;
pub mod proof;
pub mod prose;
pub mod review;
pub mod secrets;
pub mod shell;
pub mod task;
pub mod tdd;

use std::fmt;

use crate::model::wording::{MOST, plain};

/// How every text of a guard begins.
pub const MARK: &str = "KILN GUARD:";

/// One thing that is not as the protocol says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What it is about: a file below the root, or a task.
    pub place: String,
    /// The field, or the line.
    pub field: String,
    /// What is wrong with it.
    pub fault: String,
    /// The way out, as a fact.
    pub way_out: String,
}

impl Violation {
    /// Makes a violation of a field.
    pub fn new(place: &str, field: &str, fault: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            place: place.to_owned(),
            field: field.to_owned(),
            fault: fault.into(),
            way_out: way_out.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, field) = (plain(&self.place, 120), plain(&self.field, 60));
        write!(f, "{place}: {field} {}; {}", plain(&self.fault, 240), plain(&self.way_out, 240))
    }
}

/// What the agent is told: what was refused or found, then one line for each violation, as many as fit.
pub fn text(head: &str, violations: &[Violation]) -> String {
    let mut text = format!("{MARK} {}", plain(head, 300));
    for (told, violation) in violations.iter().enumerate() {
        let line = format!("\n- {violation}");
        if text.chars().count() + line.chars().count() > MOST - 40 {
            let left = violations.len() - told;
            return format!("{text}\n- and {left} more of the same kind");
        }
        text.push_str(&line);
    }
    text
}

/// The fields that violations are about, each once: what is kept of them.
pub fn names(violations: &[Violation]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for violation in violations {
        if !names.contains(&violation.field.as_str()) {
            names.push(&violation.field);
        }
    }
    plain(&names.join(", "), 400)
}

#[cfg(test)]
mod tests;
