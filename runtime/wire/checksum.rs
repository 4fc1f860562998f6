//! Records with checksums: bits that flip on their way are found before anything is believed. Bytes in, bytes out.
//!
//! ```text
//! record   length u16 | CRC-32C of the plain bytes u32 | CRC-32C of number, length and the first checksum u32 | plain bytes
//! ```
//!
//! The number counts the connection's records in this direction (u64) and does not travel, so one that is missing, comes twice or
//! in another order is found, too. The length has a checksum apart from that of what follows: else a wrong one would have
//! the reader wait for bytes that nobody sends.
//!
//! In a record up to three flipped bits are found for certain, wherever they are, and so is any change within 32 bits in succession; of
//! other changes one in 2^32 is not. Who changes bytes on purpose changes the checksum, too: against that there is the cipher.

use std::ops::Range;

use super::RECORD_BYTES;

const LENGTH_BYTES: usize = 2;
const CHECKSUM_BYTES: usize = 4;
/// What a record has before its plain bytes.
pub(super) const MORE_BYTES: usize = LENGTH_BYTES + 2 * CHECKSUM_BYTES;
/// Of these the last checksum is.
const CHECKED_BYTES: usize = LENGTH_BYTES + CHECKSUM_BYTES;

/// A record is not what was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the checksum of what came is wrong: bytes were changed on their way")]
pub(crate) struct Damaged;

impl Damaged {
    /// Whether `error` is that.
    pub(crate) fn is(error: &std::io::Error) -> bool {
        error.get_ref().is_some_and(|error| error.is::<Self>())
    }
}

impl From<Damaged> for std::io::Error {
    fn from(error: Damaged) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidData, error)
    }
}

/// The records of one connection so far, each way.
#[derive(Debug, Default)]
pub(super) struct Checksum {
    sealed: u64,
    opened: u64,
}

/// The head of a record whose plain bytes are these many and have this checksum.
fn head(number: u64, length: u16, of_plain: u32) -> [u8; MORE_BYTES] {
    let mut head = [0; MORE_BYTES];
    head[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    head[LENGTH_BYTES..CHECKED_BYTES].copy_from_slice(&of_plain.to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), &head[..CHECKED_BYTES]);
    head[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
    head
}

impl Checksum {
    /// Makes a record of plain bytes, before which there is room for its head.
    pub(super) fn seal(&mut self, record: &mut [u8]) {
        let (place, plain) = record.split_at_mut(MORE_BYTES);
        // Below 64 KiB: see the sizes above.
        place.copy_from_slice(&head(self.sealed, plain.len() as u16, crc32c::crc32c(plain)));
        self.sealed += 1;
    }

    /// How long the next record is, if all of it has `arrived`. One whose head is wrong is to be looked at at once.
    pub(super) fn next(&self, arrived: &[u8]) -> Option<usize> {
        let (head, rest) = arrived.split_first_chunk()?;
        match self.plain_bytes(head) {
            Ok((length, _)) => (rest.len() >= length).then_some(MORE_BYTES + length),
            Err(Damaged) => Some(MORE_BYTES),
        }
    }

    /// Where in the next record its plain bytes are.
    pub(super) fn open(&mut self, record: &[u8]) -> Result<Range<usize>, Damaged> {
        let (head, plain) = record.split_first_chunk().ok_or(Damaged)?;
        let (length, checksum) = self.plain_bytes(head)?;
        if plain.len() != length || crc32c::crc32c(plain) != checksum {
            return Err(Damaged);
        }
        self.opened += 1;
        Ok(MORE_BYTES..record.len())
    }

    /// How many the next record has, and their checksum.
    fn plain_bytes(&self, bytes: &[u8; MORE_BYTES]) -> Result<(usize, u32), Damaged> {
        let length = u16::from_le_bytes([bytes[0], bytes[1]]);
        let of_plain = u32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
        // Nobody sends nothing, nor more than this; a reader would take it for the end, or would have no room.
        let is_possible = (1..=RECORD_BYTES).contains(&usize::from(length));
        if !is_possible || *bytes != head(self.opened, length, of_plain) {
            return Err(Damaged);
        }
        Ok((length.into(), of_plain))
    }
}

#[cfg(test)]
#[path = "checksum_tests.rs"]
mod tests;
