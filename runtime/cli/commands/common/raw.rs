//! The raw reference: one TCP connection between the two nodes, used as an expert would.
//!
//! TCP_NODELAY; the congestion control that the runtime itself chooses within a host; no copy and no call that could
//! be left out. Blocking, or polled: the same calls on a socket that does not block, again and again. Its socket buffers are
//! as large as those of the runtime's links.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::time::Duration;

use lathide::launcher::environment::port_range;
use lathide::launcher::handshake::{SocketBuffer, unpace};
use lathide::launcher::interface::loopback;
use lathide::launcher::variables;
use lathide::{Node, Tag};
use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockRef, Socket, Type};

use crate::launch::failed::{Failed, Result};

/// Bytes per call in a stream.
pub(crate) const CALL_BYTES: usize = 256 << 10;
/// The congestion control within a host, as the runtime has it: one that paces costs half of the bandwidth there.
pub(crate) const CONGESTION_CONTROL: &str = "reno";

const TOKEN_BYTES: usize = 16;
/// Rank 0's address and the token, as JSON.
const INVITATION: Tag = Tag(1);
/// More than those have.
const INVITATION_BYTES: usize = 256;
/// How long a stranger may hold up the port.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(1);

/// Where the two nodes meet for the raw connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RawPlace {
    /// Rank 0 listens here.
    pub(crate) listen: SocketAddr,
    /// Rank 1 connects to this: the same, or the emulated link that leads there.
    pub(crate) connect: SocketAddr,
}

/// The connection, at one of its ends.
pub(crate) struct Raw {
    stream: TcpStream,
    is_polled: bool,
    yields: bool,
}

/// Keeps a port of loopback for this user's processes until it is dropped; nothing listens at it.
pub(super) fn reserve_port() -> io::Result<(Socket, SocketAddr)> {
    let socket = socket_at((loopback(), 0).into())?;
    let address = socket.local_addr()?.as_socket().ok_or(ErrorKind::AddrNotAvailable)?;
    Ok((socket, address))
}

/// The address of this host from which the launcher is reached, and any port: what the runtime's own links use.
fn own_address() -> io::Result<SocketAddr> {
    let root = std::env::var("LATHIDE_ROOT").map_err(io::Error::other)?;
    let root: SocketAddr = root.parse().map_err(io::Error::other)?;
    let any: std::net::IpAddr = if root.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    // No packet is sent: the system only says which way one would take.
    let socket = std::net::UdpSocket::bind((any, 0))?;
    socket.connect(root)?;
    Ok(SocketAddr::new(socket.local_addr()?.ip(), 0))
}

/// The buffers of the runtime's own links: `lathide::init` has read the variable, too.
fn own_buffer() -> SocketBuffer {
    let bytes = std::env::var(variables::SOCKET_BUFFER.name).ok().and_then(|text| SocketBuffer::read(&text).ok());
    SocketBuffer::of(bytes.flatten())
}

/// A socket whose address another socket of this user may have too.
fn socket_at(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

impl Raw {
    /// Connects the two nodes. A token that only they know, since it went over lathide, keeps others away.
    pub(crate) fn connect(node: &Node, place: Option<RawPlace>, yields: bool) -> Result<Self> {
        let failed = |error| Failed::new(format!("the raw TCP connection between the nodes failed: {error}"));
        if node.rank() != 0 {
            let invitation = node.initread(0, INVITATION, vec![0_u8; INVITATION_BYTES])?.wait()?;
            let (address, token): (SocketAddr, [u8; TOKEN_BYTES]) = serde_json::from_slice(&invitation)?;
            return Raw::dial(place.map_or(address, |place| place.connect), &token, yields).map_err(failed);
        }
        let listener = match place {
            Some(place) => listen(place.listen),
            None => {
                // The ports of the runtime's own links, which `lathide::init` has read, too.
                let ports = std::env::var("LATHIDE_PORTS").ok().and_then(|text| port_range(&text).ok());
                own_address().and_then(|own| listen_within(own, ports))
            }
        };
        let listener = listener.map_err(failed)?;
        // Nobody knows the address yet.
        own_buffer().set(&(&listener).into()).map_err(failed)?;
        unpace(&(&listener).into(), listener.local_addr().map_err(failed)?.ip());
        let mut token = [0; TOKEN_BYTES];
        getrandom::fill(&mut token)?;
        let invitation = serde_json::to_vec(&(listener.local_addr().map_err(failed)?, token))?;
        node.initwrite(1, INVITATION, invitation)?.wait()?;
        Raw::accept(&listener, &token, yields).map_err(failed)
    }

    fn dial(address: SocketAddr, token: &[u8], yields: bool) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        own_buffer().set(&(&socket).into())?;
        unpace(&(&socket).into(), address.ip());
        socket.connect(&address.into())?;
        let mut raw = Raw::new(socket.into(), yields)?;
        raw.write(token)?;
        Ok(raw)
    }

    fn accept(listener: &TcpListener, token: &[u8], yields: bool) -> io::Result<Self> {
        loop {
            let mut raw = Raw::new(listener.accept()?.0, yields)?;
            let mut received = [0; TOKEN_BYTES];
            raw.stream.set_read_timeout(Some(STRANGER_TIMEOUT))?;
            if raw.read(&mut received).is_ok() && received == token {
                raw.stream.set_read_timeout(None)?;
                return Ok(raw);
            }
        }
    }

    fn new(stream: TcpStream, yields: bool) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        if stream.local_addr()?.ip() == stream.peer_addr()?.ip() {
            // Where it may not be chosen, both ends use the default.
            _ = SockRef::from(&stream).set_tcp_congestion(CONGESTION_CONTROL.as_bytes());
        }
        Ok(Raw { stream, is_polled: false, yields })
    }

    /// Whether calls wait in the system, or return at once and are made again.
    pub(crate) fn poll(&mut self, is_polled: bool) -> io::Result<()> {
        self.is_polled = is_polled;
        self.stream.set_nonblocking(is_polled)
    }

    /// Writes a whole message.
    pub(crate) fn write(&mut self, message: &[u8]) -> io::Result<()> {
        let mut rest = message;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) => self.again(error)?,
            }
        }
        Ok(())
    }

    /// Reads a whole message.
    pub(crate) fn read(&mut self, message: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < message.len() {
            done += self.read_some(&mut message[done..])?;
        }
        Ok(())
    }

    /// Reads what is there, at least a byte.
    pub(crate) fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => return Ok(count),
                Err(error) => self.again(error)?,
            }
        }
    }

    /// A message each way at once: whatever direction can go on does, and where none can, the system waits for both.
    /// The connection must be polled, so that neither direction waits for the other.
    pub(crate) fn exchange(&mut self, out: &[u8], into: &mut [u8]) -> io::Result<()> {
        let (mut sent, mut received) = (0, 0);
        while sent < out.len() || received < into.len() {
            let before = sent + received;
            if sent < out.len() {
                let end = out.len().min(sent + CALL_BYTES);
                sent += ready(self.stream.write(&out[sent..end]))?.unwrap_or(0);
            }
            if received < into.len() {
                let end = into.len().min(received + CALL_BYTES);
                match ready(self.stream.read(&mut into[received..end]))? {
                    Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    count => received += count.unwrap_or(0),
                }
            }
            if sent + received == before {
                let output = if sent < out.len() { PollFlags::OUT } else { PollFlags::empty() };
                let input = if received < into.len() { PollFlags::IN } else { PollFlags::empty() };
                ready(poll(&mut [PollFd::new(&self.stream, output | input)], None).map_err(io::Error::from))?;
            }
        }
        Ok(())
    }

    /// Goes on if the socket only was not ready.
    fn again(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            // A blocking socket says so when its time is over.
            ErrorKind::WouldBlock if !self.is_polled => return Err(error),
            ErrorKind::WouldBlock if self.yields => std::thread::yield_now(),
            ErrorKind::WouldBlock => std::hint::spin_loop(),
            ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
        Ok(())
    }
}

/// What a call has done, if it could do something.
fn ready<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket_at(address)?;
    socket.listen(16)?;
    Ok(socket.into())
}

/// Listens on the first of `ports` that is free, or on any.
fn listen_within(address: SocketAddr, ports: Option<RangeInclusive<u16>>) -> io::Result<TcpListener> {
    let mut cause = None;
    for port in ports.unwrap_or(0..=0) {
        // No other socket may have the port, not even one of the same user; but connections that ranks of this job have
        // accepted on it may go on, as the system's own listeners allow it.
        match TcpListener::bind(SocketAddr::new(address.ip(), port)) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => cause = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(cause.unwrap_or_else(|| ErrorKind::AddrInUse.into()))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Both ends of a connection, after strangers have knocked.
    fn ends() -> (Raw, Raw) {
        let (_port, address) = reserve_port().unwrap();
        let listener = listen(address).unwrap();
        let token = [7; TOKEN_BYTES];
        let dialer = thread::spawn(move || {
            // One says nothing, one says something else, one hangs up.
            let _silent = TcpStream::connect(address).unwrap();
            Raw::dial(address, &[8; TOKEN_BYTES], false).unwrap();
            drop(TcpStream::connect(address).unwrap());
            Raw::dial(address, &token, false).unwrap()
        });
        let accepted = Raw::accept(&listener, &token, true).unwrap();
        (accepted, dialer.join().unwrap())
    }

    #[test]
    fn messages_pass_in_every_manner_and_strangers_do_not() {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            messages_pass();
            _ = done.send(());
        });
        is_done.recv_timeout(Duration::from_secs(60)).expect("it ends, and well");
    }

    fn messages_pass() {
        let (mut near, mut far) = ends();
        let message: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte % 251) as u8).collect();
        let expected = message.clone();
        let other = thread::spawn(move || {
            let mut got = vec![0; message.len()];
            for is_polled in [false, true] {
                far.poll(is_polled).unwrap();
                far.read(&mut got).unwrap();
                assert!(got == message, "as it was sent, polled: {is_polled}");
                far.write(&got).unwrap();
            }
            got.fill(0);
            far.exchange(&message, &mut got).unwrap();
            assert!(got == message, "at once");
        });
        let mut got = vec![0; expected.len()];
        for is_polled in [true, false] {
            near.poll(is_polled).unwrap();
            near.write(&expected).unwrap();
            near.read(&mut got).unwrap();
            assert!(got == expected, "as it was sent, polled: {is_polled}");
        }
        near.poll(true).unwrap();
        near.exchange(&expected, &mut got).unwrap();
        assert!(got == expected, "at once");
        other.join().unwrap();
        for is_polled in [false, true] {
            near.poll(is_polled).unwrap();
            assert_eq!(near.read(&mut got).unwrap_err().kind(), ErrorKind::UnexpectedEof, "nobody is there");
        }
    }

    #[test]
    fn only_the_ports_that_are_open_are_used() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        // Two free ports in a row; somebody else may take one of them meanwhile.
        let (first, low) = (0..100)
            .find_map(|_| {
                let first = TcpListener::bind(any).unwrap();
                let low = first.local_addr().unwrap().port();
                drop(TcpListener::bind((Ipv4Addr::LOCALHOST, low.checked_add(1)?)).ok()?);
                Some((first, low))
            })
            .expect("two free ports in a row");
        // What was accepted on a port does not keep it, once nobody listens there.
        let _dialed = TcpStream::connect(first.local_addr().unwrap()).unwrap();
        let _accepted = first.accept().unwrap();
        let second = listen_within(any, Some(low..=low + 1)).unwrap();
        assert_eq!(second.local_addr().unwrap().port(), low + 1, "the first one is taken");
        assert_eq!(listen_within(any, Some(low..=low + 1)).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(first);
        let again = listen_within(any, Some(low..=low + 1)).unwrap();
        assert_eq!(again.local_addr().unwrap().port(), low, "free again");
        assert_ne!(listen_within(any, None).unwrap().local_addr().unwrap().port(), 0);
    }

    #[test]
    fn a_kept_port_is_nobody_elses() {
        let (_port, address) = reserve_port().unwrap();
        assert!(TcpListener::bind(address).is_err(), "taken");
        assert!(TcpStream::connect(address).is_err(), "nobody listens yet");
    }
}
