//! What the relay's thread does: all connections in turn.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use super::connection::Connection;
use super::flow::Link;
use super::medium::Shape;
use crate::launch::alarm::{Alarm, clock_ns};
use crate::launch::service::Work;

/// All that the relay's thread owns.
pub(super) struct Worker {
    link: Link,
    alarm: Alarm,
    /// Each with where its connections go.
    listeners: Vec<(Socket, SocketAddr)>,
    connections: VecDeque<Connection>,
    /// Turns so far.
    turns: usize,
    accepted: u64,
    /// When to accept: at once after an event, later if the system had no descriptor left.
    accept_ns: Option<u64>,
}

impl Worker {
    pub(super) fn new(shape: Shape, listeners: Vec<(Socket, SocketAddr)>) -> io::Result<Self> {
        let alarm = Alarm::new()?;
        for (listener, _) in &listeners {
            alarm.watch(listener, LISTENER, EventFlags::IN | EventFlags::ET)?;
        }
        let link = Link::new(shape);
        Ok(Worker { link, alarm, listeners, connections: VecDeque::new(), turns: 0, accepted: 0, accept_ns: None })
    }

    /// Accepts all that wait, as edge-triggering wants it.
    fn accept(&mut self, index: usize) {
        loop {
            match self.listeners[index].0.accept() {
                Ok((client, _)) => {
                    if let Err(error) = self.connect(client, self.listeners[index].1) {
                        tracing::debug!("the emulated link closes a connection: {error}");
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => {
                    tracing::warn!("the emulated link cannot accept a connection and tries again: {error}");
                    self.accept_ns = Some(clock_ns() + ACCEPT_AGAIN_NS);
                    return;
                }
            }
        }
    }

    fn connect(&mut self, client: Socket, target_address: SocketAddr) -> io::Result<()> {
        client.set_nonblocking(true)?;
        client.set_tcp_nodelay(true)?;
        let target = socket(&self.link.shape, target_address)?;
        match target.connect(&target_address.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                client.set_linger(Some(std::time::Duration::ZERO))?;
                return Err(error);
            }
            // Also when it is connected at once, epoll says so.
            _ => {}
        }
        let connection = Connection::new(client, target, self.accepted);
        self.accepted += 1;
        let first_token = FIRST_CONNECTION + 2 * connection.number;
        for (side, token) in connection.sides.iter().zip(first_token..) {
            let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            self.alarm.watch(&side.socket, token, all)?;
        }
        self.connections.push_back(connection);
        Ok(())
    }
}

impl Work for Worker {
    fn alarm(&mut self) -> &mut Alarm {
        &mut self.alarm
    }

    /// One turn for each connection.
    fn advance(&mut self) -> Option<u64> {
        if self.accept_ns.is_some_and(|at_ns| at_ns <= clock_ns()) {
            self.accept_ns = None;
            (0..self.listeners.len()).for_each(|index| self.accept(index));
        }
        // They take turns at being served first, since on a shared link the first gets what there is.
        self.turns = self.turns.wrapping_add(1);
        let first_side = self.turns % 2;
        self.connections.rotate_left(first_side.min(self.connections.len()));
        let mut wakes_ns = self.accept_ns;
        self.connections.retain_mut(|connection| {
            self.link.now_ns = clock_ns();
            let lives = connection.advance(first_side, &mut self.link);
            if lives {
                wakes_ns = wakes_ns.into_iter().chain(connection.wakes_ns(&self.link)).min();
            }
            lives
        });
        wakes_ns
    }

    fn handle_event(&mut self, token: u64, flags: EventFlags) {
        if token == LISTENER {
            self.accept_ns = Some(0);
            return;
        }
        let (number, side) = ((token - FIRST_CONNECTION) / 2, (token - FIRST_CONNECTION) % 2);
        let Some(at) = self.connections.iter().position(|connection| connection.number == number) else { return };
        self.link.now_ns = clock_ns();
        if let Err(error) = self.connections[at].handle_event(side as usize, flags, &self.link) {
            tracing::debug!("the emulated link resets a connection: its target cannot be reached: {error}");
            self.connections[at].sides[0].make_reset();
            self.connections.remove(at);
        }
    }

    fn end(&mut self) {
        self.connections.iter().for_each(Connection::cut);
    }
}

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

/// Twice what is taken at once.
const RECEIVE_BUFFER_NS: u64 = 4_000_000;
/// Several pieces, since a late relay writes them together.
const SEND_BUFFER_NS: u64 = 5_000_000;
/// Below this the loopback device's 64 KiB packets do not fit, and the sender stalls until a timer expires.
const RECEIVE_BUFFER_BYTES_MIN: usize = 32 << 10;
const SEND_BUFFER_BYTES_MIN: usize = 64 << 10;
const BUFFER_BYTES_MAX: usize = 4 << 20;

const ACCEPT_AGAIN_NS: u64 = 50_000_000;

// The tokens of events. Above them, two for each connection.
const LISTENER: u64 = 0;
const FIRST_CONNECTION: u64 = 1;
