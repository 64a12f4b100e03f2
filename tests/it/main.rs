//! Integration tests: the real binary, real processes, scratch folders.

mod contract;
mod world;
