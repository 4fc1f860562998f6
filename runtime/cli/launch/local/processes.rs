//! The ranks of a job on this host: their processes, what they write, and what they leave. The launcher of a local job
//! has one, and so has the agent of each host of a larger one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, set_child_subreaper};
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::cleanup::{is_stopped, kill_left_overs};
use super::event::End;
use super::job::Job;
use super::output::{self, Output, Stream};
use super::spawn::{self, Common};
use crate::launch::failed::{Failed, system};
use crate::launch::warden::Warden;
use lathide::ids::Rank;

/// How long output of processes that have all ended may take to be passed on.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(5);

/// The processes of some ranks of a job. They live as long as the thread that started them.
pub(crate) struct Processes {
    job: String,
    /// The process groups of ranks that have not ended.
    groups: BTreeMap<u32, Pid>,
    /// The process groups of all ranks ever started.
    all_groups: Vec<Pid>,
    warden: Warden,
    waiters: JoinSet<(u32, End)>,
    readers: JoinSet<()>,
    /// Rank 0's input, if it is here and was not inherited.
    pub(crate) input: Option<ChildStdin>,
}

impl Processes {
    /// Starts these ranks of `job`, which find each other at `root`. What they write goes to `lines`.
    pub(crate) fn start(
        job: &Job,
        common: &Common,
        root: SocketAddr,
        ranks: &[u32],
        lines: &mpsc::Sender<Output>,
    ) -> Result<Self, Failed> {
        // Orphans of the ranks become this process's children, so that they can be collected.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        let warden = Warden::start(&common.starter, "job", &common.id)?;
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
        for (local_rank, &rank) in ranks.iter().enumerate() {
            match spawn::rank(job, common, root, ranks, local_rank) {
                Ok(child) => processes.adopt(child, rank, complete, lines),
                Err(error) => {
                    processes.signal(Signal::KILL);
                    processes.kill_left_overs();
                    return Err(system(format!("rank {rank} cannot be started"))(error));
                }
            }
        }
        Ok(processes)
    }

    /// Watches a started rank: its end and its output.
    fn adopt(&mut self, mut child: Child, rank: u32, complete: bool, lines: &mpsc::Sender<Output>) {
        if let Some(group) = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            self.groups.insert(rank, group);
            self.all_groups.push(group);
        }
        if let Some(stdout) = child.stdout.take() {
            self.readers.spawn(output::pass_on(stdout, Rank(rank), Stream::Stdout, complete, lines.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            self.readers.spawn(output::pass_on(stderr, Rank(rank), Stream::Stderr, complete, lines.clone()));
        }
        self.input = self.input.take().or(child.stdin.take());
        self.waiters.spawn(async move {
            let status = child.wait().await.ok();
            let end = match status.and_then(|status| status.signal()) {
                Some(signal) => End::Signalled(signal),
                None => End::Exited(status.and_then(|status| status.code()).unwrap_or(1)),
            };
            (rank, end)
        });
    }

    /// This directory is to be removed too if this process is killed.
    pub(crate) fn leaves(&mut self, directory: &Path) {
        let name = directory.display().to_string();
        // The warden is told in a line. One that was killed cannot do it.
        if !name.contains('\n') {
            let _ = self.warden.tell(name);
        }
    }

    /// The next rank to end, and how. `None`: all have ended.
    pub(crate) async fn next_end(&mut self) -> Option<(u32, End)> {
        let (rank, end) = self.waiters.join_next().await?.ok()?;
        // The process group's number may soon be another's.
        self.groups.remove(&rank);
        Some((rank, end))
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
        // A warden that was killed need not be told that nothing is left to do.
        let _ = self.warden.tell(spawn::DONE);
    }

    /// When all ranks have ended: ends what they have left, and passes the last of their output on.
    pub(crate) async fn clean_up(&mut self) {
        // It may hold their output open.
        self.kill_left_overs();
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = timeout(OUTPUT_PATIENCE, all).await;
        self.readers.abort_all();
    }
}
