//! A virtual network of several hosts on one machine, without privileges.
//!
//! Each host is a network namespace with a TUN device; a switch between the devices, in user space, delays, limits and
//! loses packets ([`Cable`]). What runs in it is real TCP of this machine's kernel.
//!
//! There is no process per host: the launcher keeps the namespaces open and hands them to whoever may talk to its
//! socket ([`enter`]). When it ends, however it ends, they are gone; a warden ends the processes that were in them.

mod address;
mod cable;
mod control;
mod host;
mod namespace;
mod netlink;
mod packet;
mod run;
mod switch;
mod warden;
mod wire;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

pub(crate) use cable::{Cable, Change, Traffic};
pub(crate) use control::{Request, Status, ask, enter};
pub(crate) use warden::warden;

/// The variable that tells programs within a lab its directory.
pub(crate) const DIRECTORY_VARIABLE: &str = "LATHIDE_LAB";
/// The variable that tells them the names of its hosts, separated by commas.
pub(crate) const HOSTS_VARIABLE: &str = "LATHIDE_LAB_HOSTS";
/// The variable that tells them the emulated link that stands in for the lab, where there could be none.
pub(crate) const RELAY_VARIABLE: &str = "LATHIDE_LAB_RELAY";

/// A virtual network, and a command that runs on its first host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Lab {
    /// How many hosts: `host0` and on.
    pub hosts: u32,
    /// Each host's cable to the switch.
    pub cable: Cable,
    /// Whether there is one medium for all hosts, on which one packet at a time passes.
    pub shared: bool,
    /// The program that runs on `host0`: a path, or a name to be found in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Whether its standard output goes to the standard error.
    pub output_to_stderr: bool,
    /// The `lathide` program, if the current one is another.
    pub starter: Option<PathBuf>,
}

impl Lab {
    /// `hosts` hosts with such cables, and `program` on the first.
    pub(crate) fn new(
        hosts: u32,
        cable: Cable,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = OsString>,
    ) -> Self {
        Lab {
            hosts,
            cable,
            shared: false,
            program: program.into(),
            args: args.into_iter().collect(),
            output_to_stderr: false,
            starter: None,
        }
    }

    /// Makes the network, runs the program to its end, and leaves nothing behind. The calling process must have a single
    /// thread; it stays in the lab's user namespace, and the signals that are passed on to the program stay blocked.
    ///
    /// # Errors
    /// [`LabError`] if the network cannot be made or the program not be started.
    pub(crate) fn run(self) -> Result<Outcome, LabError> {
        run::run(&self)
    }
}

/// How a lab ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Outcome {
    /// The program's end.
    pub exit: ExitStatus,
    /// What the network has carried.
    pub status: Status,
}

impl Outcome {
    /// The exit status of `lathide lab`: that of the program, 128 + N if signal N ended it.
    pub(crate) fn exit_status(&self) -> u8 {
        let signalled = || 128 + self.exit.signal().unwrap_or(0);
        u8::try_from(self.exit.code().unwrap_or_else(signalled)).unwrap_or(u8::MAX)
    }
}

/// Why there is no lab, or why it did not do what was asked.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LabError {
    /// The lab's figures make no sense, or there is one around this process already.
    #[error("{0}")]
    Usage(String),
    /// The system does not let this user make one.
    #[error("there can be no lab here: {what}: {error}; {remedy}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
        /// What to do.
        remedy: String,
    },
    /// Something else failed.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// A running lab refused a request.
    #[error("{0}")]
    Request(String),
}

lathide_models::debug_is_display!(LabError);

impl LabError {
    /// The exit status that says it: 2 or 125.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            LabError::Usage(_) | LabError::Request(_) => 2,
            LabError::Refused { .. } | LabError::System { .. } => 125,
        }
    }
}

/// For `map_err`: what was tried when the system said no.
fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
    let what = what.into();
    move |error| LabError::System { what, error }
}
