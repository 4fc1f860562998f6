//! The ranks of a job on this host: their processes, what they write, and what they leave. The launcher of a local job
//! has one, and so has the agent of each host of a larger one.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, set_child_subreaper};
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::cleanup::{is_stopped, kill_left_overs};
use super::end::End;
use super::error::{LaunchError, system};
use super::job::Job;
use super::output::{self, Output, Stream, Tail};
use super::spawn::{self, Common, RankSlot};
use lathide::ids::Rank;

/// How long output of processes that have all ended may take to be passed on.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(5);

/// What [`Processes`] needs to know of one of its ranks.
pub(crate) struct RankProcess {
    /// Which.
    pub(crate) rank: u32,
    /// Keeps its last lines on standard error.
    pub(crate) tail: Option<Tail>,
}

/// Where the news of [`Processes`] go.
#[derive(Clone)]
pub(crate) struct Outlets {
    /// Each rank's end.
    pub(crate) ends: mpsc::Sender<(u32, End)>,
    /// What the ranks write.
    pub(crate) lines: mpsc::Sender<Output>,
}

/// The processes of some ranks of a job. They live as long as the thread that started them.
pub(crate) struct Processes {
    job: String,
    /// The process groups of ranks that have not ended.
    groups: BTreeMap<u32, Pid>,
    /// The process groups of all ranks ever started.
    all_groups: Vec<Pid>,
    warden: std::process::Child,
    waiters: JoinSet<()>,
    readers: JoinSet<()>,
    /// Rank 0's input, if it is to be carried there.
    input: Option<ChildStdin>,
}

impl Processes {
    /// Starts these ranks of `job`.
    pub(crate) fn start(
        job: &Job,
        common: &Common,
        ranks: Vec<RankProcess>,
        outlets: &Outlets,
    ) -> Result<Self, LaunchError> {
        // Orphans of the ranks become this process's children, so that they can be collected.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        let warden = spawn::start_warden(common).map_err(system("the warden cannot be started"))?;
        let mut processes = Processes {
            job: common.id.clone(),
            groups: BTreeMap::new(),
            all_groups: Vec::new(),
            warden,
            waiters: JoinSet::new(),
            readers: JoinSet::new(),
            input: None,
        };
        // The only rank's output is nobody else's: its last line need not be completed.
        let complete = job.size > 1;
        let local_size = ranks.len() as u32;
        for (local_rank, process) in (0u32..).zip(ranks) {
            let slot = RankSlot { rank: process.rank, local_rank, local_size };
            match spawn::rank(job, common, slot) {
                Ok(child) => processes.adopt(child, process, complete, outlets),
                Err(error) => {
                    processes.signal(Signal::KILL);
                    processes.kill_left_overs();
                    return Err(system(format!("rank {} cannot be started", process.rank))(error));
                }
            }
        }
        Ok(processes)
    }

    /// Watches a started rank: its end and its output.
    fn adopt(&mut self, mut child: Child, process: RankProcess, complete: bool, outlets: &Outlets) {
        let rank = process.rank;
        if let Some(group) = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            self.groups.insert(rank, group);
            self.all_groups.push(group);
        }
        let lines = &outlets.lines;
        if let Some(stdout) = child.stdout.take() {
            self.readers.spawn(output::pass_on(stdout, Rank(rank), Stream::Stdout, complete, None, lines.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            self.readers.spawn(output::pass_on(
                stderr,
                Rank(rank),
                Stream::Stderr,
                complete,
                process.tail,
                lines.clone(),
            ));
        }
        self.input = self.input.take().or(child.stdin.take());
        let ends = outlets.ends.clone();
        self.waiters.spawn(async move {
            if let Ok(status) = child.wait().await {
                let end = match status.signal() {
                    Some(signal) => End::Signalled(signal),
                    None => End::Exited(status.code().unwrap_or(1)),
                };
                let _ = ends.send((rank, end)).await;
            }
        });
    }

    /// Rank 0's input, if it is here and was not inherited.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    /// To be called for each end: the process group's number may soon be another's.
    pub(crate) fn has_ended(&mut self, rank: u32) {
        self.groups.remove(&rank);
    }

    /// Sends a signal to every rank that has not ended, and to what it has started.
    pub(crate) fn signal(&self, signal: Signal) {
        for group in self.groups.values() {
            // A group that has just ended needs no signal.
            let _ = kill_process_group(*group, signal);
        }
    }

    /// The ranks whose processes are stopped, with those.
    pub(crate) fn stopped(&self) -> Vec<(u32, Pid)> {
        let groups = self.groups.iter().map(|(rank, group)| (*rank, *group));
        groups.filter(|(_, group)| is_stopped(*group)).collect()
    }

    fn kill_left_overs(&mut self) {
        kill_left_overs(&self.job, &self.all_groups);
        spawn::dismiss(&mut self.warden);
    }

    /// When all ranks have ended: ends what they have left, and passes the last of their output on.
    pub(crate) async fn clean_up(mut self) {
        // It may hold their output open.
        self.kill_left_overs();
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = timeout(OUTPUT_PATIENCE, all).await;
    }
}
