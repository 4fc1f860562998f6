//! When a connection paces what it sends.
//!
//! BBR, the default congestion control of many systems, spreads packets in time, by the bandwidth that it has seen the connection have.
//! That keeps the queue of a slow link short. It costs more than it brings in two cases, and there a connection is freed of pacing:
//!
//! - Within a host. There pacing costs half of the bandwidth, and there is nothing to congest. Over a loopback that nobody shapes
//!   connections do not begin with it (`join::loopback`). Any other begins as the system makes it, and is given another congestion
//!   control once it has carried more than any shaped link would. Linux goes on to pace it then, but no more by what it has seen.
//! - Between hosts that are close, in a job of several peers. These share the ports of a switch in turns: what a connection
//!   has seen is its share of a gather or an alltoall, and it paces the messages after that by it.

use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use crate::join::handshake::is_local;
use crate::join::loopback::{PACES, PLAIN};

/// The traffic that is judged at a time.
const SAMPLE_BYTES: usize = 1 << 20;
/// A sample that took no longer went at 10 Gbit/s or more.
const FAST: Duration = Duration::from_micros(840);
/// The shortest round trip between hosts that are close: on one switch, or a few. Queues on such paths are short, and losses
/// are seen at once.
const CLOSE: Duration = Duration::from_millis(1);

/// What one connection has carried.
pub(in crate::kernel) struct Pacing {
    /// What the connection sends is spread in time.
    paces: bool,
    /// Nothing is to be decided any more.
    is_settled: bool,
    bytes: usize,
    since: Duration,
}

impl Pacing {
    /// `is_on`: whether it may be freed of pacing; `has_others`: whether this node has links to others, too.
    pub(in crate::kernel) fn new(stream: &TcpStream, is_on: bool, has_others: bool) -> Self {
        let socket = SockRef::from(stream);
        let is_within_host = is_local(&socket);
        if !is_on && is_within_host {
            as_by_default(&socket);
        }
        let mut paces = socket.tcp_congestion().is_ok_and(|name| name.starts_with(PACES));
        let may_change = is_on && paces;
        if may_change && !is_within_host && has_others && is_close(stream) {
            free(&socket);
            paces = false;
        }
        Pacing { paces, is_settled: !(may_change && is_within_host), bytes: 0, since: Duration::ZERO }
    }

    /// Whether the connection paces what it sends.
    pub(in crate::kernel) fn paces(&self) -> bool {
        self.paces
    }

    /// The socket took `count` bytes. Returns whether there is something to [judge](Self::judge): for a short message the clock is not
    /// read.
    pub(in crate::kernel) fn wrote(&mut self, count: usize) -> bool {
        if self.is_settled {
            return false;
        }
        self.bytes += count;
        self.bytes >= SAMPLE_BYTES
    }

    /// It is `now`. Frees `socket` of pacing if it is fast.
    pub(in crate::kernel) fn judge(&mut self, now: Duration, socket: &SockRef<'_>) {
        if self.bytes < 2 * SAMPLE_BYTES && now.saturating_sub(self.since) <= FAST {
            free(socket);
            (self.paces, self.is_settled) = (false, true);
        }
        (self.bytes, self.since) = (0, now);
    }
}

fn free(socket: &SockRef<'_>) {
    // Where it may not be chosen, the default does too.
    let _ = socket.set_tcp_congestion(PLAIN);
}

/// Gives it the congestion control that new connections have.
fn as_by_default(socket: &SockRef<'_>) {
    let new = Socket::new(Domain::IPV4, Type::STREAM, None);
    if let Ok(name) = new.and_then(|new| new.tcp_congestion()) {
        let _ = socket.set_tcp_congestion(&name);
    }
}

/// Whether the other end is close, by the shortest round trip so far.
fn is_close(stream: &TcpStream) -> bool {
    lathide_sys::tcp::flow(stream.as_fd()).is_ok_and(|flow| flow.shortest_round_trip < CLOSE)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A connection to 127.0.0.1 from this address, with the congestion control that paces; `None` where there is none.
    fn pacing_from(address: [u8; 4]) -> Option<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_tcp_congestion(PACES).ok()?;
        socket.bind(&std::net::SocketAddr::from((address, 0)).into()).expect("an address of this host");
        socket.connect(&listener.local_addr().expect("bound").into()).expect("it listens");
        Some((socket.into(), listener.accept().expect("one has connected").0))
    }

    #[test]
    fn close_hosts_that_share_ports_do_not_pace() {
        let paces = |stream: &TcpStream| SockRef::from(stream).tcp_congestion().expect("TCP").starts_with(PACES);
        // Whether it may be freed, whether there are others, and whether it paces then. Two addresses, as two hosts have.
        for (is_on, has_others, expected) in [(true, true, false), (true, false, true), (false, true, true)] {
            let Some((near, _far)) = pacing_from([127, 0, 0, 2]) else { return println!("skipped: no {PACES:?} here") };
            let pacing = Pacing::new(&near, is_on, has_others);
            assert_eq!((paces(&near), pacing.paces()), (expected, expected), "{is_on}, {has_others}");
            assert!(pacing.is_settled);
        }
        let (near, _far) = pacing_from([127, 0, 0, 1]).expect("as before");
        let pacing = Pacing::new(&near, true, true);
        assert!(paces(&near) && !pacing.is_settled, "within a host it is to be seen how fast it is");
    }
}
