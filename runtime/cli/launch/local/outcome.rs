//! How a job ended.

use std::path::PathBuf;

use serde::ser::{Serialize, Serializer};
use serde_json::json;

use super::event::{End, signalled};
use super::job::Job;
use crate::launch::agent::hosts::Hosts;
use lathide::ids::Rank;
use lathide::launcher::timeline::Merged;
use lathide::observe::{Report, closing};

/// How a job ended, as `lathide run --json` has it. Times are seconds since the first rank was started.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Outcome {
    schema: &'static str,
    program: String,
    size: u32,
    /// The link between the ranks, as `--link` takes it.
    link: String,
    /// The exit status of `lathide run`.
    pub exit_status: u8,
    /// Each rank's end, by rank.
    pub ranks: Vec<RankEnd>,
    /// The rank that failed first by itself, if one did.
    pub first_failure: Option<Failure>,
    /// The signal that ended the job from outside, if one did.
    pub interrupted_by_signal: Option<i32>,
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
    pub reports: Option<Vec<Report>>,
    /// That in words.
    pub closing: Option<Vec<String>>,
    /// What came of the timeline, if one was asked for.
    pub trace: Option<Timeline>,
    /// When the last rank joined; `None` if the ranks are not lathide programs.
    pub joined_s: Option<f64>,
    /// When the last rank had ended.
    pub ended_s: f64,
}

impl Outcome {
    /// Of a job that starts now.
    pub(super) fn new(job: &Job) -> Self {
        let mut hosts = job.hosts.as_ref().map(Hosts::names).unwrap_or_default().into_iter();
        let ranks = (0..job.size).map(|rank| RankEnd { rank, host: hosts.next(), ..RankEnd::default() });
        Outcome {
            schema: "lathide-run-1",
            program: job.program.to_string_lossy().into_owned(),
            size: job.size,
            link: job.link.to_string(),
            ranks: ranks.collect(),
            reports: job.report.then(Vec::new),
            ..Outcome::default()
        }
    }

    /// Nothing more will happen: `first_failure` is who failed first.
    pub(super) fn finish(&mut self, first_failure: Option<usize>) {
        self.first_failure = first_failure.map(|first| {
            let end = self.ranks[first].end.unwrap_or(End::Exited(1));
            Failure { rank: Rank(first as u32), end, stderr: Vec::new() }
        });
        if let Some(reports) = &mut self.reports {
            reports.sort_by_key(|report| report.rank);
            self.closing = Some(closing(reports, self.size));
        }
        self.exit_status = self.exit_status();
    }

    /// That of the first failing rank (128 + N for signal N), 124 for a job whose time was over, 125 for one whose output
    /// found no room, 128 + N for one that signal N interrupted.
    fn exit_status(&self) -> u8 {
        let of_failure = |failure: &Failure| match failure.end {
            // A process that ended well can have failed its job all the same.
            End::Exited(0) | End::Lost => 1,
            End::Exited(status) => u8::try_from(status).unwrap_or(1),
            End::Signalled(signal) => signalled(signal),
        };
        match self.interrupted_by_signal {
            Some(signal) => signalled(signal),
            None if self.timed_out => 124,
            None if self.output_failed.is_some() => 125,
            None => self.first_failure.as_ref().map_or(0, of_failure),
        }
    }
}

/// What is known of how one rank ended.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct RankEnd {
    /// Which.
    pub rank: u32,
    /// The host on which it ran, if hosts were named.
    pub host: Option<String>,
    /// Its process's end, once that has come.
    #[serde(flatten, serialize_with = "members")]
    pub end: Option<End>,
    /// When that was seen.
    pub ended_s: Option<f64>,
    /// Whether the launcher had told it to end.
    pub told_to_end: bool,
    /// When its node left the job, if it did in order.
    pub left_s: Option<f64>,
    /// The rank whose loss made its node fail.
    pub blames: Option<Rank>,
}

/// The rank that failed first. Displayed, it says how.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Failure {
    /// Which.
    pub rank: Rank,
    /// How.
    #[serde(flatten, serialize_with = "members")]
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

/// An end as members of what ended.
fn members<S: Serializer>(end: &(impl Copy + Into<Option<End>>), serializer: S) -> Result<S::Ok, S::Error> {
    let (lost, status, signal) = match (*end).into() {
        Some(End::Exited(status)) => (false, Some(status), None),
        Some(End::Signalled(signal)) => (false, None, Some(signal)),
        end => (end.is_some(), None, None),
    };
    json!({ "lost": lost, "status": status, "signal": signal }).serialize(serializer)
}

/// A timeline that was asked for.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Timeline {
    /// Where it is to be.
    pub file: PathBuf,
    /// What came of it.
    #[serde(flatten)]
    pub made: Made,
}

/// What came of a timeline.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Made {
    /// Why there is none.
    Error(String),
    /// What is in it.
    Merged(Merged),
}

/// What is wrong with a process that ends well in mid-job.
pub(super) const WITHOUT_FINALIZE: &str = "without finalize: call finalize() on its node, or drop the node, before the process ends, \
                                also where it calls exit";
