//! Connections that are made anew: a link goes on over another when its connection was cut.
//!
//! The node's listener and the addresses of its peers are kept while the job lives. As at the start the lower rank of a pair
//! dials, so connections never cross; each attempt has a greater epoch than any before, and the greatest that is authenticated
//! replaces what is left of earlier ones. A new attempt begins [`ATTEMPT_PAUSE`] after the last, at every address that the peer has
//! ever told; attempts that are under way go on, so a path that is slow to connect is found as well as one that was mended just now.
//! Whoever does not dial looks at the peer's listener: where nothing listens any more, the process has ended.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout_at};

use super::handshake::{self, Connection, DialError, Guest};
use super::socket_buffer::SocketBuffer;
use crate::ids::Rank;
use crate::wire::handshake::{Party, Purpose, Refusal, Target};

/// From one attempt to the next.
pub(super) const ATTEMPT_PAUSE: Duration = Duration::from_millis(250);
/// How long one may take to connect: several round trips of any path.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// A process has ended if its address refuses so many connections in a row, over at least so long.
const REFUSALS: u32 = 3;
const REFUSED_FOR: Duration = Duration::from_millis(500);
/// Between two looks at a listener that is there.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Events that may wait.
const QUEUE_MAX: usize = 64;

/// What comes of links that are down.
pub(crate) enum Event {
    /// There is a new connection, of this number if the peer has dialed, and the peer has received all before this position.
    Connected(Rank, Option<u32>, Box<Connection<std::net::TcpStream>>, u64),
    /// A lower rank has proved itself, and comes with a new connection: [`Rejoin::admit`] it.
    Guest(Box<Guest>),
    /// A guest's connection broke before it was open: it will come again.
    Broke,
    /// None will come: why.
    Lost(Rank, String),
}

/// A node's side of all links that may be made anew.
pub(crate) struct Rejoin {
    party: Party,
    /// Where each peer may be reached, the latest address last.
    addresses: Arc<Mutex<Vec<Vec<SocketAddr>>>>,
    incarnations: Vec<u64>,
    /// The greatest epoch of each link so far: this node's next is greater, and so must a guest's be.
    epochs: Vec<u32>,
    buffer: SocketBuffer,
    events: mpsc::Receiver<Event>,
    sender: mpsc::Sender<Event>,
    /// What is done for each link that is down.
    under_way: HashMap<Rank, AbortHandle>,
    /// These, the listener, and guests on their way in.
    tasks: JoinSet<()>,
}

impl Rejoin {
    pub(super) fn new(
        party: Party,
        addresses: Vec<SocketAddr>,
        incarnations: Vec<u64>,
        epochs: Vec<u32>,
        buffer: SocketBuffer,
    ) -> Self {
        let (sender, events) = mpsc::channel(QUEUE_MAX);
        let addresses = addresses.into_iter().map(|address| vec![address]).collect();
        Rejoin {
            party,
            addresses: Arc::new(Mutex::new(addresses)),
            incarnations,
            epochs,
            buffer,
            events,
            sender,
            under_way: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Lets in who comes to `listener`, as long as this lives.
    pub(crate) fn listen(&mut self, listener: tokio::net::TcpListener) {
        let (party, guests) = (self.party.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let error =
                handshake::receive(listener, party, Purpose::Link, guests, |guest| Event::Guest(Box::new(guest))).await;
            tracing::warn!(%error, "no connection can be accepted any more: links that are cut will be lost");
        });
    }

    /// The next thing that happens. Nothing is lost if the caller gives up.
    pub(crate) async fn next(&mut self) -> Event {
        match self.events.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// Where `peer` was reached last.
    pub(crate) fn address(&self, peer: Rank) -> Option<SocketAddr> {
        self.addresses.lock().get(peer.index())?.last().copied()
    }

    /// `peer` may be reached at another address.
    pub(crate) fn moved(&mut self, peer: Rank, address: SocketAddr) {
        if let Some(addresses) = self.addresses.lock().get_mut(peer.index()) {
            addresses.retain(|known| *known != address);
            addresses.push(address);
            if addresses.len() > ADDRESSES_MAX {
                addresses.remove(0);
            }
        }
    }

    /// The link to `peer`, of which all before `position` has come, is down: dials, or waits to be dialed, until `deadline`.
    pub(crate) fn begin(&mut self, peer: Rank, position: u64, deadline: Instant) {
        let (sender, addresses) = (self.sender.clone(), Addresses { all: self.addresses.clone(), peer });
        let task = if self.party.rank < peer.0 {
            let epoch = &mut self.epochs[peer.index()];
            // Epochs of attempts that come to nothing are not used again.
            let first = epoch.saturating_add(1);
            *epoch = epoch.saturating_add(EPOCHS_PER_CUT);
            let dialer = Dialer {
                party: self.party.clone(),
                peer,
                incarnation: self.incarnations[peer.index()],
                addresses,
                buffer: self.buffer,
                position,
            };
            self.tasks.spawn(async move {
                let event = match dialer.dial(first, deadline).await {
                    Ok((connection, theirs)) => Event::Connected(peer, None, Box::new(connection), theirs),
                    Err(why) => Event::Lost(peer, why),
                };
                let _ = sender.send(event).await;
            })
        } else {
            self.tasks.spawn(async move {
                let why = addresses.watch(deadline).await;
                let _ = sender.send(Event::Lost(peer, why)).await;
            })
        };
        if let Some(before) = self.under_way.insert(peer, task) {
            before.abort();
        }
        while self.tasks.try_join_next().is_some() {}
    }

    /// The link to `peer` is up again, or over.
    pub(crate) fn end(&mut self, peer: Rank) {
        if let Some(task) = self.under_way.remove(&peer) {
            task.abort();
        }
    }

    /// Whether a guest may come in: as the process that the table names, and with a later connection than any before.
    pub(crate) fn fits(&self, guest: &Guest) -> Result<Rank, Refusal> {
        let authenticated = &guest.authenticated;
        authenticated.fits.clone()?;
        let (rank, own) = (authenticated.rank, self.party.rank);
        if rank >= own {
            Err(Refusal::WrongPeer { wanted: own, theirs: own })
        } else if self.incarnations[rank as usize] != authenticated.established.incarnation {
            Err(Refusal::Incarnation)
        } else if authenticated.epoch <= self.epochs[rank as usize] {
            Err(Refusal::Duplicate(rank))
        } else {
            Ok(Rank(rank))
        }
    }

    /// Lets a guest in, of whose link all before `position` has come; the link has no other connection any more.
    pub(crate) fn admit(&mut self, guest: Guest, position: u64) {
        let (rank, epoch) = (Rank(guest.authenticated.rank), guest.authenticated.epoch);
        let theirs = guest.authenticated.established.next_expected;
        self.epochs[rank.index()] = epoch;
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            let admitted = guest.admit(position).await.and_then(into_std);
            let event = match admitted {
                Ok(connection) => Event::Connected(rank, Some(epoch), Box::new(connection), theirs),
                Err(error) => {
                    tracing::debug!(%rank, epoch, %error, "a new connection broke before it was open");
                    Event::Broke
                }
            };
            let _ = sender.send(event).await;
        });
    }

    /// Whether no later connection of `peer` has come than this one.
    pub(crate) fn is_latest(&self, peer: Rank, epoch: Option<u32>) -> bool {
        epoch.is_none_or(|epoch| self.epochs[peer.index()] == epoch)
    }

    /// Tells a guest why it does not come in.
    pub(crate) fn turn_away(&mut self, guest: Guest, refusal: Refusal) {
        self.tasks.spawn(async move { guest.turn_away(&refusal).await });
    }
}

/// Addresses kept of a peer.
const ADDRESSES_MAX: usize = 8;
/// Attempts that one cut may take, far more than there is time for.
const EPOCHS_PER_CUT: u32 = 1 << 12;

fn into_std(Connection { stream, cipher }: Connection) -> io::Result<Connection<std::net::TcpStream>> {
    Ok(Connection { stream: stream.into_std()?, cipher })
}

/// Where a peer may be reached now.
struct Addresses {
    all: Arc<Mutex<Vec<Vec<SocketAddr>>>>,
    peer: Rank,
}

impl Addresses {
    fn now(&self) -> Vec<SocketAddr> {
        self.all.lock()[self.peer.index()].clone()
    }

    /// Looks at the peer's listener until it is gone or `deadline` has passed. Returns why the peer is lost.
    async fn watch(self, deadline: Instant) -> String {
        let mut refusals = Refusals::default();
        loop {
            let Some(address) = self.now().last().copied() else { return "it has no address".to_owned() };
            let looked =
                timeout_at(deadline, handshake::connect(address, SocketBuffer::BY_SYSTEM, CONNECT_PATIENCE)).await;
            let Ok(result) = looked else { return overdue(&[address]) };
            if refusals.count(&result) {
                return refused(address);
            }
            let pause = if result.is_ok() { LOOK_PAUSE } else { ATTEMPT_PAUSE };
            drop(result);
            if timeout_at(deadline, sleep(pause)).await.is_err() {
                return overdue(&[address]);
            }
        }
    }
}

/// Whether an address refuses all connections.
#[derive(Default)]
struct Refusals {
    count: u32,
    since: Option<Instant>,
}

impl Refusals {
    /// Whether, after this attempt, nothing listens there any more.
    fn count<T>(&mut self, result: &io::Result<T>) -> bool {
        match result {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.count += 1;
                let since = *self.since.get_or_insert_with(Instant::now);
                self.count >= REFUSALS && since.elapsed() >= REFUSED_FOR
            }
            _ => {
                *self = Refusals::default();
                false
            }
        }
    }
}

fn overdue(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    format!("no new connection with {} within LATHIDE_RESUME", addresses.join(", "))
}

fn refused(address: SocketAddr) -> String {
    format!("its process has ended: nothing listens at {address} any more")
}

/// Makes one link anew.
struct Dialer {
    party: Party,
    peer: Rank,
    incarnation: u64,
    addresses: Addresses,
    buffer: SocketBuffer,
    /// All before it has come.
    position: u64,
}

impl Dialer {
    /// Dials until it succeeds, the peer has ended, or `deadline` has passed.
    async fn dial(&self, first: u32, deadline: Instant) -> Result<(Connection<std::net::TcpStream>, u64), String> {
        let (mut epoch, mut last) = (first, None);
        let mut connects = Connects::default();
        loop {
            let stream = match timeout_at(deadline, connects.next(self)).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(address)) => return Err(refused(address)),
                Err(_) => break,
            };
            let target =
                Target { purpose: Purpose::Link, rank: self.peer.0, incarnation: Some(self.incarnation), epoch };
            epoch += 1;
            let opened = timeout_at(deadline, handshake::open_link(stream, &self.party, target, self.position)).await;
            let error = match opened {
                Ok(Ok((connection, established))) => match into_std(connection) {
                    Ok(connection) => return Ok((connection, established.next_expected)),
                    Err(error) => DialError::Io(error),
                },
                Ok(Err(error)) => error,
                Err(_) => break,
            };
            if let DialError::Refused(refusal) = &error
                && refusal.is_final()
            {
                return Err(format!("it refuses a new connection: {refusal}"));
            }
            tracing::debug!(peer = %self.peer, %error, "a new connection came to nothing");
            last = Some(error);
        }
        let overdue = overdue(&self.addresses.now());
        Err(last.map_or_else(|| overdue.clone(), |error| format!("{overdue} ({error})")))
    }
}

/// Attempts to connect, several at a time.
#[derive(Default)]
struct Connects {
    tasks: JoinSet<(SocketAddr, io::Result<TcpStream>)>,
    began: Option<Instant>,
    refusals: HashMap<SocketAddr, Refusals>,
}

impl Connects {
    /// The next that succeeds. `Err`: every address refuses connections, this one last.
    async fn next(&mut self, dialer: &Dialer) -> Result<TcpStream, SocketAddr> {
        loop {
            let due = self.began.map_or_else(Instant::now, |began| began + ATTEMPT_PAUSE);
            let ended = match self.tasks.is_empty() {
                true => None,
                false => timeout_at(due, self.tasks.join_next()).await.ok().flatten(),
            };
            match ended {
                // Those beside it are not needed; a later attempt has a greater epoch.
                Some(Ok((_, Ok(stream)))) => {
                    self.tasks.abort_all();
                    return Ok(stream);
                }
                Some(Ok((address, result @ Err(_)))) => {
                    let is_refused = self.refusals.entry(address).or_default().count(&result);
                    let all = dialer.addresses.now();
                    let refuses =
                        |address| self.refusals.get(address).is_some_and(|refusals| refusals.count >= REFUSALS);
                    if is_refused && all.iter().all(refuses) {
                        return Err(address);
                    }
                }
                Some(Err(_)) => {}
                None => {
                    tokio::time::sleep_until(due).await;
                    self.began = Some(Instant::now());
                    for address in dialer.addresses.now() {
                        let buffer = dialer.buffer;
                        let attempt =
                            async move { (address, handshake::connect(address, buffer, CONNECT_PATIENCE).await) };
                        self.tasks.spawn(attempt);
                    }
                }
            }
        }
    }
}
