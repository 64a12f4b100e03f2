//! The operating system: clocks, processes, readiness, alerts.

pub mod alert;
pub mod clients;
pub mod clock;
pub mod launch;
pub mod process;
pub mod program;
pub mod ready;
pub mod stdin;
pub mod timer;
