//! `install`: registers the hooks in a settings file of the client.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use similar::TextDiff;

use super::client_places::{Places, Which, at, shown};
use super::place::Place;
use crate::protocol::client_settings::{self, PROGRAM, Registration};
use crate::protocol::hook_table::registrations;
use crate::store::client_file::ClientFile;
use crate::store::root::Root;
use crate::system::program::{self, Origin};

/// The whole help.
pub(super) const HELP: &str = "\
Register the hooks in the client's settings file.

Without --user that is .claude/settings.json of the project: of --root, or of the nearest folder from here upwards \
that holds .kiln, .claude or .git. A project's file is often shared by version control, and the program's path is the \
one on this machine: use --user where that does not suit.

What is there stays as it is: other people's hooks, the order of keys, indentation, line ends, comments. Hooks of an \
older installation are brought up to date where they stand. A second time changes nothing.

With --guards the hooks also hold the Kiln protocol's guards, and TaskCreated and TaskCompleted are registered: they \
refuse what the protocol forbids, in projects with an active pipeline alone. An installation without --guards takes \
them out again.

Before the first change the file is copied to settings.json.watchdog-backup beside it (beside the file that a link \
leads to). An earlier copy that differs is never overwritten: the new one is settings.json.watchdog-backup.2, and so \
on. \"watchdog uninstall\" removes the copy when it is of no more use.";

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(2);

/// Options of `install`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// The program that the hooks run (default: this one)
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Register no bridge: nudges then reach an idle session by FileChanged alone
    #[arg(long)]
    no_bridge: bool,
    /// Register the guards of the Kiln protocol as well: they refuse what it forbids (docs/hooks.md, [guards])
    #[arg(long)]
    guards: bool,
    /// Print the change and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let places = Places::of(place)?;
    let path = places.pick(args.which)?;
    let program = program_path(args.binary.as_deref())?;
    // What holds for all projects follows no project's settings.
    let folder = places.project.parent().and_then(Path::parent);
    let root = folder.filter(|_| !args.which.user).and_then(|folder| Root::at(folder).ok());
    let life = place.config(root.as_ref())?.policy.bridge.life;
    let table = registrations(&program, (!args.no_bridge).then_some(life), args.guards);
    let mut out = anstream::stdout();
    let file = ClientFile::read(path)?;
    let had_guards = has_guards(&file);
    let change = Change::to(&file, &table)?;
    let Some(change) = change else {
        writeln!(out, "Already installed: {} has all {} events.", shown(path), table.len())?;
        warn(&places, path, file.text.as_deref().unwrap_or_default(), &program)?;
        return Ok(ExitCode::SUCCESS);
    };
    if args.dry_run {
        file.check_writable()?;
        write!(out, "{}", diff(&file, Some(&change.text)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let backup = change.carry_out(&file)?;
    writeln!(out, "Registered {} events in {}.", table.len(), shown(path))?;
    if let Some(target) = file.behind_link() {
        writeln!(out, "That is a link; it stays one. The file is {}.", shown(target))?;
    }
    if let Some(backup) = backup {
        writeln!(out, "The file as it was: {}", shown(&backup))?;
    }
    writeln!(out, "The hooks run {program}")?;
    match (args.guards, had_guards) {
        (true, _) => writeln!(out, "They hold the guards of the Kiln protocol; [guards] switches each off.")?,
        (false, true) => writeln!(out, "The guards that were registered are out; --guards keeps them.")?,
        (false, false) => {}
    }
    write!(out, "{NEXT}")?;
    warn(&places, path, &change.text, &program)?;
    Ok(ExitCode::SUCCESS)
}

fn has_guards(file: &ClientFile) -> bool {
    let entries = client_settings::entries(file.text.as_deref().unwrap_or_default());
    entries.is_ok_and(|entries| entries.iter().any(|entry| entry.guards))
}

const NEXT: &str = "
Next: sessions that run already pick the hooks up by themselves. In a folder
that the client does not trust yet it holds hooks back until its trust dialog
is accepted. \"watchdog doctor\" checks the whole way.
";

/// What an installation makes of a file.
struct Change {
    text: String,
    /// The file as it is must be kept for later.
    keeps: bool,
}

impl Change {
    /// None = there is nothing to change.
    fn to(file: &ClientFile, table: &[Registration]) -> anyhow::Result<Option<Self>> {
        let before = file.text.as_deref().unwrap_or_default();
        let refused = |fault| anyhow::anyhow!("{}; nothing was changed", at(&file.path, &fault));
        let text = client_settings::install(before, table).map_err(refused)?;
        if file.text.as_ref() == Some(&text) {
            return Ok(None);
        }
        // Over an installation of ours the copy from before it is the one to keep.
        let is_first = client_settings::entries(before).map_err(refused)?.is_empty();
        Ok(Some(Self { text, keeps: is_first || file.last_backup().is_none() }))
    }

    /// Returns where the copy of the old file lies.
    fn carry_out(&self, file: &ClientFile) -> anyhow::Result<Option<PathBuf>> {
        file.check_writable()?;
        let made = file.make_folder()?;
        let written = (|| {
            let backup = if self.keeps { file.back_up()? } else { None };
            file.write(&self.text)?;
            Ok(backup)
        })();
        if written.is_err() && made {
            file.unmake_folder();
        }
        written
    }
}

/// The change as a unified diff; none = the file goes.
pub(super) fn diff(file: &ClientFile, new: Option<&str>) -> String {
    let name = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| shown(&file.path));
    let old = file.text.as_deref();
    let change = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    change.unified_diff().header(&name(old), &name(new)).to_string()
}

/// The program that hooks will run, by a path that they will find.
fn program_path(named: Option<&Path>) -> anyhow::Result<String> {
    let path = if let Some(path) = named {
        program::absolute(path).with_context(|| format!("--binary {}", shown(path)))?
    } else {
        let origin =
            Origin::of_process().context("the running program cannot be found; name it with --binary")?;
        Some(origin.own_path()).filter(|path| has_name(path)).unwrap_or(origin.running)
    };
    if let Err(why) = program::check(&path) {
        bail!("hooks cannot run {}: {why}; name another program with --binary", shown(&path));
    }
    ensure!(
        has_name(&path),
        "hooks must run a file that is called {PROGRAM}, and {} is not; make a link of that name and name it with --binary",
        shown(&path)
    );
    if named.is_some() {
        program::version(&path, PATIENCE).with_context(|| format!("hooks cannot run {}", shown(&path)))?;
    }
    let words = path.to_str().map(ToOwned::to_owned);
    words.with_context(|| format!("{} is not UTF-8, which a settings file must be", shown(&path)))
}

/// This name is how "uninstall" and a later "install" know our hooks from those of others.
fn has_name(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == PROGRAM)
}

/// Says what keeps the hooks from running as one would think.
fn warn(places: &Places, path: &Path, text: &str, program: &str) -> anyhow::Result<()> {
    let mut err = anstream::stderr();
    let guards = client_settings::entries(text).is_ok_and(|entries| entries.iter().any(|entry| entry.guards));
    if let Ok(Some(beyond)) = client_settings::beyond_json(text) {
        writeln!(err, "watchdog: {} makes it more than plain JSON;", at(path, &beyond))?;
        writeln!(
            err,
            "  the client takes nothing from such a file, these hooks included, until it is removed"
        )?;
    }
    for other in [places.user.as_deref(), Some(&places.project), Some(&places.local)].into_iter().flatten() {
        let text = ClientFile::read(other).ok().filter(|_| other != path).and_then(|file| file.text);
        let entries = client_settings::entries(text.as_deref().unwrap_or_default()).unwrap_or_default();
        if let Some(entry) = entries.iter().find(|entry| entry.command != program) {
            writeln!(err, "watchdog: {} registers {} as well:", shown(other), entry.command)?;
            writeln!(err, "  every event runs both; take one out with \"watchdog uninstall\"")?;
        } else if !entries.is_empty() && entries.iter().any(|entry| entry.guards) != guards {
            let how = if guards { "without" } else { "with" };
            writeln!(err, "watchdog: {} registers hooks {how} guards as well:", shown(other))?;
            writeln!(err, "  some events run both; take one out with \"watchdog uninstall\"")?;
        }
    }
    Ok(())
}
