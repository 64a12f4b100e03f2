//! Integration tests: the real binary, real processes, scratch folders.
#![allow(clippy::unwrap_used)]

mod concurrency;
mod contract;
mod docs;
mod doctor;
mod field;
mod home;
mod install;
mod places;
mod plugin;
mod security;
mod timed;
mod world;
