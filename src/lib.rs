//! The deadlock watchdog for teams of coding agents. `docs/architecture.md` is the map.

pub mod bridge;
pub mod cli;
pub mod daemon;
pub mod hook;
pub mod model;
pub mod protocol;
pub mod store;
pub mod system;
