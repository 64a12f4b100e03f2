//! The product on a real client, offline: a client in a terminal of its own, against a Messages API of our own on
//! loopback. `make e2e` installs the client and runs this; a plain `cargo test` does not build it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "the clock that counts here is the one on the wall")]

mod api;
mod api_failure;
mod client;
mod client_facts;
mod guards;
mod install;
mod person;
mod plugin;
mod print_mode;
mod project;
mod script;
mod session;
mod team;
mod wait;
mod wake;
mod why;
