//! `init`: a project without `.kiln/` is watched from now on.

use std::process::ExitCode;

use anyhow::{Context, bail};

use super::place::Place;
use super::recognised::Recognised;
use crate::store::root::Root;

pub(super) fn run(place: &Place) -> anyhow::Result<ExitCode> {
    let named = place.named()?;
    let folder = match &named {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().context("the current folder is gone; change to the project first")?,
    };
    let root = Root::new(&folder)?;
    let home = std::env::var_os("HOME").and_then(|home| std::path::Path::new(&home).canonicalize().ok());
    if home.as_deref() == Some(root.path()) || root.path().parent().is_none() {
        bail!("{} holds all projects; run this in one of them, or name it with --root", root.display());
    }
    // Above a folder that was not named there may be the project already.
    if named.is_none()
        && let Some(above) = Root::above(&folder).filter(|above| above.path() != root.path())
    {
        bail!(
            "{} belongs to {}, which is watched already; name the folder with --root to have it watched by itself",
            root.display(),
            above.display()
        );
    }
    let is_new = root.make_home()?;
    let name = root.home_name();
    say!(
        "{}",
        match (root.is_kiln(), is_new) {
            (true, _) => format!("{name} is there: this project is watched through it."),
            (false, true) =>
                format!("{name} was made. It holds the state, and ignores itself in version control."),
            (false, false) => format!("{name} was there already."),
        }
    );
    let policy = place.config(Some(&root))?.policy;
    let found = Recognised::of(&root, &policy, None).parts();
    if found.is_empty() {
        say!(
            "Nothing to watch lies there yet: sessions, task folders and team sessions are seen when they come."
        );
    } else {
        say!("Recognised: {}.", found.join(", "));
    }
    say!("Next: \"watchdog install\" registers the hooks of sessions; the first of them starts the daemon.");
    say!(
        "Workers and teams without hooks are watched by \"watchdog start\", or by \"watchdog run --stay\" as a service."
    );
    Ok(ExitCode::SUCCESS)
}
