//! What follows from the job's key: its public name and the responses and secrets of the handshake. BLAKE3 throughout, not negotiated.

use super::cipher::Secret;
use super::seal::Seal;
use crate::config::Key;

/// The job's public name: follows from the key, and does not give it away.
pub fn job_id(key: &Key) -> [u8; 16] {
    let id = blake3::derive_key("lathide v1 job id", &key.0);
    let mut short = [0; 16];
    short.copy_from_slice(&id[..16]);
    short
}

/// A MAC with the handshake key over all bytes so far, labelled with who makes it.
pub(super) fn keyed_hash(key: &Key, label: &str, transcript: &blake3::Hasher) -> blake3::Hash {
    let mac_key = blake3::derive_key("lathide v1 handshake", &key.0);
    let mut mac = blake3::Hasher::new_keyed(&mac_key);
    mac.update(label.as_bytes()).update(transcript.finalize().as_bytes());
    mac.finalize()
}

/// The MAC of READY, with the key of this very session: nobody can have seen it before.
pub(super) fn seal(key: &Key, transcript: &blake3::Hasher, body: &[u8]) -> blake3::Hash {
    let mut session = blake3::Hasher::new_derive_key("lathide v1 session");
    session.update(&key.0).update(transcript.finalize().as_bytes());
    blake3::keyed_hash(session.finalize().as_bytes(), body)
}

/// What opens the cipher of this very session.
pub(super) fn secret(key: &Key, transcript: &blake3::Hasher) -> Secret {
    let mut secret = blake3::Hasher::new_derive_key("lathide v1 cipher");
    secret.update(&key.0).update(transcript.finalize().as_bytes());
    Secret(*secret.finalize().as_bytes())
}

/// What tags the control frames of this very session: the dialer's, and the acceptor's.
pub(super) fn frame_seals(key: &Key, transcript: &blake3::Hasher) -> (Seal, Seal) {
    let seal = |from: &str| {
        let mut derived = blake3::Hasher::new_derive_key("lathide v1 control frames");
        derived.update(&key.0).update(transcript.finalize().as_bytes()).update(from.as_bytes());
        Seal::new(*derived.finalize().as_bytes())
    };
    (seal("dialer"), seal("acceptor"))
}
