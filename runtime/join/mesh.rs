//! Joining the job: from an address and a key to one authenticated connection per peer.
//!
//! Rank 0 serves the rendezvous if nobody listens at its address yet. Every node listens on the address from which it
//! reached the rendezvous, reports it, and gets the table of all. Then the lower rank of each pair dials the higher, all
//! pairs at start: connections never cross, the first message pays for no set-up, and a pair that cannot talk is known
//! before the program computes. The listener stays, for links whose connections are cut later ([`super::rejoin`]).

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::caller::{Control, Patience};
use super::control::{Notice, Report};
use super::cores::{Cores, Polling};
use super::deadlock::listed;
use super::descriptors;
use super::discovery::{self, Found};
use super::environment::{check_key, rank_out_of_range};
use super::handshake::{self, Connection, DialError, Guest, Pauses};
use super::invitation::Posted;
use super::listening::listen;
use super::rejoin::Rejoin;
use super::socket_buffer::SocketBuffer;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::ids::Rank;
use crate::wire::handshake::{Authenticated, Established, Limits, Party, Purpose, Refusal, Target, VERSIONS};

/// Steps that may wait to be taken.
const QUEUE_MAX: usize = 64;
const NO_CIPHER: &str = "its links are to be encrypted (LATHIDE_ENCRYPT), but this program was built without lathide's \
                         feature `encrypt`: add it to the dependency in Cargo.toml";
/// How long the word that a node has failed to join may take.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);
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
    /// How many ranks share a core, where most do.
    pub(crate) ranks_per_core: f64,
    /// Where each rank is, as all of them see it.
    pub(crate) addresses: Vec<IpAddr>,
    /// How this rank's threads wait, by how many ranks of this host there are for a core.
    pub(crate) polling: Polling,
    /// The connection to the rendezvous; `None` for a job of one without any.
    pub(crate) control: Option<Control>,
    /// What makes links anew whose connections are cut.
    pub(crate) rejoin: Option<Rejoin>,
}

/// Joins the job that `config` describes.
///
/// # Errors
/// [`Error::Join`] with the address, the cause and what to look at; [`Error::Misuse`] for a rank that cannot be, and for a
/// key that is none.
pub(crate) async fn join(config: &Config) -> Result<Membership> {
    if config.rank.0 >= config.size {
        return Err(rank_out_of_range(config.rank, config.size));
    }
    let failed = |cause: String| Error::Join { rank: config.rank, cause: Arc::from(cause) };
    if config.encrypt && !cfg!(feature = "encrypt") {
        return Err(failed(NO_CIPHER.to_owned()));
    }
    let own = Limits::of(config);
    // Nor does a job of one listen where nobody has to authenticate itself.
    if config.size == 1 && (config.root.is_none() || config.key.is_none()) {
        return Ok(Membership {
            links: vec![None],
            limits: vec![own],
            launcher: false,
            job: 0,
            ranks_per_core: 1.0,
            addresses: Vec::new(),
            polling: Polling::Own,
            control: None,
            rejoin: None,
        });
    }
    if config.discovery.as_ref().is_none_or(|discovery| discovery.has_key) {
        check_key(&config.key, config.size)?;
    }
    SocketBuffer::check(config)?;
    let incarnation = handshake::incarnation().map_err(|error| failed(format!("no random numbers: {error}")))?;
    let mut party = Party {
        key: config.key.clone(),
        rank: config.rank.0,
        size: config.size,
        incarnation,
        limits: own,
        encrypts: config.encrypt,
        checks: config.checksum,
        versions: VERSIONS,
    };
    let deadline = Instant::now() + config.join_timeout;
    descriptors::ensure(u64::from(config.size), "its connections to the other ranks").map_err(&failed)?;
    let found = discovery::find(config, &mut party, deadline).await.map_err(&failed)?;
    let Found { line, root, addresses, posted, served } = found;
    let patience = Patience { keepalive: config.keepalive, resume: config.resume };
    let control = Control::new(line, party.clone(), &addresses, patience);
    let mut control = control.map_err(|error| failed(error.to_string()))?;
    match links(config, party, &mut control, &root, posted).await {
        Ok(membership) => Ok(Membership { control: Some(control), ..membership }),
        Err(Failure { cause, blames }) => {
            // The others need not guess why it does not come.
            let last = Report::Leaving { finalized: false, error: Some(cause.clone()), blames, sent: vec![] };
            control.leave(Some(last), LEAVE_PATIENCE).await;
            if let Some(served) = served {
                // The rendezvous ends with this thread; the others must hear from it first.
                let _ = timeout(LEAVE_PATIENCE, served).await;
            }
            Err(failed(cause))
        }
    }
}

/// Why a node that has reached the rendezvous does not become part of its job.
#[derive(Debug)]
struct Failure {
    cause: String,
    /// The rank whose failure it is.
    blames: Option<Rank>,
}

impl From<String> for Failure {
    fn from(cause: String) -> Self {
        Failure { cause, blames: None }
    }
}

/// The links to all peers, by way of the rendezvous.
async fn links(
    config: &Config,
    party: Party,
    control: &mut Control,
    root: &str,
    posted: Option<Posted>,
) -> Result<Membership, Failure> {
    let own = party.limits;
    let buffer = SocketBuffer::of(config.socket_buffer_bytes);
    let (listener, address) = listen(control.local(), config).await?;
    // Connections that it accepts have them from the start: nobody knows the address before the table does.
    buffer.set(&(&listener).into()).map_err(|error| error.to_string())?;
    let (process, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_string());
    let cores = Box::new(cores(control.local()));
    let (keepalive, resume) = (config.keepalive, config.resume);
    let join = Report::Join { address, process, version, keepalive, resume, cores: cores.clone() };
    let _ = control.sender().send(join).await;
    let table = table(control, root, config.join_timeout + TABLE_GRACE).await?;
    // All have found their way: the invitation and the key in it go.
    drop(posted);
    let (launcher, has_core) = (table.launcher, table.may_poll.get(config.rank.index()) == Some(&true));
    let polling = cores.polling(has_core);
    let job = table.incarnations.iter().fold(0, |job: u64, one| job.rotate_left(9) ^ one);
    let ranks_per_core = table.ranks_per_core;
    let addresses = table.addresses.iter().map(SocketAddr::ip).collect();
    let deadline = Instant::now() + config.join_timeout;
    // Both wait at the same port, one after the other: who comes between is not turned away.
    let (listener, later) = twice(listener).map_err(|error| error.to_string())?;
    let (told, incarnations) = (table.addresses.clone(), table.incarnations.clone());
    let (connected, epochs) = connect(party.clone(), listener, buffer, table, control, deadline).await?;
    let rejoin = config.resume.map(|_| {
        let mut rejoin = Rejoin::new(party, told, incarnations, epochs, (buffer, config));
        rejoin.listen(later);
        rejoin
    });
    let mut links = Vec::new();
    let mut limits = Vec::new();
    for link in connected {
        limits.push(link.as_ref().map_or(own, |(_, established)| established.limits));
        let link = link
            .map(|(Connection { stream, records }, _)| stream.into_std().map(|stream| Connection { stream, records }));
        links.push(link.transpose().map_err(|error| error.to_string())?);
    }
    Ok(Membership { links, limits, launcher, job, ranks_per_core, addresses, polling, control: None, rejoin })
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

struct Table {
    addresses: Vec<SocketAddr>,
    incarnations: Vec<u64>,
    launcher: bool,
    may_poll: Vec<bool>,
    ranks_per_core: f64,
}

async fn table(control: &mut Control, root: &str, patience: Duration) -> Result<Table, Failure> {
    match timeout(patience, control.notices.recv()).await {
        Ok(Some(Notice::Table { addresses, incarnations, launcher, may_poll, ranks_per_core })) => {
            Ok(Table { addresses, incarnations, launcher, may_poll, ranks_per_core })
        }
        Ok(Some(notice)) => Err(bad_news(notice)),
        Ok(None) => Err(match control.forged() {
            Some(forged) => forged.to_owned(),
            None => format!("the rendezvous at {root} closed before all ranks had joined: the job is over"),
        }
        .into()),
        Err(_) => Err(format!("the rendezvous at {root} sent no table of ranks for {patience:?}").into()),
    }
}

fn bad_news(notice: Notice) -> Failure {
    match notice {
        Notice::Refused { cause } => cause.into(),
        Notice::Lost { rank, cause } => {
            Failure { cause: format!("rank {rank} was lost while the ranks connected: {cause}"), blames: Some(rank) }
        }
        Notice::Deadlock { report } => report.into(),
        Notice::Ask | Notice::Moved { .. } | Notice::Over | Notice::Table { .. } => {
            "the rendezvous said something out of turn".to_owned().into()
        }
    }
}

/// A listener, and another at the same port.
fn twice(listener: TcpListener) -> io::Result<(TcpListener, TcpListener)> {
    let listener = listener.into_std()?;
    let other = listener.try_clone()?;
    Ok((TcpListener::from_std(listener)?, TcpListener::from_std(other)?))
}

type Link = (Connection, Established);

/// All that can happen while the mesh is built comes through one queue.
enum Step {
    /// With the number of the connection that this took.
    Dialed(Rank, Box<Result<(Link, u32), String>>),
    Guest(Box<Guest>),
    /// What came of letting a lower rank in with its connection of this number.
    Admitted(Rank, u32, Box<io::Result<Link>>),
    /// Nobody can connect any more.
    Deaf(io::Error),
    Notice(Option<Notice>),
}

/// One connection per peer: dials the higher ranks, is dialed by the lower ones.
async fn connect(
    party: Party,
    listener: TcpListener,
    buffer: SocketBuffer,
    table: Table,
    control: &mut Control,
    deadline: Instant,
) -> Result<(Vec<Option<Link>>, Vec<u32>), Failure> {
    let (own, size) = (party.rank, party.size);
    if table.addresses.len() != size as usize || table.incarnations.len() != size as usize {
        return Err("the rendezvous' table has another number of ranks".to_owned().into());
    }
    let (steps, mut inbox) = mpsc::channel(QUEUE_MAX);
    // Dropped, and so ended, with this function.
    let mut tasks = JoinSet::new();
    let (guests, deaf, acceptor) = (steps.clone(), steps.clone(), party.clone());
    tasks.spawn(async move {
        let error =
            handshake::receive(listener, acceptor, Purpose::Link, guests, |guest| Step::Guest(Box::new(guest))).await;
        let _ = deaf.send(Step::Deaf(error)).await;
    });
    for peer in own + 1..size {
        let (party, steps) = (party.clone(), steps.clone());
        let (address, incarnation) = (table.addresses[peer as usize], table.incarnations[peer as usize]);
        tasks.spawn(async move {
            let link = dial_peer(&party, Rank(peer), address, buffer, incarnation, deadline).await;
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
            return Ok((links, epochs));
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
            Ok(Step::Dialed(rank, link)) => {
                let (link, epoch) = (*link)?;
                (links[rank.index()], epochs[rank.index()]) = (Some(link), epoch);
            }
            Ok(Step::Guest(guest)) => match fits(own, &guest.authenticated, &table, &epochs) {
                // Neither is waited for: one that stands still on its way holds nobody up.
                Err(refusal) => {
                    tracing::warn!(rank = guest.authenticated.rank, %refusal, "a connection does not fit");
                    tasks.spawn(async move { guest.turn_away(&refusal).await });
                }
                Ok(()) => {
                    let (rank, epoch) = (guest.authenticated.rank, guest.authenticated.epoch);
                    let established = guest.authenticated.established;
                    links[rank as usize] = None;
                    epochs[rank as usize] = epoch;
                    let steps = steps.clone();
                    tasks.spawn(async move {
                        let link = guest.admit(0).await.map(|connection| (connection, established));
                        let _ = steps.send(Step::Admitted(Rank(rank), epoch, Box::new(link))).await;
                    });
                }
            },
            // A later connection of that rank may have come meanwhile; if this one broke, one will.
            Ok(Step::Admitted(rank, epoch, link)) if epochs[rank.index()] == epoch => match *link {
                Ok(link) => links[rank.index()] = Some(link),
                Err(error) => tracing::debug!(%rank, %error, "a connection broke before it was open"),
            },
            Ok(Step::Admitted(..)) => {}
            Ok(Step::Deaf(error)) => {
                let error = handshake::explain(&error);
                return Err(format!("it cannot accept the other ranks' connections: {error}").into());
            }
            Ok(Step::Notice(Some(Notice::Moved { .. }))) => {}
            Ok(Step::Notice(Some(notice))) => return Err(bad_news(notice)),
            // Rank 0 may have served it and be done already.
            Ok(Step::Notice(None)) => match control.forged() {
                Some(forged) => return Err(forged.to_owned().into()),
                None => rendezvous_gone = true,
            },
            Err(_) => return Err(overdue(own, &missing, &table)),
        }
    }
}

/// Whether a lower rank may come in: if it is the process the table names, and with a later connection than any before,
/// which it replaces.
fn fits(own: u32, authenticated: &Authenticated, table: &Table, epochs: &[u32]) -> Result<(), Refusal> {
    authenticated.fits.clone()?;
    let rank = authenticated.rank as usize;
    if authenticated.rank >= own {
        Err(Refusal::WrongPeer { wanted: own, theirs: own })
    } else if table.incarnations[rank] != authenticated.established.incarnation {
        Err(Refusal::Incarnation)
    } else if authenticated.epoch <= epochs[rank] {
        Err(Refusal::Duplicate(authenticated.rank))
    } else {
        Ok(())
    }
}

async fn dial_peer(
    party: &Party,
    peer: Rank,
    address: SocketAddr,
    buffer: SocketBuffer,
    incarnation: u64,
    deadline: Instant,
) -> Result<(Link, u32), String> {
    let mut pauses = Pauses::new();
    for epoch in 1.. {
        let target = Target { purpose: Purpose::Link, rank: peer.0, incarnation: Some(incarnation), epoch };
        let error: DialError = match handshake::dial(address, party, target, 0, buffer).await {
            Ok(link) => return Ok((link, epoch)),
            Err(error) => error,
        };
        let pause = pauses.next();
        if error.is_final() || Instant::now() + pause >= deadline {
            return Err(format!("rank {peer} cannot be reached at {address}: {error}"));
        }
        tracing::debug!(%peer, %address, %error, "dialing again");
        tokio::time::sleep(pause).await;
    }
    Err(format!("rank {peer} cannot be reached at {address}"))
}

fn overdue(own: u32, missing: &[Rank], table: &Table) -> Failure {
    let at = table.addresses[own as usize];
    let (who, has) = (listed(missing), if missing.len() == 1 { "has" } else { "have" });
    let cause = format!("{who} {has} not connected in time; can the other machines reach this one at {at} (firewall)?");
    Failure { cause, blames: Some(missing[0]).filter(|_| missing.len() == 1) }
}

#[cfg(test)]
#[path = "mesh_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "mesh_attack_tests.rs"]
mod attack_tests;

#[cfg(test)]
#[path = "mesh_proxy_tests.rs"]
mod proxy_tests;

#[cfg(test)]
#[path = "mesh_meddling_tests.rs"]
mod meddling_tests;
