//! Where the client's settings lie: the person's, the project's, and those that are beside or above them.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::place::Place;
use crate::protocol::client_settings::Fault;

/// A folder that holds one of these is a project.
const MARKS: [&str; 4] = [".kiln", ".watchdog", ".claude", ".git"];
/// Settings of the machine's administrator.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// Which file a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub(super) struct Which {
    /// The project's file, .claude/settings.json (the default)
    #[arg(long)]
    project: bool,
    /// The person's file, for all projects: $CLAUDE_CONFIG_DIR/settings.json or ~/.claude/settings.json
    #[arg(long, conflicts_with = "project")]
    pub(super) user: bool,
}

/// The client's settings files for one project.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The person's; none without a home.
    pub(super) user: Option<PathBuf>,
    /// The project's.
    pub(super) project: PathBuf,
    /// The person's own for the project.
    pub(super) local: PathBuf,
    /// The administrator's.
    pub(super) managed: PathBuf,
}

impl Places {
    /// Finds the files of the project that is named, or of the one here.
    pub(super) fn of(place: &Place) -> anyhow::Result<Self> {
        let home = absolute_variable("HOME");
        let folder = match place.named()? {
            Some(folder) => folder,
            None => project_above(
                &std::env::current_dir()
                    .context("the current folder is gone; change to the project first")?,
                home.as_deref(),
            ),
        };
        let own = match std::env::var_os("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty()) {
            Some(folder) => Some(std::path::absolute(folder)?),
            None => home.map(|home| home.join(".claude")),
        };
        Ok(Self {
            user: own.map(|own| own.join("settings.json")),
            project: folder.join(".claude/settings.json"),
            local: folder.join(".claude/settings.local.json"),
            managed: PathBuf::from(MANAGED),
        })
    }

    /// The file that a command is about.
    pub(super) fn pick(&self, which: Which) -> anyhow::Result<&Path> {
        if !which.user {
            return Ok(&self.project);
        }
        self.user.as_deref().context("HOME is not set; name the folder of settings in CLAUDE_CONFIG_DIR")
    }
}

/// The nearest folder upwards that is a project; else the folder itself.
fn project_above(folder: &Path, home: Option<&Path>) -> PathBuf {
    let is_project = |folder: &&Path| {
        // Everybody's home holds .claude, for the person's own settings: that alone makes no project of it.
        let is_home = home == Some(folder);
        MARKS.iter().any(|mark| !(is_home && *mark == ".claude") && folder.join(mark).exists())
    };
    folder.ancestors().find(is_project).unwrap_or(folder).to_owned()
}

fn absolute_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Names a fault of a settings file as editors and compilers do.
pub(super) fn at(path: &Path, fault: &Fault) -> String {
    format!("{}:{}:{}: {}", shown(path), fault.line, fault.column, fault.fault)
}

/// A path as a person can read it on one line.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests;
