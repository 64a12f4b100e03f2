//! What we believe and what follows from it. Pure: no file, clock, environment or process is known here,
//! and nothing in it can fail. Time comes in as a [`moment::Moment`] or as unix milliseconds.

pub mod activity;
pub mod cause;
pub mod chain;
pub mod diagnosis;
pub mod drawing;
pub mod event;
pub mod evidence;
pub mod graph;
pub mod idle;
pub mod incarnation;
pub mod judge;
pub mod ledger;
pub mod moment;
pub mod node;
pub mod nudge;
pub mod order;
pub mod overdue;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod rehearsal;
pub mod roles;
pub mod rule;
pub mod sight;
pub mod signals;
pub mod stall;
pub mod subctl;
pub mod task;
pub mod team;
pub mod track;
pub mod traffic;
pub mod wait;
pub mod walk;
pub mod wording;
