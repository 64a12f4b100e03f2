//! Saying that the daemon is ready: to the starter over a pipe, to systemd over its socket.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sd_notify::NotifyState;

/// What the starter reads when the daemon watches.
pub const READY: &str = "ready";

/// Whom to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starter {
    /// Another `watchdog` process reads our standard output until the first line.
    Pipe,
    /// A person or a service manager: systemd is told if its socket is there.
    Foreground,
}

impl Starter {
    /// Says that the daemon watches. After that nothing of the starter is held any more.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn ready(self, status: &str) -> io::Result<()> {
        match self {
            Self::Pipe => let_go(),
            Self::Foreground => {
                notify(&[NotifyState::Ready, NotifyState::Status(status)]);
                Ok(())
            }
        }
    }

    /// Tells whether nobody reads our answer any more.
    pub fn is_gone(self) -> bool {
        let stdout = io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
        self == Self::Pipe
            && poll(&mut fds, Some(&Timespec::default())).is_ok()
            && fds[0].revents().contains(PollFlags::ERR)
    }

    /// Says why the daemon does not watch.
    pub fn refuse(self, reason: &str) {
        if self == Self::Pipe {
            writeln!(io::stdout(), "{}", reason.replace('\n', " ")).ok();
        }
    }
}

/// Lets go of the starter's pipe first: once "ready" is said, nothing may fail any more.
fn let_go() -> io::Result<()> {
    let mut pipe = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let null: File = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // The pipe stays our standard output until the last of it: a reason not to watch could still be said.
    rustix::stdio::dup2_stderr(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    // The starter may have given up; that is no reason not to watch.
    writeln!(pipe, "{READY}").ok();
    Ok(())
}

/// Tells systemd, if it listens.
pub fn notify(state: &[NotifyState<'_>]) {
    sd_notify::notify(state).ok();
}

/// Returns how often systemd wants to hear of us, if it does: twice in its limit.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 2)
}
