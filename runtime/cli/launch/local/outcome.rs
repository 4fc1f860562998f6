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
    /// Of a job of so many ranks that starts now.
    pub(super) fn new(size: u32, started: Instant) -> Self {
        Outcome {
            ranks: vec![RankEnd::default(); size as usize],
            first_failure: None,
            interrupted: None,
            timed_out: false,
            output_failed: None,
            deadlock: None,
            join_failed: None,
            lost_hosts: Vec::new(),
            reports: Vec::new(),
            trace: None,
            started,
            joined: None,
            ended: started,
        }
    }

    /// The exit status of `lathide run`: that of the first failing rank (128 + N for signal N), 124 for a job whose
    /// time was over, 125 for one whose output found no room, 128 + N for one that signal N interrupted.
    pub(crate) fn exit_status(&self) -> u8 {
        let of_failure = |failure: &Failure| match failure.end {
            // A process that ended well can have failed its job all the same.
            End::Exited(0) | End::Lost => 1,
            End::Exited(status) => u8::try_from(status).unwrap_or(1),
            End::Signalled(signal) => signalled(signal),
        };
        match self.interrupted {
            Some(signal) => signalled(signal),
            None if self.timed_out => 124,
            None if self.output_failed.is_some() => 125,
            None => self.first_failure.as_ref().map_or(0, of_failure),
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
