//! Other people's formats: bytes in, a value and its faults out. Pure; no input is an error that stops anything.

pub mod activity_json;
pub mod api_error;
pub mod client_settings;
pub mod flag_json;
pub mod frame;
pub mod hook_table;
pub mod message;
pub mod nudge_json;
pub mod payload;
pub mod plan_queue;
pub mod reset_time;
pub mod sketch;
pub mod stamp;
pub mod state_md;
pub mod subctl;
pub mod tables;
pub mod task;
pub mod team_json;
pub mod trace;
pub mod translate;
