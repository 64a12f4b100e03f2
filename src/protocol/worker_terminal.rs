//! What a worker must leave in its task folder before it may say that it has finished (`worker-signal-protocol`,
//! "Packaged evidence enforced at terminal"), and `inputs/worker-terminal-contract.json`, which overrides it for a run.
//!
//! The contract's shape is Farmslot's: `{"commands": {"complete": {"report": PATH, "artifacts": [PATH, …]}, …},
//! "whenPresent": [{"path": PATH, "alsoRequire": [PATH, …]}]}`. A command that it leaves out keeps the built-in demand,
//! and so does an absent `whenPresent`. Other members are passed over. Every path is relative to the task folder.
//!
//! Two things it cannot change, since the protocol's readers go by them: a no-change result is proven by its own report,
//! so another one comes on top; and whoever is blocked need leave nothing behind.

use std::fmt;

use serde_json::Value;

use super::worker_signal::NO_CHANGE_REPORT;

/// What every worker writes down of what it learnt.
pub const LEARNINGS: &str = "artifacts/learnings.md";
/// The reports that a finished flow may have.
const REPORTS: [&str; 3] = ["artifacts/report.md", "artifacts/review.md", "artifacts/comments-report.md"];
/// A run that used a recipe also leaves these.
const RECIPE: &str = "artifacts/recipe.json";
const RECIPE_ALSO: [&str; 2] = ["artifacts/recipe-coverage.md", "artifacts/evidence-manifest.json"];

/// The ways to end that `mark` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The task is done.
    Complete,
    /// There was nothing to change.
    NoChange,
    /// It cannot go on.
    Blocked,
}

/// What is demanded of one ending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demand {
    /// The report: one of these. None = no report.
    pub report: Vec<String>,
    /// All of these.
    pub artifacts: Vec<String>,
}

/// What is demanded of each ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    complete: Demand,
    no_change: Demand,
    /// If the first is there, the others must be.
    when_present: Vec<(String, Vec<String>)>,
}

/// What became of looking at an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shelf {
    /// It is there and holds something.
    Full,
    /// It is not there.
    Absent,
    /// There is nothing but space in it.
    Empty,
    /// Its name says JSON, and it is none.
    NotJson,
    /// It is not ours to read: why.
    Refused(String),
}

/// One thing that is wanting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The artifact, or those of which one would do.
    pub paths: Vec<String>,
    /// How it was found.
    pub found: Shelf,
    /// The file that makes it necessary, if that is not the ending itself.
    pub because: Option<String>,
}

/// What became of comparing a task folder with a contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// The report that is there.
    pub report: Option<String>,
    /// What is wanting.
    pub lacks: Vec<Lack>,
}

impl Ending {
    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::NoChange => "no-change",
            Self::Blocked => "blocked",
        }
    }
}

/// The report that a flow ends with; any of the three for a flow that is not known.
///
/// A flow is the first folder below `.task/`, or the role whose checklist is active.
fn reports(flow: Option<&str>) -> Vec<String> {
    let one = |name: &str| vec![name.to_owned()];
    match flow {
        None => REPORTS.iter().map(|path| (*path).to_owned()).collect(),
        Some("review" | "review-pr" | "self-review") => one(REPORTS[1]),
        Some("pr-complete" | "comments" | "pr-comments" | "address-comments") => one(REPORTS[2]),
        Some(_) => one(REPORTS[0]),
    }
}

/// A path that stays inside the task folder.
pub fn is_inside(path: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != ".." && !part.contains('\0');
    !path.is_empty() && path.len() <= 1024 && path.split('/').all(is_part)
}

impl Contract {
    /// What is demanded where no contract file says otherwise.
    pub fn of_flow(flow: Option<&str>) -> Self {
        let learnings = vec![LEARNINGS.to_owned()];
        let also = RECIPE_ALSO.iter().map(|path| (*path).to_owned()).collect();
        Self {
            complete: Demand { report: reports(flow), artifacts: learnings.clone() },
            no_change: Demand { report: vec![NO_CHANGE_REPORT.to_owned()], artifacts: learnings },
            when_present: vec![(RECIPE.to_owned(), also)],
        }
    }

    /// Reads a contract file. The second value says what keeps it from being used; then the first is that of the flow.
    pub fn read(bytes: &[u8], flow: Option<&str>) -> (Self, Vec<String>) {
        let mut contract = Self::of_flow(flow);
        let mut faults = Vec::new();
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => contract.override_by(&value, &mut faults),
            Err(error) => {
                faults.push(format!("not JSON (line {}, column {})", error.line(), error.column()));
            }
        }
        if faults.is_empty() { (contract, faults) } else { (Self::of_flow(flow), faults) }
    }

    fn override_by(&mut self, value: &Value, faults: &mut Vec<String>) {
        let version = &value["schemaVersion"];
        if !version.is_null() && version.as_u64() != Some(1) {
            return faults.push("schemaVersion: 1 is wanted".to_owned());
        }
        let Some(commands) = value["commands"].as_object() else {
            faults.push("commands: an object is wanted".to_owned());
            return;
        };
        for (word, slot) in [("complete", &mut self.complete), ("no-change", &mut self.no_change)] {
            if let Some(command) = commands.get(word) {
                *slot = demand(command, &format!("commands.{word}"), faults);
            }
        }
        let other = std::mem::replace(&mut self.no_change.report, vec![NO_CHANGE_REPORT.to_owned()]);
        let other = other.into_iter().filter(|path| path != NO_CHANGE_REPORT);
        let other: Vec<String> = other.filter(|path| !self.no_change.artifacts.contains(path)).collect();
        self.no_change.artifacts.extend(other);
        let rules = match &value["whenPresent"] {
            Value::Null => return,
            Value::Array(rules) => rules,
            _ => return faults.push("whenPresent: a list is wanted".to_owned()),
        };
        self.when_present.clear();
        for (place, rule) in rules.iter().enumerate() {
            let at = format!("whenPresent[{place}]");
            let path = path(&rule["path"], &format!("{at}.path"), faults);
            let also = paths(&rule["alsoRequire"], &format!("{at}.alsoRequire"), faults);
            self.when_present.extend(path.map(|path| (path, also)));
        }
    }

    /// What is demanded of an ending, without what follows from files that are there. None = nothing.
    fn demand(&self, ending: Ending) -> Option<&Demand> {
        match ending {
            Ending::Complete => Some(&self.complete),
            Ending::NoChange => Some(&self.no_change),
            Ending::Blocked => None,
        }
    }

    /// Compares a task folder with what is demanded. `look` says how an artifact is found.
    pub fn audit(&self, ending: Ending, skips_learnings: bool, look: impl Fn(&str) -> Shelf) -> Audit {
        let mut audit = Audit::default();
        let Some(demand) = self.demand(ending) else { return audit };
        let mut mind = |path: &str, because: Option<&str>| {
            let found = look(path);
            let is_waived = skips_learnings && path == LEARNINGS;
            if found != Shelf::Full && !is_waived {
                let because = because.map(ToOwned::to_owned);
                audit.lacks.push(Lack { paths: vec![path.to_owned()], found, because });
            }
        };
        demand
            .artifacts
            .iter()
            .filter(|path| !demand.report.contains(path))
            .for_each(|path| mind(path, None));
        for (path, also) in &self.when_present {
            if look(path) != Shelf::Absent {
                std::iter::once(path).chain(also).for_each(|wanted| mind(wanted, Some(path)));
            }
        }
        audit.report = demand.report.iter().find(|path| look(path) == Shelf::Full).cloned();
        if audit.report.is_none() && !demand.report.is_empty() {
            let found = demand.report.iter().map(|path| look(path));
            let found = found.into_iter().find(|found| *found != Shelf::Absent).unwrap_or(Shelf::Absent);
            audit.lacks.insert(0, Lack { paths: demand.report.clone(), found, because: None });
        }
        audit
    }
}

fn demand(value: &Value, at: &str, faults: &mut Vec<String>) -> Demand {
    if !value.is_object() {
        faults.push(format!("{at}: an object is wanted"));
    }
    let report = match &value["report"] {
        Value::Null => None,
        value => path(value, &format!("{at}.report"), faults),
    };
    let artifacts = match &value["artifacts"] {
        Value::Null => Vec::new(),
        value => paths(value, &format!("{at}.artifacts"), faults),
    };
    Demand { report: report.into_iter().collect(), artifacts }
}

fn path(value: &Value, at: &str, faults: &mut Vec<String>) -> Option<String> {
    let path =
        value.as_str().map(|path| path.strip_prefix("./").unwrap_or(path)).filter(|path| is_inside(path));
    if path.is_none() {
        faults.push(format!("{at}: a path inside the task folder is wanted"));
    }
    path.map(ToOwned::to_owned)
}

fn paths(value: &Value, at: &str, faults: &mut Vec<String>) -> Vec<String> {
    let Some(list) = value.as_array() else {
        faults.push(format!("{at}: a list is wanted"));
        return Vec::new();
    };
    let each = list.iter().enumerate();
    each.filter_map(|(place, value)| path(value, &format!("{at}[{place}]"), faults)).collect()
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.paths.join(" or "))?;
        match &self.found {
            Shelf::Full => f.write_str(" is there")?,
            Shelf::Absent => f.write_str(" is missing")?,
            Shelf::Empty => f.write_str(" is empty")?,
            Shelf::NotJson => f.write_str(" is not JSON")?,
            Shelf::Refused(why) => write!(f, " cannot be read ({why})")?,
        }
        match &self.because {
            // Nothing wants it but itself.
            Some(because) if self.paths == [because.as_str()] => {
                f.write_str(" (mend it, or remove it if it is none)")?;
            }
            Some(because) => write!(f, " (wanted because {because} is there)")?,
            None => {}
        }
        if self.paths == [LEARNINGS] {
            f.write_str(
                " (3 to 5 bullets; one is enough when nothing was learnt; --skip-learnings waives it and says so)",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
