//! The daemon: sleeps until the next deadline, a file event or the tick; looks, judges, acts.

pub mod act;
mod beat;
pub mod detach;
pub mod log;
pub mod post;
mod rosters;
pub mod run;
pub mod serve;
pub mod sight;
pub mod sources;
pub mod watch;
