//! The deadlock watchdog for teams of coding agents. `docs/architecture.md` is the map.

pub mod model;
pub mod protocol;
pub mod store;
