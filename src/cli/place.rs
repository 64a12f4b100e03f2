//! Which project a command is about, and with which settings.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use crate::store::config::{Config, Layers};
use crate::store::root::Root;

/// Options that all commands share.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// The project folder, which holds .kiln or .watchdog (default: $KILN_ROOT, or the nearest above here; can be repeated for "run")
    #[arg(long, value_name = "FOLDER", global = true)]
    root: Vec<PathBuf>,
    /// Set a value for this command alone, such as rule.idle_after=5m (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    set: Vec<String>,
}

impl Place {
    /// The project.
    pub(super) fn root(&self) -> anyhow::Result<Root> {
        match self.root.as_slice() {
            [] => Self::found(),
            [root] => Ok(Root::at(root)?),
            _ => anyhow::bail!("one --root at a time, please; only \"run\" serves several"),
        }
    }

    /// The project, if it was named on the command line.
    pub(super) fn named_root(&self) -> anyhow::Result<Option<Root>> {
        if self.root.is_empty() { Ok(None) } else { self.root().map(Some) }
    }

    /// All projects that were named, or the one here.
    pub(super) fn roots(&self) -> anyhow::Result<Vec<Root>> {
        if self.root.is_empty() {
            return Ok(vec![Self::found()?]);
        }
        let mut roots = self.root.iter().map(|root| Root::at(root)).collect::<Result<Vec<_>, _>>()?;
        roots.sort();
        roots.dedup();
        Ok(roots)
    }

    /// The folder that was named, which need not hold .kiln or .watchdog.
    pub(super) fn named(&self) -> anyhow::Result<Option<PathBuf>> {
        let variable = || std::env::var_os("KILN_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        let Some(folder) = self.root.first().cloned().or_else(variable) else { return Ok(None) };
        anyhow::ensure!(self.root.len() < 2, "one --root at a time, please; only \"run\" serves several");
        anyhow::ensure!(folder.is_dir(), "there is no folder {}", folder.display());
        Ok(Some(std::path::absolute(folder)?))
    }

    fn found() -> anyhow::Result<Root> {
        if let Some(root) = std::env::var_os("KILN_ROOT").filter(|root: &OsString| !root.is_empty()) {
            return Root::at(root.as_ref()).context("$KILN_ROOT");
        }
        let here =
            std::env::current_dir().context("the current folder is gone; change to the project first")?;
        Root::above(&here).map_or_else(|| Ok(Root::at(&here)?), Ok)
    }

    /// Where settings come from.
    pub(super) fn layers(&self) -> Layers {
        Layers::of_process(&self.set)
    }

    /// The settings of a root.
    pub(super) fn config(&self, root: Option<&Root>) -> anyhow::Result<Config> {
        Ok(self.layers().read(root)?)
    }

    /// `KEY=VALUE` of the command line.
    pub(super) fn flags(&self) -> &[String] {
        &self.set
    }
}
