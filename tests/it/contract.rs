//! The literal contract of the Kiln protocol, with nothing present but the protocol's own files: file names and
//! shapes, what is a heartbeat, how a nudge travels, when a flag comes and goes, what a session's end leaves.

mod failures;
mod flags;
mod heartbeat;
mod nudges;
mod roots;
mod sessions;
mod teammates;
