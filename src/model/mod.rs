//! What we believe and what follows from it. Pure: no file, clock, environment or process is known here,
//! and nothing in it can fail. Time comes in as a [`moment::Moment`] or as unix milliseconds.

pub mod activity;
pub mod event;
pub mod judge;
pub mod ledger;
pub mod moment;
pub mod nudge;
pub mod policy;
pub mod rule;
pub mod stall;
pub mod wait;
pub mod wording;
