//! The launcher's side: one agent per host, and what they say.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::{Connection, NotReady, unexpected};
use super::errand::{Errand, Secret};
use super::exchange::Exchange;
use super::hosts::Hosts;
use super::keep::{Back, keep};
use super::messages::{FromAgent, ToAgent};
use super::starter::{Program, WayBack};
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
/// How often an agent is started, if its connection breaks before it is ready.
const STARTS: u32 = 3;
const START_PAUSE: Duration = Duration::from_millis(250);
/// How long agents may take to clean up: longer than they take by their own clocks. A cut may come in between.
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
    /// With each agent.
    exchanges: Vec<Arc<Exchange>>,
    /// How long agents may take to clean up.
    clean_up: Duration,
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
        let ready: Vec<Prepared> = prepared.into_iter().flatten().collect();
        let here = root_here(ready.iter().filter_map(|agent| agent.root), plan.port, hosts.reach.net.as_ref());
        let patience = ready.iter().filter_map(|agent| agent.back.as_ref()).map(|(way, _)| way.agents_patience()).max();
        let clean_up = CLEAN_UP + patience.unwrap_or_default();
        let mut fleet = Fleet { exchanges: Vec::new(), clean_up, readers: JoinSet::new(), others: JoinSet::new() };
        for (agent, (host, ranks)) in ready.into_iter().zip(&hosts.places) {
            fleet.adopt(&plan, agent, here, (host.name.clone(), ranks.clone()));
        }
        Ok(fleet)
    }

    /// Has the agent of a host start its ranks, and talks to it. `here`: where they find each other, unless it has looked. Its
    /// connection may have been cut since it was ready.
    fn adopt(&mut self, plan: &Plan<'_>, agent: Prepared, here: SocketAddr, (host, ranks): (String, Vec<u32>)) {
        let Prepared { mut connection, root, back } = agent;
        let exchange = Arc::new(Exchange::new(std::mem::take(&mut connection.session)));
        exchange.say(&ToAgent::Start(root.unwrap_or(here)));
        let (outputs, shown) = queue_of_credits();
        let taken = Arc::new(Notify::new());
        if plan.job.stdin != Stdin::Null && ranks.contains(&0) {
            self.others.spawn(carry_input(exchange.clone(), taken.clone()));
        }
        self.readers.spawn(show(shown, plan.lines.clone(), exchange.clone()));
        self.exchanges.push(exchange.clone());
        let (events, trace) = (plan.events.clone(), plan.job.trace.clone());
        self.readers.spawn(async move {
            let (incoming, messages) = mpsc::channel(16);
            let mut kept = pin!(keep(connection, back, &exchange, incoming));
            let mut heard = pin!(listen(messages, outputs, &taken, &events, trace.as_deref()));
            let (mut why, mut is_kept) = (String::new(), true);
            let heard = loop {
                tokio::select! {
                    heard = &mut heard => break heard,
                    lost = &mut kept, if is_kept => (why, is_kept) = (lost, false),
                }
            };
            let cause = match heard {
                Heard::Done => {
                    exchange.finish();
                    if is_kept {
                        // It goes by itself; the starter's session too.
                        let _ = timeout(Duration::from_secs(1), kept).await;
                    }
                    return;
                }
                Heard::Failed(cause) => cause,
                Heard::Nothing => why,
            };
            let _ = events.send(Event::HostLost { host, ranks, cause }).await;
        });
    }

    /// Sends a signal to every rank that has not ended.
    pub(in crate::launch) fn signal(&self, signal: Signal) {
        for exchange in &self.exchanges {
            exchange.say(&ToAgent::Signal(signal.as_raw()));
            if signal == Signal::KILL {
                // The end of a job does not wait for the end of a cut.
                exchange.hurry();
            }
        }
    }

    /// When all ranks have ended: lets the agents end what they have left, and takes the last of their messages. If that
    /// `is_urgent`, a cut in between may cost some.
    pub(in crate::launch) async fn clean_up(&mut self, is_urgent: bool) {
        for exchange in self.exchanges.drain(..) {
            exchange.say(&ToAgent::Finish);
        }
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = timeout(if is_urgent { CLEAN_UP } else { self.clean_up }, all).await;
    }
}

/// An agent that has found all that its ranks need.
struct Prepared {
    connection: Connection,
    /// Where it reaches the rendezvous, if it looked for that.
    root: Option<SocketAddr>,
    /// How it is found again.
    back: Back,
}

/// The address at which ranks on the launcher's own host shall reach it: the one the other hosts use, because a node
/// tells its peers the address from which it came. `remote`: where those reach it.
fn root_here(remote: impl Iterator<Item = SocketAddr> + Clone, port: u16, rules: Option<&Interfaces>) -> SocketAddr {
    let all = interface::own(None);
    let used = remote.clone().map(|root| root.ip()).find(|address| address.is_loopback() || all.contains(address));
    let usual = remote.clone().next().and_then(|_| interface::own(rules).first().copied());
    SocketAddr::new(used.or(usual).unwrap_or_else(interface::loopback), port)
}

/// The agent on one host, when it has found all that its ranks need.
///
/// If its connection breaks before, nothing has been started there that anybody needs: another agent does as well.
async fn prepare(
    plan: &Plan<'_>,
    own: &Program,
    (host, ranks): (&Host, &[u32]),
    secret: Secret,
) -> Result<Prepared, Failed> {
    let mut starts = 1;
    loop {
        let way = WayBack::to(plan.hosts, host, own);
        let goes_on = way.is_some() && starts < STARTS;
        match prepare_once(plan, own, (host, ranks), secret.clone(), way).await {
            Err(NotReady::Cut(why)) if goes_on => {
                tracing::info!(host = host.name, %why, "the connection to an agent was cut before it was ready");
                starts += 1;
                sleep(START_PAUSE).await;
            }
            prepared => return Ok(prepared?),
        }
    }
}

async fn prepare_once(
    plan: &Plan<'_>,
    own: &Program,
    (host, ranks): (&Host, &[u32]),
    secret: Secret,
    way: Option<WayBack>,
) -> Result<Prepared, NotReady> {
    let patience = way.as_ref().map(WayBack::agents_patience);
    let errand = Errand::new(plan.job, plan.hosts, (host, ranks.to_vec()), secret, plan.port);
    let errand = Errand { patience, ..errand };
    let mut connection = Connection::open(plan.hosts, host, own).await.map_err(NotReady::of_starter)?;
    if way.is_some() {
        connection.leave_will();
    }
    match connection.ask(&ToAgent::Prepare(Box::new(errand)), PREPARE).await {
        Ok(FromAgent::Ready { root, note, resumption }) => {
            if let Some(note) = note {
                let _ = plan.lines.send(Output::note(&format!("{}: {note}", host.name))).await;
            }
            Ok(Prepared { connection, root, back: way.zip(resumption) })
        }
        Ok(other) => Err(unexpected(&other).into()),
        Err(NotReady::Cut(why)) => {
            connection.abandon().await;
            Err(NotReady::Cut(why))
        }
        Err(error) => Err(error),
    }
}

/// A queue whose sender must not wait. It is bounded all the same: the agent sends no more output than it has been told is
/// taken.
#[expect(clippy::disallowed_methods, reason = "bounded by credits")]
fn queue_of_credits<T>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>) {
    mpsc::unbounded_channel()
}

/// Carries the launcher's input to rank 0, a piece at a time; an empty one is the end.
async fn carry_input(exchange: Arc<Exchange>, taken: Arc<Notify>) {
    let mut pieces = inputs::read_input();
    loop {
        let piece = pieces.recv().await.unwrap_or_default();
        let is_last = piece.is_empty();
        exchange.say(&ToAgent::Input(piece));
        if is_last {
            return;
        }
        taken.notified().await;
    }
}

/// Shows output; the agent may send more when that is done, so that a slow terminal holds up nothing else.
async fn show(mut outputs: mpsc::UnboundedReceiver<Output>, lines: mpsc::Sender<Output>, exchange: Arc<Exchange>) {
    while let Some(output) = outputs.recv().await {
        if lines.send(output).await.is_err() {
            return;
        }
        exchange.say(&ToAgent::Taken);
    }
}

/// How an agent's messages ended.
enum Heard {
    Done,
    /// It cannot go on; why.
    Failed(String),
    /// Before their time.
    Nothing,
}

/// Takes an agent's messages until there are no more.
async fn listen(
    mut messages: mpsc::Receiver<FromAgent>,
    outputs: mpsc::UnboundedSender<Output>,
    taken: &Notify,
    events: &mpsc::Sender<Event>,
    trace: Option<&Path>,
) -> Heard {
    while let Some(message) = messages.recv().await {
        match message {
            FromAgent::Output(output) => _ = outputs.send(output),
            FromAgent::Ended { rank, end } => _ = events.send(Event::Ended(rank, end)).await,
            FromAgent::InputTaken => taken.notify_one(),
            FromAgent::Events { rank, bytes } => {
                if let Some(Err(error)) = trace.map(|trace| keep_events(&rank_file(trace, rank), &bytes)) {
                    // They are missing in the timeline.
                    tracing::warn!(rank, %error, "events cannot be kept");
                }
            }
            FromAgent::Failed(failed) => return Heard::Failed(failed.message),
            FromAgent::Done => return Heard::Done,
            FromAgent::Ready { .. } | FromAgent::Examined(_) | FromAgent::Reached(..) => {}
        }
    }
    Heard::Nothing
}

/// Adds to what a rank has left for the timeline.
fn keep_events(file: &Path, events: &[u8]) -> io::Result<()> {
    File::options().create(true).append(true).open(file)?.write_all(events)
}
