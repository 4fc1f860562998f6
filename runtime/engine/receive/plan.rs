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

    /// Offers `place` for reading, cut to fragments, with a header between each two.
    pub(super) fn offer<'a>(
        &self,
        slices: &mut Vec<IoSliceMut<'a>>,
        place: &'a mut [u8],
        headers: &'a mut [[u8; HEADER_BYTES]; PREDICTED_MAX],
    ) {
        let (first, mut rest) = place.split_at_mut(self.left);
        slices.push(IoSliceMut::new(first));
        for header in &mut headers[..self.most()] {
            if rest.is_empty() {
                break;
            }
            let (fragment, beyond) = rest.split_at_mut(self.fragment.min(rest.len()));
            slices.push(IoSliceMut::new(header));
            slices.push(IoSliceMut::new(fragment));
            rest = beyond;
        }
    }

    /// The first `count` bytes of what was read so, in the order in which they came.
    pub(super) fn gather(
        &self,
        head: &[u8],
        place: &[u8],
        headers: &[[u8; HEADER_BYTES]],
        tail: &[u8],
        count: usize,
    ) -> Vec<u8> {
        let (first, mut rest) = place.split_at(self.left.min(place.len()));
        let mut bytes = Vec::with_capacity(count);
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(first);
        for header in headers {
            if bytes.len() >= count || rest.is_empty() {
                break;
            }
            let (fragment, beyond) = rest.split_at(self.fragment.min(rest.len()));
            bytes.extend_from_slice(header);
            bytes.extend_from_slice(fragment);
            rest = beyond;
        }
        bytes.extend_from_slice(&tail[..count.saturating_sub(bytes.len())]);
        bytes.truncate(count);
        bytes
    }

    /// Takes a notice out that lies where what was read so begins: all of `count` bytes behind it moves up by its length.
    pub(super) fn pull(
        &self,
        head: &mut [u8],
        place: &mut [u8],
        headers: &mut [[u8; HEADER_BYTES]],
        tail: &mut [u8],
        count: usize,
    ) {
        let (first, mut rest) = place.split_at_mut(self.left.min(place.len()));
        let mut pieces = Vec::with_capacity(2 * headers.len() + 3);
        pieces.extend([head, first]);
        for header in headers {
            if rest.is_empty() {
                break;
            }
            let (fragment, beyond) = rest.split_at_mut(self.fragment.min(rest.len()));
            pieces.extend([&mut header[..], fragment]);
            rest = beyond;
        }
        pieces.push(tail);
        memory::move_up(&mut pieces, NOTICE_BYTES, count);
    }
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
            let headers = &mut headers[..plan.most()];
            let slots = (missing - plan.left).div_ceil(fragment).min(headers.len());
            let in_place = missing.min(plan.left + slots * fragment);
            let all = head.len() + in_place + slots * HEADER_BYTES + tail.len();
            let all = plan.gather(&head, &place, headers, &tail, all);
            let count = all.len().saturating_sub(short);
            prop_assume!(count > NOTICE_BYTES);
            plan.pull(&mut head, &mut place, headers, &mut tail, count);
            let behind = plan.gather(&head, &place, headers, &tail, count - NOTICE_BYTES);
            prop_assert_eq!(&behind[..], &all[NOTICE_BYTES..count]);
        }
    }
}
