//! Twelve kinds of attackers at a node's listener while the job connects: none gets in, and none keeps a rank out.
//!
//! Rank 2 of 3 listens. Rank 1 connects at once, recorded by somebody on the way; rank 0 connects when all attackers have
//! had their turn. Each kind comes in a thousand variants, from a seed (`LATHIDE_SEED`) that a failure names.

use std::collections::VecDeque;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::chance::Chance;
use crate::config::Key;
use crate::wire::handshake::{CHALLENGE_BYTES, Dialer, HELLO_BYTES, READY_BYTES, RESPONSE_BYTES};

const VARIANTS: u64 = 1000;
const KEY: [u8; 32] = *b"a key that only these tests know";
/// The epoch of rank 1's connection.
const EPOCH: u32 = 7;
/// Connections that attackers keep open at a time, more than a node keeps unauthenticated ones.
const KEPT_MAX: usize = 100;
/// How long an attacker waits for an answer: for a node on this machine a long time.
const PATIENCE: Duration = Duration::from_secs(4);

/// What somebody on the way has of rank 1's handshake.
struct Recorded {
    hello: Vec<u8>,
    response: Vec<u8>,
}

struct Attack {
    address: SocketAddr,
    recorded: Recorded,
    noise: Chance,
    kept: VecDeque<TcpStream>,
}

fn party(rank: u32) -> Party {
    let limits = Limits::of(&Config::alone());
    let (key, incarnation) = (Key::from_bytes(KEY), 100 + u64::from(rank));
    Party { key, rank, size: 3, incarnation, limits, encrypts: false, checks: false, versions: VERSIONS }
}

fn target(rank: u32, epoch: u32) -> Target {
    Target { purpose: Purpose::Link, rank, incarnation: Some(100 + u64::from(rank)), epoch }
}

impl Attack {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the listener is there")
    }

    fn keep(&mut self, stream: TcpStream) {
        self.kept.push_back(stream);
        if self.kept.len() > KEPT_MAX {
            self.kept.pop_front();
        }
    }

    /// Sends `hello`; what comes back, if it is all of a CHALLENGE.
    async fn challenge(&self, hello: &[u8]) -> (TcpStream, Option<Vec<u8>>) {
        let mut stream = self.connect().await;
        // The node may have hung up already.
        let _ = stream.write_all(hello).await;
        let mut challenge = vec![0; CHALLENGE_BYTES];
        let came = timeout(PATIENCE, stream.read_exact(&mut challenge)).await;
        let is_whole = matches!(came, Ok(Ok(_)));
        (stream, is_whole.then_some(challenge))
    }

    /// Sends `proof`; the READY that comes back, if one does.
    async fn ready(&self, mut stream: TcpStream, response: &[u8]) -> Option<Vec<u8>> {
        let _ = stream.write_all(response).await;
        let mut ready = vec![0; READY_BYTES];
        let came = timeout(PATIENCE, stream.read_exact(&mut ready)).await.expect("an answer, or a closed connection");
        came.is_ok().then_some(ready)
    }

    /// A handshake by somebody who knows the key, but is not who should come. Returns whether it is let in.
    async fn knowing(&mut self, party: &Party, target: Target) -> bool {
        let (mut dialer, hello) = Dialer::hello(party, target, &nonce(&mut self.noise));
        let (stream, challenge) = self.challenge(&hello).await;
        let Ok(response) = dialer.challenged(&challenge.expect("a challenge"), 0) else { return false };
        let ready = self.ready(stream, &response).await.expect("who knows the key is told");
        dialer.ready(&ready).is_ok()
    }

    /// One variant of an attack. Returns whether it got in.
    async fn attempt(&mut self, kind: &str, variant: u32) -> bool {
        let (mut dialer, hello) = Dialer::hello(&party(0), target(2, variant), &nonce(&mut self.noise));
        let foreign = Party { key: Key::from_bytes(nonce(&mut self.noise)), ..party(0) };
        match kind {
            "silence" => {
                let stream = self.connect().await;
                self.keep(stream);
                false
            }
            "byte by byte" => {
                let mut stream = self.connect().await;
                for byte in &hello[..variant as usize % HELLO_BYTES] {
                    if stream.write_all(std::slice::from_ref(byte)).await.is_err() {
                        break;
                    }
                }
                self.keep(stream);
                false
            }
            "random bytes" => {
                let length = (self.noise.next() % 400) as usize;
                let bytes = self.noise.bytes(length);
                let (stream, challenge) = self.challenge_or_leave(&bytes).await;
                self.keep(stream);
                challenge
            }
            "right magic, wrong key" => {
                let (mut forger, hello) = Dialer::hello(&foreign, target(2, variant), &nonce(&mut self.noise));
                let (stream, challenge) = self.challenge(&hello).await;
                assert!(
                    forger.challenged(&challenge.expect("a challenge"), 0).is_err(),
                    "the node's response fits any key"
                );
                let response = self.noise.bytes(RESPONSE_BYTES);
                self.ready(stream, &response).await.is_some()
            }
            "a hello replayed" => {
                let (stream, challenge) = self.challenge(&self.recorded.hello).await;
                assert!(challenge.is_some());
                let response = self.noise.bytes(RESPONSE_BYTES);
                self.ready(stream, &response).await.is_some()
            }
            "a session replayed" => {
                let (stream, challenge) = self.challenge(&self.recorded.hello).await;
                assert!(challenge.is_some());
                let mut response = self.recorded.response.clone();
                response[..8].copy_from_slice(&u64::from(variant).to_le_bytes());
                self.ready(stream, &response).await.is_some()
            }
            "reflection" => {
                // The node's own response comes back, that of this connection or of another one with the same words.
                let (first, challenge) = self.challenge(&hello).await;
                let (second, other) = self.challenge(&hello).await;
                let mut response = u64::from(variant).to_le_bytes().to_vec();
                let seen = if variant.is_multiple_of(2) { challenge } else { other };
                response.extend_from_slice(&seen.expect("a challenge")[CHALLENGE_BYTES - 32..]);
                drop(second);
                self.ready(first, &response).await.is_some()
            }
            "relay to another rank" => {
                // Rank 0 wants rank 1; somebody on the way leads it here.
                let wanted = Target { incarnation: None, ..target(1, variant) };
                self.knowing(&party(0), wanted).await
            }
            "downgrade on the way" => {
                // Versions, purpose, options, job: whatever is changed, one side reads other bytes than the other wrote.
                let mut meddled = hello.clone();
                let at = 8 + variant as usize % (HELLO_BYTES - 8);
                meddled[at] ^= 1 + (self.noise.next() % 255) as u8;
                let (stream, challenge) = self.challenge(&meddled).await;
                assert!(dialer.challenged(&challenge.expect("a challenge"), 0).is_err(), "byte {at} is not proved");
                let response = self.noise.bytes(RESPONSE_BYTES);
                self.ready(stream, &response).await.is_some()
            }
            "an old epoch" => self.knowing(&party(1), target(2, variant % (EPOCH + 1))).await,
            "an earlier run" => {
                let stale = Party { incarnation: 1000 + u64::from(variant), ..party(0) };
                self.knowing(&stale, target(2, variant)).await
            }
            "closed at every byte" => {
                let cut = variant as usize % (HELLO_BYTES + RESPONSE_BYTES);
                if cut < HELLO_BYTES {
                    let mut stream = self.connect().await;
                    let _ = stream.write_all(&hello[..cut]).await;
                    return false;
                }
                let (mut stream, challenge) = self.challenge(&hello).await;
                let response = dialer.challenged(&challenge.expect("a challenge"), 0).expect("the key is right");
                let _ = stream.write_all(&response[..cut - HELLO_BYTES]).await;
                false
            }
            other => panic!("no such attack: {other}"),
        }
    }

    /// Sends bytes that mean nothing. Returns whether they were answered at once.
    async fn challenge_or_leave(&self, bytes: &[u8]) -> (TcpStream, bool) {
        let mut stream = self.connect().await;
        let _ = stream.write_all(bytes).await;
        let answer = timeout(Duration::from_millis(1), stream.read(&mut [0; 1])).await;
        (stream, matches!(answer, Ok(Ok(1))))
    }
}

const KINDS: [&str; 12] = [
    "silence",
    "byte by byte",
    "random bytes",
    "right magic, wrong key",
    "a hello replayed",
    "a session replayed",
    "reflection",
    "relay to another rank",
    "downgrade on the way",
    "an old epoch",
    "an earlier run",
    "closed at every byte",
];

/// Rank 1's handshake, with what went over the wire.
async fn record(address: SocketAddr) -> (TcpStream, Recorded) {
    let (mut dialer, hello) = Dialer::hello(&party(1), target(2, EPOCH), &[5; 32]);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&hello).await.unwrap();
    let mut challenge = [0; CHALLENGE_BYTES];
    stream.read_exact(&mut challenge).await.unwrap();
    let response = dialer.challenged(&challenge, 0).unwrap();
    stream.write_all(&response).await.unwrap();
    let mut ready = [0; READY_BYTES];
    stream.read_exact(&mut ready).await.unwrap();
    dialer.ready(&ready).unwrap();
    stream.write_all(&dialer.open()).await.unwrap();
    (stream, Recorded { hello, response })
}

async fn besieged(seed: u64) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let table = Table {
        addresses: vec![address; 3],
        incarnations: vec![100, 101, 102],
        launcher: false,
        may_poll: vec![],
        ranks_per_core: 1.0,
    };
    let (mut control, _other_end) = Control::silent(address.ip());
    let deadline = Instant::now() + Duration::from_secs(300);
    let victim = tokio::spawn(async move {
        connect(party(2), listener, SocketBuffer::BY_SYSTEM, table, &mut control, deadline).await
    });

    let (mut first, recorded) = record(address).await;
    let mut attack = Attack { address, recorded, noise: Chance(seed), kept: VecDeque::new() };
    for kind in KINDS {
        let mut accepted = 0;
        for variant in 0..variants() {
            accepted += u32::from(attack.attempt(kind, variant).await);
        }
        assert_eq!(accepted, 0, "{kind}: {accepted} of {} got in (LATHIDE_SEED={seed})", variants());
    }

    // With silent ones at every place, rank 0 still comes in, and rank 1 still has its connection.
    let (mut last, _) = handshake::dial(address, &party(0), target(2, 1), 0, SocketBuffer::BY_SYSTEM)
        .await
        .expect("rank 0 belongs here");
    let (mut links, _) = victim.await.unwrap().expect("all links are there");
    for (rank, own) in [(0, &mut last.stream), (1, &mut first)] {
        let (link, _) = links[rank].as_mut().expect("a link");
        link.stream.write_all(&[rank as u8]).await.unwrap();
        let mut byte = [9];
        timeout(PATIENCE, own.read_exact(&mut byte)).await.expect("its byte").unwrap();
        assert_eq!(byte, [rank as u8]);
    }
}

#[test]
fn none_of_twelve_kinds_of_attackers_gets_in_or_keeps_a_rank_out() {
    let seed = std::env::var("LATHIDE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watched = async { timeout(Duration::from_secs(280), besieged(seed)).await.expect("the test hangs") };
    runtime.block_on(watched);
}

fn variants() -> u32 {
    crate::scale::scaled(VARIANTS) as u32
}

fn nonce(chance: &mut Chance) -> [u8; 32] {
    std::array::from_fn(|_| chance.next() as u8)
}
