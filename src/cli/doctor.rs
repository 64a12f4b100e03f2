//! `doctor`: whether the whole way from a hook to a nudge is open. Each finding has its remedy.

mod client;
mod machine;
mod project;

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::client_places::Places;
use super::layout::wrap;
use super::place::Place;
use crate::store::root::Root;
use crate::system::clock;

/// The widest line.
const WIDTH: usize = 80;

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    Fair,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    name: &'static str,
    health: Health,
    words: String,
    /// What to do about it; none if it is good.
    remedy: Option<String>,
}

impl Finding {
    fn good(name: &'static str, words: impl Into<String>) -> Self {
        Self { name, health: Health::Good, words: words.into(), remedy: None }
    }

    fn fair(name: &'static str, words: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, health: Health::Fair, words: words.into(), remedy: Some(remedy.into()) }
    }

    fn wrong(name: &'static str, words: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, health: Health::Wrong, words: words.into(), remedy: Some(remedy.into()) }
    }

    fn json(&self) -> Value {
        let ok = match self.health {
            Health::Good => json!(true),
            Health::Fair => json!("warn"),
            Health::Wrong => json!(false),
        };
        json!({ "name": self.name, "ok": ok, "finding": self.words, "remedy": self.remedy })
    }
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let places = Places::of(place)?;
    let named = place.named()?;
    // A project without .kiln has no state to look at, but may have hooks.
    let root = match &named {
        Some(folder) => Root::at(folder).ok(),
        None => place.root().ok(),
    };
    let layers = place.layers();
    let policy = |root: Option<&Root>| layers.read(root).unwrap_or_default().policy;
    let now = clock::now();
    let mut findings = client::findings(&places, &policy(root.as_ref()), &policy(None));
    findings.extend(project::findings(root.as_ref(), &layers, &policy(root.as_ref()), now));
    findings.extend(machine::findings(root.as_ref(), now));
    let wrong = findings.iter().filter(|finding| finding.health == Health::Wrong).count();
    let mut out = anstream::stdout();
    if args.json {
        let list: Vec<Value> = findings.iter().map(Finding::json).collect();
        let root = root.map(|root| root.path().to_string_lossy().into_owned());
        let all = json!({ "v": 1, "root": root, "ok": wrong == 0, "findings": list });
        writeln!(out, "{}", super::json::line(&all))?;
    } else {
        write!(out, "{}", render(&findings))?;
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the findings, the remedy below each, and what they come to.
fn render(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let (mark, style) = match finding.health {
            Health::Good => ("ok", AnsiColor::Green.on_default()),
            Health::Fair => ("warn", AnsiColor::Yellow.on_default()),
            Health::Wrong => ("WRONG", AnsiColor::Red.on_default().bold()),
        };
        lines(&mut text, style, mark, finding.name, &finding.words);
        if let Some(remedy) = &finding.remedy {
            lines(&mut text, Style::new(), "", "  remedy", remedy);
        }
    }
    let count = |health| findings.iter().filter(|finding| finding.health == health).count();
    let things =
        |count: usize| if count == 1 { "1 thing is".to_owned() } else { format!("{count} things are") };
    let sum = match (count(Health::Wrong), count(Health::Fair)) {
        (0, 0) => "All is well.".to_owned(),
        (0, fair) => format!("Nothing is wrong; {} worth a look.", things(fair)),
        (wrong, _) => format!("{} wrong.", things(wrong)),
    };
    writeln!(text, "\n{sum}").ok();
    text
}

fn lines(text: &mut String, style: Style, mark: &str, name: &str, words: &str) {
    let mut head = (mark, name);
    for part in wrap(words, WIDTH - 18) {
        let (mark, name) = std::mem::take(&mut head);
        let line = format!("{style}{mark:<6}{style:#}{name:<12}{part}");
        writeln!(text, "{}", line.trim_end()).ok();
    }
}

#[cfg(test)]
mod tests;
