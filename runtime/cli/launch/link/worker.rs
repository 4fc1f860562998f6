//! The relay's thread: one epoll instance, one timer, all connections.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use socket2::Socket;

use super::connection::Connection;
use super::flow::Turn;
use super::medium::{Medium, Shape};
use super::queue::Pool;
use super::socket::socket;
use crate::launch::alarm::{Alarm, clock_ns};

/// A listener and where its connections go.
pub(super) struct Listener {
    pub(super) socket: Socket,
    pub(super) target: SocketAddr,
}

/// All that the relay's thread owns.
pub(super) struct Worker {
    shape: Shape,
    alarm: Alarm,
    /// Kept, so that its number is not used again while it is registered.
    _stop: Arc<OwnedFd>,
    listeners: Vec<Listener>,
    /// A slot keeps its number, by which events name it, while the connection lives.
    connections: Vec<Option<Connection>>,
    /// The one capacity of a shared link.
    medium: Option<Medium>,
    pool: Pool,
    /// Turns so far. They decide who is served first, since on a shared link the first gets what there is.
    turns: usize,
    accepted: u64,
    /// When to accept: at once after an event, later if the system had no descriptor left.
    accept_ns: Option<u64>,
}

impl Worker {
    pub(super) fn new(shape: Shape, listeners: Vec<Listener>, stop: Arc<OwnedFd>) -> io::Result<Self> {
        let alarm = Alarm::new(TIMER)?;
        alarm.watch(&stop, STOP, EventFlags::IN)?;
        for listener in &listeners {
            alarm.watch(&listener.socket, LISTENER, EventFlags::IN | EventFlags::ET)?;
        }
        let medium = shape.shared.then(Medium::default);
        Ok(Worker {
            shape,
            alarm,
            _stop: stop,
            listeners,
            connections: Vec::new(),
            medium,
            pool: Pool::default(),
            turns: 0,
            accepted: 0,
            accept_ns: None,
        })
    }

    /// Serves until the relay is dropped.
    pub(super) fn run(mut self) {
        raise_priority();
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            let wakes_ns = self.advance();
            if let Err(error) = self.alarm.sleep(wakes_ns, &mut events) {
                tracing::error!(
                    "the emulated link ends, its connections are closed: waiting for events failed: {error}"
                );
                return;
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => {
                        self.connections.iter().flatten().for_each(Connection::cut);
                        return;
                    }
                    // `advance` looks at the clock.
                    TIMER => {}
                    // Later, so that no event of this batch meets a new connection in the slot of its own.
                    LISTENER => self.accept_ns = Some(0),
                    token => self.handle_event(token - FIRST_CONNECTION, event.flags),
                }
            }
        }
    }

    /// One turn for each connection. Returns when the next is due, if time alone makes it so.
    fn advance(&mut self) -> Option<u64> {
        if self.accept_ns.is_some_and(|at_ns| at_ns <= clock_ns()) {
            self.accept_ns = None;
            (0..self.listeners.len()).for_each(|index| self.accept(index));
        }
        let (mut wakes_ns, slots) = (self.accept_ns, self.connections.len());
        self.turns = self.turns.wrapping_add(1);
        let (first, first_side) = (self.turns / 2 % slots.max(1), self.turns % 2);
        for slot in (first..slots).chain(0..first) {
            let Some(connection) = &mut self.connections[slot] else { continue };
            let mut turn = Turn { shape: &self.shape, pool: &mut self.pool, now_ns: clock_ns(), first_side };
            if connection.advance(self.medium.as_mut(), &mut turn) {
                wakes_ns = wakes_ns.into_iter().chain(connection.wakes_ns(self.medium.as_ref(), &self.shape)).min();
            } else {
                self.connections[slot] = None;
            }
        }
        wakes_ns
    }

    fn handle_event(&mut self, token: u64, flags: EventFlags) {
        let (slot, side) = ((token / 2) as usize, (token % 2) as usize);
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else { return };
        let mut turn = Turn { shape: &self.shape, pool: &mut self.pool, now_ns: clock_ns(), first_side: 0 };
        if let Err(error) = connection.handle_event(side, flags, &mut turn) {
            tracing::debug!("the emulated link resets a connection: its target cannot be reached: {error}");
            connection.reset(0);
            self.connections[slot] = None;
        }
    }

    /// Accepts all that wait, as edge-triggering wants it.
    fn accept(&mut self, index: usize) {
        loop {
            match self.listeners[index].socket.accept() {
                Ok((client, _)) => {
                    if let Err(error) = self.connect(client, self.listeners[index].target) {
                        tracing::debug!("the emulated link closes a connection: {error}");
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    _ => {
                        tracing::warn!("the emulated link cannot accept a connection and tries again: {error}");
                        self.accept_ns = Some(clock_ns() + ACCEPT_AGAIN_NS);
                        return;
                    }
                },
            }
        }
    }

    fn connect(&mut self, client: Socket, target_address: SocketAddr) -> io::Result<()> {
        client.set_nonblocking(true)?;
        client.set_tcp_nodelay(true)?;
        let target = socket(&self.shape, target_address)?;
        match target.connect(&target_address.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                client.set_linger(Some(std::time::Duration::ZERO))?;
                return Err(error);
            }
            // Also when it is connected at once, epoll says so.
            _ => {}
        }
        let slot = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        if slot == self.connections.len() {
            self.connections.push(None);
        }
        self.accepted += 1;
        let connection = Connection::new(client, target, self.accepted);
        for side in 0..2 {
            let token = EventData::new_u64(FIRST_CONNECTION + (2 * slot + side) as u64);
            let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(self.alarm.as_epoll(), connection.socket(side), token, all)?;
        }
        self.connections[slot] = Some(connection);
        Ok(())
    }
}

/// The processes that the relay serves keep all cores busy; on time, the relay takes little from them. An ordinary
/// user may not do this; then the queue before the link makes up for late wake-ups.
fn raise_priority() {
    let own = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(own), PRIORITY);
}

const PRIORITY: i32 = -15;
const EVENTS_MAX: usize = 64;
const ACCEPT_AGAIN_NS: u64 = 50_000_000;

// The tokens of events. Above them, two for each connection.
const STOP: u64 = 0;
const TIMER: u64 = 1;
const LISTENER: u64 = 2;
const FIRST_CONNECTION: u64 = 4;
