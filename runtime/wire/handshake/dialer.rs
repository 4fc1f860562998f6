//! The side that connects.

use super::passes::{BYTE_ORDER, Fields, Options, sized, split_mac};
use super::{
    CHALLENGE_BYTES, Established, HELLO_BYTES, MAGIC, Nonce, OPEN, OPEN_BYTES, Party, READY_BYTES, Refusal, Target,
};
use crate::wire::authentication::{frame_seals, job_id, keyed_hash, seal, secret};
use crate::wire::cipher::Secret;
use crate::wire::refusal::CODE_READY;
use crate::wire::seal::Seals;

/// The side that connected.
#[derive(Debug)]
pub(crate) struct Dialer {
    party: Party,
    target: Target,
    pub(super) transcript: blake3::Hasher,
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
