//! What has bitten people with daemons like this one: each test carries the number of its case, and covers the kind
//! of fault, not only the sample. `tests/system` holds those that need namespaces, mounts or a tracer.

mod daemons;
mod hooks;
mod input;
mod log;
mod operators;
mod starting;
mod state;
mod storing;
mod teams;
mod timers;

use crate::timed::{OFTEN, Timed, status};
