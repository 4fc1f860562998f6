//! The launcher's side: one agent per host, and what they say.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection::{Connection, unexpected};
use super::errand::{Errand, Secret};
use super::hosts::Hosts;
use super::lines;
use super::messages::{FromAgent, ToAgent};
use super::starter::Program;
use super::together::together;
use crate::launch::failed::Failed;
use crate::launch::hosts::Host;
use crate::launch::local::event::Event;
use crate::launch::local::inputs;
use crate::launch::local::job::{Job, Stdin};
use crate::launch::local::output::Output;
use lathide::launcher::interface::{self, Interfaces};
use lathide::launcher::invitation;
use lathide::launcher::timeline::rank_file;

/// How long an agent may take to look whether it can do what it shall.
const PREPARE: Duration = Duration::from_secs(15);
/// How long agents may take to clean up: longer than they take by their own clocks.
const CLEAN_UP: Duration = Duration::from_secs(12);
/// A job for several hosts, and where its news go.
pub(in crate::launch) struct Plan<'a> {
    pub(in crate::launch) job: &'a Job,
    pub(in crate::launch) hosts: &'a Hosts,
    /// The job's secret.
    pub(in crate::launch) key: [u8; 32],
    /// The rendezvous' port.
    pub(in crate::launch) port: u16,
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

impl Fleet {
    /// Starts an agent on each host, and when all are ready, the ranks.
    pub(in crate::launch) async fn start(plan: Plan<'_>) -> Result<Self, Failed> {
        let hosts = plan.hosts;
        let own = Program::of(hosts)?;
        // srun forwards what an agent is told unencrypted.
        let left = hosts.srun.then(|| invitation::leave_key(&plan.key)).transpose().map_err(Failed::launcher)?;
        let secret = left.as_ref().map_or(Secret::Told(plan.key), |(_, name)| Secret::Left(name.clone()));
        let preparing = hosts.places.iter().map(async |(host, ranks)| {
            let prepared = prepare(&plan, &own, (host, ranks), secret.clone()).await;
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
        let mut ready: Vec<(Connection, Option<SocketAddr>)> = prepared.into_iter().flatten().collect();
        let here = root_here(ready.iter().filter_map(|(_, root)| *root), plan.port, hosts.reach.net.as_ref());
        for ((agent, root), (host, _)) in ready.iter_mut().zip(&hosts.places) {
            let started = agent.send(&ToAgent::Start(root.unwrap_or(here))).await;
            started.map_err(|failed| Failed::launcher(format!("{}: {failed}", host.name)))?;
        }
        let mut fleet = Fleet { orders: Vec::new(), readers: JoinSet::new(), others: JoinSet::new() };
        for ((agent, _), (host, ranks)) in ready.into_iter().zip(&hosts.places) {
            fleet.adopt(&plan, agent, (host.name.clone(), ranks.clone()));
        }
        Ok(fleet)
    }

    /// Talks to the agent of a host that starts its ranks now.
    fn adopt(&mut self, plan: &Plan<'_>, mut agent: Connection, (host, ranks): (String, Vec<u32>)) {
        let (orders, queue) = queue_of_credits();
        let (outputs, shown) = queue_of_credits();
        let taken = Arc::new(Notify::new());
        if plan.job.stdin != Stdin::Null && ranks.contains(&0) {
            self.others.spawn(carry_input(orders.clone(), taken.clone()));
        }
        if let Some(stdin) = agent.child.stdin.take() {
            self.others.spawn(write_orders(stdin, queue));
        }
        self.readers.spawn(show(shown, plan.lines.clone(), orders.clone()));
        self.orders.push(orders);
        let (events, trace) = (plan.events.clone(), plan.job.trace.clone());
        self.readers.spawn(async move {
            if let Err(cause) = listen(&mut agent, outputs, taken, &events, trace.as_deref()).await {
                let _ = events.send(Event::HostLost { host, ranks, cause }).await;
            } else {
                // It goes by itself; the starter's session too.
                let _ = timeout(Duration::from_secs(1), agent.child.wait()).await;
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
/// tells its peers the address from which it came. `remote`: where those reach it.
fn root_here(remote: impl Iterator<Item = SocketAddr> + Clone, port: u16, rules: Option<&Interfaces>) -> SocketAddr {
    let all = interface::own(None);
    let used = remote.clone().map(|root| root.ip()).find(|address| address.is_loopback() || all.contains(address));
    let usual = remote.clone().next().and_then(|_| interface::own(rules).first().copied());
    SocketAddr::new(used.or(usual).unwrap_or_else(interface::loopback), port)
}

/// The agent on one host, when it has found all that its ranks need, and where it reaches the rendezvous, if it looked for
/// that.
async fn prepare(
    plan: &Plan<'_>,
    own: &Program,
    (host, ranks): (&Host, &[u32]),
    secret: Secret,
) -> Result<(Connection, Option<SocketAddr>), Failed> {
    let errand = Errand::new(plan.job, plan.hosts, (host, ranks.to_vec()), secret, plan.port);
    let mut agent = Connection::open(plan.hosts, host, own).await?;
    match agent.ask(&ToAgent::Prepare(Box::new(errand)), PREPARE).await? {
        FromAgent::Ready { root, note } => {
            if let Some(note) = note {
                let _ = plan.lines.send(Output::note(&format!("{}: {note}", host.name))).await;
            }
            Ok((agent, root))
        }
        other => Err(unexpected(&other)),
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
        let Ok(line) = lines::encode(&order) else { continue };
        // An agent that has gone is noticed by who reads its messages.
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Carries the launcher's input to rank 0, a piece at a time; an empty one is the end.
async fn carry_input(orders: mpsc::UnboundedSender<ToAgent>, taken: Arc<Notify>) {
    let mut pieces = inputs::read_input();
    loop {
        let piece = pieces.recv().await.unwrap_or_default();
        let is_last = piece.is_empty();
        if orders.send(ToAgent::Input(piece)).is_err() || is_last {
            return;
        }
        taken.notified().await;
    }
}

/// Shows output; the agent may send more when that is done, so that a slow terminal holds up nothing else.
async fn show(
    mut outputs: mpsc::UnboundedReceiver<Output>,
    lines: mpsc::Sender<Output>,
    orders: mpsc::UnboundedSender<ToAgent>,
) {
    while let Some(output) = outputs.recv().await {
        if lines.send(output).await.is_err() {
            return;
        }
        let _ = orders.send(ToAgent::Taken);
    }
}

/// Takes an agent's messages until it is done; otherwise returns why it has failed.
async fn listen(
    agent: &mut Connection,
    outputs: mpsc::UnboundedSender<Output>,
    taken: Arc<Notify>,
    events: &mpsc::Sender<Event>,
    trace: Option<&Path>,
) -> Result<(), String> {
    loop {
        match lines::read(&mut agent.stdout).await {
            Ok(FromAgent::Output(output)) => _ = outputs.send(output),
            Ok(FromAgent::Ended { rank, end }) => _ = events.send(Event::Ended(rank, end)).await,
            Ok(FromAgent::InputTaken) => taken.notify_one(),
            Ok(FromAgent::Events { rank, bytes }) => {
                if let Some(Err(error)) = trace.map(|trace| keep(&rank_file(trace, rank), &bytes)) {
                    // They are missing in the timeline.
                    tracing::warn!(rank, %error, "events cannot be kept");
                }
            }
            Ok(FromAgent::Failed(failed)) => return Err(failed.message),
            Ok(FromAgent::Done) => return Ok(()),
            Ok(_) => {}
            Err(_) => return Err(agent.why_it_ended().await),
        }
    }
}

/// Adds to what a rank has left for the timeline.
fn keep(file: &Path, events: &[u8]) -> io::Result<()> {
    File::options().create(true).append(true).open(file)?.write_all(events)
}
