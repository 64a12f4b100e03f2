//! Telling a person: a command of theirs, with a JSON report on stdin.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::model::moment::Millis;
use crate::model::policy::Alert;
use crate::model::wording::{clock, plain};

/// How long a command may take; a longer one is ended.
const LIMIT: Duration = Duration::from_secs(20);

/// What a person is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The occasion: nudge, escalate, waiting, recovered, `session_lost`.
    pub on: &'static str,
    /// The project, as people read it.
    pub root: String,
    /// One sentence.
    pub summary: String,
    /// When, unix milliseconds.
    pub at: Millis,
}

/// Runs every command that wants to hear of this. Returns what went wrong, in words.
pub async fn send(alerts: &[Alert], report: &Report) -> Vec<String> {
    let mut faults = Vec::new();
    for alert in alerts.iter().filter(|alert| alert.on.iter().any(|on| on == report.on)) {
        if let Err(fault) = run(alert, report).await {
            let name = alert.run.first().map_or("", String::as_str);
            faults.push(format!("alert \"{}\": {fault}", plain(name, 80)));
        }
    }
    faults
}

async fn run(alert: &Alert, report: &Report) -> Result<(), String> {
    let summary = plain(&report.summary, 400);
    let mut words = alert.run.iter().map(|word| word.replace("{summary}", &summary));
    let program = words.next().unwrap_or_default();
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("cannot start: {error}"))?;
    let body = json!({
        "v": 1, "on": report.on, "root": report.root, "summary": summary, "at": clock(report.at),
    });
    let told = async {
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input is not at fault.
            stdin.write_all(format!("{body}\n").as_bytes()).await.ok();
        }
        child.wait().await
    };
    match tokio::time::timeout(LIMIT, told).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("ended with {status}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("took longer than {} s and was ended", LIMIT.as_secs())),
    }
}
