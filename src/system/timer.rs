//! A timer of the kernel's own: one wake-up for each deadline. That of the runtime sorts its deadlines into wheels and
//! wakes two or three times on the way to one that is a minute off.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// Fires once after each time it is set.
#[derive(Debug)]
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// Makes a timer. It counts the time that the machine is awake.
    ///
    /// # Errors
    /// No descriptor is left.
    #[expect(deprecated, reason = "an OwnedFd keeps what the name that came after asks a caller to promise")]
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    /// Waits for so long. Whatever it was set to before is forgotten.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub async fn wait(&self, nap: Duration) -> io::Result<()> {
        // Zero would be never.
        let nap = nap.max(Duration::from_nanos(1));
        let it_value = Timespec {
            tv_sec: i64::try_from(nap.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: nap.subsec_nanos().into(),
        };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut count = [0; 8];
            // Not ready after all: that was a deadline from before it was set.
            if let Ok(read) = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut count)?)) {
                return read.map(|_| ());
            }
        }
    }
}

#[cfg(test)]
mod tests;
