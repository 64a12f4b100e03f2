//! The whole, by the real program.
#![allow(clippy::unwrap_used)]

mod doctor;
mod home;
mod install;
