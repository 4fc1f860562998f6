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

/// Has `buffer` be as long as the whole message, whose bytes come in any order.
pub(super) fn fill(buffer: &mut Vec<u8>, total: usize) {
    if buffer.capacity() < total {
        grow(buffer, total, total);
    }
    buffer.resize(total, 0);
}

/// No more room than the message is long, since that is what the sender is charged for.
fn at_hand(bytes: usize) -> Option<Vec<u8>> {
    spare::take(bytes..=bytes)
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
                assert!(buffer == bytes && buffer.capacity() <= total.max(LEAST));
                let mut split = bytes[..total / 3].to_vec();
                fill(&mut split, total);
                let (here, missing) = split.split_at(total / 3);
                assert!(here == &bytes[..total / 3] && missing.iter().all(|&byte| byte == 0));
                assert!(split.len() == total && split.capacity() <= total.max(LEAST));
                let copy = copy_of(&bytes);
                assert!(copy == bytes && copy.capacity() <= total.max(LEAST));
                [buffer, split, copy].into_iter().for_each(spare::keep);
            }
        }
    }
}
