//! The launcher: starts the ranks of a job, watches them, and leaves nothing behind. What is here runs a job on this
//! machine; over several hosts the same supervisor leads one agent per host ([`super::agent`]), and each agent does with
//! its ranks what is described here.
//!
//! Each rank is a process group of its own, started through a hidden command of the `lathide` program that ties it to
//! the launcher's life and then becomes the program. A second hidden process, the warden, outlives a launcher that is
//! killed and ends what the job's processes have started in turn.

mod cleanup;
pub(crate) mod inputs;
pub(crate) mod output;
pub(crate) mod processes;
pub(crate) mod spawn;
mod supervise;
mod verdict;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::agent::Hosts;
use super::link::LinkSpec;
use lathide::ids::Rank;
use lathide::launcher::timeline::Merged;
use lathide::observe::Report;
pub(crate) use output::{Output, Stream, prefixed};
pub(crate) use spawn::{start, warden};

/// Takes what the ranks write; runs on a thread of its own. An error ends the job.
pub(crate) type Sink = Box<dyn FnMut(Output) -> io::Result<()> + Send>;

/// A program to run as a job of several ranks on this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    pub directory: Option<PathBuf>,
    /// The hosts the ranks run on; this machine if `None`.
    pub hosts: Option<Hosts>,
    /// Whether the program is the `lathide` program itself, wherever that is.
    pub is_lathide: bool,
    /// The emulated link between the ranks; `LinkSpec::default()` is none.
    pub link: LinkSpec,
    /// What rank 0 reads from its standard input. The other ranks read nothing.
    pub stdin: Stdin,
    /// After how long the job is ended.
    pub timeout: Option<Duration>,
    /// How long after the first rank joined the others may take.
    pub join_timeout: Duration,
    /// How long the others have to end by themselves when a rank has failed.
    pub grace: Duration,
    /// The file that gets a timeline of all ranks, in the Chrome trace format.
    pub trace: Option<PathBuf>,
    /// Whether the ranks report what they have observed.
    pub report: bool,
    /// The `lathide` program, if the current one is another.
    pub starter: Option<PathBuf>,
}

/// Rank 0's standard input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
            join_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(1),
            trace: None,
            report: false,
            starter: None,
        }
    }

    /// `size` ranks of the `lathide` program itself: of one of its hidden commands.
    pub(crate) fn of_lathide(size: u32, args: impl IntoIterator<Item = OsString>) -> Self {
        Job { is_lathide: true, ..Job::new(size, "lathide", args) }
    }

    /// Runs the job to its end on this thread. Signals that would end the launcher are passed on to the ranks; the
    /// handlers stay for the life of the process.
    ///
    /// # Errors
    /// [`LaunchError`] if it could not be started. A job that failed is an [`Outcome`].
    pub(crate) fn run(self, sink: Sink) -> Result<Outcome, LaunchError> {
        supervise::run(self, sink)
    }
}

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
    pub(super) fn unreachable(why: String) -> Self {
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

fn signalled(signal: i32) -> u8 {
    128u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX))
}

/// For `map_err`: what was tried when the system said no.
fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LaunchError {
    let what = what.into();
    move |error| LaunchError::System { what, error }
}

/// How a job ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Outcome {
    /// Each rank's end, by rank.
    pub ranks: Vec<RankEnd>,
    /// The rank that failed first by itself, if one did.
    pub first_failure: Option<Failure>,
    /// The signal that ended the job from outside, if one did.
    pub interrupted: Option<i32>,
    /// Whether the job was ended because its time was over.
    pub timed_out: bool,
    /// Why the ranks' output could not be passed on, if that ended the job.
    pub output_failed: Option<String>,
    /// Who waited for whom, if ranks could never move again.
    pub deadlock: Option<String>,
    /// Why the ranks could not become a job, if some tried.
    pub join_failed: Option<String>,
    /// Hosts that were lost in mid-job: which, with which ranks, and why.
    pub lost_hosts: Vec<String>,
    /// What the ranks have observed, by rank, if they were asked: those that have said it.
    pub reports: Vec<Report>,
    /// What came of the timeline, if one was asked for.
    pub trace: Option<Result<Merged, String>>,
    /// When the first rank was started.
    pub started: Instant,
    /// When the last rank joined; `None` if the ranks are not lathide programs.
    pub joined: Option<Instant>,
    /// When the last rank had ended.
    pub ended: Instant,
}

impl Outcome {
    /// The exit status of `lathide run`: that of the first failing rank (128 + N for signal N), 124 for a job whose
    /// time was over, 125 for one whose output found no room, 128 + N for one that signal N interrupted.
    pub(crate) fn exit_status(&self) -> u8 {
        if let Some(signal) = self.interrupted {
            return signalled(signal);
        }
        if self.timed_out {
            return 124;
        }
        if self.output_failed.is_some() {
            return 125;
        }
        match &self.first_failure {
            None => 0,
            // A process that ended well can have failed its job all the same.
            Some(Failure { end: End::Exited(0), .. }) => 1,
            Some(Failure { end: End::Exited(status), .. }) => u8::try_from(*status).unwrap_or(1),
            Some(Failure { end: End::Signalled(signal), .. }) => signalled(*signal),
            Some(Failure { end: End::Lost, .. }) => 1,
        }
    }
}

/// How one rank ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub(crate) struct RankEnd {
    /// Its process's end.
    pub end: End,
    /// Whether the launcher had told it to end.
    pub told: bool,
    /// When its node left the job, if it did in order.
    pub left: Option<Instant>,
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

impl End {
    fn failed(self) -> bool {
        self != End::Exited(0)
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exited(status) => write!(f, "ended with status {status}"),
            End::Lost => f.write_str("was lost with its host"),
            End::Signalled(signal) => write!(f, "was killed by signal {signal}{}", signal_name(*signal)),
        }
    }
}

/// The rank that failed first. Displayed, it says how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Failure {
    /// Which.
    pub rank: Rank,
    /// How.
    pub end: End,
    /// The last lines it wrote to its standard error, at most twenty.
    pub stderr: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.end)?;
        if self.end == End::Exited(0) { write!(f, " {WITHOUT_FINALIZE}") } else { Ok(()) }
    }
}

/// What is wrong with a process that ends well in mid-job.
const WITHOUT_FINALIZE: &str = "without finalize: call finalize() on its node, or drop the node, before the process ends, \
                                also where it calls exit";

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        10 => " (SIGUSR1)",
        11 => " (SIGSEGV)",
        12 => " (SIGUSR2)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        _ => "",
    }
}
