//! The buffer of a write that is over, of which the peer has not acknowledged all bytes: the program may have it back at any
//! time, and the link may have to send those bytes again.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::ranges::Ranges;
use crate::buffer::{SendBuffer, memory};
use crate::engine::spare;

/// Shared by the lanes that keep some of it and by who is to have the buffer.
pub(super) struct Loan(Mutex<State>);

struct State {
    /// Until somebody takes it, or nobody needs it.
    source: Option<Box<dyn SendBuffer>>,
    /// What each lane keeps.
    parts: Vec<Part>,
}

/// The bytes that one lane may have to send again.
struct Part {
    kept: Ranges,
    /// What was made of them when the buffer was taken: each range's bytes, and where they begin in the buffer.
    tail: Vec<(usize, Vec<u8>)>,
}

impl State {
    fn is_acknowledged(&self) -> bool {
        self.parts.iter().all(|part| part.kept.is_empty())
    }
}

impl Loan {
    /// Of `source` nothing is kept yet.
    pub(super) fn new(source: Box<dyn SendBuffer>) -> Arc<Self> {
        Arc::new(Loan(Mutex::new(State { source: Some(source), parts: Vec::new() })))
    }

    /// A lane may have to send the bytes in `kept` again. Returns the name of that part.
    pub(super) fn keep(&self, kept: Ranges) -> usize {
        let mut state = self.0.lock();
        state.parts.push(Part { kept, tail: Vec::new() });
        state.parts.len() - 1
    }

    /// The peer has acknowledged all bytes of `part` before `from`.
    pub(super) fn acknowledged(&self, part: usize, from: usize) {
        self.0.lock().parts[part].kept.drop_before(from);
    }

    /// All bytes of `part` are acknowledged.
    pub(super) fn release(&self, part: usize) {
        let released = Part { kept: Ranges::default(), tail: Vec::new() };
        let Part { tail, .. } = std::mem::replace(&mut self.0.lock().parts[part], released);
        tail.into_iter().for_each(|(_, bytes)| spare::keep(bytes));
    }

    /// The buffer, which its owner may change from now on; what may have to be sent again stays here: by a cheap clone if the
    /// buffer has such, else by a copy.
    pub(super) fn take(&self) -> Option<Box<dyn SendBuffer>> {
        let mut state = self.0.lock();
        let source = state.source.take()?;
        if state.is_acknowledged() {
            return Some(source);
        }
        state.source = source.share();
        if state.source.is_none() {
            for part in &mut state.parts {
                // Bytes that are not given any more are not there when they are to be sent again; the link says so then.
                let copy = |range: &Range<usize>| Some((range.start, spare::copy_of(source.part(range.clone())?)));
                part.tail = part.kept.iter().filter_map(copy).collect();
            }
        }
        Some(source)
    }

    /// Bytes that are not acknowledged.
    fn kept(&self) -> usize {
        self.0.lock().parts.iter().flat_map(|part| part.kept.iter()).map(Range::len).sum()
    }

    /// The bytes in `range` of `part`, to be sent again.
    pub(super) fn copy(&self, part: usize, range: Range<usize>, into: &mut Vec<u8>) -> bool {
        let state = self.0.lock();
        let bytes = match &state.source {
            Some(source) => source.part(range),
            None => state.parts[part]
                .tail
                .iter()
                .find_map(|(from, bytes)| bytes.get(range.start.checked_sub(*from)?..range.end.checked_sub(*from)?)),
        };
        bytes.map(|bytes| memory::append(into, bytes)).is_some()
    }

    /// The link needs it no more. Returns the buffer if nobody else is to have it.
    pub(super) fn end(loan: Arc<Self>) -> Option<Box<dyn Any + Send>> {
        let state = Arc::into_inner(loan)?.0.into_inner();
        state.source.map(|source| source.into_any())
    }

    /// Bytes of its own memory, for `part`.
    #[cfg(test)]
    pub(super) fn copied(&self, part: usize) -> usize {
        self.0.lock().parts[part].tail.iter().map(|(_, bytes)| bytes.len()).sum()
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

    /// How many bytes the peer has not acknowledged, as far as is known: so many [`Written::take`] copies.
    pub(crate) fn unacknowledged(&self) -> usize {
        match &self.0 {
            Buffer::Whole(_) => 0,
            Buffer::Lent(loan) => loan.kept(),
        }
    }

    /// Whether [`Written::take`] copies these: the buffer cannot be shared.
    pub(crate) fn is_copied(&self) -> bool {
        match &self.0 {
            Buffer::Whole(_) => false,
            Buffer::Lent(loan) => loan.0.lock().source.as_ref().is_some_and(|source| source.share().is_none()),
        }
    }

    /// The buffer. What the peer has not acknowledged is copied, unless it can be shared: that is what it takes time for.
    pub(crate) fn take(self) -> Box<dyn SendBuffer> {
        match self.0 {
            Buffer::Whole(source) => source,
            Buffer::Lent(loan) => loan.take().expect("it is taken once"),
        }
    }
}
