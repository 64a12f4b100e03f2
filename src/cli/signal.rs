//! `signal probe`: whether a task folder's signal can be acted on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::{USAGE, json};
use crate::model::wording::{clock, own_words, plain};
use crate::protocol::worker_mark::{self, ROLES, SIGNAL, Target};
use crate::protocol::worker_probe::{self, Answer, Found, Question};
use crate::protocol::worker_signal::{self, Signal};
use crate::protocol::worker_track;
use crate::store::journal;
use crate::store::root::Root;
use crate::store::task_folder::TaskFolder;
use crate::system;

/// Instead of a floor: whatever its age.
const ANY: &str = "any";

/// What `--help` says beyond the first line.
pub(super) const PROBE_HELP: &str = "Say whether a task folder's signal can be acted on.\n\n\
Exit status: 0 ready; 10 no_slot (no such folder), 11 missing_path (no task folder, or a broken manifest), 12 missing, \
13 invalid_json, 14 invalid_schema, 15 non_terminal, 16 context_mismatch, 17 stale, 18 artifact_contract (something that \
it must leave is wanting), 19 terminal_contract_infrastructure (the contract file is broken); 64 a usage error.";

/// Options of `signal`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Say whether a task folder's signal can be acted on
    #[command(long_about = PROBE_HELP)]
    Probe(ProbeArgs),
}

#[derive(Debug, clap::Args)]
struct ProbeArgs {
    /// The task folder
    folder: PathBuf,
    /// The worker's role; one that has a file of its own (self-review, self-review-fix, ci-fix) is read from there
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The context that the worker was started for (default: role and context of the worker at work, where a daemon
    /// watches)
    #[arg(long, value_name = "ID")]
    context_id: Option<String>,
    /// When monitoring of this attempt began, UTC ISO 8601; older signals are stale. "any": you answer for it
    /// (default: what a daemon that watches knows, else "any")
    #[arg(long, value_name = "STAMP")]
    since: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let What::Probe(args) = &args.what;
    let since = args.since.as_deref().filter(|since| *since != ANY);
    let floor = since.map(worker_signal::stamp);
    if floor == Some(None) {
        let found = plain(since.unwrap_or_default(), 60);
        anstream::eprintln!(
            "watchdog: --since \"{found}\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z; see --help"
        );
        return Ok(ExitCode::from(USAGE));
    }
    let folder = TaskFolder::at(&args.folder);
    let target = target(&folder, args.role.as_deref());
    let found = folder.probe(&target);
    let mut question = Question {
        role: args.role.clone().unwrap_or_default(),
        context: args.context_id.clone().unwrap_or_default(),
        floor: floor.flatten().map(worker_track::second),
    };
    if args.since.is_none()
        && let (Found::Bytes(bytes), Ok(target)) = (&found, &target)
    {
        question = informed(question, &args.folder, &target.signal, bytes);
    }
    let checklist = target.as_ref().map_or(worker_mark::TASK, |target| target.checklist.as_str());
    let contract = folder.contract(checklist);
    let answer = worker_probe::probe(&found, &question, &contract, |path| folder.shelf(path));
    let file = target.ok().map(|target| args.folder.join(target.signal));
    if args.json {
        say!("{}", json::line(&data(&answer, file)));
    } else {
        let file = file.unwrap_or_else(|| args.folder.clone());
        say!(
            "{}: {} ({})",
            answer.code.word(),
            plain(&answer.message, 2000),
            plain(&file.to_string_lossy(), 400)
        );
    }
    Ok(ExitCode::from(answer.code.exit_status()))
}

/// What a daemon of the project knows, if there is one.
fn informed(question: Question, folder: &Path, file: &str, bytes: &[u8]) -> Question {
    let Some(root) = Root::above(folder) else { return question };
    let place = folder.canonicalize().ok();
    let name = place.as_ref().and_then(|place| place.strip_prefix(root.path()).ok()).and_then(Path::to_str);
    let key = name.and_then(|name| worker_track::key(name, file));
    match (key, worker_signal::read(bytes).signal, journal::fold(&root)) {
        (Some(key), Some(signal), Ok(ledger)) => {
            worker_track::informed(question, &ledger.tracks, &key, &signal, system::clock::now().wall)
        }
        _ => question,
    }
}

/// The files of a role that has its own; for others those of the active checklist.
fn target(folder: &TaskFolder, role: Option<&str>) -> Result<Target, String> {
    match role.and_then(|role| ROLES.iter().find(|(name, _)| *name == role)) {
        Some((_, checklist)) => worker_mark::target(checklist),
        None => folder.target(None),
    }
}

fn data(answer: &Answer, file: Option<PathBuf>) -> serde_json::Value {
    let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(ToOwned::to_owned);
    let faults: Vec<_> = answer
        .reading
        .faults
        .iter()
        .map(|fault| json!({"field": text(&fault.field), "fault": fault.to_string()}))
        .collect();
    let signal = answer.reading.signal.as_ref().map(|signal: &Signal| {
        json!({
            "role": text(&signal.role), "context_id": text(&signal.context), "attempt_id": text(&signal.attempt),
            "status": signal.status.word(),
            "outcome": signal.outcome.map(worker_signal::Outcome::word),
            "disposition": signal.disposition.map(worker_signal::Disposition::word),
            "step": text(&own_words(&signal.step, 200)), "reason": text(&own_words(&signal.reason, 2000)),
            "report": signal.evidence.as_ref().and_then(|evidence| text(&evidence.report_path)),
            "pr_number": signal.pr_number, "timestamp": signal.stamp.map(clock),
        })
    });
    json!({
        "v": 1, "ok": answer.code.exit_status() == 0, "code": answer.code.word(), "message": answer.message,
        "file": file.unwrap_or_else(|| PathBuf::from(SIGNAL)).to_string_lossy(), "signal": signal, "faults": faults,
    })
}
