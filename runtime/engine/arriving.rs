//! What a link's receiving side keeps of each read and of each message.

use std::time::Duration;

use super::OpId;
use crate::buffer::{ElementType, ReceiveBuffer, SendBuffer};
use crate::wire::frame::MessageHeader;

/// A read that waits for its message.
pub(super) struct Posted {
    pub(super) op: OpId,
    pub(super) place: Box<dyn ReceiveBuffer>,
    pub(super) element: ElementType,
    pub(super) capacity: u64,
    /// No shorter message fits.
    pub(super) must_be_filled: bool,
    pub(super) since: Duration,
    /// The sender has been asked for this read's message.
    pub(super) wanted: bool,
}

impl Posted {
    pub(super) fn new(op: OpId, mut place: Box<dyn ReceiveBuffer>, element: ElementType, since: Duration) -> Self {
        let (capacity, must_be_filled) = (place.capacity(), place.must_be_filled());
        Posted { op, place, element, capacity, must_be_filled, since, wanted: false }
    }
}

/// A message that has been opened and is not complete, or not matched yet.
pub(super) struct Arriving {
    pub(super) message_header: MessageHeader,
    /// Bytes that are here, wherever in the message.
    pub(super) received: u64,
    /// What lanes beside the first bring of it, if they do.
    pub(super) parts: Option<Box<Parts>>,
    pub(super) sink: Sink,
    pub(super) since: Duration,
    /// The unmatched message of its key that was opened next; none: [`NO_MESSAGE`].
    pub(super) next: u64,
}

/// No message's.
pub(super) const NO_MESSAGE: u64 = u64::MAX;

/// The unmatched messages of a key, in the order of their message headers: each names the next.
#[derive(Clone, Copy)]
pub(super) struct Unmatched {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Where a message's bytes go.
pub(super) enum Sink {
    /// Straight into the posted buffer.
    ReceiveBuffer { op: OpId, place: Box<dyn ReceiveBuffer> },
    /// Into the buffer of a read that nobody waits for any more, until another read meets the message. It is not of the
    /// window, which has its credit back.
    Returned(Box<dyn ReceiveBuffer>),
    /// Into memory of the window, until a read is posted.
    Buffer(Vec<u8>),
    /// Nowhere yet: an envelope without a grant. `answer`: it answered a want.
    Envelope { answer: bool },
    /// Nowhere: refused.
    Discard,
    /// A message of the node to itself, beyond the window: it stays with the writer until it is read.
    Own { op: OpId, source: Box<dyn SendBuffer> },
}

/// Of a message that comes on several lanes.
#[derive(Default)]
pub(super) struct Parts {
    /// Where the next bytes of the first lane go.
    pub(super) at: u64,
    /// How often other lanes have said that they bring part of it.
    pub(super) segments: u64,
    /// It was refused: no more bytes will come than these, in all, and no more segments.
    pub(super) aborted: Option<(u64, u64)>,
}

impl Arriving {
    /// Whether lanes bring parts of it, so that what is here need not be its beginning.
    pub(super) fn is_split(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.segments > 0)
    }

    /// Where the next bytes of the first lane go.
    pub(super) fn at(&self) -> u64 {
        self.parts.as_ref().map_or(self.received, |parts| parts.at)
    }

    /// Bytes have come on the first lane.
    pub(super) fn add(&mut self, bytes: usize) {
        self.received += bytes as u64;
        if let Some(parts) = &mut self.parts {
            parts.at += bytes as u64;
        }
    }

    /// What is known of its parts.
    pub(super) fn parts(&mut self) -> &mut Parts {
        let at = self.received;
        self.parts.get_or_insert_with(|| Box::new(Parts { at, ..Parts::default() }))
    }

    /// Whether nothing more of it comes.
    pub(super) fn is_all_here(&self) -> bool {
        match self.parts.as_ref().and_then(|parts| Some((parts.aborted?, parts.segments))) {
            None => self.received >= self.message_header.total,
            Some(((bytes, most), segments)) => self.received >= bytes && segments >= most,
        }
    }

    pub(super) fn new(message_header: MessageHeader, sink: Sink, since: Duration) -> Self {
        Arriving { message_header, received: 0, parts: None, sink, since, next: NO_MESSAGE }
    }
}
