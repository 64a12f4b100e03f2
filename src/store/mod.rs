//! Every file we read and write (`docs/files.md`). Whole files are replaced by rename; read-modify-write happens
//! under a lock with a limit; what is not ours to trust is refused, never followed.

pub mod activity_file;
pub mod asked;
pub mod beacon;
pub mod client_file;
pub mod config;
pub mod file;
pub mod flag_file;
pub mod guarded;
pub mod iter_log;
pub mod journal;
pub mod lock;
pub mod marks;
pub mod pending;
pub mod pid_file;
pub mod plan_file;
pub mod recovery;
pub mod root;
pub mod sessions;
pub mod settings;
pub mod settled;
pub mod shape;
pub mod signals;
pub mod state_file;
pub mod tail;
pub mod task_file;
pub mod task_folder;
pub mod team_file;
pub mod team_log;
pub mod team_session;
pub mod transient;

#[cfg(test)]
pub(crate) mod scratch;
