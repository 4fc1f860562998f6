//! How a predicted read offers room: the rest of a place in fragments, with room for a header between each two.

use std::io::IoSliceMut;

use crate::buffer::memory;
use crate::wire::frame::HEADER_BYTES;

/// Fragments that one call may read straight into a posted buffer.
pub(super) const PREDICTED_MAX: usize = 64;
/// Bytes that one call may read. The sender hears of room only when a call is over, and what has just come is still in the
/// caches: a megabyte at a time costs long messages a third of their bandwidth over loopback (`benches/results`).
const PREDICTED_BYTES: usize = 128 << 10;
/// Bytes of a frame that may come between any two others while both ends send, and changes nothing of what is being received: an
/// acknowledgement, or credit.
pub(super) const NOTICE_BYTES: usize = HEADER_BYTES + 8;

/// How the next bytes are probably cut.
pub(super) struct Plan {
    pub(super) message_id: u64,
    /// Payload bytes that complete the frame under way.
    pub(super) left: usize,
    /// The length of the fragments to come.
    pub(super) fragment: usize,
}

impl Plan {
    /// How many fragments behind the one under way one call may read.
    pub(super) fn most(&self) -> usize {
        PREDICTED_BYTES.saturating_sub(self.left).div_ceil(self.fragment.max(1)).clamp(1, PREDICTED_MAX)
    }

    /// The room for one read, in the order in which it is filled: `before`, `place`, cut to fragments with a header between
    /// each two, as far as there are `headers`, and `behind`.
    pub(super) fn room<'a>(
        &self,
        before: &'a mut [u8],
        place: &'a mut [u8],
        headers: &'a mut [[u8; HEADER_BYTES]],
        behind: &'a mut [u8],
    ) -> Vec<IoSliceMut<'a>> {
        let (first, mut rest) = place.split_at_mut(self.left.min(place.len()));
        // One more may be put in front.
        let mut room = Vec::with_capacity(2 * headers.len() + 4);
        room.extend([before, first].into_iter().filter(|bytes| !bytes.is_empty()).map(IoSliceMut::new));
        for header in headers {
            if rest.is_empty() {
                break;
            }
            let (fragment, beyond) = rest.split_at_mut(self.fragment.min(rest.len()));
            room.extend([IoSliceMut::new(header), IoSliceMut::new(fragment)]);
            rest = beyond;
        }
        room.push(IoSliceMut::new(behind));
        room
    }
}

/// The first `count` bytes of what was read to `room`, in the order in which they came.
pub(super) fn gather(room: &[IoSliceMut<'_>], count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count);
    for piece in room {
        bytes.extend_from_slice(&piece[..piece.len().min(count - bytes.len())]);
    }
    bytes
}

/// Takes a notice out that lies where `room` begins: all of `count` bytes behind it moves up by its length.
pub(super) fn pull(room: &mut [IoSliceMut<'_>], count: usize) {
    memory::move_up(room, NOTICE_BYTES, count);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        /// What comes behind a notice lies, once that is taken out, as if it had been read without it.
        #[test]
        fn without_a_notice_all_lies_as_if_it_had_not_come(
            (left, fragment, missing) in (0..3000_usize, 1..3000_usize, 0..20_000_usize),
            (has_head, short) in (any::<bool>(), 0..3000_usize),
        ) {
            let plan = Plan { message_id: 1, left: left.min(missing), fragment };
            let mut random = 0u8;
            let mut filled = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| {
                random = random.wrapping_mul(5).wrapping_add(1);
                *byte = random;
            });
            let (mut head, mut place) = (vec![0; if has_head { 32 } else { 0 }], vec![0; missing]);
            let (mut headers, mut tail) = ([[0; HEADER_BYTES]; PREDICTED_MAX], [0; 32]);
            filled(&mut head);
            filled(&mut place);
            headers.iter_mut().for_each(|header| filled(header));
            filled(&mut tail);
            let mut room = plan.room(&mut head, &mut place, &mut headers[..plan.most()], &mut tail);
            let all = gather(&room, room.iter().map(|piece| piece.len()).sum());
            let count = all.len().saturating_sub(short);
            prop_assume!(count > NOTICE_BYTES);
            pull(&mut room, count);
            let behind = gather(&room, count - NOTICE_BYTES);
            prop_assert_eq!(&behind[..], &all[NOTICE_BYTES..count]);
        }
    }
}
