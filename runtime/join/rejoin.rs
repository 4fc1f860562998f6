//! Connections that are made anew: a link goes on over another when its connection was cut.
//!
//! The node's listener and the addresses of its peers are kept while the job lives. As at the start the lower rank of a pair
//! dials, so connections never cross; each attempt has a greater epoch than any before, and the greatest that is authenticated
//! replaces what is left of earlier ones. Whoever does not dial looks at the peer's listener: where nothing listens any more, the
//! process has ended ([`super::redial`]).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::handshake::{self, Connection, DialError, Guest};
use super::listening;
use super::redial;
use super::socket_buffer::SocketBuffer;
use crate::config::Config;
use crate::ids::{Path, Rank};
use crate::wire::handshake::{Party, Purpose, Refusal, Target};

/// Events that may wait.
const QUEUE_MAX: usize = 64;

/// What comes of links that are down.
pub(crate) enum Event {
    /// There is a new connection, of this number if the peer has dialed, and the peer has received all before this position.
    Connected(Path, Option<u32>, Box<Connection<std::net::TcpStream>>, u64),
    /// A lower rank has proved itself, and comes with a new connection: [`Rejoin::admit`] it.
    Guest(Box<Guest>),
    /// A guest's connection broke before it was open: it will come again.
    Broke,
    /// None will come: why.
    Lost(Path, String),
    /// This node may be reached at another address from now on, which the others are to be told.
    Moved(SocketAddr),
}

/// A node's side of all links that may be made anew.
pub(crate) struct Rejoin {
    party: Party,
    /// Where each peer may be reached, the latest address last.
    addresses: Arc<Mutex<Vec<Vec<SocketAddr>>>>,
    incarnations: Vec<u64>,
    /// The greatest epoch of each lane so far: this node's next is greater, and so must a guest's be.
    epochs: HashMap<Path, u32>,
    buffer: SocketBuffer,
    /// Where this node listens, and how it does.
    own: Vec<IpAddr>,
    config: Box<Config>,
    events: mpsc::Receiver<Event>,
    sender: mpsc::Sender<Event>,
    /// What is done for each lane that is down.
    under_way: HashMap<Path, AbortHandle>,
    /// The guest of each lane that is on its way in: the latest.
    coming: HashMap<Path, AbortHandle>,
    /// These, the listener, and guests that are turned away.
    tasks: JoinSet<()>,
}

impl Rejoin {
    pub(super) fn new(
        party: Party,
        addresses: Vec<SocketAddr>,
        incarnations: Vec<u64>,
        epochs: Vec<u32>,
        (buffer, config): (SocketBuffer, &Config),
    ) -> Self {
        let (sender, events) = mpsc::channel(QUEUE_MAX);
        let own = vec![addresses[party.rank as usize].ip()];
        let addresses = addresses.into_iter().map(|address| vec![address]).collect();
        Rejoin {
            party,
            addresses: Arc::new(Mutex::new(addresses)),
            incarnations,
            epochs: (0..).map(Rank).map(Path::from).zip(epochs).collect(),
            buffer,
            own,
            config: Box::new(config.clone()),
            events,
            sender,
            under_way: HashMap::new(),
            coming: HashMap::new(),
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

    /// This node has another address, towards the rendezvous: lets in who comes to it there, too.
    pub(crate) fn move_to(&mut self, local: IpAddr) {
        // Where others are told of an address, that stays.
        if self.config.advertise.is_some() || self.own.contains(&local) {
            return;
        }
        self.own.push(local);
        let (config, buffer, party, sender) =
            (self.config.clone(), self.buffer, self.party.clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let (listener, address) = match listening::listen(local, &config).await {
                Ok(listening) => listening,
                Err(why) => return tracing::warn!(why, "the new address {local} is of no use to others"),
            };
            let _ = buffer.set(&(&listener).into());
            let _ = sender.send(Event::Moved(address)).await;
            let wrap = |guest| Event::Guest(Box::new(guest));
            let error = handshake::receive(listener, party, Purpose::Link, sender, wrap).await;
            tracing::warn!(%error, "no connection can be accepted at {local} any more");
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

    /// The lane `path`, on which all before `position` has come, is down: dials, or waits to be dialed, until `deadline`. If
    /// the last connection was `in_vain`, there is a pause before the next.
    pub(crate) fn begin(&mut self, path: Path, position: u64, deadline: Instant, in_vain: bool) {
        let peer = path.peer;
        let (sender, addresses) = (self.sender.clone(), Addresses { all: self.addresses.clone(), peer });
        let task = if self.party.rank < peer.0 {
            let epoch = self.epochs.entry(path).or_default();
            // Epochs of attempts that come to nothing are not used again.
            let first = epoch.saturating_add(1);
            *epoch = epoch.saturating_add(EPOCHS_PER_CUT);
            let dialer = Dialer {
                party: self.party.clone(),
                path,
                incarnation: self.incarnations[peer.index()],
                addresses,
                buffer: self.buffer,
                position,
            };
            self.spawn(async move {
                if in_vain {
                    sleep(redial::PAUSE).await;
                }
                let event = match dialer.dial(first, deadline).await {
                    Ok((connection, theirs)) => Event::Connected(path, None, Box::new(connection), theirs),
                    Err(why) => Event::Lost(path, why),
                };
                let _ = sender.send(event).await;
            })
        } else {
            self.spawn(async move {
                let why = addresses.watch(deadline).await;
                let _ = sender.send(Event::Lost(path, why)).await;
            })
        };
        if let Some(before) = self.under_way.insert(path, task) {
            before.abort();
        }
    }

    /// Those that have ended make room first: a rank may come as often as it likes.
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(task)
    }

    /// `path` is up again, or over.
    pub(crate) fn end(&mut self, path: Path) {
        if let Some(task) = self.under_way.remove(&path) {
            task.abort();
        }
    }

    /// Whether a guest may come in: as the process that the table names, and with a later connection than any before.
    pub(crate) fn fits(&self, guest: &Guest) -> Result<Path, Refusal> {
        let authenticated = &guest.authenticated;
        authenticated.fits.clone()?;
        let (rank, own) = (authenticated.rank, self.party.rank);
        let path = Path { peer: Rank(rank), lane: authenticated.lane };
        if rank >= own {
            Err(Refusal::WrongPeer { wanted: own, theirs: own })
        } else if self.incarnations[rank as usize] != authenticated.established.incarnation {
            Err(Refusal::Incarnation)
        } else if authenticated.epoch <= self.epoch(path) {
            Err(Refusal::Duplicate(rank))
        } else {
            Ok(path)
        }
    }

    /// Lets a guest in, of whose link all before `position` has come; the link has no other connection any more.
    pub(crate) fn admit(&mut self, guest: Guest, position: u64) {
        let epoch = guest.authenticated.epoch;
        let path = Path { peer: Rank(guest.authenticated.rank), lane: guest.authenticated.lane };
        let theirs = guest.authenticated.established.next_expected;
        self.epochs.insert(path, epoch);
        let sender = self.sender.clone();
        let task = self.spawn(async move {
            let admitted = guest.admit(position).await.and_then(into_std);
            let event = match admitted {
                Ok(connection) => Event::Connected(path, Some(epoch), Box::new(connection), theirs),
                Err(error) => {
                    tracing::debug!(?path, epoch, %error, "a new connection broke before it was open");
                    Event::Broke
                }
            };
            let _ = sender.send(event).await;
        });
        // Who comes again has given up what came before.
        if let Some(before) = self.coming.insert(path, task) {
            before.abort();
        }
    }

    /// Whether no later connection for `path` has come than this one.
    pub(crate) fn is_latest(&self, path: Path, epoch: Option<u32>) -> bool {
        epoch.is_none_or(|epoch| self.epoch(path) == epoch)
    }

    fn epoch(&self, path: Path) -> u32 {
        self.epochs.get(&path).copied().unwrap_or(0)
    }

    /// Tells a guest why it does not come in.
    pub(crate) fn turn_away(&mut self, guest: Guest, refusal: Refusal) {
        self.spawn(async move { guest.turn_away(&refusal).await });
    }
}

/// Addresses kept of a peer.
const ADDRESSES_MAX: usize = 8;
/// Attempts that one cut may take, far more than there is time for.
const EPOCHS_PER_CUT: u32 = 1 << 12;

fn into_std(Connection { stream, records }: Connection) -> io::Result<Connection<std::net::TcpStream>> {
    Ok(Connection { stream: stream.into_std()?, records })
}

/// Where a peer may be reached now.
struct Addresses {
    all: Arc<Mutex<Vec<Vec<SocketAddr>>>>,
    peer: Rank,
}

impl Addresses {
    /// The one told last comes first.
    fn now(&self) -> Vec<SocketAddr> {
        self.all.lock()[self.peer.index()].iter().rev().copied().collect()
    }

    fn latest(&self) -> SocketAddr {
        *self.all.lock()[self.peer.index()].last().expect("every rank has told where it is")
    }

    /// Looks at the peer's listener until it is gone or `deadline` has passed. Returns why the peer is lost.
    async fn watch(self, deadline: Instant) -> String {
        match timeout_at(deadline, redial::wait_for_end(|| self.latest())).await {
            Ok(()) => refused(self.latest()),
            Err(_) => overdue(&self.now()),
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

/// Makes one lane anew.
struct Dialer {
    party: Party,
    path: Path,
    incarnation: u64,
    addresses: Addresses,
    buffer: SocketBuffer,
    /// All before it has come.
    position: u64,
}

impl Dialer {
    /// Dials until it succeeds, the peer has ended, or `deadline` has passed.
    async fn dial(&self, first: u32, deadline: Instant) -> Result<(Connection<std::net::TcpStream>, u64), String> {
        let (mut epoch, mut last) = (first, String::new());
        loop {
            let addresses = || self.addresses.now();
            let (stream, took) = match timeout_at(deadline, redial::first(&addresses, self.buffer, &mut last)).await {
                Ok(Some(connected)) => connected,
                Ok(None) => return Err(refused(self.addresses.latest())),
                Err(_) => break,
            };
            let since = Instant::now();
            let Path { peer, lane } = self.path;
            let purpose = if lane == 0 { Purpose::Link } else { Purpose::Lane(lane) };
            let target = Target { purpose, rank: peer.0, incarnation: Some(self.incarnation), epoch };
            // After the last number there is none: the peer refuses this one then, and says why.
            epoch = epoch.saturating_add(1);
            let until = deadline.min(since + redial::shake_patience(took));
            let opened = timeout_at(until, handshake::open_link(stream, &self.party, target, self.position)).await;
            match opened
                .unwrap_or(Err(DialError::Silent))
                .and_then(|(connection, established)| Ok((into_std(connection)?, established.next_expected)))
            {
                Ok(link) => return Ok(link),
                Err(DialError::Refused(refusal)) if refusal.is_final() => {
                    return Err(format!("it refuses a new connection: {refusal}"));
                }
                Err(error) => last = error.to_string(),
            }
            tracing::debug!(path = ?self.path, error = last, "a new connection came to nothing");
            sleep_until(since + redial::PAUSE).await;
        }
        let overdue = overdue(&self.addresses.now());
        Err(if last.is_empty() { overdue } else { format!("{overdue} ({last})") })
    }
}

#[cfg(test)]
#[path = "rejoin_tests.rs"]
mod tests;
