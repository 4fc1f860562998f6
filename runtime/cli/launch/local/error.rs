//! Why a job could not be started.

use std::io;

use super::end::signalled;

/// Why a job could not be started.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LaunchError {
    /// There is no such program.
    #[error("{program}: program not found{hint}")]
    NotFound {
        /// As it was named.
        program: String,
        /// Where it might be.
        hint: String,
    },
    /// It is there, but not a program.
    #[error("{program} cannot be executed: {why}")]
    NotExecutable {
        /// As it was named.
        program: String,
        /// What it is, or what to change.
        why: String,
    },
    /// A job has at least one rank.
    #[error("a job needs at least one rank")]
    NoRanks,
    /// Hosts cannot take part.
    #[error("{why}")]
    Hosts {
        /// Each host, why not, and what to do about it.
        why: String,
        /// The exit status that says it.
        status: u8,
    },
    /// A signal came before the ranks were started.
    #[error("interrupted by signal {0} before the ranks were started")]
    Interrupted(i32),
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

lathide_models::debug_is_display!(LaunchError);

impl LaunchError {
    pub(in crate::launch) fn unreachable(why: String) -> Self {
        LaunchError::Hosts { why, status: 125 }
    }

    /// The exit status that says it: 127, 126, 2, 125, or 128 + N for signal N.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            LaunchError::NotFound { .. } => 127,
            LaunchError::NotExecutable { .. } => 126,
            LaunchError::NoRanks => 2,
            LaunchError::System { .. } => 125,
            LaunchError::Hosts { status, .. } => *status,
            LaunchError::Interrupted(signal) => signalled(*signal),
        }
    }
}

/// For `map_err`: what was tried when the system said no.
pub(super) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LaunchError {
    let what = what.into();
    move |error| LaunchError::System { what, error }
}
