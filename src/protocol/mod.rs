//! Other people's formats: bytes in, a value and its faults out. Pure; no input is an error that stops anything.

pub mod activity_json;
pub mod api_error;
pub mod cache_index;
pub mod client_settings;
pub mod flag_json;
pub mod frame;
pub mod hook_table;
pub mod message;
pub mod nudge_json;
pub mod payload;
pub mod reset_time;
pub mod sketch;
pub mod stamp;
pub mod state_md;
pub mod state_update;
pub mod tables;
pub mod team_check;
pub mod team_json;
pub mod team_meta;
pub mod team_msg;
pub mod team_rule;
pub mod team_standing;
pub mod trace;
pub mod translate;
