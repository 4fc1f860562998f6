//! The keyed handshake that opens every connection: HELLO, CHALLENGE, PROOF, READY, and on a link OPEN. Bytes in, bytes out.
//!
//! Every pass has one fixed size and no length field. The job key never travels; both sides show by a MAC that they know it
//! with BLAKE3 in keyed mode over all bytes of the connection so far, so purposes, ranks, nonces, versions, options,
//! incarnation and epoch cannot be changed, replayed, reflected or relayed. What does not fit is named only to a peer
//! that is authenticated; a stranger sees a closed connection.
//!
//! READY may be lost with its connection, and its sender cannot know. So a link counts only when its dialer has answered READY
//! with OPEN; a dialer that had none dials again with a greater epoch, and replaces what is left of its earlier connection. A
//! control connection needs no OPEN: the rank's first report says the same.

pub use super::authentication::job_id;
use super::authentication::{frame_seals, keyed_hash, seal, secret};
use super::cipher::Secret;
use super::refusal::CODE_READY;
pub use super::refusal::{RENDEZVOUS, Refusal};
use super::seal::Seals;
use crate::config::{Config, Key};

/// The protocol versions this build speaks: first and last.
pub const VERSIONS: (u16, u16) = (5, 5);
/// What the kernel counts on when it dials or accepts: the size of each pass in bytes.
pub(crate) const HELLO_BYTES: usize = 8 + 4 + 1 + OPTIONS_BYTES + 16 + 12 + 8 + 4 + NONCE_BYTES;
/// CHALLENGE; not longer than HELLO, so that answering a stranger multiplies nothing.
pub(crate) const CHALLENGE_BYTES: usize = 2 + OPTIONS_BYTES + 8 + NONCE_BYTES + MAC_BYTES;
/// PROOF.
pub(crate) const RESPONSE_BYTES: usize = 8 + MAC_BYTES;
/// READY.
pub(crate) const READY_BYTES: usize = 1 + 8 + MAC_BYTES;
/// OPEN.
pub(crate) const OPEN_BYTES: usize = MAC_BYTES;

const MAGIC: [u8; 8] = *b"lathide\0";
const OPTIONS_BYTES: usize = 1 + 1 + 8 + 4 + 4;
const NONCE_BYTES: usize = 32;
const MAC_BYTES: usize = 32;
const OPEN: &[u8] = b"open";
const _: () = assert!(CHALLENGE_BYTES <= HELLO_BYTES);

/// Random bytes, new for each connection and side.
pub(crate) type Nonce = [u8; NONCE_BYTES];

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A node's connection to the rendezvous.
    Control,
    /// A link between two ranks: its first lane.
    Link,
    /// Another lane of a link that is there, by its number from 1 on.
    Lane(u8),
}

/// What stands for a link; lanes follow.
const LINK: u8 = 2;
/// The last lane's number.
const LANES_MAX: u8 = 63;

impl Purpose {
    fn code(self) -> u8 {
        match self {
            Purpose::Control => 1,
            Purpose::Link => LINK,
            Purpose::Lane(lane) => LINK + lane.min(LANES_MAX),
        }
    }

    fn is_of_link(self) -> bool {
        self != Purpose::Control
    }
}

/// What each side tells the other of itself, inside the response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How much may arrive before a read is posted for it.
    pub window_bytes: u64,
    /// How many messages beyond the window may be announced.
    pub envelopes_max: u32,
    /// The most payload its fragments carry.
    pub fragment_bytes: u32,
}

/// The least share of a node's budget that one link has, however many there are: enough for a burst of small messages.
const SHARE_BYTES_MIN: u64 = 64 << 10;

impl Limits {
    /// The limits of a node with this configuration.
    pub fn of(config: &Config) -> Self {
        let share = config.budget_bytes / u64::from(config.size.max(1));
        Limits {
            window_bytes: config.window_bytes.min(share.max(SHARE_BYTES_MIN)),
            envelopes_max: config.envelopes_max,
            fragment_bytes: config.fragment_bytes.try_into().unwrap_or(u32::MAX),
        }
    }
}

/// One end of a handshake: this process as it presents itself.
#[derive(Clone, Debug)]
pub struct Party {
    /// The job's secret.
    pub key: Key,
    /// Its rank, or [`RENDEZVOUS`].
    pub rank: u32,
    /// The number of ranks it believes the job has.
    pub size: u32,
    /// Drawn once per process, so that a process of an earlier run is not taken for this one.
    pub incarnation: u64,
    /// Its limits.
    pub limits: Limits,
    /// Whether it encrypts its links.
    pub encrypts: bool,
    /// Whether it puts checksums in its links; none where it encrypts, which finds more.
    pub checks: bool,
    /// The versions it speaks.
    pub versions: (u16, u16),
}

impl Party {
    fn encrypts(&self, purpose: Purpose) -> bool {
        self.encrypts && purpose.is_of_link()
    }

    fn checks(&self, purpose: Purpose) -> bool {
        self.checks && !self.encrypts && purpose.is_of_link()
    }

    /// Whether the other side of a connection does with what it carries what this one does.
    fn agrees(&self, purpose: Purpose, theirs: &Options) -> Result<(), Refusal> {
        let ours = Options::of(self);
        if purpose.is_of_link() && theirs.encrypts != ours.encrypts {
            Err(Refusal::Encryption { theirs: theirs.encrypts })
        } else if purpose.is_of_link() && theirs.checks != ours.checks {
            Err(Refusal::Checksum { theirs: theirs.checks })
        } else {
            Ok(())
        }
    }
}

/// Whom a dialer wants to reach.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What for.
    pub purpose: Purpose,
    /// Its rank, or [`RENDEZVOUS`].
    pub rank: u32,
    /// Its incarnation, if the rendezvous has told it.
    pub incarnation: Option<u64>,
    /// The number of this connection of the link; a later one replaces an earlier one.
    pub epoch: u32,
}

/// What a finished handshake established about the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Established {
    /// Its limits.
    pub limits: Limits,
    /// Its incarnation.
    pub incarnation: u64,
    /// The number of the next frame it expects.
    pub next_expected: u64,
}

/// The side that connected.
#[derive(Debug)]
pub(crate) struct Dialer {
    party: Party,
    target: Target,
    transcript: blake3::Hasher,
    peer: Option<(Options, u64)>,
}

impl Dialer {
    /// Starts a handshake; the bytes are HELLO.
    pub(crate) fn hello(party: &Party, target: Target, nonce: &Nonce) -> (Self, Vec<u8>) {
        let mut bytes = Vec::with_capacity(HELLO_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(party.versions.0.to_le_bytes());
        bytes.extend(party.versions.1.to_le_bytes());
        bytes.push(target.purpose.code());
        Options::of(party).encode(&mut bytes);
        bytes.extend(job_id(&party.key));
        bytes.extend(party.rank.to_le_bytes());
        bytes.extend(target.rank.to_le_bytes());
        bytes.extend(party.size.to_le_bytes());
        bytes.extend(party.incarnation.to_le_bytes());
        bytes.extend(target.epoch.to_le_bytes());
        bytes.extend(nonce);
        debug_assert_eq!(bytes.len(), HELLO_BYTES);
        let mut transcript = blake3::Hasher::new();
        transcript.update(&bytes);
        (Dialer { party: party.clone(), target, transcript, peer: None }, bytes)
    }

    /// Takes CHALLENGE; the bytes are PROOF.
    pub(crate) fn challenged(&mut self, challenge: &[u8], next_expected: u64) -> Result<Vec<u8>, Refusal> {
        let body = sized(challenge, CHALLENGE_BYTES)?;
        let (body, mac) = split_mac(body);
        self.transcript.update(body);
        if mac != keyed_hash(&self.party.key, "acceptor", &self.transcript) {
            return Err(Refusal::Unauthenticated);
        }
        self.transcript.update(mac.as_bytes());
        let mut fields = Fields(body);
        let version = fields.u16();
        let options = Options::decode(&mut fields);
        let incarnation = fields.u64();
        let (first, last) = self.party.versions;
        if version < first || version > last {
            return Err(Refusal::Version { ours: self.party.versions, theirs: version });
        }
        if options.byte_order != BYTE_ORDER {
            return Err(Refusal::ByteOrder);
        }
        self.party.agrees(self.target.purpose, &options)?;
        if self.target.incarnation.is_some_and(|wanted| wanted != incarnation) {
            return Err(Refusal::Incarnation);
        }
        self.peer = Some((options, incarnation));
        let mut response = next_expected.to_le_bytes().to_vec();
        self.transcript.update(&response);
        let mac = keyed_hash(&self.party.key, "dialer", &self.transcript);
        self.transcript.update(mac.as_bytes());
        response.extend(mac.as_bytes());
        Ok(response)
    }

    /// What opens the connection's cipher, if it is to have one. CHALLENGE has been taken.
    pub(crate) fn secret(&self) -> Option<Secret> {
        self.party.encrypts(self.target.purpose).then(|| secret(&self.party.key, &self.transcript))
    }

    /// Whether what the connection carries has checksums.
    pub(crate) fn checks(&self) -> bool {
        self.party.checks(self.target.purpose)
    }

    /// Takes READY: the connection is open, or an authenticated peer says why not.
    pub(crate) fn ready(&self, ready: &[u8]) -> Result<Established, Refusal> {
        let (body, mac) = split_mac(sized(ready, READY_BYTES)?);
        if mac != seal(&self.party.key, &self.transcript, body) {
            return Err(Refusal::Unauthenticated);
        }
        let Some((options, incarnation)) = self.peer else {
            return Err(Refusal::Stranger("READY before CHALLENGE"));
        };
        let mut fields = Fields(body);
        let (code, detail) = (fields.u8(), fields.u64());
        if code != CODE_READY {
            return Err(Refusal::Told { code, detail });
        }
        Ok(Established { limits: options.limits, incarnation, next_expected: detail })
    }

    /// What tags the frames of a control connection. CHALLENGE has been taken.
    pub(crate) fn seals(&self) -> Seals {
        let (outgoing, incoming) = frame_seals(&self.party.key, &self.transcript);
        Seals { outgoing, incoming }
    }

    /// Tells a link's acceptor that READY has come. READY has been taken.
    pub(crate) fn open(&self) -> [u8; OPEN_BYTES] {
        *seal(&self.party.key, &self.transcript, OPEN).as_bytes()
    }
}

/// The side that was connected to.
#[derive(Debug)]
pub(crate) struct Acceptor {
    party: Party,
    purpose: Purpose,
    transcript: blake3::Hasher,
    hello: Option<Hello>,
}

/// A dialer that has shown that it knows the key, and whether what it wants fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authenticated {
    /// Its rank, below the job's size if `fits` is `Ok`.
    pub rank: u32,
    /// Which lane of the link it brings; 0: the first.
    pub lane: u8,
    /// The number of this connection of the lane.
    pub epoch: u32,
    /// Its limits, its incarnation, the next frame it expects.
    pub established: Established,
    /// What does not fit, if anything.
    pub fits: Result<(), Refusal>,
}

impl Acceptor {
    /// Waits for a HELLO with this purpose.
    pub(crate) fn new(party: &Party, purpose: Purpose) -> Self {
        Acceptor { party: party.clone(), purpose, transcript: blake3::Hasher::new(), hello: None }
    }

    /// Whether a connection's first eight bytes are lathide's.
    pub(crate) fn knows(first: &[u8]) -> bool {
        first == MAGIC
    }

    /// Takes HELLO; the bytes are CHALLENGE.
    pub(crate) fn hello(&mut self, hello: &[u8], nonce: &Nonce) -> Result<Vec<u8>, Refusal> {
        let decoded = Hello::decode(sized(hello, HELLO_BYTES)?)?;
        self.transcript.update(hello);
        let mut bytes = Vec::with_capacity(CHALLENGE_BYTES);
        bytes.extend(self.common_version(&decoded).unwrap_or(self.party.versions.1).to_le_bytes());
        Options::of(&self.party).encode(&mut bytes);
        bytes.extend(self.party.incarnation.to_le_bytes());
        bytes.extend(nonce);
        self.transcript.update(&bytes);
        let mac = keyed_hash(&self.party.key, "acceptor", &self.transcript);
        self.transcript.update(mac.as_bytes());
        bytes.extend(mac.as_bytes());
        debug_assert_eq!(bytes.len(), CHALLENGE_BYTES);
        self.hello = Some(decoded);
        Ok(bytes)
    }

    /// Takes PROOF: who the dialer is, and whether it fits.
    pub(crate) fn response(&mut self, response: &[u8]) -> Result<Authenticated, Refusal> {
        let (body, mac) = split_mac(sized(response, RESPONSE_BYTES)?);
        self.transcript.update(body);
        if mac != keyed_hash(&self.party.key, "dialer", &self.transcript) {
            return Err(Refusal::Unauthenticated);
        }
        self.transcript.update(mac.as_bytes());
        let Some(hello) = &self.hello else { return Err(Refusal::Stranger("PROOF before HELLO")) };
        let established = Established {
            limits: hello.options.limits,
            incarnation: hello.incarnation,
            next_expected: Fields(body).u64(),
        };
        let lane = hello.purpose.saturating_sub(LINK);
        Ok(Authenticated { rank: hello.from, lane, epoch: hello.epoch, established, fits: self.fits(hello) })
    }

    /// What opens the connection's cipher, if it is to have one. PROOF has been taken.
    pub(crate) fn secret(&self) -> Option<Secret> {
        self.party.encrypts(self.purpose).then(|| secret(&self.party.key, &self.transcript))
    }

    /// Whether what the connection carries has checksums.
    pub(crate) fn checks(&self) -> bool {
        self.party.checks(self.purpose)
    }

    /// The bytes are READY, with the next frame expected or with what does not fit.
    pub(crate) fn ready(&self, verdict: Result<u64, &Refusal>) -> Vec<u8> {
        let (code, detail) = match verdict {
            Ok(next_expected) => (CODE_READY, next_expected),
            Err(refusal) => refusal.code(),
        };
        let mut bytes = vec![code];
        bytes.extend(detail.to_le_bytes());
        let mac = seal(&self.party.key, &self.transcript, &bytes);
        bytes.extend(mac.as_bytes());
        bytes
    }

    /// What tags the frames of a control connection. PROOF has been taken.
    pub(crate) fn seals(&self) -> Seals {
        let (incoming, outgoing) = frame_seals(&self.party.key, &self.transcript);
        Seals { outgoing, incoming }
    }

    /// Whether these bytes are the dialer's OPEN.
    pub(crate) fn is_open(&self, open: [u8; OPEN_BYTES]) -> bool {
        blake3::Hash::from_bytes(open) == seal(&self.party.key, &self.transcript, OPEN)
    }

    fn common_version(&self, hello: &Hello) -> Option<u16> {
        let version = hello.versions.1.min(self.party.versions.1);
        (version >= hello.versions.0 && version >= self.party.versions.0).then_some(version)
    }

    fn fits(&self, hello: &Hello) -> Result<(), Refusal> {
        let Party { rank, size, versions, .. } = self.party;
        if self.common_version(hello).is_none() {
            return Err(Refusal::Version { ours: versions, theirs: hello.versions.1 });
        }
        if hello.options.byte_order != BYTE_ORDER {
            return Err(Refusal::ByteOrder);
        }
        // Who lets links in lets their lanes in.
        let is_lane = self.purpose == Purpose::Link && (LINK..=LINK + LANES_MAX).contains(&hello.purpose);
        if hello.purpose != self.purpose.code() && !is_lane {
            return Err(Refusal::Purpose);
        }
        self.party.agrees(self.purpose, &hello.options)?;
        if hello.to != rank {
            return Err(Refusal::WrongPeer { wanted: hello.to, theirs: rank });
        }
        if hello.size != size || hello.from >= size {
            return Err(Refusal::Size { ours: size, theirs: hello.size });
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Options {
    byte_order: u8,
    encrypts: bool,
    checks: bool,
    limits: Limits,
}

/// Elements travel as the machine holds them: 1 little-endian, 2 big-endian.
const BYTE_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// What is done with what a link carries: of these one at most.
const ENCRYPTS: u8 = 1;
const CHECKS: u8 = 2;

impl Options {
    fn of(party: &Party) -> Self {
        let checks = party.checks(Purpose::Link);
        Options { byte_order: BYTE_ORDER, encrypts: party.encrypts, checks, limits: party.limits }
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.byte_order);
        bytes.push((u8::from(self.encrypts) * ENCRYPTS) | (u8::from(self.checks) * CHECKS));
        bytes.extend(self.limits.window_bytes.to_le_bytes());
        bytes.extend(self.limits.envelopes_max.to_le_bytes());
        bytes.extend(self.limits.fragment_bytes.to_le_bytes());
    }

    fn decode(fields: &mut Fields<'_>) -> Self {
        let (byte_order, flags) = (fields.u8(), fields.u8());
        let (encrypts, checks) = (flags & ENCRYPTS != 0, flags & CHECKS != 0);
        let limits = Limits { window_bytes: fields.u64(), envelopes_max: fields.u32(), fragment_bytes: fields.u32() };
        Options { byte_order, encrypts, checks, limits }
    }
}

#[derive(Debug)]
struct Hello {
    versions: (u16, u16),
    purpose: u8,
    options: Options,
    from: u32,
    to: u32,
    size: u32,
    incarnation: u64,
    epoch: u32,
}

impl Hello {
    fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields(bytes);
        if fields.take::<8>() != MAGIC {
            return Err(Refusal::Stranger("its first bytes are not lathide's"));
        }
        let versions = (fields.u16(), fields.u16());
        let purpose = fields.u8();
        let options = Options::decode(&mut fields);
        // The job id follows from the key, which the response will show; it is there for who looks at the wire.
        fields.take::<16>();
        let (from, to, size) = (fields.u32(), fields.u32(), fields.u32());
        let (incarnation, epoch) = (fields.u64(), fields.u32());
        Ok(Hello { versions, purpose, options, from, to, size, incarnation, epoch })
    }
}

fn sized(bytes: &[u8], expected: usize) -> Result<&[u8], Refusal> {
    if bytes.len() == expected { Ok(bytes) } else { Err(Refusal::Stranger("a pass of the wrong size")) }
}

/// Body and MAC of a pass whose size was checked. `blake3::Hash` compares in constant time.
fn split_mac(bytes: &[u8]) -> (&[u8], blake3::Hash) {
    let (body, mac) = bytes.split_last_chunk::<MAC_BYTES>().expect("a pass is longer than its MAC");
    (body, blake3::Hash::from_bytes(*mac))
}

/// Reads fields off bytes whose length was checked before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk::<N>().expect("the size of a pass was checked");
        self.0 = rest;
        *field
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
