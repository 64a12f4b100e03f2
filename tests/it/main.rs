//! Integration tests: the real binary, real processes, scratch folders.
#![allow(clippy::unwrap_used)]

mod contract;
mod field;
mod world;
