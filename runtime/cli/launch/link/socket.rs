//! The relay's sockets: with buffers as short as the link is slow.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};

use super::medium::Shape;

/// Twice what is taken at once.
const RECEIVE_BUFFER_NS: u64 = 4_000_000;
/// Several pieces, since a late relay writes them together.
const SEND_BUFFER_NS: u64 = 5_000_000;
/// Below this the loopback device's 64 KiB packets do not fit, and the sender stalls until a timer expires.
const RECEIVE_BUFFER_BYTES_MIN: usize = 32 << 10;
const SEND_BUFFER_BYTES_MIN: usize = 64 << 10;
const BUFFER_BYTES_MAX: usize = 4 << 20;

/// A socket of `target`'s family. With a rate its buffers are short, so that back pressure reaches the sender: they
/// hold what passes between two turns of the relay. Without one the system sizes them.
pub(super) fn socket(shape: &Shape, target: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(target), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    if let Some(bytes) = shape.bytes_in(RECEIVE_BUFFER_NS) {
        // Accepted sockets inherit both; the receive window's scale is fixed when the connection opens.
        socket.set_recv_buffer_size(bytes.clamp(RECEIVE_BUFFER_BYTES_MIN, BUFFER_BYTES_MAX))?;
    }
    if let Some(bytes) = shape.bytes_in(SEND_BUFFER_NS) {
        socket.set_send_buffer_size(bytes.clamp(SEND_BUFFER_BYTES_MIN, BUFFER_BYTES_MAX))?;
    }
    Ok(socket)
}
