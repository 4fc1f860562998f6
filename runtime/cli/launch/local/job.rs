//! A job, as it is asked for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::launch::agent::hosts::Hosts;
use crate::launch::link::LinkSpec;

/// A program to run as a job of several ranks. Those on another host need not know of the hosts, the link and the timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The number of ranks, at least one.
    pub size: u32,
    /// The program: a path, or a name to be found in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables for every rank, beside the launcher's own environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where the ranks run; the current directory if `None`.
    pub directory: Option<OsString>,
    /// The hosts the ranks run on; this machine if `None`.
    #[serde(skip)]
    pub hosts: Option<Hosts>,
    /// Whether the program is the `lathide` program itself, wherever that is.
    pub is_lathide: bool,
    /// The emulated link between the ranks; `LinkSpec::default()` is none.
    #[serde(skip)]
    pub link: LinkSpec,
    /// What rank 0 reads from its standard input. The other ranks read nothing.
    pub stdin: Stdin,
    /// After how long the job is ended.
    pub timeout: Option<Duration>,
    /// How long the others have to end by themselves when a rank has failed.
    pub grace: Duration,
    /// The file that gets a timeline of all ranks, in the Chrome trace format.
    #[serde(skip)]
    pub trace: Option<PathBuf>,
    /// Whether the ranks report what they have observed.
    pub report: bool,
}

/// Rank 0's standard input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Stdin {
    /// Nothing.
    Null,
    /// The launcher's own.
    Forward,
    /// What comes through a pipe, carried there by whoever holds the rank's process.
    Carry,
}

impl Job {
    /// `size` ranks of `program`, over this machine's loopback, without input.
    pub(crate) fn new(size: u32, program: impl Into<OsString>, args: impl IntoIterator<Item = OsString>) -> Self {
        Job {
            size,
            program: program.into(),
            args: args.into_iter().collect(),
            env: Vec::new(),
            directory: None,
            hosts: None,
            is_lathide: false,
            link: LinkSpec::default(),
            stdin: Stdin::Null,
            timeout: None,
            grace: Duration::from_secs(1),
            trace: None,
            report: false,
        }
    }

    /// `size` ranks of the `lathide` program itself: of one of its hidden commands.
    pub(crate) fn of_lathide(size: u32, args: impl IntoIterator<Item = OsString>) -> Self {
        Job { is_lathide: true, ..Job::new(size, "lathide", args) }
    }
}
