//! What can be wrong with a signal file, each with the field where it stands.

use std::fmt;

use super::NO_CHANGE_REPORT;
use crate::model::wording::plain;

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The field's path, such as `checklistTiming.events[2].checkedAt`; empty for the whole file.
    pub field: String,
    /// What is wrong with it.
    pub kind: Kind,
}

/// Ways to violate the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The file is not JSON: where it stops to be.
    NotJson {
        /// Counted from one.
        line: usize,
        /// Counted from one.
        column: usize,
    },
    /// The file is JSON, but no object.
    NotAnObject,
    /// A field that must be there is not.
    Missing {
        /// What is wanted.
        wanted: &'static str,
    },
    /// A value of another type.
    NotA {
        /// What is wanted.
        wanted: &'static str,
    },
    /// A word that is none of those that exist.
    NotOneOf {
        /// What stands there.
        found: String,
        /// Those that exist.
        wanted: Vec<&'static str>,
    },
    /// A value that does not go with the status.
    Contradicts {
        /// What stands there.
        found: &'static str,
        /// The status.
        status: &'static str,
        /// What goes with it.
        wanted: String,
    },
    /// A stamp that is not UTC ISO 8601.
    NotUtc {
        /// What stands there.
        found: String,
    },
    /// A no-change result whose evidence is not its report.
    NoChangeReport {
        /// What is named instead; empty = nothing.
        found: String,
    },
}

impl Fault {
    pub(super) fn new(field: &str, kind: Kind) -> Self {
        Self { field: field.to_owned(), kind }
    }

    pub(super) fn not_json(error: &serde_json::Error) -> Self {
        Self::new("", Kind::NotJson { line: error.line(), column: error.column() })
    }

    /// Tells whether the signal is taken in spite of it, as blocked.
    pub fn is_mended(&self) -> bool {
        matches!(self.kind, Kind::NoChangeReport { .. })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", plain(&self.field, 80))?;
        }
        match &self.kind {
            Kind::NotJson { line, column } => write!(f, "not JSON (line {line}, column {column})"),
            Kind::NotAnObject => f.write_str("no JSON object"),
            Kind::Missing { wanted } => write!(f, "missing; {wanted} is wanted"),
            Kind::NotA { wanted } => write!(f, "{wanted} is wanted"),
            Kind::NotOneOf { found, wanted } => {
                write!(f, "\"{}\" is none of {}", plain(found, 60), wanted.join(", "))
            }
            Kind::Contradicts { found, status, wanted } => {
                write!(f, "\"{found}\" does not go with status {status}, which takes {wanted}")
            }
            Kind::NotUtc { found } => {
                let found = plain(found, 60);
                write!(f, "\"{found}\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z")
            }
            Kind::NoChangeReport { found } if found.is_empty() => {
                write!(f, "missing; a no-change result needs {NO_CHANGE_REPORT} and is taken as blocked")
            }
            Kind::NoChangeReport { found } => {
                let found = plain(found, 60);
                write!(f, "\"{found}\" is not {NO_CHANGE_REPORT}; the no-change result is taken as blocked")
            }
        }
    }
}
