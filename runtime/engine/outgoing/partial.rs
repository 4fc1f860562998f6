//! A frame that the socket took only in part.

use std::ops::Range;

/// What is left of a frame under way.
pub(in crate::engine) struct Partial {
    pub(in crate::engine) head: Vec<u8>,
    pub(in crate::engine) payload: Option<(usize, Range<usize>)>,
    /// The message that is complete once this is written.
    pub(in crate::engine) finishes: Option<usize>,
}

impl Partial {
    /// Takes what was written off the front; returns what was written beyond it.
    pub(in crate::engine) fn advance(&mut self, written: usize) -> usize {
        let of_head = written.min(self.head.len());
        self.head.drain(..of_head);
        let mut rest = written - of_head;
        if let Some((_, range)) = &mut self.payload {
            let of_payload = rest.min(range.len());
            range.start += of_payload;
            rest -= of_payload;
        }
        rest
    }

    /// Makes the frame independent of its message, whose `rest` of payload it carries itself from now on.
    pub(in crate::engine) fn detach(&mut self, rest: Vec<u8>) {
        self.head.extend(rest);
        (self.payload, self.finishes) = (None, None);
    }

    pub(in crate::engine) fn is_written(&self) -> bool {
        self.head.is_empty() && self.payload.as_ref().is_none_or(|(_, range)| range.is_empty())
    }
}
