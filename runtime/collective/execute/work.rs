//! A workspace whose element type is forgotten: what the executor of a schedule needs of it.

use std::any::Any;

use crate::buffer::{Element, ElementType, Place, Source};
use crate::collective::operator::Operator;
use crate::collective::schedule::{Action, Region, Schedule};
use crate::collective::workspace::Workspace;

/// One rank's buffers and operator while its schedule is under way.
pub(crate) trait Work: Send {
    /// The type of the elements.
    fn element(&self) -> ElementType;
    /// Bytes of an element.
    fn element_bytes(&self) -> u64;
    /// What is sent of a region: as it is now, whatever is written there later.
    fn source(&mut self, from: Region) -> Box<dyn Source>;
    /// Where the message for a region may be received.
    fn place(&mut self, into: Region) -> Box<dyn Place>;
    /// Takes a message for a region. Returns whether it is as long as the region.
    fn received(&mut self, into: Region, place: Box<dyn Place>) -> bool;
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

impl<T: Element, F> Typed<T, F> {
    /// Buffers for `schedule`; `finish` makes the result of the output.
    pub(crate) fn new(
        schedule: &Schedule,
        input: Vec<T>,
        output: Vec<T>,
        operator: Option<Operator<T>>,
        finish: F,
    ) -> Self {
        Typed { buffers: Workspace::new(schedule, input, output, T::zeroed()), operator, finish }
    }
}

impl<T: Element, R: Send + 'static, F: FnOnce(Vec<T>) -> R + Send> Work for Typed<T, F> {
    fn element(&self) -> ElementType {
        T::TYPE
    }

    fn element_bytes(&self) -> u64 {
        size_of::<T>() as u64
    }

    fn source(&mut self, from: Region) -> Box<dyn Source> {
        Box::new(self.buffers.slice(from).to_vec())
    }

    fn place(&mut self, into: Region) -> Box<dyn Place> {
        Box::new(vec![T::zeroed(); into.count as usize])
    }

    fn received(&mut self, into: Region, place: Box<dyn Place>) -> bool {
        let Ok(message) = place.into_any().downcast::<Vec<T>>() else { return false };
        let fits = message.len() as u64 == into.count;
        if fits {
            self.buffers.slice_mut(into).copy_from_slice(&message);
        }
        fits
    }

    fn apply(&mut self, action: &Action) {
        let is_done = self.buffers.apply(action, self.operator.as_ref());
        debug_assert!(is_done, "{action:?} moves messages");
    }

    fn finish(self: Box<Self>) -> Box<dyn Any + Send> {
        let Typed { buffers, finish, .. } = *self;
        Box::new(finish(buffers.into_buffers().1))
    }
}
