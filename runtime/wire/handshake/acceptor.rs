//! The side that is connected to.

use super::passes::{BYTE_ORDER, Fields, Hello, Options, sized, split_mac};
use super::{
    Authenticated, CHALLENGE_BYTES, Established, HELLO_BYTES, LANES_MAX, LINK, MAGIC, Nonce, OPEN, OPEN_BYTES, Party,
    Purpose, RESPONSE_BYTES, Refusal,
};
use crate::wire::authentication::{frame_seals, keyed_hash, seal, secret};
use crate::wire::cipher::Secret;
use crate::wire::refusal::CODE_READY;
use crate::wire::seal::Seals;

/// The side that was connected to.
#[derive(Debug)]
pub(crate) struct Acceptor {
    party: Party,
    purpose: Purpose,
    transcript: blake3::Hasher,
    hello: Option<Hello>,
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
