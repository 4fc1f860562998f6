//! The buffer of a write that is over, of which the peer has not acknowledged all bytes: the program may have it back at any
//! time, and the link may have to send those bytes again.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::buffer::SendBuffer;

/// Shared by the link and by who is to have the buffer.
pub(super) struct Loan(Mutex<State>);

struct State {
    /// Until somebody takes it, or nobody needs it.
    source: Option<Box<dyn SendBuffer>>,
    /// What was made of it when it was taken: bytes from `tail_from` on, in the buffer's own order.
    tail: Vec<u8>,
    tail_from: usize,
    /// The first byte that may have to be sent again.
    from: usize,
    /// Behind the last one.
    to: usize,
}

impl Loan {
    /// Of `source` the bytes in `kept` may have to be sent again.
    pub(super) fn new(source: Box<dyn SendBuffer>, kept: Range<usize>) -> Arc<Self> {
        let state =
            State { source: Some(source), tail: Vec::new(), tail_from: kept.start, from: kept.start, to: kept.end };
        Arc::new(Loan(Mutex::new(state)))
    }

    /// The peer has acknowledged all bytes before `from`.
    pub(super) fn acknowledged(&self, from: usize) {
        self.0.lock().from = from;
    }

    /// The buffer, which its owner may change from now on; what may have to be sent again stays here: by a cheap clone if the
    /// buffer has such, else by a copy.
    pub(super) fn take(&self) -> Option<Box<dyn SendBuffer>> {
        let mut state = self.0.lock();
        let source = state.source.take()?;
        let kept = state.from..state.to;
        if kept.is_empty() {
            return Some(source);
        }
        state.source = source.share();
        if state.source.is_none() {
            // Bytes that are not given any more are not there when they are to be sent again; the link says so then.
            state.tail = source.part(kept.clone()).map(<[u8]>::to_vec).unwrap_or_default();
            state.tail_from = kept.start;
        }
        Some(source)
    }

    /// The bytes in `range`, to be sent again.
    pub(super) fn copy(&self, range: Range<usize>, into: &mut Vec<u8>) -> bool {
        let state = self.0.lock();
        let bytes = match &state.source {
            Some(source) => source.part(range),
            None => state.tail.get(range.start.wrapping_sub(state.tail_from)..range.end.wrapping_sub(state.tail_from)),
        };
        bytes.map(|bytes| into.extend_from_slice(bytes)).is_some()
    }

    /// The link needs it no more. Returns the buffer if nobody else is to have it.
    pub(super) fn end(loan: Arc<Self>) -> Option<Box<dyn Any + Send>> {
        let state = Arc::into_inner(loan)?.0.into_inner();
        state.source.map(|source| source.into_any())
    }

    /// Bytes of its own memory.
    #[cfg(test)]
    pub(super) fn copied(&self) -> usize {
        self.0.lock().tail.len()
    }
}

/// A write's buffer, free for reuse.
pub(crate) struct Written(Buffer);

enum Buffer {
    Whole(Box<dyn SendBuffer>),
    Lent(Arc<Loan>),
}

impl Written {
    /// One that nothing is kept of.
    pub(crate) fn whole(source: Box<dyn SendBuffer>) -> Self {
        Written(Buffer::Whole(source))
    }

    pub(super) fn lent(loan: Arc<Loan>) -> Self {
        Written(Buffer::Lent(loan))
    }

    /// The buffer. What the peer has not acknowledged is copied, unless it can be shared: that is what it takes time for.
    pub(crate) fn take(self) -> Box<dyn SendBuffer> {
        match self.0 {
            Buffer::Whole(source) => source,
            Buffer::Lent(loan) => loan.take().expect("it is taken once"),
        }
    }
}
