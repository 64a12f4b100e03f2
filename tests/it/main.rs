//! The whole, by the real program.
#![allow(clippy::unwrap_used)]

mod docs;
mod doctor;
mod home;
mod install;
mod plugin;
