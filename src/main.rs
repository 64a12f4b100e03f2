//! The `watchdog` command.

fn main() {}
