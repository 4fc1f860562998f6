//! The launcher's side: one agent per host, and what they say.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::addresses;
use super::bootstrap::Image;
use super::connection::{Connection, why_it_ended};
use super::hosts::Hosts;
use super::messages::{Errand, FromAgent, PIECE_BYTES_MAX, Secret, ToAgent};
use super::raw::Raw;
use super::starter::{self, Reach};
use crate::launch::hosts::Host;
use crate::launch::local::end::End;
use crate::launch::local::error::LaunchError;
use crate::launch::local::inputs;
use crate::launch::local::job::{Job, Stdin};
use crate::launch::local::output::{Output, Stream, Tail};
use crate::launch::local::processes::{Outlets, RankProcess};
use lathide::ids::Rank;
use lathide::launcher::control;
use lathide::launcher::interface::{self, Interfaces};
use lathide::launcher::invitation;
use lathide::launcher::rendezvous::read_frame;
use lathide::launcher::timeline::rank_file;

/// How long an agent may take to look whether it can do what it shall.
const PREPARE: Duration = Duration::from_secs(15);
/// How long agents may take to clean up: longer than they take by their own clocks.
const CLEAN_UP: Duration = Duration::from_secs(12);
/// Variables of the launcher that are its own affair.
const OWN_VARIABLES: [&str; 14] = [
    "LATHIDE_RANK",
    "LATHIDE_SIZE",
    "LATHIDE_LOCAL_RANK",
    "LATHIDE_LOCAL_SIZE",
    "LATHIDE_ROOT",
    "LATHIDE_KEY_FD",
    "LATHIDE_KEY_FILE",
    "LATHIDE_JOB",
    "LATHIDE_TRACE",
    "LATHIDE_REPORT",
    "LATHIDE_SSH",
    "LATHIDE_LAB",
    "LATHIDE_LAB_HOSTS",
    "LATHIDE_ADVERTISE",
];

/// A job for several hosts, and where its news go.
pub(in crate::launch) struct Plan<'a> {
    pub(in crate::launch) job: &'a Job,
    pub(in crate::launch) hosts: &'a Hosts,
    /// The job's secret.
    pub(in crate::launch) key: [u8; 32],
    /// The rendezvous' port.
    pub(in crate::launch) port: u16,
    /// The launcher's own program.
    pub(in crate::launch) own: &'a Path,
    /// The ranks, in order.
    pub(in crate::launch) ranks: Vec<RankProcess>,
    pub(in crate::launch) outlets: Outlets,
    pub(in crate::launch) losses: mpsc::Sender<Loss>,
}

/// A host whose agent has gone before its time.
pub(in crate::launch) struct Loss {
    pub(in crate::launch) host: String,
    pub(in crate::launch) ranks: Vec<u32>,
    pub(in crate::launch) cause: String,
}

/// The agents at work.
pub(in crate::launch) struct Fleet {
    /// To each agent. They close the agents' inputs when they are dropped.
    orders: Vec<mpsc::UnboundedSender<ToAgent>>,
    /// One task per agent, until it is done or lost.
    readers: JoinSet<()>,
    others: JoinSet<()>,
}

/// A host whose agent is ready.
struct Candidate {
    host: Host,
    ranks: Vec<u32>,
    connection: Connection,
    root: Option<SocketAddr>,
}

impl Fleet {
    /// Starts an agent on each host, and when all are ready, the ranks.
    pub(in crate::launch) async fn start(plan: Plan<'_>) -> Result<Self, LaunchError> {
        let Plan { job, hosts, port, own, .. } = plan;
        let image = starter::image(hosts, own)?;
        let common = Arc::new((hosts.clone(), own.to_owned(), image));
        let mut starting = JoinSet::new();
        let is_overheard = hosts.places.iter().any(|(host, _)| Reach::of(host, hosts.starter) == Reach::Srun);
        let left = is_overheard.then(|| invitation::leave_key(&plan.key)).transpose();
        let left = left.map_err(|why| LaunchError::Hosts { why, status: 125 })?;
        let roots = addresses::candidates(port, hosts.advertise, hosts.interface.as_ref());
        for (host, ranks) in hosts.places.clone() {
            let reach = Reach::of(&host, hosts.starter);
            // The launcher's own host comes by the address that the others use.
            let roots = if reach == Reach::Here { Vec::new() } else { roots.clone() };
            let key = match &left {
                Some((_, name)) if reach == Reach::Srun => Secret::Left(name.clone()),
                _ => Secret::Told(plan.key),
            };
            let errand = errand(job, hosts, &host, key, ranks.clone(), roots);
            let common = common.clone();
            starting.spawn(async move {
                let (hosts, own, image) = &*common;
                let place = host.clone();
                prepare(hosts, own, image.as_ref(), host, ranks, errand, reach).await.map_err(|error| (place, error))
            });
        }
        let (mut ready, mut failed) = (Vec::new(), Vec::new());
        while let Some(started) = starting.join_next().await {
            match started {
                Ok(Ok((candidate, note))) => {
                    if let Some(note) = note {
                        let note = Output::note(&format!("{}: {note}", candidate.host));
                        let _ = plan.outlets.lines.send(note).await;
                    }
                    ready.push(candidate);
                }
                Ok(Err((host, (status, why)))) => failed.push((host.name, status, why)),
                Err(error) => failed.push(("a host".into(), 125, error.to_string())),
            }
        }
        // Each agent has it, or none ever will.
        drop(left);
        if !failed.is_empty() {
            failed.sort();
            let status = failed[0].1;
            let why = failed.into_iter().map(|(host, _, why)| format!("{host}: {why}")).collect::<Vec<_>>();
            return Err(LaunchError::Hosts { why: why.join("\nlathide: "), status });
        }
        Self::work(plan, ready).await
    }

    async fn work(plan: Plan<'_>, mut ready: Vec<Candidate>) -> Result<Self, LaunchError> {
        let here = root_here(&ready, plan.port, plan.hosts.interface.as_ref());
        for candidate in &mut ready {
            let root = candidate.root.unwrap_or(here);
            candidate
                .connection
                .send(&ToAgent::Start(root))
                .await
                .map_err(|why| LaunchError::Hosts { why: format!("{}: {why}", candidate.host), status: 125 })?;
        }
        let mut fleet = Fleet { orders: Vec::new(), readers: JoinSet::new(), others: JoinSet::new() };
        let mut tails: HashMap<u32, Tail> =
            plan.ranks.into_iter().filter_map(|process| Some((process.rank, process.tail?))).collect();
        for Candidate { host, ranks, connection, .. } in ready {
            let (orders, queue) = queue_of_credits();
            let (outputs, shown) = queue_of_credits();
            let taken = Arc::new(Notify::new());
            if plan.job.stdin != Stdin::Null && ranks.contains(&0) {
                fleet.others.spawn(carry_input(orders.clone(), taken.clone()));
            }
            let Connection { child, stdin, stdout, complaints } = connection;
            fleet.others.spawn(write_orders(stdin, queue));
            fleet.readers.spawn(show(shown, plan.outlets.lines.clone(), orders.clone()));
            let listener = Listener {
                outputs,
                taken,
                tails: ranks.iter().filter_map(|rank| tails.remove_entry(rank)).collect(),
                ends: plan.outlets.ends.clone(),
                trace: plan.job.trace.clone(),
            };
            let losses = plan.losses.clone();
            fleet.readers.spawn(async move {
                let mut child = child;
                if let Err(cause) = listener.listen(stdout).await {
                    let cause = match cause {
                        Some(cause) => cause,
                        None => why_it_ended(&mut child, &complaints).await,
                    };
                    let _ = losses.send(Loss { host: host.name, ranks, cause }).await;
                } else {
                    // It goes by itself; the starter's session too.
                    let _ = timeout(Duration::from_secs(1), child.wait()).await;
                }
            });
            fleet.orders.push(orders);
        }
        Ok(fleet)
    }

    /// Sends a signal to every rank that has not ended.
    pub(in crate::launch) fn signal(&self, signal: Signal) {
        for orders in &self.orders {
            let _ = orders.send(ToAgent::Signal(signal.as_raw()));
        }
    }

    /// When all ranks have ended: lets the agents end what they have left, and takes the last of their messages.
    pub(in crate::launch) async fn clean_up(mut self) {
        for orders in self.orders.drain(..) {
            let _ = orders.send(ToAgent::Finish);
        }
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = timeout(CLEAN_UP, all).await;
    }
}

/// The address at which ranks on the launcher's own host shall reach it: the one the other hosts use, because a node
/// tells its peers the address from which it came.
fn root_here(ready: &[Candidate], port: u16, rules: Option<&Interfaces>) -> SocketAddr {
    let mut remote = ready.iter().filter_map(|candidate| candidate.root).peekable();
    if remote.peek().is_none() {
        return SocketAddr::new(interface::loopback(), port);
    }
    let used: Option<IpAddr> = remote.map(|root| root.ip()).find(|&address| addresses::is_own(address));
    let address = used.or_else(|| interface::own(rules).first().copied());
    SocketAddr::new(address.unwrap_or_else(interface::loopback), port)
}

/// The agent on one host, and what a person should know of it; or the exit status and why there is none.
async fn prepare(
    hosts: &Hosts,
    own: &Path,
    image: Option<&Image>,
    host: Host,
    ranks: Vec<u32>,
    errand: Errand,
    reach: Reach,
) -> Result<(Candidate, Option<String>), (u8, String)> {
    let launcher = |why: String| (125, why);
    let image = image.filter(|_| reach.needs_image());
    let mut connection = Connection::open(hosts, &host, own, image).await.map_err(launcher)?;
    connection.send(&ToAgent::Prepare(Box::new(errand))).await.map_err(launcher)?;
    match connection.hear(PREPARE).await.map_err(launcher)? {
        FromAgent::Ready { root, note } => Ok((Candidate { host, ranks, connection, root }, note)),
        FromAgent::Failed { status, why } => Err((status, why)),
        other => Err((125, format!("its agent is not ready but says {other:?}"))),
    }
}

fn errand(job: &Job, hosts: &Hosts, host: &Host, key: Secret, ranks: Vec<u32>, roots: Vec<SocketAddr>) -> Errand {
    let mut env: Vec<(Raw, Raw)> = std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            let is_setting = name.starts_with("LATHIDE_") || name.starts_with("RUST_");
            is_setting && !OWN_VARIABLES.contains(&&*name)
        })
        .chain(job.env.iter().cloned())
        .map(|(name, value)| (Raw::from(&*name), Raw::from(&*value)))
        .collect();
    let ports = hosts.ports.as_ref().map(|ports| format!("{}-{}", ports.start(), ports.end()));
    for (name, value) in [
        ("LATHIDE_ADVERTISE", host.addr.map(|addr| addr.to_string())),
        ("LATHIDE_INTERFACE", hosts.interface.as_ref().map(Interfaces::to_string)),
        ("LATHIDE_PORTS", ports),
    ] {
        env.extend(value.map(|value| (Raw(name.into()), Raw(value.into_bytes()))));
    }
    let input = job.stdin != Stdin::Null && ranks.contains(&0);
    let current = std::env::current_dir().ok();
    Errand {
        key,
        size: job.size,
        ranks,
        program: (!job.is_lathide).then(|| Raw::from(&*job.program)),
        args: job.args.iter().map(|arg| Raw::from(&**arg)).collect(),
        env,
        directory: job.directory.as_ref().map(|directory| Raw::from(directory.as_os_str())),
        current: current.map(|current| Raw::from(current.as_os_str())),
        roots,
        input,
        trace: job.trace.is_some(),
        report: job.report,
    }
}

/// A queue whose sender must not wait. It is bounded all the same: the agent sends no more output than it has been told is
/// taken, and a piece of input follows when the one before is taken.
#[expect(clippy::disallowed_methods, reason = "bounded by credits")]
fn queue_of_credits<T>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>) {
    mpsc::unbounded_channel()
}

async fn write_orders(mut stdin: ChildStdin, mut orders: mpsc::UnboundedReceiver<ToAgent>) {
    while let Some(order) = orders.recv().await {
        let Ok(frame) = control::encode(&order) else { continue };
        // An agent that has gone is noticed by who reads its messages.
        if stdin.write_all(&frame).await.is_err() {
            return;
        }
    }
}

/// Carries the launcher's input to rank 0, a piece at a time.
async fn carry_input(orders: mpsc::UnboundedSender<ToAgent>, taken: Arc<Notify>) {
    let Some(mut pieces) = inputs::read_input() else { return };
    while let Some(piece) = pieces.recv().await {
        for piece in piece.chunks(PIECE_BYTES_MAX) {
            if orders.send(ToAgent::Input(Raw(piece.to_vec()))).is_err() {
                return;
            }
            taken.notified().await;
        }
    }
    let _ = orders.send(ToAgent::Input(Raw::default()));
}

/// Shows output; the agent may send more when that is done, so that a slow terminal holds up nothing else.
async fn show(
    mut outputs: mpsc::UnboundedReceiver<Output>,
    lines: mpsc::Sender<Output>,
    orders: mpsc::UnboundedSender<ToAgent>,
) {
    while let Some(output) = outputs.recv().await {
        let bytes = output.bytes.len();
        if lines.send(output).await.is_err() {
            return;
        }
        let _ = orders.send(ToAgent::Taken(bytes));
    }
}

/// What becomes of an agent's messages.
struct Listener {
    outputs: mpsc::UnboundedSender<Output>,
    taken: Arc<Notify>,
    tails: HashMap<u32, Tail>,
    ends: mpsc::Sender<(u32, End)>,
    trace: Option<PathBuf>,
}

impl Listener {
    /// Until the agent is done; otherwise why it has failed, if it says so.
    async fn listen(self, mut stdout: impl tokio::io::AsyncRead + Unpin) -> Result<(), Option<String>> {
        loop {
            match read_frame::<FromAgent>(&mut stdout).await.map_err(|_| None)? {
                FromAgent::Output { rank, stream, bytes } => {
                    if let (Stream::Stderr, Some(tail)) = (stream, self.tails.get(&rank)) {
                        tail.add(&bytes.0);
                    }
                    let _ = self.outputs.send(Output { rank: Some(Rank(rank)), stream, bytes: bytes.0 });
                }
                FromAgent::Ended { rank, end } => {
                    let _ = self.ends.send((rank, end)).await;
                }
                FromAgent::InputTaken => self.taken.notify_one(),
                FromAgent::Events { rank, bytes } => self.keep(rank, &bytes.0),
                FromAgent::Failed { why, .. } => return Err(Some(why)),
                FromAgent::Done => return Ok(()),
                FromAgent::Ready { .. } | FromAgent::Answer(_) => {}
            }
        }
    }

    /// Adds to what a rank has left for the timeline. What cannot be written is missing there, and that is said.
    fn keep(&self, rank: u32, events: &[u8]) {
        let Some(trace) = &self.trace else { return };
        let file = File::options().create(true).append(true).open(rank_file(trace, rank));
        if let Err(error) = file.and_then(|mut file| file.write_all(events)) {
            tracing::warn!(rank, %error, "events cannot be kept");
        }
    }
}
