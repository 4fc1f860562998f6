//! Memory for messages that no read waits for. It grows with what really arrives, whatever a message says of its length, unless memory
//! as long is at hand.

use crate::buffer::memory;
use crate::engine::spare;

/// The first that is asked for.
const BUFFER_BYTES: usize = 4096;

/// A message that is all here.
pub(super) fn copy_of(bytes: &[u8]) -> Vec<u8> {
    let mut copy = at_hand(bytes.len()).unwrap_or_default();
    memory::append(&mut copy, bytes);
    copy
}

/// Has `buffer`, which is too short, take `needed` bytes of a message of `total`.
pub(super) fn grow(buffer: &mut Vec<u8>, needed: usize, total: usize) {
    if let Some(mut all) = at_hand(total) {
        memory::append(&mut all, buffer);
        spare::keep(std::mem::replace(buffer, all));
        return;
    }
    let capacity = needed.max(2 * buffer.capacity()).max(BUFFER_BYTES).min(total);
    buffer.reserve_exact(capacity.saturating_sub(buffer.len()));
}

/// Has `buffer` be as long as the whole message, whose bytes come in any order, if it is not yet.
pub(super) fn fill(buffer: &mut Vec<u8>, total: usize) {
    let here = buffer.len();
    if here >= total {
        return;
    }
    if let Some(mut all) = spare::take(total..=total) {
        // What is behind them is written before anybody reads it.
        all.resize(total, 0);
        memory::copy(&mut all[..here], buffer);
        spare::keep(std::mem::replace(buffer, all));
        return;
    }
    buffer.reserve_exact(total - here);
    buffer.resize(total, 0);
}

/// Empty, and with room for so many bytes: no more, since that is what the sender is charged for.
fn at_hand(bytes: usize) -> Option<Vec<u8>> {
    let mut piece = spare::take(bytes..=bytes)?;
    piece.clear();
    Some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a vector of bytes has room for at least.
    const LEAST: usize = 8;

    /// With memory at hand and without, in pieces of any length, one after the other or in any order.
    #[test]
    fn an_early_message_is_whole_and_takes_no_more_than_its_length() {
        for total in [1usize, 4096, 16 << 10, 50_000, 200_000] {
            let bytes: Vec<u8> = (0..total).map(|at| (at % 251) as u8).collect();
            for _ in 0..2 {
                let mut buffer = Vec::new();
                for piece in bytes.chunks(total.div_ceil(7)) {
                    if buffer.len() + piece.len() > buffer.capacity() {
                        let needed = buffer.len() + piece.len();
                        grow(&mut buffer, needed, total);
                    }
                    memory::append(&mut buffer, piece);
                }
                assert!(buffer == bytes && buffer.capacity() == total.max(BUFFER_BYTES.min(total)));
                let mut split = bytes[..total / 3].to_vec();
                fill(&mut split, total);
                assert!(split.len() == total && split.capacity() == total && split[..total / 3] == bytes[..total / 3]);
                let copy = copy_of(&bytes);
                assert!(copy == bytes && copy.capacity() <= total.max(LEAST));
                [buffer, split, copy].into_iter().for_each(spare::keep);
            }
        }
    }
}
