//! `generate`: man page and completions, from the same definition as the help.

use std::io;
use std::process::ExitCode;

use clap::ValueEnum;
use clap_complete::Shell;

/// Options of `generate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to print
    #[arg(value_enum)]
    what: What,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// The man page
    Man,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}

pub(super) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let mut out = Vec::new();
    let shell = match args.what {
        What::Man => {
            clap_mangen::Man::new(command).render(&mut out)?;
            io::Write::write_all(&mut io::stdout(), &out)?;
            return Ok(ExitCode::SUCCESS);
        }
        What::Bash => Shell::Bash,
        What::Zsh => Shell::Zsh,
        What::Fish => Shell::Fish,
    };
    clap_complete::generate(shell, &mut command, "watchdog", &mut out);
    io::Write::write_all(&mut io::stdout(), &out)?;
    Ok(ExitCode::SUCCESS)
}
