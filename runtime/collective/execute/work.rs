//! A workspace whose element type is forgotten: what the executor of a schedule needs of it.

use std::any::Any;

use lathide_sys::pieces::{Exclusive, Shared};

use crate::buffer::{Element, ElementType, ReceiveBuffer, SendBuffer};
use crate::collective::operator::Operator;
use crate::collective::prepared::Prepared;
use crate::collective::schedule::{Action, Region};
use crate::collective::workspace::Workspace;

/// So many bytes are copied in a tenth of a microsecond.
pub(crate) const QUICK_BYTES: usize = 4096;

/// One rank's buffers and operator while its schedule is under way.
pub(crate) trait Work: Send {
    /// The type of the elements.
    fn element(&self) -> ElementType;
    /// Bytes of an element.
    fn element_bytes(&self) -> u64;
    /// Whether all that it does takes no longer than to unlock and lock for it, and none of it is the program's code.
    fn is_quick(&self) -> bool;
    /// Whether it combines by the program's code, which may take any time.
    fn may_be_slow(&self) -> bool;
    /// What is sent of a region. Nothing is written there before the message has gone.
    fn source(&mut self, from: Region) -> Box<dyn SendBuffer>;
    /// Where the message for a region is received.
    fn place(&mut self, into: Region) -> Box<dyn ReceiveBuffer>;
    /// Does a copy or a combination. Runs the program's operator, which may panic.
    fn apply(&mut self, action: &Action);
    /// The result, as the handle gives it.
    fn finish(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// A [`Work`] on elements of one type.
pub(crate) struct Typed<T, F> {
    buffers: Workspace<T>,
    operator: Option<Operator<T>>,
    finish: F,
}

impl<T: Element, R, F: FnOnce(Vec<T>, Vec<T>) -> R> Typed<T, F> {
    /// Buffers for `schedule`; `finish` makes the result of the input and the output.
    pub(crate) fn new(
        schedule: &Prepared,
        input: Vec<T>,
        output: Vec<T>,
        operator: Option<Operator<T>>,
        finish: F,
    ) -> Self {
        Typed { buffers: Workspace::new(schedule, input, output, T::zeroed()), operator, finish }
    }
}

impl<T: Element, R: Send + 'static, F: FnOnce(Vec<T>, Vec<T>) -> R + Send> Work for Typed<T, F> {
    fn element(&self) -> ElementType {
        T::TYPE
    }

    fn element_bytes(&self) -> u64 {
        size_of::<T>() as u64
    }

    fn is_quick(&self) -> bool {
        !self.may_be_slow() && self.buffers.bytes() <= QUICK_BYTES
    }

    fn may_be_slow(&self) -> bool {
        self.operator.as_ref().is_some_and(|operator| !operator.is_own())
    }

    fn source(&mut self, from: Region) -> Box<dyn SendBuffer> {
        Box::new(Lent(self.buffers.share(from)))
    }

    fn place(&mut self, into: Region) -> Box<dyn ReceiveBuffer> {
        let elements = self.buffers.lend(into);
        Box::new(Borrowed { received: elements.len(), elements })
    }

    fn apply(&mut self, action: &Action) {
        let is_done = self.buffers.apply(action, self.operator.as_ref());
        debug_assert!(is_done, "{action:?} moves messages");
    }

    fn finish(self: Box<Self>) -> Box<dyn Any + Send> {
        let Typed { buffers, finish, .. } = *self;
        let [input, output] = buffers.into_buffers();
        Box::new(finish(input, output))
    }
}

/// A message without bytes: to be sent, or where it is received.
pub(super) struct Signal;

impl SendBuffer for Signal {
    fn bytes(&self) -> &[u8] {
        &[]
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl ReceiveBuffer for Signal {
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }
    fn truncate(&mut self, _: usize) {}
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

/// A region that is sent.
struct Lent<T>(Shared<T>);

impl<T: Element> SendBuffer for Lent<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

/// A region that is received.
struct Borrowed<T> {
    elements: Exclusive<T>,
    /// How many the message had.
    received: usize,
}

impl<T: Element> ReceiveBuffer for Borrowed<T> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.elements[..self.received])
    }
    fn truncate(&mut self, bytes: usize) {
        self.received = self.received.min(bytes / size_of::<T>());
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
