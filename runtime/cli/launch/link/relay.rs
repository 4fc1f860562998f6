//! The relay: where it listens.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::Socket;

use super::medium::Shape;
use super::spec::LinkSpec;
use super::worker::{Worker, socket};
use crate::launch::service::Service;

/// An emulated link: one loopback listener per target. Each connection to a listener is connected to its target, and
/// bytes, half-close, close and reset pass both ways as [`LinkSpec`] says. It needs no privileges, and one thread, which
/// runs at a higher priority where the system allows it. Dropping the relay ends the thread and closes all sockets.
///
/// A connection to a target that cannot be reached is accepted and then reset. Opening a connection takes no delay.
///
/// ```
/// use std::io::{Read, Write};
/// use lathide_cli::Relay;
///
/// let target = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let relay = Relay::start(&"delay=1ms,rate=100mbit".parse().unwrap(), vec![target.local_addr()?])?;
/// let mut near = std::net::TcpStream::connect(relay.addresses()[0])?;
/// let (mut far, _) = target.accept()?;
/// near.write_all(b"hello")?;
/// far.read_exact(&mut [0; 5])?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Relay {
    addresses: Vec<SocketAddr>,
    _service: Service,
}

impl Relay {
    /// Starts a link like `spec` to each of `targets`. The targets need not listen yet.
    ///
    /// Fails if `spec` holds more bytes in flight than the relay would (256 MiB per direction), or if the system gives
    /// no socket or thread.
    pub fn start(spec: &LinkSpec, targets: Vec<SocketAddr>) -> io::Result<Relay> {
        let shape = Shape::of(spec).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let mut listeners = Vec::with_capacity(targets.len());
        let mut addresses = Vec::with_capacity(targets.len());
        for target in targets {
            let socket = listen(&shape, target)?;
            addresses.push(socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?);
            listeners.push((socket, target));
        }
        let what = "the emulated link ends, its connections are closed";
        let service = Service::start("lathide-link", what, Worker::new(shape, listeners)?)?;
        Ok(Relay { addresses, _service: service })
    }

    /// Where to connect to instead of to the targets, in their order.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

fn listen(shape: &Shape, target: SocketAddr) -> io::Result<Socket> {
    let socket = socket(shape, target)?;
    let near: SocketAddr = match target {
        SocketAddr::V4(_) => (Ipv4Addr::LOCALHOST, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::LOCALHOST, 0).into(),
    };
    socket.bind(&near.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    Ok(socket)
}

/// All ranks of a large job may connect at once.
const LISTEN_BACKLOG: i32 = 1024;
