//! The whole, by the real program: real processes, scratch folders.
#![allow(clippy::unwrap_used)]

mod contract;
mod diagnosis;
mod docs;
mod doctor;
mod field;
mod home;
mod install;
mod plugin;
mod traces;
mod world;
