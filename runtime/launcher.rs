//! The door for the package `lathide-cli` and for benches: what a launcher shares with the ranks that it starts, and what
//! tunes a node, to be switched off. It is no interface for programs, and changes with any version.

use crate::config::Config;
pub use crate::config::{JOIN, KEEPALIVE, RESUME};
pub use crate::controllers::Controller;
pub use crate::wire::text;

/// Has the node do without `controller`.
pub fn without(config: &mut Config, controller: Controller) {
    config.disabled.add(controller);
}

/// What a call of a collective may be carried out by, and what that is predicted to take.
pub mod collective {
    pub use crate::collective::choose::{Candidate, Choice, Prices};
    pub use crate::collective::{Algorithm, Blocks, Call};
}

/// Names of ranks in a sentence.
pub mod deadlock {
    pub use crate::join::deadlock::listed;
}

/// How many descriptors a process may open.
pub mod descriptors {
    pub use crate::join::descriptors::ensure;
}

/// Listening, and finding who answers.
pub mod discovery {
    pub use crate::join::discovery::first_that_answers;
    pub use crate::join::listening::bind_all;
}

/// What variables say.
pub mod environment {
    pub use crate::join::environment::{join, keepalive, port_range, resume};
}

/// Connections that authenticate.
pub mod handshake {
    pub use crate::join::handshake::{Connection, DialError, Guest, dial, incarnation, receive};
    pub use crate::join::loopback::unpace;
    pub use crate::join::socket_buffer::SocketBuffer;
    pub use crate::wire::cipher::CipherError;
    pub use crate::wire::handshake::{
        Authenticated, Established, Limits, Party, Purpose, RENDEZVOUS, Refusal, Target, VERSIONS, job_id,
    };
}

/// The addresses of this host.
pub mod interface {
    pub use crate::interfaces::Interfaces;
    pub use crate::join::interface::{loopback, own};
}

/// A key that is left for others on a shared file system.
pub mod invitation {
    pub use crate::join::invitation::{Posted, fetch_key, leave_key};
}

/// How sizes, times, rates and numbers are written.
pub mod quantity {
    pub use crate::quantity::{NUMBER, PART, Quantity, RATE, SIZE, Scalar, TIME, TIME_PER, WHOLE};
}

/// The service where ranks meet.
pub mod rendezvous {
    pub use crate::join::events::{Event, Order, Rewrite, Settings};
    pub use crate::join::rendezvous::serve;
}

/// Timelines of ranks, made one.
pub mod timeline {
    pub use crate::observe::tape::rank_file;
    pub use crate::observe::timeline::{Merged, merge, prepare};
}

/// The table of environment variables.
pub mod variables {
    pub use crate::join::variables::*;
}
