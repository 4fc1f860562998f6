//! How a job ended.

use std::time::Instant;

use super::end::{End, signalled};
use lathide::ids::Rank;
use lathide::launcher::timeline::Merged;
use lathide::observe::Report;

/// How a job ended.
#[derive(Clone, Debug)]
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

/// What is known of how one rank ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RankEnd {
    /// Its process's end, once that has come.
    pub end: Option<End>,
    /// When that was seen.
    pub ended_at: Option<Instant>,
    /// Whether the launcher had told it to end.
    pub told: bool,
    /// When its node left the job, if it did in order.
    pub left: Option<Instant>,
    /// The rank whose loss made its node fail.
    pub blames: Option<Rank>,
}

/// The rank that failed first. Displayed, it says how.
#[derive(Clone, Debug)]
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
pub(super) const WITHOUT_FINALIZE: &str = "without finalize: call finalize() on its node, or drop the node, before the process ends, \
                                also where it calls exit";
