//! Reading one JSON value from stdin: not to the end of file, which some clients never send; not for ever; and not
//! all into memory.

use std::io::{self, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::protocol::frame::Frame;

/// A pipe that has been silent for this long will not be completed.
const SILENCE: Duration = Duration::from_secs(2);
/// A payload that comes in crumbs is read for this long at most.
const LONGEST: Duration = Duration::from_secs(30);
/// What is held at most; what comes beyond is read and dropped, so that the writer sees no broken pipe.
const MOST: usize = 16 * 1024 * 1024;
const PIECE: usize = 256 * 1024;
/// A writer that does not end is left alone after this much.
const ENDLESS: usize = 1024 * 1024 * 1024;

/// Reads one value. None = there is none: end of file, silence, a terminal, or too large.
pub fn read() -> Option<Vec<u8>> {
    let stdin = io::stdin();
    if rustix::termios::isatty(&stdin) {
        return None;
    }
    let mut frame = Frame::default();
    let mut piece = vec![0; PIECE];
    let mut left = LONGEST;
    let mut total = 0;
    let mut reader = stdin.lock();
    loop {
        if !is_readable(&mut left)? {
            return None;
        }
        // `Stdin` buffers 8 KiB; with a piece larger than that it reads straight into ours.
        let count = match reader.read(&mut piece) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        total += count;
        if count == 0 {
            break;
        }
        if frame.push(&piece[..count]) {
            // What is no object is no payload, and may be the beginning of something long.
            if !frame.is_object() {
                drain(&mut reader, &mut piece, &mut left);
            }
            break;
        }
        if frame.len() > MOST || total > ENDLESS {
            drain(&mut reader, &mut piece, &mut left);
            return None;
        }
    }
    (!frame.is_empty()).then(|| frame.into_bytes())
}

fn drain(reader: &mut impl Read, piece: &mut [u8], left: &mut Duration) {
    let mut total = 0;
    while total < ENDLESS && is_readable(left) == Some(true) {
        match reader.read(piece) {
            Ok(count) if count > 0 => total += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

/// Waits for more. Some(false) = silence; None = stdin cannot be waited for.
fn is_readable(left: &mut Duration) -> Option<bool> {
    let stdin = io::stdin();
    let mut waited = Duration::ZERO;
    while waited < SILENCE && !left.is_zero() {
        let step = Duration::from_millis(100);
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(step.subsec_nanos()) };
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => {
                waited += step;
                *left = left.saturating_sub(step);
            }
            Ok(_) => return Some(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(false)
}
