//! The tables of signals in force: a project's own (`watchdog.d/*.toml` in its home) before the built-in ones.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::config::ConfigError;
use super::root::Root;
use crate::model::policy::Policy;
use crate::model::signals::{Rules, Table};
use crate::protocol::tables;

/// The folder of a project's own tables, in its home.
pub const FOLDER: &str = "watchdog.d";

/// Reads a project's own tables, in the order of their names.
///
/// # Errors
/// The first one with a mistake, with its line.
pub fn of_project(root: &Root) -> Result<Vec<Arc<Table>>, ConfigError> {
    let Ok(entries) = fs::read_dir(root.in_home(FOLDER)) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path).map(Arc::new)).collect()
}

/// Reads one table.
///
/// # Errors
/// It cannot be read, or has a mistake: file, line and reason.
pub fn read(path: &Path) -> Result<Table, ConfigError> {
    let text = fs::read_to_string(path).map_err(|error| ConfigError {
        place: path.display().to_string(),
        fault: format!("cannot read: {error}"),
    })?;
    tables::read(&text).map_err(|error| ConfigError {
        place: format!("{}:{}", path.display(), error.line),
        fault: error.fault,
    })
}

/// Puts together what the graph goes by.
pub fn rules(policy: &Policy) -> Arc<Rules> {
    Arc::new(policy.rules(tables::built_in()))
}
