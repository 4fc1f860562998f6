//! What happens to a job: how its processes end, and what else there is beside what the rendezvous says.

use std::io;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

/// What is put into the job's queue.
pub(in crate::launch) enum Event {
    /// An agent says that the process of a rank has ended.
    Ended(u32, End),
    /// A host's agent has gone before its time, with the ranks there.
    HostLost { host: String, ranks: Vec<u32>, cause: String },
    /// The sink takes no more output.
    OutputBroken(io::Error),
    /// A signal has reached the launcher.
    Signal(Signal),
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Nobody knows: the connection to its host was lost.
    Lost,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            End::Exited(status) => write!(f, "ended with status {status}"),
            End::Lost => f.write_str("was lost with its host"),
            End::Signalled(signal) => match nix::sys::signal::Signal::try_from(signal) {
                Ok(name) => write!(f, "was killed by signal {signal} ({name})"),
                Err(_) => write!(f, "was killed by signal {signal}"),
            },
        }
    }
}

/// The exit status for an end by this signal, as a shell has it.
pub(super) fn signalled(signal: i32) -> u8 {
    128u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX))
}
