//! Integration tests: the real binary, real processes, scratch folders.
#![allow(clippy::unwrap_used)]

mod bridge;
mod commands;
mod concurrency;
mod contract;
mod diagnosis;
mod docs;
mod doctor;
mod field;
mod guards;
mod home;
mod install;
mod kilnless;
mod lifecycle;
mod mark;
mod mixed;
mod places;
mod plugin;
mod security;
mod subctl;
mod tasks;
mod team_session;
mod tidy;
mod timed;
mod traces;
mod virtual_time;
mod why;
mod world;
