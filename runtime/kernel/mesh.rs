//! Joining the job: from an address and a key to one proved connection per peer.
//!
//! Rank 0 serves the rendezvous if nobody listens at its address yet. Every node listens on the address from which it
//! reached the rendezvous, reports it, and gets the table of all. Then the lower rank of each pair dials the higher, all
//! pairs at start: connections never cross, the first message pays for no set-up, and a pair that cannot talk is known
//! before the program computes. When the mesh is complete, the listener closes.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::greeting::{self, Connection, DialError, Guest};
use super::meeting::{self, Found};
use super::silence::{self, EndedBy};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::ids::Rank;
use crate::launch::control::{self, Notice, Report};
use crate::launch::cores::Cores;
use crate::launch::environment::rank_out_of_range;
use crate::launch::rendezvous;
use crate::launch::stall::listed;
use crate::wire::handshake::{Established, Limits, Party, Purpose, Refusal, Target, VERSIONS};

/// Reports and notices that may wait to be sent or read.
const QUEUE_MAX: usize = 64;
const NO_CIPHER: &str = "its links are to be encrypted (LATHIDE_ENCRYPT), but this program was built without lathide's \
                         feature `encrypt`: add it to the dependency in Cargo.toml";
/// How much longer a node waits for the table than the rendezvous does, which names the missing ranks.
const TABLE_GRACE: Duration = Duration::from_secs(2);

/// A node's place in its job, once it has joined.
pub(crate) struct Membership {
    /// One connection per peer, non-blocking; `None` for this rank itself.
    pub(crate) links: Vec<Option<Connection<std::net::TcpStream>>>,
    /// What each peer said about itself; this node's own limits in its own place.
    pub(crate) limits: Vec<Limits>,
    /// Whether a launcher watches the processes.
    pub(crate) launcher: bool,
    /// The same for all ranks of this run of the job.
    pub(crate) job: u64,
    /// Each rank of this host can have a core of its own.
    pub(crate) may_poll: bool,
    /// The connection to the rendezvous; `None` for a job of one without any.
    pub(crate) control: Option<Control>,
}

/// The connection to the rendezvous. Its tasks live on the runtime that called [`join`].
pub(crate) struct Control {
    reports: mpsc::Sender<Report>,
    /// What the rendezvous says. `None` from it: the rendezvous is gone, which ends nothing by itself.
    pub(crate) notices: mpsc::Receiver<Notice>,
    writer: JoinHandle<()>,
}

impl Control {
    /// A sender for reports that never blocks: `try_send` fails if the queue is full.
    pub(crate) fn sender(&self) -> mpsc::Sender<Report> {
        self.reports.clone()
    }

    /// Says the last word, if there is one, and waits until all is on its way, at most `patience`. All other senders
    /// must be gone.
    pub(crate) async fn leave(self, last: Option<Report>, patience: Duration) {
        let Control { reports, notices, writer } = self;
        let _ = timeout(patience, async {
            if let Some(last) = last {
                let _ = reports.send(last).await;
            }
            drop(reports);
            let _ = writer.await;
        })
        .await;
        drop(notices);
    }
}

/// Joins the job that `config` describes.
///
/// # Errors
/// [`Error::Join`] with the address, the cause and what to look at; [`Error::Misuse`] for a rank that cannot be.
pub(crate) async fn join(config: &Config) -> Result<Membership> {
    if config.rank.0 >= config.size {
        return Err(rank_out_of_range(config.rank, config.size));
    }
    let failed = |cause: String| Error::Join { rank: config.rank, cause: Arc::from(cause) };
    if config.encrypt && !cfg!(feature = "encrypt") {
        return Err(failed(NO_CIPHER.to_owned()));
    }
    let own = Limits::of(config);
    if config.size == 1 && config.root.is_none() {
        return Ok(Membership {
            links: vec![None],
            limits: vec![own],
            launcher: false,
            job: 0,
            may_poll: true,
            control: None,
        });
    }
    let incarnation = greeting::incarnation().map_err(|error| failed(format!("no random numbers: {error}")))?;
    let mut party = Party {
        key: config.key.clone(),
        rank: config.rank.0,
        size: config.size,
        incarnation,
        limits: own,
        encrypts: config.encrypt,
        versions: VERSIONS,
    };
    let deadline = Instant::now() + config.join_timeout;
    let Found { stream, root, posted } = meeting::find(config, &mut party, deadline).await.map_err(failed)?;
    let (listener, mut control) = enroll(stream, config).await.map_err(failed)?;
    let table = table(&mut control, &root, config.join_timeout + TABLE_GRACE).await.map_err(failed)?;
    // All have found their way: the invitation and the key in it go.
    drop(posted);
    let (launcher, may_poll) = (table.launcher, table.may_poll.get(config.rank.index()) == Some(&true));
    let job = table.incarnations.iter().fold(0, |job: u64, one| job.rotate_left(9) ^ one);
    let connected = connect(party, listener, table, &mut control, Instant::now() + config.join_timeout);
    let mut links = Vec::new();
    let mut limits = Vec::new();
    for link in connected.await.map_err(failed)? {
        limits.push(link.as_ref().map_or(own, |(_, established)| established.limits));
        let link = link
            .map(|(Connection { stream, cipher }, _)| stream.into_std().map(|stream| Connection { stream, cipher }));
        links.push(link.transpose().map_err(|error| failed(error.to_string()))?);
    }
    Ok(Membership { links, limits, launcher, job, may_poll, control: Some(control) })
}

/// Opens the node's listener on the address that reached the rendezvous, and reports it there.
async fn enroll(stream: TcpStream, config: &Config) -> Result<(TcpListener, Control), String> {
    // A host's own idea of its address is often wrong (VPN, 127.0.1.1); the one a packet has taken is not.
    let local = stream.local_addr().map_err(|error| error.to_string())?.ip();
    let local = match &config.interface {
        Some(rules) => rules.choose(&interfaces()?, local)?,
        None => local,
    };
    // Behind a router, packets for the address that is told may come in at any, of either family.
    let listener = if config.advertise.is_some_and(|told| told != local) {
        meeting::bind_all(config.ports.clone()).await?
    } else {
        bind(local, config.ports.clone()).await?
    };
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let address = SocketAddr::new(config.advertise.unwrap_or(local), port);
    silence::limit(&stream, config.silence, EndedBy::System).map_err(|error| error.to_string())?;
    let (reader, writer) = stream.into_split();
    let (reports, queue) = mpsc::channel(QUEUE_MAX);
    let (sender, notices) = mpsc::channel(QUEUE_MAX);
    let writer = tokio::spawn(write_reports(writer, queue));
    tokio::spawn(read_notices(reader, sender));
    let (process, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_string());
    let join = Report::Join { address, process, version, silence: config.silence, cores: Box::new(cores(local)) };
    let _ = reports.send(join).await;
    Ok((listener, Control { reports, notices, writer }))
}

/// Where this rank may run: as the thread that starts the node, which a launcher may have bound to a core.
fn cores(local: IpAddr) -> Cores {
    let host = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let host = host.map_or_else(|_| local.to_string(), |id| id.trim().to_owned());
    let at_once = std::thread::available_parallelism().map_or(1, |count| count.get().try_into().unwrap_or(u32::MAX));
    // Unknown where the system has more processors than the call can tell, or forbids it.
    let set = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    let word = |word: usize| (0..64).map(|bit| u64::from(set.is_set(64 * word + bit)) << bit).sum();
    let mut mask: Vec<u64> = (0..CpuSet::MAX_CPU / 64).map(word).collect();
    mask.truncate(mask.iter().rposition(|&bits| bits != 0).map_or(0, |last| last + 1));
    Cores { host, mask, at_once }
}

/// This host's interfaces, with their addresses.
fn interfaces() -> Result<Vec<(String, IpAddr)>, String> {
    let all = if_addrs::get_if_addrs().map_err(|error| format!("its interfaces cannot be listed: {error}"))?;
    Ok(all.into_iter().map(|interface| (interface.name.clone(), interface.ip())).collect())
}

/// Listens on the first port of the range that is free, or on any.
pub(crate) async fn bind(address: IpAddr, ports: Option<RangeInclusive<u16>>) -> Result<TcpListener, String> {
    let named = ports.clone().map_or_else(String::new, |ports| format!(", ports {} to {}", ports.start(), ports.end()));
    let mut cause = String::new();
    for port in ports.unwrap_or(0..=0) {
        match TcpListener::bind((address, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => cause = "all are in use".to_owned(),
            Err(error) => return Err(format!("it cannot listen on {address}{named}: {error}")),
        }
    }
    Err(format!("it cannot listen on {address}{named}: {cause}"))
}

async fn write_reports(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Report>) {
    while let Some(report) = queue.recv().await {
        let written = match control::encode_report(report) {
            Ok(frame) => writer.write_all(&frame).await,
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "a report could not be sent");
            return;
        }
    }
}

async fn read_notices(mut reader: OwnedReadHalf, notices: mpsc::Sender<Notice>) {
    while let Ok(notice) = rendezvous::read_frame(&mut reader).await {
        if notices.send(notice).await.is_err() {
            return;
        }
    }
}

struct Table {
    addresses: Vec<SocketAddr>,
    incarnations: Vec<u64>,
    launcher: bool,
    may_poll: Vec<bool>,
}

async fn table(control: &mut Control, root: &str, patience: Duration) -> Result<Table, String> {
    match timeout(patience, control.notices.recv()).await {
        Ok(Some(Notice::Table { addresses, incarnations, launcher, may_poll })) => {
            Ok(Table { addresses, incarnations, launcher, may_poll })
        }
        Ok(Some(notice)) => Err(bad_news(notice)),
        Ok(None) => Err(format!("the rendezvous at {root} closed before all ranks had joined: the job is over")),
        Err(_) => Err(format!("the rendezvous at {root} sent no table of ranks for {patience:?}")),
    }
}

fn bad_news(notice: Notice) -> String {
    match notice {
        Notice::Refused { cause } => cause,
        Notice::Lost { rank, cause } => format!("rank {rank} was lost while the ranks connected: {cause}"),
        Notice::Deadlock { report } => report,
        Notice::Table { .. } => "the rendezvous sent its table twice".into(),
    }
}

type Link = (Connection, Established);

/// All that can happen while the mesh is built comes through one queue.
enum Step {
    Dialed(Rank, Box<Result<Link, String>>),
    Guest(Box<Guest>),
    Notice(Option<Notice>),
}

/// One connection per peer: dials the higher ranks, is dialed by the lower ones.
async fn connect(
    party: Party,
    listener: TcpListener,
    table: Table,
    control: &mut Control,
    deadline: Instant,
) -> Result<Vec<Option<Link>>, String> {
    let (own, size) = (party.rank, party.size);
    if table.addresses.len() != size as usize || table.incarnations.len() != size as usize {
        return Err("the rendezvous' table has another number of ranks".into());
    }
    let (steps, mut inbox) = mpsc::channel(QUEUE_MAX);
    // Dropped, and so ended, with this function: the listener closes when the mesh is complete.
    let mut tasks = JoinSet::new();
    tasks.spawn(greeting::receive(listener, party.clone(), Purpose::Link, steps.clone(), |guest| {
        Step::Guest(Box::new(guest))
    }));
    for peer in own + 1..size {
        let (party, steps) = (party.clone(), steps.clone());
        let (address, incarnation) = (table.addresses[peer as usize], table.incarnations[peer as usize]);
        tasks.spawn(async move {
            let link = dial_peer(&party, Rank(peer), address, incarnation, deadline).await;
            let _ = steps.send(Step::Dialed(Rank(peer), Box::new(link))).await;
        });
    }
    let mut links: Vec<Option<Link>> = (0..size).map(|_| None).collect();
    let mut epochs = vec![0; size as usize];
    let mut rendezvous_gone = false;
    loop {
        let missing = (0..size).filter(|&rank| rank != own && links[rank as usize].is_none());
        let missing: Vec<Rank> = missing.map(Rank).collect();
        if missing.is_empty() {
            return Ok(links);
        }
        let step = async {
            let mut notices = std::pin::pin!(control.notices.recv());
            poll_fn(|context| {
                if !rendezvous_gone && let Poll::Ready(notice) = notices.as_mut().poll(context) {
                    return Poll::Ready(Step::Notice(notice));
                }
                inbox.poll_recv(context).map(|step| step.unwrap_or(Step::Notice(None)))
            })
            .await
        };
        match tokio::time::timeout_at(deadline.into(), step).await {
            Ok(Step::Dialed(rank, link)) => links[rank.index()] = Some((*link)?),
            Ok(Step::Guest(guest)) => seat(own, *guest, &table, &mut links, &mut epochs).await,
            Ok(Step::Notice(Some(notice))) => return Err(bad_news(notice)),
            // Rank 0 may have served it and be done already.
            Ok(Step::Notice(None)) => rendezvous_gone = true,
            Err(_) => return Err(overdue(own, &missing, &table)),
        }
    }
}

/// Lets a lower rank in, if it is the process the table names; a later connection of it replaces an earlier one.
async fn seat(own: u32, guest: Guest, table: &Table, links: &mut [Option<Link>], epochs: &mut [u32]) {
    let proven = guest.proven.clone();
    let rank = proven.rank as usize;
    let fits = proven.fits.clone().and_then(|()| {
        if proven.rank >= own {
            Err(Refusal::WrongPeer { wanted: own, theirs: own })
        } else if table.incarnations[rank] != proven.established.incarnation {
            Err(Refusal::Incarnation)
        } else if links[rank].is_some() && proven.epoch <= epochs[rank] {
            Err(Refusal::Duplicate(proven.rank))
        } else {
            Ok(())
        }
    });
    match fits {
        Err(refusal) => {
            tracing::warn!(rank = proven.rank, %refusal, "a connection does not fit");
            guest.turn_away(&refusal).await;
        }
        Ok(()) => {
            links[rank] = None;
            if let Ok(connection) = guest.admit(0).await {
                links[rank] = Some((connection, proven.established));
                epochs[rank] = proven.epoch;
            }
        }
    }
}

async fn dial_peer(
    party: &Party,
    peer: Rank,
    address: SocketAddr,
    incarnation: u64,
    deadline: Instant,
) -> Result<Link, String> {
    let mut pause = Duration::from_millis(5);
    for epoch in 1.. {
        let target = Target { purpose: Purpose::Link, rank: peer.0, incarnation: Some(incarnation), epoch };
        let error: DialError = match greeting::dial(address, party, target, 0).await {
            Ok(link) => return Ok(link),
            Err(error) => error,
        };
        if error.is_final() || Instant::now() + pause >= deadline {
            return Err(format!("rank {peer} cannot be reached at {address}: {error}"));
        }
        tracing::debug!(%peer, %address, %error, "dialing again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(500));
    }
    Err(format!("rank {peer} cannot be reached at {address}"))
}

fn overdue(own: u32, missing: &[Rank], table: &Table) -> String {
    let at = table.addresses[own as usize];
    let (who, has) = (listed(missing), if missing.len() == 1 { "has" } else { "have" });
    format!("{who} {has} not connected in time; can the other machines reach this one at {at} (firewall)?")
}

#[cfg(test)]
#[path = "mesh_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "mesh_attack_tests.rs"]
mod attack_tests;
