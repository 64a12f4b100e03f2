//! `mark`: how a worker says where it is. As a command, or linked as `mark` into a task folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Parser;

use super::{USAGE, end};
use crate::model::wording::hides;
use crate::protocol::checklist::{self, Item};
use crate::protocol::worker_mark::{self, Command, Line, Scene, Target};
use crate::protocol::worker_terminal::{Audit, Ending};
use crate::store::file::chain;
use crate::store::task_folder::TaskFolder;
use crate::system::clock;

/// What `--help` says beyond the first line.
pub(super) const HELP: &str = "Say where a worker is: tick an item of its checklist and write its signal file.\n\n\
  start            an attempt begins: SIGNAL.json says running, with a new attempt id\n  \
  N                item N of the checklist is done\n  \
  complete         finished: artifacts/learnings.md and the flow's report must be there\n  \
  no-change        nothing to change: artifacts/no-change-report.md must be there\n  \
  blocked          it cannot go on without others\n\n\
The task folder is the folder of the link if this program is linked or copied as \"mark\", else the one that is named \
before the step, else the current one. The checklist is TASK.md, or what checklist-target.json names \
({\"checklist\": \"SELF-REVIEW.md\"}); SELF-REVIEW.md has SELF-REVIEW-SIGNAL.json. Two files before the step name \
both. What is demanded at the end can be overridden by inputs/worker-terminal-contract.json.\n\n\
Exit status: 0 it is written, 1 it is refused or failed and the signal is as it was, 64 a usage error.";

/// Options of `mark`.
#[expect(clippy::struct_excessive_bools, reason = "one for each option")]
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// start, the number of an item, complete, no-change or blocked; before it a task folder, or a checklist and its
    /// signal file
    #[arg(required = true, num_args = 1..=3, value_name = "STEP")]
    words: Vec<OsString>,
    /// Why (no-change and blocked need it)
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// no-change: it had been fixed before (otherwise it does not happen)
    #[arg(long)]
    already_fixed: bool,
    /// Tick the last item too; complete and no-change then want all others ticked
    #[arg(long)]
    mark_last: bool,
    /// End without artifacts/learnings.md; the signal says so
    #[arg(long)]
    skip_learnings: bool,
    /// End with open items; the signal says so
    #[arg(long)]
    skip_checklist: bool,
    /// Another checklist of the task folder than the active one
    #[arg(long, value_name = "FILE")]
    checklist: Option<String>,
}

#[derive(Debug, Parser)]
#[command(name = "mark", version, about = "Say where a worker is", long_about = HELP, max_term_width = 80)]
struct Linked {
    #[command(flatten)]
    args: Args,
}

/// Runs as `mark`, by the name under which the program was started.
pub fn linked(program: &Path, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = match Linked::try_parse_from(std::iter::once(OsString::from("mark")).chain(arguments)) {
        Ok(linked) => linked.args,
        Err(error) => return super::unparsed(&error),
    };
    // A name without a folder was found on the path.
    let folder = program.parent().filter(|folder| !folder.as_os_str().is_empty());
    end("mark", mark(&arguments, folder.unwrap_or(Path::new("."))))
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    mark(args, Path::new("."))
}

/// The files that a command line is about, and its step.
struct Place {
    folder: TaskFolder,
    /// Named on the command line.
    files: Option<Target>,
    step: String,
}

fn place(args: &Args, folder: &Path) -> anyhow::Result<Place> {
    let step = |word: &OsString| word.to_string_lossy().into_owned();
    match args.words.as_slice() {
        [word] => Ok(Place { folder: TaskFolder::at(folder), files: None, step: step(word) }),
        [named, word] => {
            let path = Path::new(named);
            if !path.is_dir() && worker_mark::is_step(&step(named)) {
                bail!("\"{}\" and \"{}\": one step at a time", step(named), step(word));
            }
            if path.exists() && !path.is_dir() {
                bail!(
                    "{} is a file: the task folder is wanted before the step, or the checklist and its signal file",
                    path.display()
                );
            }
            Ok(Place { folder: TaskFolder::at(path), files: None, step: step(word) })
        }
        [checklist, signal, word] => {
            let (checklist, signal) = (PathBuf::from(checklist), PathBuf::from(signal));
            let parent =
                |path: &Path| path.parent().map(|path| Path::new(".").join(path)).unwrap_or_default();
            let folder = parent(&checklist);
            if parent(&signal) != folder {
                bail!("{} and {} are not in one folder", checklist.display(), signal.display());
            }
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name(&signal).strip_suffix(".json").is_none_or(str::is_empty) {
                bail!("{} is no signal file: a name that ends in .json is wanted", signal.display());
            }
            let checklist = worker_mark::target(&name(&checklist)).map_err(|error| anyhow!(error))?.checklist;
            let files = Some(Target { checklist, signal: name(&signal) });
            Ok(Place { folder: TaskFolder::at(&folder), files, step: step(word) })
        }
        _ => bail!("a step is wanted"),
    }
}

fn options(args: &Args) -> Vec<&'static str> {
    [
        ("already-fixed", args.already_fixed),
        ("mark-last", args.mark_last),
        ("skip-learnings", args.skip_learnings),
        ("skip-checklist", args.skip_checklist),
    ]
    .into_iter()
    .filter_map(|(name, is_set)| is_set.then_some(name))
    .collect()
}

fn mark(args: &Args, folder: &Path) -> anyhow::Result<ExitCode> {
    let usage = |error: &str| {
        anstream::eprintln!("mark: {error}; see --help");
        Ok(ExitCode::from(USAGE))
    };
    let place = match place(args, folder) {
        Ok(place) => place,
        Err(error) => return usage(&error.to_string()),
    };
    if place.files.is_some() && args.checklist.is_some() {
        return usage("--checklist does not go with a checklist that is named before the step");
    }
    if let Some(Err(error)) = args.checklist.as_deref().map(worker_mark::target) {
        return usage(&error);
    }
    let line = Line { step: &place.step, reason: args.reason.as_deref(), options: options(args) };
    let command = match worker_mark::command(&line) {
        Ok(command) => command,
        Err(error) => return usage(&error),
    };
    let _held = place.folder.hold()?;
    let target = match place.files {
        Some(target) => target,
        None => place.folder.target(args.checklist.as_deref()).map_err(|error| anyhow!(error))?,
    };
    if args.reason.as_deref().is_some_and(hides) {
        say_masked("the reason");
    }
    carry_out(&place.folder, &target, &command)
}

/// Nothing is written before all that may be refused has been looked at. The checklist comes first: a signal never says
/// more than the checklist, and a command that was killed in between is completed when it is run again.
fn carry_out(folder: &TaskFolder, target: &Target, command: &Command) -> anyhow::Result<ExitCode> {
    let Target { checklist: name, signal } = target;
    let checklist = folder.checklist(name).map_err(anyhow::Error::from).and_then(|found| {
        found.with_context(|| {
            let at = folder.path().display();
            if folder.misses(target) {
                return format!("{}, or name another with --checklist", folder.misled(target));
            }
            format!("there is no {name} in {at}; run this in a task folder, or name it")
        })
    });
    let checklist = match checklist {
        Err(fault) if is_blocked(command) && folder.is_task(target) => {
            anstream::eprintln!("mark: {fault:#}; blocked is said without it");
            None
        }
        found => Some(found?),
    };
    let before = match (folder.members(signal), command) {
        (Ok(members), _) => members,
        (Err(fault), command) if *command == Command::Start || is_blocked(command) => {
            let aside = folder.put_aside(signal)?;
            anstream::eprintln!("mark: {signal} could not be used ({fault}); it is kept as {aside}");
            serde_json::Map::new()
        }
        (Err(fault), _) => bail!("{signal}: {fault}; \"mark start\" puts it aside and begins a new attempt"),
    };
    if let Some(objection) = worker_mark::objection(command, &before) {
        bail!("{signal}: {objection}");
    }
    let items = checklist.as_ref().map(|found| checklist::items(&found.bytes)).unwrap_or_default();
    let item = worker_mark::choose(command, &items).map_err(|why| anyhow!("{name}: {why}"))?;
    let audit = audit(folder, name, command)?;
    if let (Some(found), Some(item)) = (&checklist, item.filter(|item| !item.is_done)) {
        folder.store_checklist(name, found, &checklist::ticked(&found.bytes, item))?;
    }
    let attempt = uuid::Uuid::new_v4().to_string();
    let scene = Scene {
        checklist: name,
        before: &before,
        item,
        attempt: &attempt,
        report: audit.report.as_deref(),
        open: items.iter().filter(|item| !item.is_done).count(),
        now: clock::now().wall,
    };
    folder.store_signal(signal, &worker_mark::signal(command, scene)).map_err(|error| {
        let ticked = item.map(|item| format!("; item {} is ticked, run this again", item.number));
        anyhow!("{}{}", chain(&error), ticked.unwrap_or_default())
    })?;
    if item.is_some_and(|item| item.is_masked) {
        say_masked("the item's text");
    }
    report(command, item, signal, &attempt, &audit)
}

/// What was written is not what was said: whoever said it should know.
fn say_masked(what: &str) {
    anstream::eprintln!("mark: something in {what} looks like a key, and is written as [masked]");
}

/// Whoever is blocked must be able to say so, whatever state the folder is in.
fn is_blocked(command: &Command) -> bool {
    matches!(command, Command::End(end) if end.ending == Ending::Blocked)
}

/// What the end of an attempt needs. What is wanting is told at once and whole.
fn audit(folder: &TaskFolder, checklist: &str, command: &Command) -> anyhow::Result<Audit> {
    let Command::End(end) = command else { return Ok(Audit::default()) };
    if is_blocked(command) {
        return Ok(Audit::default());
    }
    let contract = folder
        .contract(checklist)
        .map_err(|why| anyhow!("{why}; without it nothing says what must be there: mend or remove it"))?;
    let audit = contract.audit(end.ending, end.skip_learnings, |path| folder.shelf(path));
    if audit.lacks.is_empty() {
        return Ok(audit);
    }
    let lacks: Vec<String> = audit.lacks.iter().map(ToString::to_string).collect();
    bail!("{} is refused, nothing was written: {}", end.ending.word(), lacks.join("; "))
}

fn report(
    command: &Command,
    item: Option<&Item>,
    signal: &str,
    attempt: &str,
    audit: &Audit,
) -> anyhow::Result<ExitCode> {
    match (command, item) {
        (Command::End(end), _) => {
            let report = audit.report.as_ref().map(|path| format!(", report {path}")).unwrap_or_default();
            say!("{signal}: {}{report}", end.ending.word());
        }
        (Command::Step(_), Some(item)) => say!("{}: {} ({signal}: running)", item.number, item.label),
        _ => say!("{signal}: running, attempt {attempt}"),
    }
    Ok(ExitCode::SUCCESS)
}
