//! What happens to a job, beside the ends of the launcher's own processes and what the rendezvous says.

use std::io;

use rustix::process::Signal;

use super::end::End;

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
