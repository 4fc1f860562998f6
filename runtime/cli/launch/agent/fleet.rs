//! The launcher's side: one agent per host, and what they say.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::addresses;
use super::bootstrap::Image;
use super::connection::Connection;
use super::hosts::Hosts;
use super::messages::{Errand, FromAgent, PIECE_BYTES_MAX, Secret, ToAgent};
use super::raw::Raw;
use super::starter::{self, Reach};
use super::together::together;
use crate::launch::failed::Failed;
use crate::launch::hosts::Host;
use crate::launch::local::event::Event;
use crate::launch::local::inputs;
use crate::launch::local::job::{Job, Stdin};
use crate::launch::local::output::Output;
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
    /// Takes what the ranks write.
    pub(in crate::launch) lines: mpsc::Sender<Output>,
    pub(in crate::launch) events: mpsc::Sender<Event>,
}

/// The agents at work.
pub(in crate::launch) struct Fleet {
    /// To each agent. They close the agents' inputs when they are dropped.
    orders: Vec<mpsc::UnboundedSender<ToAgent>>,
    /// One task per agent, until it is done or lost, and one that shows what its ranks write.
    readers: JoinSet<()>,
    others: JoinSet<()>,
}

/// A host whose agent is ready.
struct Candidate<'a> {
    host: &'a Host,
    ranks: &'a [u32],
    connection: Connection,
    root: Option<SocketAddr>,
}

impl Fleet {
    /// Starts an agent on each host, and when all are ready, the ranks.
    pub(in crate::launch) async fn start(plan: Plan<'_>) -> Result<Self, Failed> {
        let hosts = plan.hosts;
        let image = starter::image(hosts, plan.own)?;
        let is_overheard = hosts.places.iter().any(|(host, _)| Reach::of(host, hosts.srun) == Reach::Srun);
        let left = is_overheard.then(|| invitation::leave_key(&plan.key)).transpose().map_err(Failed::launcher)?;
        let name = left.as_ref().map(|(_, name)| name.as_str());
        let preparing = hosts.places.iter().map(async |(host, ranks)| {
            let prepared = prepare(&plan, image.as_ref(), host, ranks, name).await;
            prepared.map_err(|failed| Failed { message: format!("{}: {failed}", host.name), ..failed })
        });
        let prepared = together(preparing).await;
        // Each agent has it, or none ever will.
        drop(left);
        let failed: Vec<&Failed> = prepared.iter().filter_map(|prepared| prepared.as_ref().err()).collect();
        if let Some(&&Failed { status, .. }) = failed.first() {
            let causes: Vec<&str> = failed.iter().map(|failed| failed.message.as_str()).collect();
            return Err(Failed { message: causes.join("\nlathide: "), status });
        }
        let mut ready: Vec<Candidate<'_>> = prepared.into_iter().flatten().collect();
        let here = root_here(&ready, plan.port, hosts.interface.as_ref());
        for Candidate { host, connection, root, .. } in &mut ready {
            let started = connection.send(&ToAgent::Start(root.unwrap_or(here))).await;
            started.map_err(|why| Failed::launcher(format!("{}: {why}", host.name)))?;
        }
        let mut fleet = Fleet { orders: Vec::new(), readers: JoinSet::new(), others: JoinSet::new() };
        ready.into_iter().for_each(|candidate| fleet.adopt(&plan, candidate));
        Ok(fleet)
    }

    /// Talks to an agent that starts its ranks now.
    fn adopt(&mut self, plan: &Plan<'_>, candidate: Candidate<'_>) {
        let Candidate { host, ranks, connection: Connection { mut session, stdin, stdout }, .. } = candidate;
        let (orders, queue) = queue_of_credits();
        let (outputs, shown) = queue_of_credits();
        let taken = Arc::new(Notify::new());
        if plan.job.stdin != Stdin::Null && ranks.contains(&0) {
            self.others.spawn(carry_input(orders.clone(), taken.clone()));
        }
        self.others.spawn(write_orders(stdin, queue));
        self.readers.spawn(show(shown, plan.lines.clone(), orders.clone()));
        self.orders.push(orders);
        let (host, ranks) = (host.name.clone(), ranks.to_vec());
        let (events, trace) = (plan.events.clone(), plan.job.trace.clone());
        self.readers.spawn(async move {
            if let Err(cause) = listen(stdout, outputs, taken, &events, trace.as_deref()).await {
                let cause = match cause {
                    Some(cause) => cause,
                    None => session.why_it_ended().await,
                };
                let _ = events.send(Event::HostLost { host, ranks, cause }).await;
            } else {
                // It goes by itself; the starter's session too.
                let _ = timeout(Duration::from_secs(1), session.child.wait()).await;
            }
        });
    }

    /// Sends a signal to every rank that has not ended.
    pub(in crate::launch) fn signal(&self, signal: Signal) {
        for orders in &self.orders {
            let _ = orders.send(ToAgent::Signal(signal.as_raw()));
        }
    }

    /// When all ranks have ended: lets the agents end what they have left, and takes the last of their messages.
    pub(in crate::launch) async fn clean_up(&mut self) {
        for orders in self.orders.drain(..) {
            let _ = orders.send(ToAgent::Finish);
        }
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = timeout(CLEAN_UP, all).await;
    }
}

/// The address at which ranks on the launcher's own host shall reach it: the one the other hosts use, because a node
/// tells its peers the address from which it came.
fn root_here(ready: &[Candidate<'_>], port: u16, rules: Option<&Interfaces>) -> SocketAddr {
    let remote: Vec<IpAddr> = ready.iter().filter_map(|candidate| Some(candidate.root?.ip())).collect();
    if remote.is_empty() {
        return SocketAddr::new(interface::loopback(), port);
    }
    let all = interface::own(None);
    let used = remote.into_iter().find(|address| address.is_loopback() || all.contains(address));
    let address = used.or_else(|| interface::own(rules).first().copied());
    SocketAddr::new(address.unwrap_or_else(interface::loopback), port)
}

/// The agent on one host, when it has found all that its ranks need. `left`: under which name the key has been left.
async fn prepare<'a>(
    plan: &Plan<'a>,
    image: Option<&Image>,
    host: &'a Host,
    ranks: &'a [u32],
    left: Option<&str>,
) -> Result<Candidate<'a>, Failed> {
    let Plan { job, hosts, own, .. } = plan;
    let reach = Reach::of(host, hosts.srun);
    let raw = |text: &OsString| Raw::from(&**text);
    let errand = Errand {
        key: match left {
            Some(name) if reach == Reach::Srun => Secret::Left(name.to_owned()),
            _ => Secret::Told(plan.key),
        },
        size: job.size,
        ranks: ranks.to_vec(),
        program: (!job.is_lathide).then(|| raw(&job.program)),
        args: job.args.iter().map(raw).collect(),
        env: variables(job, hosts, host),
        directory: job.directory.as_ref().map(|directory| Raw::from(directory.as_os_str())),
        current: std::env::current_dir().ok().map(|current| Raw::from(current.as_os_str())),
        roots: match reach {
            // The launcher's own host comes by the address that the others use.
            Reach::Here => Vec::new(),
            _ => addresses::candidates(plan.port, hosts.advertise, hosts.interface.as_ref()),
        },
        input: job.stdin != Stdin::Null && ranks.contains(&0),
        trace: job.trace.is_some(),
        report: job.report,
    };
    let mut connection = Connection::open(hosts, host, own, image).await.map_err(Failed::launcher)?;
    connection.send(&ToAgent::Prepare(Box::new(errand))).await.map_err(Failed::launcher)?;
    match connection.hear(PREPARE).await.map_err(Failed::launcher)? {
        FromAgent::Ready { root, note } => {
            if let Some(note) = note {
                let _ = plan.lines.send(Output::note(&format!("{}: {note}", host.name))).await;
            }
            Ok(Candidate { host, ranks, connection, root })
        }
        FromAgent::Failed { status, why } => Err(Failed { message: why, status }),
        other => Err(Failed::launcher(format!("its agent is not ready but says {other:?}"))),
    }
}

/// What every rank on this host gets.
fn variables(job: &Job, hosts: &Hosts, host: &Host) -> Vec<(Raw, Raw)> {
    let is_passed_on =
        |name: &str| (name.starts_with("LATHIDE_") || name.starts_with("RUST_")) && !OWN_VARIABLES.contains(&name);
    let own = std::env::vars_os().filter(|(name, _)| is_passed_on(&name.to_string_lossy()));
    let ports = hosts.ports.as_ref().map(|ports| format!("{}-{}", ports.start(), ports.end()));
    let settings = [
        ("LATHIDE_ADVERTISE", host.addr.map(|addr| addr.to_string())),
        ("LATHIDE_INTERFACE", hosts.interface.as_ref().map(Interfaces::to_string)),
        ("LATHIDE_PORTS", ports),
    ];
    let settings = settings.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into())));
    let all = own.chain(job.env.iter().cloned()).chain(settings);
    all.map(|(name, value): (OsString, OsString)| (Raw::from(&*name), Raw::from(&*value))).collect()
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
    let mut pieces = inputs::read_input();
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

/// Takes an agent's messages until it is done; otherwise returns why it has failed, if it says so.
async fn listen(
    mut stdout: impl AsyncRead + Unpin,
    outputs: mpsc::UnboundedSender<Output>,
    taken: Arc<Notify>,
    events: &mpsc::Sender<Event>,
    trace: Option<&Path>,
) -> Result<(), Option<String>> {
    loop {
        match read_frame::<FromAgent>(&mut stdout).await.map_err(|_| None)? {
            FromAgent::Output { rank, stream, bytes } => {
                let _ = outputs.send(Output { rank: Some(Rank(rank)), stream, bytes: bytes.0 });
            }
            FromAgent::Ended { rank, end } => {
                let _ = events.send(Event::Ended(rank, end)).await;
            }
            FromAgent::InputTaken => taken.notify_one(),
            FromAgent::Events { rank, bytes } => {
                if let Some(Err(error)) = trace.map(|trace| keep(&rank_file(trace, rank), &bytes.0)) {
                    // They are missing in the timeline.
                    tracing::warn!(rank, %error, "events cannot be kept");
                }
            }
            FromAgent::Failed { why, .. } => return Err(Some(why)),
            FromAgent::Done => return Ok(()),
            _ => {}
        }
    }
}

/// Adds to what a rank has left for the timeline.
fn keep(file: &Path, events: &[u8]) -> io::Result<()> {
    File::options().create(true).append(true).open(file)?.write_all(events)
}
