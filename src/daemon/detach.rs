//! Leaving the starter: no thread, no runtime and no logger may exist yet.

use daemonize::{Daemonize, Outcome, Stdio};

/// Goes to the background: another session, `/` as the folder, no terminal. Standard output stays the starter's
/// pipe until the daemon is ready. Returns false in the process that is to end at once.
///
/// # Errors
/// The system refused, in words.
pub fn detach() -> Result<bool, String> {
    // Without a pid file of its own: ours is written once the lock is held.
    let daemon = Daemonize::<()>::new()
        .working_directory("/")
        .umask(0o077)
        .stdout(Stdio::keep())
        .stderr(Stdio::devnull());
    match daemon.execute() {
        Outcome::Parent(Ok(_)) => Ok(false),
        Outcome::Child(Ok(_)) => Ok(true),
        Outcome::Parent(Err(error)) | Outcome::Child(Err(error)) => Err(format!("cannot detach: {error}")),
    }
}
