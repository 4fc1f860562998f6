//! How a predicted read offers room: the rest of a place in fragments, with room for a header between each two.

use std::io::IoSliceMut;

use super::{NOTICE_BYTES, PREDICTED_BYTES, PREDICTED_MAX};
use crate::buffer::memory;
use crate::wire::frame::HEADER_BYTES;

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
