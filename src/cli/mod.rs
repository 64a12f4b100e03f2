//! The commands, for people: one file each.

/// Prints a line. What cannot be printed (a full disk behind standard output) is an error like any other, not a panic.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        anyhow::Context::context(writeln!(anstream::stdout(), $($words)*), "cannot print")?;
    }};
}

mod check;
mod client_places;
mod config;
mod doctor;
mod explain;
mod generate;
mod graph;
mod history;
mod init;
mod install;
mod json;
mod layout;
mod mark;
mod operator;
mod place;
mod recognised;
mod replay;
mod run;
mod signal;
mod start;
mod status;
mod uninstall;
mod view;
mod when;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

pub use mark::linked as mark;

/// Usage errors; never 2, which blocks a tool or wakes a session where a hook is run.
const USAGE: u8 = 64;

/// Notices when a team of coding agents falls silent, says who waits for whom, and wakes the right session once.
#[derive(Debug, Parser)]
#[command(name = "watchdog", version, max_term_width = 80, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    place: place::Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show at a glance whether it is watching, whether the pipeline moves, and what happens next
    ///
    /// Exit status: 0 watching and healthy, 1 stalled or nudged, 2 flagged, 3 no daemon, 4 no pipeline.
    Status(status::Args),
    /// Start the daemon of this project in the background
    #[command(visible_alias = "spawn")]
    Start,
    /// Stop the daemon of this project and remove its transient files
    #[command(visible_alias = "cleanup")]
    Stop,
    /// Clear a flag, if there is one, and make sure that a daemon runs
    ///
    /// Does nothing outside an active pipeline. Hooks do the same when a session starts.
    Ensure,
    /// Run the daemon in the foreground
    Run(run::Args),
    /// Judge once and print the verdict and its reason
    ///
    /// Exit status: 0, or 1 after an escalation that was carried out.
    Check(check::Args),
    /// Say why: the facts, the cause and its evidence, the thresholds and where each came from
    Explain(explain::Args),
    /// Show what happened, filtered
    History(history::Args),
    /// Draw who waits for whom
    Graph(graph::Args),
    /// Judge a recorded run again and print every change of verdict with its time
    ///
    /// Nothing of any pipeline is touched. Two runs give the same bytes.
    Replay(replay::Args),
    /// Keep quiet for a while: no nudge, no flag
    Pause(operator::PauseArgs),
    /// End the quiet that "pause" asked for
    Resume,
    /// Stage a message of your own for the lead; an idle session is woken with it
    Nudge(operator::NudgeArgs),
    /// Have a project without .kiln watched, and say what was recognised in it
    ///
    /// Makes .watchdog, which holds the state and ignores itself in version control. Nothing changes where it is there.
    Init,
    /// Register the hooks in the client's settings file
    #[command(long_about = install::HELP)]
    Install(install::Args),
    /// Take the hooks out of the client's settings file, which is then as it was before
    #[command(long_about = uninstall::HELP)]
    Uninstall(uninstall::Args),
    /// Check the hooks, the program, the state folder and the machine; each finding has its remedy
    ///
    /// Exit status: 0 nothing is wrong, 1 something is. It may make the folders .kiln/tmp and .kiln/tmp/watchdog.
    Doctor(doctor::Args),
    /// Print every setting, its value, and where it came from
    Config(config::Args),
    /// Say where a worker is: tick an item of its checklist and write its signal file
    #[command(long_about = mark::HELP)]
    Mark(mark::Args),
    /// Look at a worker's signal file
    Signal(signal::Args),
    /// Print the man page or shell completions
    Generate(generate::Args),
    /// Handle one event of a client (for settings files; reads the payload from stdin, always ends well)
    #[command(long_about = HOOK_HELP)]
    Hook,
    /// Wait for a nudge and wake an idle client with it (for settings files)
    Bridge,
}

const HOOK_HELP: &str = "Handle one event of a client.\n\nReads one JSON payload from stdin, notes it, and answers. \
Registered by \"watchdog install\"; see docs/hooks.md. It ends with 0 whatever happens, but for two events whose text \
on stderr the client is to read: TeammateIdle and FileChanged.";

/// Runs a command line and returns its exit status.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let name = std::iter::once(OsString::from("watchdog"));
    let arguments = match Arguments::try_parse_from(name.chain(arguments)) {
        Ok(arguments) => arguments,
        Err(error) => return unparsed(&error),
    };
    end("watchdog", dispatch(&arguments))
}

/// Prints what the argument parser has to say.
fn unparsed(error: &clap::Error) -> ExitCode {
    error.print().ok();
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

/// Prints what a command ended with, if it failed.
fn end(name: &str, result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(anstream::stderr(), "{name}: {error:#}").ok();
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let place = &arguments.place;
    match &arguments.command {
        Command::Status(args) => status::run(args, place),
        Command::Start => start::start(place),
        Command::Stop => start::stop(place),
        Command::Ensure => start::ensure(place),
        Command::Run(args) => run::run(args, place),
        Command::Check(args) => check::run(args, place),
        Command::Explain(args) => explain::run(args, place),
        Command::History(args) => history::run(args, place),
        Command::Graph(args) => graph::run(args, place),
        Command::Replay(args) => replay::run(args, place),
        Command::Pause(args) => operator::pause(args, place),
        Command::Resume => operator::resume(place),
        Command::Nudge(args) => operator::nudge(args, place),
        Command::Init => init::run(place),
        Command::Install(args) => install::run(args, place),
        Command::Uninstall(args) => uninstall::run(args, place),
        Command::Doctor(args) => doctor::run(args, place),
        Command::Config(args) => config::run(args, place),
        Command::Mark(args) => mark::run(args),
        Command::Signal(args) => signal::run(args),
        Command::Generate(args) => generate::run(args, Arguments::command()),
        // Dispatched before any argument parser; clap knows them for the help alone.
        Command::Hook | Command::Bridge => Ok(ExitCode::SUCCESS),
    }
}

/// Whoever reads our output may stop reading.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
