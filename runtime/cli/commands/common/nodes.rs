//! Node processes that measure: each prints one line of JSON per event, and the command follows those of rank 0.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crate::launch::local::{Job, Outcome, Output, Stream};
use indicatif::ProgressBar;
use lathide::{Node, Rank};
use parking_lot::Mutex;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::console;
use super::load::Moment;
use super::session::Session;
use super::setup::{self, HostSetup};
use super::target::Target;
use crate::launch::failed::Failed;
use crate::report::verdict::HostLoad;

/// What rank 0 of the nodes says, one line of JSON each.
#[derive(Serialize, Deserialize)]
enum Line<E> {
    /// How far it is: what is done, of how much, and what is measured now, for people.
    Progress { done: u64, of: u64, now: String },
    /// What it has found out.
    Event(E),
    /// The hosts of all ranks.
    Hosts(Vec<HostSetup>),
    /// By rank, what else its host had to do, and in how many seconds.
    Beside(f64, Vec<(f64, f64)>),
}

/// The nodes that only say where they are.
pub(crate) const LOOK: &str = "look";

/// Nodes that measure for a command: processes of this same program.
pub(crate) struct Nodes<'a> {
    pub(crate) target: &'a Target,
    /// Of [`measuring`].
    pub(crate) command: &'static str,
    /// Shows how far they are.
    pub(crate) bar: ProgressBar,
    /// The measurement of which they are a part.
    pub(crate) session: Session,
}

impl Nodes<'_> {
    /// Runs so many nodes by this plan to their end; `set` are further variables of theirs. What rank 0 has found out, and how
    /// the job went.
    ///
    /// # Errors
    /// If the job fails, or a signal ends it.
    pub(crate) fn run<E>(
        &self,
        ranks: u32,
        plan: &impl Serialize,
        set: &[(&str, &str)],
    ) -> Result<(Vec<E>, Outcome), Failed>
    where
        E: DeserializeOwned + Send + 'static,
    {
        let (events, outcome) = self.run_as_far_as_it_goes(ranks, plan, set)?;
        match outcome.interrupted_by_signal {
            None => Ok((events, outcome)),
            Some(_) => Err(Failed { message: why(&outcome), status: outcome.exit_status }),
        }
    }

    /// The same; if a signal ends the job, what rank 0 had found out before. Then nothing more is to be begun
    /// ([`Session::is_interrupted`]).
    ///
    /// # Errors
    /// If the job fails.
    pub(crate) fn run_as_far_as_it_goes<E>(
        &self,
        ranks: u32,
        plan: &impl Serialize,
        set: &[(&str, &str)],
    ) -> Result<(Vec<E>, Outcome), Failed>
    where
        E: DeserializeOwned + Send + 'static,
    {
        let command = ["__node", self.command, &serde_json::to_string(plan)?];
        let mut job = self.target.on(Job::of_lathide(ranks, command.map(OsString::from)))?;
        job.env =
            [("LATHIDE_OVERLAP", "on")].iter().chain(set).map(|(name, value)| (name.into(), value.into())).collect();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (sink, bar, session) = (Arc::clone(&events), self.bar.clone(), self.session.clone());
        let outcome = follow(job, move |line| match line {
            Line::Progress { done, of, now } => {
                bar.set_length(of);
                bar.set_position(done);
                bar.set_message(now);
            }
            Line::Event(event) => sink.lock().push(event),
            Line::Hosts(hosts) => session.on(hosts),
            Line::Beside(seconds, shares) => {
                let load = |(rank, &(others, stolen)): (u32, &(f64, f64))| HostLoad {
                    host: session.host(rank),
                    others,
                    stolen,
                };
                session.beside(seconds, by_host((0..).zip(&shares).map(load)));
            }
        })?;
        if let Some(signal) = outcome.interrupted_by_signal {
            self.session.interrupted(signal);
        }
        let events = std::mem::take(&mut *events.lock());
        Ok((events, outcome))
    }
}

/// One for each host.
fn by_host(loads: impl Iterator<Item = HostLoad>) -> Vec<HostLoad> {
    let mut hosts: Vec<HostLoad> = Vec::new();
    for load in loads {
        match hosts.iter_mut().find(|known| known.host == load.host) {
            Some(known) => known.others = known.others.max(load.others),
            None => hosts.push(load),
        }
    }
    hosts
}

impl Drop for Nodes<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A node of a command: does what the plan says. `command` is the command's name.
pub(crate) fn measuring<P: DeserializeOwned>(
    command: &str,
    plan: &str,
    measure: impl FnOnce(&Node, &P) -> Result<(), Failed>,
) -> ExitCode {
    let measured = serde_json::from_str(plan).map_err(Failed::from).and_then(|plan| {
        let node = lathide::init()?;
        let core = keep_to_one_core(node.rank());
        let hosts = setup::gather(&node, core)?;
        say(node.rank(), &Line::<()>::Hosts(hosts))?;
        let (began, before) = (Instant::now(), Moment::now());
        measure(&node, &plan)?;
        let seconds = began.elapsed().as_secs_f64();
        let shares = before.shares(&node)?.into_iter().map(|shares| (shares.others, shares.stolen)).collect();
        say(node.rank(), &Line::<()>::Beside(seconds, shares))?;
        Ok(node.finalize()?)
    });
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed { message, status }) => console::fail(&format!("lathide {command}"), &message, status),
    }
}

/// Has as many nodes as a program has ranks say on which hosts they are, for the results. Returns what to note if they cannot.
pub(crate) fn look(target: &Target, ranks: u32, session: &Session) -> Option<String> {
    let nodes = Nodes { target, command: LOOK, bar: ProgressBar::hidden(), session: session.clone() };
    let looked = nodes.run_as_far_as_it_goes::<()>(ranks, &(), &[]);
    looked.err().map(|Failed { message, .. }| format!("the hosts are not described: {message}"))
}

/// A node of [`look`].
pub(crate) fn run_look_node() -> ExitCode {
    let looked = lathide::init().map_err(Failed::from).and_then(|node| {
        // A program's ranks keep to no core.
        let hosts = setup::gather(&node, None)?;
        say(node.rank(), &Line::<()>::Hosts(hosts))?;
        Ok(node.finalize()?)
    });
    match looked {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed { message, status }) => console::fail("lathide", &message, status),
    }
}

/// Runs `job` to its end and hands each of rank 0's events to `take`, on another thread.
fn follow<E: DeserializeOwned>(job: Job, take: impl FnMut(E) + Send + 'static) -> Result<Outcome, Failed> {
    let broken = Arc::new(Mutex::new(None));
    let mut lines = Lines { line: Vec::new(), broken: Arc::clone(&broken), take };
    let sink = Box::new(move |output: Output| {
        lines.take(&output);
        Ok(())
    });
    let outcome = job.run(sink)?;
    let broken = broken.lock().take();
    match (outcome.exit_status, broken) {
        (0, None) => Ok(outcome),
        (_, _) if outcome.interrupted_by_signal.is_some() => Ok(outcome),
        (0, Some(line)) => Err(Failed::new(format!("a node reported something else than measurements: {line}"))),
        (status, _) => Err(Failed { message: why(&outcome), status }),
    }
}

/// Why a job failed.
pub(crate) fn why(outcome: &Outcome) -> String {
    if let Some(signal) = outcome.interrupted_by_signal {
        return format!("interrupted by signal {signal}");
    }
    match &outcome.first_failure {
        Some(failure) => {
            // What the launcher has to say of it is not shown otherwise.
            let deadlock = outcome.deadlock.iter().flat_map(|report| report.lines());
            let lines = deadlock.chain(failure.stderr.iter().map(String::as_str));
            let lines: String = lines.map(|line| format!("\n  {line}")).collect();
            format!("rank {} {failure}{lines}", failure.rank)
        }
        None => "the job failed".to_owned(),
    }
}

/// Rank 0's output, cut into lines, each an event.
struct Lines<F> {
    /// Up to the next newline.
    line: Vec<u8>,
    /// A line that is no event.
    broken: Arc<Mutex<Option<String>>>,
    take: F,
}

impl<F> Lines<F> {
    fn take<E: DeserializeOwned>(&mut self, output: &Output)
    where
        F: FnMut(E),
    {
        if output.stream != Stream::Stdout || output.rank != Some(Rank(0)) {
            return;
        }
        for byte in &output.bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match serde_json::from_slice(&line) {
                Ok(event) => (self.take)(event),
                Err(_) => *self.broken.lock() = Some(String::from_utf8_lossy(&line).into_owned()),
            }
        }
    }
}

/// Reports what was found out to the command. Rank 0 speaks for all.
///
/// # Errors
/// If nobody listens.
pub(crate) fn report(rank: Rank, event: impl Serialize) -> Result<(), Failed> {
    say(rank, &Line::Event(event))
}

/// Tells the command how far it is.
///
/// # Errors
/// If nobody listens.
pub(crate) fn progress(rank: Rank, (done, of): (u64, u64), now: impl Into<String>) -> Result<(), Failed> {
    say(rank, &Line::<()>::Progress { done, of, now: now.into() })
}

fn say(rank: Rank, line: &impl Serialize) -> Result<(), Failed> {
    if rank != 0 {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    let written = serde_json::to_writer(&mut out, line).map_err(std::io::Error::from);
    let written = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    written.map_err(|error| Failed::new(format!("cannot report results: {error}")))
}

/// Gives this thread a core of its own, as if each node were a machine. Left alone, both nodes may share one for a
/// while: they sleep and wake too often to be moved apart. The node's kernel, already started, may run anywhere.
/// Where the system refuses, all goes on without it. Returns that core.
fn keep_to_one_core(rank: Rank) -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if cores.len() < 2 {
        return cores.first().copied();
    }
    let core = cores[rank.index() % cores.len()];
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).ok().map(|()| core)
}
