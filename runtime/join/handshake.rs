//! Opening connections: the handshake over sockets, with deadlines, and a listener that strangers cannot disturb.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::descriptors;
use super::keepalive::{self, EndedBy};
use super::loopback;
use super::pending::{self, Authentication, Pending};
use super::socket_buffer::SocketBuffer;
use crate::config::KEEPALIVE;
use crate::wire::cipher::{CipherError, OPENING_BYTES, Opening};
use crate::wire::handshake::{
    Acceptor, Authenticated, CHALLENGE_BYTES, Dialer, Established, HELLO_BYTES, Nonce, OPEN_BYTES, Party, Purpose,
    READY_BYTES, RENDEZVOUS, RESPONSE_BYTES, Refusal, Target,
};
use crate::wire::records::Records;
use crate::wire::seal::Seals;

/// How long one handshake may take; a side that is slower is cut off.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the other side's system may take to accept: less, so that the two can be told apart.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// What a socket holds unsent at first, until it is known how fast its link is.
pub(crate) const NOTSENT_LOWAT_BYTES: u32 = 32 << 10;
/// The pauses between attempts to connect: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The socket failed.
    #[error("{}", explain(.0))]
    Io(#[from] io::Error),
    /// The handshake failed.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// What it said after the handshake opens no cipher.
    #[error("{0}")]
    Cipher(#[from] CipherError),
    /// The other side was silent.
    #[error("it accepted the connection and then said nothing for {} s", HANDSHAKE_TIMEOUT.as_secs())]
    Silent,
}

impl DialError {
    /// Whether trying again cannot help.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            DialError::Refused(refusal) => refusal.is_final(),
            DialError::Io(error) => descriptors::are_out(error),
            DialError::Cipher(_) | DialError::Silent => false,
        }
    }

    /// Whether nothing came back, as over a cable that is cut.
    pub(super) fn is_silence(&self) -> bool {
        use io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut};
        match self {
            DialError::Io(error) => {
                matches!(error.kind(), TimedOut | HostUnreachable | NetworkUnreachable | NetworkDown)
            }
            DialError::Silent => true,
            DialError::Refused(_) | DialError::Cipher(_) => false,
        }
    }
}

/// An error of the operating system with the next thing to look at.
pub(crate) fn explain(error: &io::Error) -> String {
    if descriptors::are_out(error) {
        return format!("{error} ({})", descriptors::state());
    }
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there: has that process started, is the port right?",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "it closed the connection during the handshake: another service or another job has that port"
        }
        io::ErrorKind::TimedOut => "no answer: a firewall may drop the packets, or the host is down",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "there is no way to that address: check the host name and the networks of both machines"
        }
        _ => return error.to_string(),
    };
    format!("{error} ({hint})")
}

/// A connection whose ends are authenticated.
#[derive(Debug)]
pub struct Connection<S = TcpStream> {
    /// The socket.
    pub stream: S,
    /// What it carries, if it is a link of a job that wants checksums or encryption.
    pub(crate) records: Option<Box<Records>>,
}

/// An authenticated connection between a rank and the rendezvous.
pub(crate) struct Line {
    /// The socket.
    pub(crate) stream: TcpStream,
    /// What tags the frames of both directions.
    pub(crate) seals: Seals,
    /// The number of the connection.
    pub(crate) epoch: u32,
    /// What the other end has said of itself, and the next frame that it expects.
    pub(crate) established: Established,
}

/// Connects to the rendezvous at `address`. `epoch` is greater each time, so that it lets one in again whose earlier
/// connection broke before it knew that it was in.
pub(crate) async fn call(address: SocketAddr, party: &Party, epoch: u32) -> Result<Line, DialError> {
    let target = Target { epoch, ..RENDEZVOUS_OF_ANY };
    let shake = async {
        let stream = connect(address, SocketBuffer::BY_SYSTEM, CONNECT_TIMEOUT).await?;
        call_on(stream, party, target, 0).await
    };
    timeout(HANDSHAKE_TIMEOUT, shake).await.unwrap_or(Err(DialError::Silent))
}

/// Goes on with the rendezvous `target` on a new connection: `next_expected` is the next frame that this side expects.
pub(super) async fn call_on(
    stream: TcpStream,
    party: &Party,
    target: Target,
    next_expected: u64,
) -> Result<Line, DialError> {
    let (stream, dialer, established) = authenticate(stream, party, target, next_expected).await?;
    Ok(Line { stream, seals: dialer.seals(), epoch: target.epoch, established })
}

/// Opens a link to `target` at `address`.
pub async fn dial(
    address: SocketAddr,
    party: &Party,
    target: Target,
    next_expected: u64,
    buffer: SocketBuffer,
) -> Result<(Connection, Established), DialError> {
    let shake = async {
        let stream = connect(address, buffer, CONNECT_TIMEOUT).await?;
        open_link(stream, party, target, next_expected).await
    };
    timeout(HANDSHAKE_TIMEOUT, shake).await.unwrap_or(Err(DialError::Silent))
}

/// Opens a link to `target` over `stream`, which has just been connected.
pub(super) async fn open_link(
    stream: TcpStream,
    party: &Party,
    target: Target,
    next_expected: u64,
) -> Result<(Connection, Established), DialError> {
    let shake = async {
        let (mut stream, dialer, established) = authenticate(stream, party, target, next_expected).await?;
        let mut records = dialer.checks().then(Records::checked);
        if let Some(secret) = dialer.secret() {
            let mut opening = Opening::dialer(&secret)?;
            stream.write_all(&opening.write()?).await?;
            let mut answer = [0; OPENING_BYTES];
            stream.read_exact(&mut answer).await?;
            opening.read(&answer)?;
            records = Some(Records::sealed(opening.finish()?));
        }
        stream.write_all(&dialer.open()).await?;
        Ok((Connection { stream, records: records.map(Box::new) }, established))
    };
    timeout(HANDSHAKE_TIMEOUT, shake).await.unwrap_or(Err(DialError::Silent))
}

/// Whether the rendezvous of this job listens at `address`: has it authenticate itself, and then hangs up.
pub(crate) async fn probe(address: SocketAddr, party: &Party) -> Result<(), DialError> {
    let challenge = async {
        let stream = connect(address, SocketBuffer::BY_SYSTEM, CONNECT_TIMEOUT).await?;
        challenge(stream, party, RENDEZVOUS_OF_ANY, 0).await
    };
    let challenged = timeout(HANDSHAKE_TIMEOUT, challenge).await;
    challenged.unwrap_or(Err(DialError::Silent)).map(drop)
}

/// Whoever it is that serves the rendezvous.
pub(super) const RENDEZVOUS_OF_ANY: Target =
    Target { purpose: Purpose::Control, rank: RENDEZVOUS, incarnation: None, epoch: 0 };

/// Goes so far that both sides are authenticated and this one knows it.
async fn authenticate(
    stream: TcpStream,
    party: &Party,
    target: Target,
    next_expected: u64,
) -> Result<(TcpStream, Dialer, Established), DialError> {
    let (mut stream, dialer, response) = challenge(stream, party, target, next_expected).await?;
    stream.write_all(&response).await?;
    let mut ready = [0; READY_BYTES];
    stream.read_exact(&mut ready).await?;
    let established = dialer.ready(&ready)?;
    Ok((stream, dialer, established))
}

/// Connects within `patience`.
pub(super) async fn connect(address: SocketAddr, buffer: SocketBuffer, patience: Duration) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // The window that may ever be announced is agreed on with the first packets.
    buffer.set(&(&socket).into())?;
    loopback::unpace(&(&socket).into(), address.ip());
    let stream = match timeout(patience, socket.connect(address)).await {
        Ok(stream) => stream?,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    };
    // A port that nobody listens on can be this socket's own.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    prepare(&stream)?;
    Ok(stream)
}

/// Goes so far that the other side is authenticated. Returns this side's response.
async fn challenge(
    mut stream: TcpStream,
    party: &Party,
    target: Target,
    next_expected: u64,
) -> Result<(TcpStream, Dialer, Vec<u8>), DialError> {
    let (mut dialer, hello) = Dialer::hello(party, target, &nonce()?);
    stream.write_all(&hello).await?;
    let mut challenge = [0; CHALLENGE_BYTES];
    stream.read_exact(&mut challenge).await?;
    let response = dialer.challenged(&challenge, next_expected)?;
    Ok((stream, dialer, response))
}

/// A connection whose dialer is authenticated and waits for READY.
#[derive(Debug)]
pub struct Guest {
    /// Who it is, and whether what it wants fits.
    pub authenticated: Authenticated,
    stream: TcpStream,
    acceptor: Acceptor,
}

impl Guest {
    /// Lets a rank in at the rendezvous, which expects its frame of this number next. Whether it knows, what it says will
    /// show.
    pub(crate) async fn register(mut self, next_expected: u64) -> io::Result<Line> {
        timeout(HANDSHAKE_TIMEOUT, self.stream.write_all(&self.acceptor.ready(Ok(next_expected)))).await??;
        let Authenticated { epoch, established, .. } = self.authenticated;
        Ok(Line { stream: self.stream, seals: self.acceptor.seals(), epoch, established })
    }

    /// Lets a link in. It counts when its dialer has said that it knows.
    pub async fn admit(self, next_expected: u64) -> io::Result<Connection> {
        timeout(HANDSHAKE_TIMEOUT, self.open(next_expected)).await?
    }

    async fn open(mut self, next_expected: u64) -> io::Result<Connection> {
        let secret = self.acceptor.secret();
        self.stream.write_all(&self.acceptor.ready(Ok(next_expected))).await?;
        let mut records = self.acceptor.checks().then(Records::checked);
        if let Some(secret) = secret {
            let mut opening = Opening::acceptor(&secret)?;
            let mut message = [0; OPENING_BYTES];
            self.stream.read_exact(&mut message).await?;
            opening.read(&message)?;
            self.stream.write_all(&opening.write()?).await?;
            records = Some(Records::sealed(opening.finish()?));
        }
        let mut open = [0; OPEN_BYTES];
        self.stream.read_exact(&mut open).await?;
        if !self.acceptor.is_open(open) {
            return Err(io::Error::other(Refusal::Unauthenticated));
        }
        Ok(Connection { stream: self.stream, records: records.map(Box::new) })
    }

    /// Tells it why not, and hangs up.
    pub async fn turn_away(mut self, refusal: &Refusal) {
        let ready = self.acceptor.ready(Err(refusal));
        // Only a courtesy: who has gone already needs no answer.
        let _ = timeout(HANDSHAKE_TIMEOUT, self.stream.write_all(&ready)).await;
    }
}

/// The pauses of one that tries to connect: longer each time, and different for each, so that ranks that were turned away
/// together do not come back together.
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) fn new() -> Self {
        Pauses(PAUSES.0)
    }

    /// How long to wait before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let longest = self.0;
        self.0 = (longest * 2).min(PAUSES.1);
        let part = getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX));
        longest.mul_f64(0.5 + part / 2.0)
    }
}

/// Accepts connections for as long as it is polled, and hands over those that authenticate. Strangers, port scans
/// and slow ones have no effect: each has a task, a deadline and less than a kilobyte, and there are not many at a time.
///
/// Returns when no descriptor is left for a connection, and none that could be closed.
pub async fn receive<T: Send + 'static>(
    listener: TcpListener,
    party: Party,
    purpose: Purpose,
    guests: mpsc::Sender<T>,
    wrap: fn(Guest) -> T,
) -> io::Error {
    let mut tasks = JoinSet::new();
    let mut pending = Pending::new(descriptors::spare(pending::most(party.size), 2 * u64::from(party.size)));
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                if descriptors::are_out(&error) && !pending.evict() {
                    return error;
                }
                // That, or a connection that ended in the queue: neither may make this loop spin.
                tracing::debug!(%error, "accept failed");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        while tasks.try_join_next().is_some() {}
        let (party, guests, response) = (party.clone(), guests.clone(), Authentication::default());
        let given = response.clone();
        let task = tasks.spawn(async move {
            match timeout(HANDSHAKE_TIMEOUT, greet(stream, &party, purpose)).await {
                Ok(Ok(guest)) => {
                    given.is_given();
                    let _ = guests.send(wrap(guest)).await;
                }
                Ok(Err(error)) => tracing::debug!(%error, "a connection was not authenticated"),
                Err(_) => tracing::debug!("a connection said nothing"),
            }
        });
        pending.add(from.ip(), response, task);
    }
}

async fn greet(mut stream: TcpStream, party: &Party, purpose: Purpose) -> Result<Guest, DialError> {
    prepare(&stream)?;
    let mut acceptor = Acceptor::new(party, purpose);
    let mut hello = [0; HELLO_BYTES];
    // The first bytes decide: a stranger is dropped at once instead of keeping its place until the deadline.
    stream.read_exact(&mut hello[..8]).await?;
    if !Acceptor::knows(&hello[..8]) {
        return Err(Refusal::Stranger("its first bytes are not lathide's").into());
    }
    stream.read_exact(&mut hello[8..]).await?;
    let challenge = acceptor.hello(&hello, &nonce()?)?;
    stream.write_all(&challenge).await?;
    let mut response = [0; RESPONSE_BYTES];
    stream.read_exact(&mut response).await?;
    let authenticated = acceptor.response(&response)?;
    Ok(Guest { authenticated, stream, acceptor })
}

/// Small messages leave at once, and pass large ones to the last: little is handed to the system before it can go. A host
/// that is gone is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    // Until it is known what the job has set.
    keepalive::limit(stream, Some(KEEPALIVE), EndedBy::System)?;
    socket.set_tcp_notsent_lowat(NOTSENT_LOWAT_BYTES)
}

/// Whether both ends of a connection are on this host.
pub(crate) fn is_local(socket: &socket2::SockRef<'_>) -> bool {
    let address = |address: io::Result<socket2::SockAddr>| address.ok()?.as_socket().map(|address| address.ip());
    let (own, peer) = (address(socket.local_addr()), address(socket.peer_addr()));
    own.is_some() && own == peer
}

fn nonce() -> io::Result<Nonce> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    Ok(nonce)
}

/// A number drawn once per process.
pub fn incarnation() -> io::Result<u64> {
    getrandom::u64().map_err(io::Error::other)
}
