//! What shows that a control frame is the next one its sender has sent, and unchanged.
//!
//! A tag follows each frame: BLAKE3 in keyed mode over the frame's number and its bytes, with a key of this connection and
//! direction that the handshake has made. So nobody on the way can change, repeat, reorder, leave out or reflect a
//! frame, or say one of his own; what he can do is cut the connection.

/// What follows each frame.
pub(crate) const TAG_BYTES: usize = 32;

/// One direction of a control connection.
pub(crate) struct Seal {
    key: [u8; 32],
    count: u64,
}

/// Both directions, as one end sees them.
pub(crate) struct Seals {
    /// What this end says.
    pub(crate) outgoing: Seal,
    /// What it hears.
    pub(crate) incoming: Seal,
}

impl Seal {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Seal { key, count: 0 }
    }

    /// The tag of the next frame, whose bytes come in these parts.
    pub(crate) fn tag(&mut self, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        *self.next(parts).as_bytes()
    }

    /// Whether this is the next frame. If not, nothing more is to be believed.
    pub(crate) fn fits(&mut self, parts: &[&[u8]], tag: [u8; TAG_BYTES]) -> bool {
        // `blake3::Hash` compares in constant time.
        self.next(parts) == blake3::Hash::from_bytes(tag)
    }

    fn next(&mut self, parts: &[&[u8]]) -> blake3::Hash {
        let mut mac = blake3::Hasher::new_keyed(&self.key);
        mac.update(&self.count.to_le_bytes());
        for part in parts {
            mac.update(part);
        }
        self.count += 1;
        mac.finalize()
    }
}
