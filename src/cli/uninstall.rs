//! `uninstall`: takes the hooks out of a settings file of the client.

use std::io::Write;
use std::process::ExitCode;

use super::client_places::{Places, Which, at, shown};
use super::install::diff;
use super::place::Place;
use crate::protocol::client_settings::{uninstall, without_ours};
use crate::store::client_file::{Backup, ClientFile};
use crate::store::file::remove;

/// The whole help.
pub(super) const HELP: &str = "\
Take the hooks out of the client's settings file.

The file is then what it was before \"watchdog install\", to the byte; what others changed in it meanwhile stays \
changed. A file that install made, and the .claude folder if install made it and nothing else is in it, are gone \
again. The copy that install put aside is removed if the file is now equal to it, and kept otherwise.";

/// Options of `uninstall`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Print the change and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let places = Places::of(place)?;
    let path = places.pick(args.which)?;
    let mut out = anstream::stdout();
    let file = ClientFile::read(path)?;
    let backup = file.last_backup();
    let before = backup.as_ref().and_then(|backup| backup.text.as_deref());
    let left = match &file.text {
        Some(text) => uninstall(text, before)
            .map_err(|fault| anyhow::anyhow!("{}; nothing was changed", at(path, &fault)))?,
        None => None,
    };
    if left == file.text {
        let why = if left.is_some() { "it holds no hook of ours" } else { "there is no such file" };
        writeln!(out, "Nothing to take out of {}: {why}.", shown(path))?;
        if !args.dry_run {
            tidy(&file, left.as_deref(), backup.as_ref())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        file.check_writable()?;
        write!(out, "{}", diff(&file, left.as_deref()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(left) = &left {
        file.write(left)?;
        writeln!(out, "The hooks are out of {}.", shown(path))?;
    } else {
        file.remove()?;
        writeln!(out, "{} held nothing but our hooks and was removed.", shown(path))?;
    }
    let Tidied { copy_stays, folder_gone } = tidy(&file, left.as_deref(), backup.as_ref())?;
    if let Some(copy) = backup.filter(|_| copy_stays) {
        writeln!(out, "It has changed since it was copied; the copy stays: {}", shown(&copy.path))?;
    }
    if folder_gone {
        writeln!(out, "Its folder, which install had made, was empty and is gone too.")?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Tidied {
    copy_stays: bool,
    folder_gone: bool,
}

/// Removes what install left beside the file and what is of no more use.
fn tidy(file: &ClientFile, left: Option<&str>, backup: Option<&Backup>) -> anyhow::Result<Tidied> {
    let mut copy_stays = false;
    if let Some(backup) = backup {
        copy_stays = without_ours(backup.text.as_deref()).as_deref() != left;
        if !copy_stays {
            remove(&backup.path)?;
        }
    }
    Ok(Tidied { copy_stays, folder_gone: file.unmake_folder() })
}
