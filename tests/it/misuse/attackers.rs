//! Attackers that do not know the job's key, for tests and benches: what they do, and whether it let them in.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::chance::Chance;

/// What they do. Each comes in as many variants as one likes.
pub(crate) const KINDS: [&str; 8] = [
    "silence",
    "byte by byte",
    "random bytes",
    "right magic, then random bytes",
    "a hello replayed",
    "a session replayed",
    "connect and close",
    "closed at every byte",
];

// How long the parts of a handshake are; a replayed hello that gets no challenge shows that they have changed.
const HELLO_BYTES: usize = 103;
const CHALLENGE_BYTES: usize = 92;
const PROOF_BYTES: usize = 40;
/// Connections that one attacker keeps open at a time; two keep more than a listener does.
const KEPT_MAX: usize = 60;
/// How long an attacker waits for an answer: for a process on this machine a long time.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one waits that expects none.
const GLANCE: Duration = Duration::from_millis(1);

/// Stands between one rank and the rendezvous, at `front`. Returns what the rank said first, and carries on.
///
/// # Panics
/// If no rank comes, or `back` does not listen.
pub(crate) fn record(front: &TcpListener, back: impl FnOnce() -> SocketAddr) -> Vec<u8> {
    let (mut rank, _) = front.accept().expect("a rank comes");
    let mut rendezvous = connected(back());
    let mut session = vec![0; HELLO_BYTES];
    rank.read_exact(&mut session).and_then(|()| rendezvous.write_all(&session)).expect("a hello");
    let mut challenge = [0; CHALLENGE_BYTES];
    rendezvous.read_exact(&mut challenge).and_then(|()| rank.write_all(&challenge)).expect("a challenge");
    let mut proof = [0; PROOF_BYTES];
    rank.read_exact(&mut proof).and_then(|()| rendezvous.write_all(&proof)).expect("a proof");
    session.extend_from_slice(&proof);
    let ways = [(rank.try_clone(), rendezvous.try_clone()), (Ok(rendezvous), Ok(rank))];
    for (from, to) in ways {
        let (mut from, mut to) = (from.expect("a socket"), to.expect("a socket"));
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    session
}

/// A connection, as soon as somebody listens.
fn connected(address: SocketAddr) -> TcpStream {
    let end = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < end, "{address}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One of them.
pub(crate) struct Attacker {
    address: SocketAddr,
    /// A hello and the proof that followed it.
    session: Vec<u8>,
    noise: Chance,
    silent: VecDeque<TcpStream>,
    slow: VecDeque<(TcpStream, usize)>,
    /// How often it was answered with a challenge.
    pub(crate) challenges: u32,
}

impl Attacker {
    /// One that goes to `address`, and knows what [`record`] has returned.
    pub(crate) fn new(address: SocketAddr, session: Vec<u8>, seed: u64) -> Self {
        Attacker {
            address,
            session,
            noise: Chance(seed),
            silent: VecDeque::new(),
            slow: VecDeque::new(),
            challenges: 0,
        }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        self.noise.bytes(count)
    }

    /// One attack. Returns whether it was answered by more than a stranger may be.
    ///
    /// # Errors
    /// If nobody listens.
    pub(crate) fn attempt(&mut self, kind: &str, variant: usize) -> io::Result<bool> {
        let mut stream = TcpStream::connect(self.address)?;
        let hello = self.session[..HELLO_BYTES].to_vec();
        // Wherever the other side hangs up first, that is as it should be.
        Ok(match kind {
            "silence" => {
                self.silent.push_back(stream);
                self.silent.drain(..self.silent.len().saturating_sub(KEPT_MAX));
                false
            }
            "byte by byte" => {
                self.slow.push_back((stream, 0));
                self.slow.drain(..self.slow.len().saturating_sub(KEPT_MAX));
                self.slow.retain_mut(|(stream, sent)| {
                    *sent += 1;
                    *sent < HELLO_BYTES && stream.write_all(&hello[*sent - 1..*sent]).is_ok()
                });
                false
            }
            "random bytes" => {
                let count = (self.noise.next() % 400) as usize;
                let sent = self.bytes(count);
                self.said(&mut stream, &sent, GLANCE) > CHALLENGE_BYTES
            }
            "right magic, then random bytes" => {
                let sent = [&hello[..8], &self.bytes(HELLO_BYTES + PROOF_BYTES)].concat();
                self.said(&mut stream, &sent, GLANCE) > CHALLENGE_BYTES
            }
            "a hello replayed" => {
                let sent = [&hello[..], &self.bytes(PROOF_BYTES)].concat();
                self.said(&mut stream, &sent, PATIENCE) > CHALLENGE_BYTES
            }
            "a session replayed" => {
                let sent = self.session.clone();
                self.said(&mut stream, &sent, PATIENCE) > CHALLENGE_BYTES
            }
            "connect and close" => false,
            "closed at every byte" => {
                let _ = stream.write_all(&self.session[..variant % self.session.len()]);
                false
            }
            _ => unreachable!("{kind}"),
        })
    }

    /// Sends all of `bytes`. Returns how many come back before the connection is closed, or nothing has come for so long.
    fn said(&mut self, stream: &mut TcpStream, bytes: &[u8], patience: Duration) -> usize {
        let _ = stream.set_read_timeout(Some(patience));
        let _ = stream.write_all(bytes);
        let (mut count, mut answer) = (0, [0; 1024]);
        while let Ok(more @ 1..) = stream.read(&mut answer) {
            count += more;
        }
        self.challenges += u32::from(count >= CHALLENGE_BYTES);
        count
    }
}
