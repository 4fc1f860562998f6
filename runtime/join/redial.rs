//! Connecting again after a cut, to the rendezvous or to a peer, and finding out whether anybody is left to answer.
//!
//! A connection is tried every [`PAUSE`], beside those that have no answer yet: TCP by itself would try again ever more
//! rarely. The first that is there is used. A host that refuses answers, so it is reached, and nobody listens any more: the
//! process has ended.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, sleep_until, timeout, timeout_at};

use super::handshake::{self, DialError, HANDSHAKE_TIMEOUT, Line};
use super::socket_buffer::SocketBuffer;
use crate::wire::handshake::{Party, Refusal, Target};

/// Between two attempts.
pub(super) const PAUSE: Duration = Duration::from_millis(250);
/// A rank that was found to be there needs no asking so often.
const CALM: Duration = Duration::from_secs(1);
/// So many refusals over so much time mean that nobody listens. One may be that of a host on the way that has just begun.
const REFUSALS: (u32, Duration) = (3, Duration::from_millis(500));
/// How long one attempt may take to connect: several round trips of any path.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// How long a handshake may take on a connection that was there at once, and how many times that which took longer.
const SHAKE: (Duration, u32) = (Duration::from_secs(1), 8);

/// How long a handshake may take on a connection that took so long.
pub(super) fn shake_patience(took: Duration) -> Duration {
    (SHAKE.0 + took * SHAKE.1).min(HANDSHAKE_TIMEOUT)
}

/// How a node finds its rendezvous again.
pub(super) struct Caller {
    pub(super) party: Party,
    /// Where it may be; first where it was last.
    pub(super) addresses: Vec<SocketAddr>,
    /// The number of the last connection, and the incarnation at its other end.
    pub(super) epoch: u32,
    pub(super) incarnation: u64,
}

/// Why there is no connection any more.
#[derive(Debug)]
pub(super) enum Lost {
    /// Nobody listens there.
    Refused,
    /// This node is not wanted any more.
    Unwanted(Refusal),
    /// The time is over. With what the last attempt met.
    Silent(String),
}

impl Caller {
    /// Connects again, and tells the number of the next frame that is expected.
    pub(super) async fn again(&mut self, next_expected: u64, until: Instant) -> Result<Line, Lost> {
        let mut last = "nobody answers".to_owned();
        loop {
            let (stream, took) =
                match timeout_at(until.into(), first(&|| self.addresses.clone(), SocketBuffer::BY_SYSTEM, &mut last))
                    .await
                {
                    Err(_) => return Err(Lost::Silent(last)),
                    Ok(None) => return Err(Lost::Refused),
                    Ok(Some(connected)) => connected,
                };
            let (peer, since) = (stream.peer_addr(), Instant::now());
            self.epoch += 1;
            let target =
                Target { incarnation: Some(self.incarnation), epoch: self.epoch, ..handshake::RENDEZVOUS_OF_ANY };
            let patience = shake_patience(took);
            let shake = handshake::call_on(stream, &self.party, target, next_expected);
            match timeout(patience, shake).await.unwrap_or(Err(DialError::Silent)) {
                Ok(line) => {
                    if let Ok(peer) = peer {
                        self.addresses.sort_by_key(|address| *address != peer);
                    }
                    return Ok(line);
                }
                Err(DialError::Refused(refusal)) if refusal.is_final() => return Err(Lost::Unwanted(refusal)),
                Err(error) => last = error.to_string(),
            }
            sleep_until((since + PAUSE).into()).await;
        }
    }
}

/// The first connection to any of `addresses`, asked for at each attempt, and how long it took. `None` if the first of these
/// refuses for good.
pub(super) async fn first(
    addresses: &impl Fn() -> Vec<SocketAddr>,
    buffer: SocketBuffer,
    last: &mut String,
) -> Option<(TcpStream, Duration)> {
    let mut refusals = Refusals::default();
    let (mut attempts, mut rounds) = (JoinSet::new(), interval(PAUSE));
    loop {
        tokio::select! {
            _ = rounds.tick() => for address in addresses() {
                attempts.spawn(async move {
                    let began = Instant::now();
                    (address, handshake::connect(address, buffer, CONNECT_PATIENCE).await, began.elapsed())
                });
            },
            Some(Ok((address, outcome, took))) = attempts.join_next() => match outcome {
                Ok(stream) => return Some((stream, took)),
                Err(error) => {
                    *last = format!("{address}: {}", handshake::explain(&error));
                    if addresses().first() == Some(&address) && refusals.are_enough(&error, Instant::now()) {
                        return None;
                    }
                }
            },
        }
    }
}

/// Returns when nobody listens at `address`, asked for at each look, any more: when what was there has ended.
pub(super) async fn wait_for_end(address: impl Fn() -> SocketAddr) {
    let mut refusals = Refusals::default();
    loop {
        let outcome = handshake::connect(address(), SocketBuffer::BY_SYSTEM, CALM).await.map(drop);
        let pause = match &outcome {
            Err(error) if refusals.are_enough(error, Instant::now()) => return,
            Err(_) => PAUSE,
            Ok(()) => {
                refusals = Refusals::default();
                CALM
            }
        };
        sleep(pause).await;
    }
}

/// Refusals in succession.
#[derive(Default)]
struct Refusals {
    first: Option<Instant>,
    count: u32,
}

impl Refusals {
    /// Takes what has come of one more attempt. Returns whether it is certain that nobody listens.
    fn are_enough(&mut self, error: &io::Error, now: Instant) -> bool {
        if error.kind() != io::ErrorKind::ConnectionRefused {
            *self = Refusals::default();
            return false;
        }
        let first = *self.first.get_or_insert(now);
        self.count += 1;
        self.count >= REFUSALS.0 && now.duration_since(first) >= REFUSALS.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_in_succession_and_over_some_time_are_enough() {
        let (refused, other) = (io::ErrorKind::ConnectionRefused, io::ErrorKind::HostUnreachable);
        let start = Instant::now();
        let after = |outcomes: &[(u64, io::ErrorKind)]| {
            let mut refusals = Refusals::default();
            let mut enough = outcomes
                .iter()
                .map(|(ms, kind)| refusals.are_enough(&io::Error::from(*kind), start + Duration::from_millis(*ms)));
            enough.any(|enough| enough)
        };
        assert!(after(&[(0, refused), (250, refused), (500, refused)]));
        assert!(!after(&[(0, refused), (10, refused), (20, refused), (490, refused)]), "too soon");
        assert!(!after(&[(0, refused), (600, refused)]), "too few");
        assert!(!after(&[(0, refused), (250, other), (500, refused), (750, refused)]));
    }
}
