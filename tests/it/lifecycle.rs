//! The daemon's life: how it starts, what it takes along and what it lets go, when it ends, what a crash leaves.

mod ending;
mod keeping;
mod starting;
mod usage;
