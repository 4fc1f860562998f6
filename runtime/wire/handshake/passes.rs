//! What the passes consist of, as bytes.

use super::{Limits, MAC_BYTES, MAGIC, Party, Purpose, Refusal};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Options {
    pub(super) byte_order: u8,
    pub(super) encrypts: bool,
    pub(super) checks: bool,
    pub(super) limits: Limits,
}

/// Elements travel as the machine holds them: 1 little-endian, 2 big-endian.
pub(super) const BYTE_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// What is done with what a link carries: of these one at most.
const ENCRYPTS: u8 = 1;
const CHECKS: u8 = 2;

impl Options {
    pub(super) fn of(party: &Party) -> Self {
        let checks = party.checks(Purpose::Link);
        Options { byte_order: BYTE_ORDER, encrypts: party.encrypts, checks, limits: party.limits }
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.byte_order);
        bytes.push((u8::from(self.encrypts) * ENCRYPTS) | (u8::from(self.checks) * CHECKS));
        bytes.extend(self.limits.window_bytes.to_le_bytes());
        bytes.extend(self.limits.envelopes_max.to_le_bytes());
        bytes.extend(self.limits.fragment_bytes.to_le_bytes());
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Self {
        let (byte_order, flags) = (fields.u8(), fields.u8());
        let (encrypts, checks) = (flags & ENCRYPTS != 0, flags & CHECKS != 0);
        let limits = Limits { window_bytes: fields.u64(), envelopes_max: fields.u32(), fragment_bytes: fields.u32() };
        Options { byte_order, encrypts, checks, limits }
    }
}

impl Party {
    /// Whether the other side of a connection does with what it carries what this one does.
    pub(super) fn agrees(&self, purpose: Purpose, theirs: &Options) -> Result<(), Refusal> {
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

#[derive(Debug)]
pub(super) struct Hello {
    pub(super) versions: (u16, u16),
    pub(super) purpose: u8,
    pub(super) options: Options,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) size: u32,
    pub(super) incarnation: u64,
    pub(super) epoch: u32,
}

impl Hello {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
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

pub(super) fn sized(bytes: &[u8], expected: usize) -> Result<&[u8], Refusal> {
    if bytes.len() == expected { Ok(bytes) } else { Err(Refusal::Stranger("a pass of the wrong size")) }
}

/// Body and MAC of a pass whose size was checked. `blake3::Hash` compares in constant time.
pub(super) fn split_mac(bytes: &[u8]) -> (&[u8], blake3::Hash) {
    let (body, mac) = bytes.split_last_chunk::<MAC_BYTES>().expect("a pass is longer than its MAC");
    (body, blake3::Hash::from_bytes(*mac))
}

/// Reads fields off bytes whose length was checked before.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk::<N>().expect("the size of a pass was checked");
        self.0 = rest;
        *field
    }

    pub(super) fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
