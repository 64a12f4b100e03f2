//! The `watchdog` command.

use std::path::PathBuf;
use std::process::ExitCode;

use watchdog::system::process;
use watchdog::{bridge, cli, hook};

fn main() -> ExitCode {
    process::leave_no_core();
    let mut arguments = std::env::args_os();
    let program = PathBuf::from(arguments.next().unwrap_or_default());
    // Linked into a task folder, it is the worker's `./mark`.
    if program.file_name().is_some_and(|name| name == "mark") {
        return cli::mark(&program, arguments);
    }
    // A hook must never break the session it watches, so it meets no argument parser: those end with 2 on a usage
    // error, and 2 is what blocks a tool or wakes a session.
    match arguments.next() {
        Some(word) if word == "hook" => hook::run(arguments),
        Some(word) if word == "bridge" => bridge::run(arguments),
        word => cli::main(word.into_iter().chain(arguments)),
    }
}
