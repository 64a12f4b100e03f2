//! What a project was recognised by: its home, its task folders, its team sessions.

use serde_json::{Value, json};

use crate::model::policy::Policy;
use crate::model::wording::plain;
use crate::store::root::Root;
use crate::store::shape;

/// Folders that are counted at most.
const MOST: usize = 4096;
/// Team sessions that are named at most.
const MOST_NAMED: usize = 3;

/// What is watched in a project, and why.
pub(super) struct Recognised {
    home: &'static str,
    has_home: bool,
    is_kiln: bool,
    stage: Option<String>,
    tasks: usize,
    teams: Vec<String>,
    is_cut: bool,
}

impl Recognised {
    /// Looks at a project.
    pub(super) fn of(root: &Root, policy: &Policy, stage: Option<&str>) -> Self {
        let mut is_cut = false;
        let mut all = |patterns: &[String], is_meant: fn(&std::path::Path) -> bool| -> Vec<String> {
            let mut found: Vec<String> = Vec::new();
            for pattern in patterns {
                let matches = shape::matching(root.path(), pattern, MOST);
                is_cut |= matches.is_cut;
                found
                    .extend(matches.folders.into_iter().filter(|folder| is_meant(&root.path().join(folder))));
            }
            found.sort();
            found.dedup();
            found
        };
        let tasks = all(&policy.tasks.folders, shape::is_task).len();
        let teams = all(&policy.team.sessions, shape::is_team);
        Self {
            home: root.home_name(),
            has_home: root.home().is_dir(),
            is_kiln: root.is_kiln(),
            stage: stage.map(|stage| plain(stage, 40)),
            tasks,
            teams: teams.iter().map(|team| plain(team.rsplit('/').next().unwrap_or(team), 60)).collect(),
            is_cut,
        }
    }

    /// In one line: `.kiln (stage build), 2 task folders, team session TLS-x`.
    pub(super) fn words(&self) -> String {
        let stage = self.stage.as_ref().map_or("no stage".to_owned(), |stage| format!("stage {stage}"));
        let home = self.has_home.then(|| format!("{} ({stage})", self.home));
        let all: Vec<String> = home.into_iter().chain(self.parts()).collect();
        if all.is_empty() { "nothing yet".to_owned() } else { all.join(", ") }
    }

    /// The same without the home, part by part: `2 task folders`, `team session TLS-x`.
    pub(super) fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let more = if self.is_cut { "at least " } else { "" };
        match self.tasks {
            0 => {}
            1 => parts.push("1 task folder".to_owned()),
            n => parts.push(format!("{more}{n} task folders")),
        }
        let named = self.teams.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.teams.len() {
            0 => {}
            1 => parts.push(format!("team session {named}")),
            n if n <= MOST_NAMED => parts.push(format!("team sessions {named}")),
            n => parts.push(format!("team sessions {named} and {} more", n - MOST_NAMED)),
        }
        parts
    }

    /// By what, in a few words; empty if nothing was recognised.
    pub(super) fn why(&self) -> String {
        let mut why = Vec::new();
        if self.has_home {
            let by = if self.is_kiln { "is there" } else { "was made by init, a start or a hook" };
            why.push(format!("{}/ {by}", self.home));
        }
        if self.tasks > 0 {
            why.push("TASK.md or a signal in tasks.folders".to_owned());
        }
        if !self.teams.is_empty() {
            why.push(".msg in team.sessions".to_owned());
        }
        why.join("; ")
    }

    /// What was recognised and by what, for programs.
    pub(super) fn json(&self) -> Value {
        let mut why = Vec::new();
        if self.has_home {
            let by = if self.is_kiln {
                "the folder is there"
            } else {
                "made by \"watchdog init\", a start or a hook"
            };
            why.push(json!({"what": self.home, "why": by}));
        }
        if self.tasks > 0 {
            let by = "TASK.md or a signal file in a folder of tasks.folders";
            why.push(json!({"what": "task folders", "count": self.tasks, "why": by}));
        }
        if !self.teams.is_empty() {
            let by = ".msg in a folder of team.sessions";
            why.push(json!({"what": "team sessions", "names": self.teams, "why": by}));
        }
        json!({"home": self.home, "words": self.words(), "by": why})
    }
}
