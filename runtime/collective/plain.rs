//! The buffers of a schedule whose caller carries it out itself, step by step: nothing of them is lent.

use super::operator::Operator;
use super::prepared::{Prepared, span};
use super::schedule::{Action, Buffer, Region};
use super::scratch;
use crate::buffer::{Element, ElementType, memory};

/// The three buffers and the operator.
pub(crate) struct Plain<'a, T> {
    input: Vec<T>,
    output: Vec<T>,
    scratch: Vec<T>,
    operator: Option<&'a Operator<T>>,
}

/// The same, its element type forgotten.
pub(crate) trait Buffers {
    /// The type of the elements.
    fn element(&self) -> ElementType;
    /// Bytes of an element.
    fn element_bytes(&self) -> usize;
    /// What is sent of a region.
    fn bytes(&self, from: Region) -> &[u8];
    /// A message for a region, as long as that, has come.
    fn fill(&mut self, into: Region, message: &[u8]);
    /// Does a copy or a combination.
    fn apply(&mut self, action: &Action);
}

impl<'a, T: Element> Plain<'a, T> {
    /// Buffers for `schedule`.
    pub(crate) fn new(
        schedule: &Prepared,
        input: Vec<T>,
        output: Vec<T>,
        operator: Option<&'a Operator<T>>,
    ) -> Plain<'a, T> {
        Plain { input, output, scratch: scratch::room(schedule.scratch() as usize, T::zeroed()), operator }
    }

    /// The input and the output, given back.
    pub(crate) fn into_buffers(self) -> [Vec<T>; 2] {
        [self.input, self.output]
    }

    fn of(&self, buffer: Buffer) -> &[T] {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        }
    }

    fn of_mut(&mut self, buffer: Buffer) -> &mut [T] {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        }
    }

    /// A region to be written, and another to be read.
    fn both(&mut self, into: Region, from: Region) -> (&mut [T], &[T]) {
        let (written, read) = (span(into), span(from));
        if into.buffer == from.buffer {
            let [written, read] = self.of_mut(into.buffer).get_disjoint_mut([written, read]).expect(APART);
            return (written, read);
        }
        let Plain { input, output, scratch, .. } = self;
        let [input, output, scratch] = [input, output, scratch].map(|buffer| &mut buffer[..]);
        let (to, of) = match (into.buffer, from.buffer) {
            (Buffer::Input, Buffer::Output) => (input, output),
            (Buffer::Input, _) => (input, scratch),
            (Buffer::Output, Buffer::Input) => (output, input),
            (Buffer::Output, _) => (output, scratch),
            (Buffer::Scratch, Buffer::Input) => (scratch, input),
            (Buffer::Scratch, _) => (scratch, output),
        };
        (&mut to[written], &of[read])
    }
}

/// What schedules are checked for.
const APART: &str = "a step's regions keep apart, within their buffers";

impl<T: Element> Buffers for Plain<'_, T> {
    fn element(&self) -> ElementType {
        T::TYPE
    }

    fn element_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn bytes(&self, from: Region) -> &[u8] {
        bytemuck::cast_slice(&self.of(from.buffer)[span(from)])
    }

    fn fill(&mut self, into: Region, message: &[u8]) {
        bytemuck::cast_slice_mut(&mut self.of_mut(into.buffer)[span(into)]).copy_from_slice(message);
    }

    fn apply(&mut self, action: &Action) {
        match *action {
            Action::Combine { into, with, side } => {
                let operator = self.operator.expect("who combines has an operator");
                let (into, with) = self.both(into, with);
                operator.combine(into, with, side);
            }
            Action::Copy { from, into } => {
                let (into, from) = self.both(into, from);
                memory::copy(into, from);
            }
            _ => debug_assert!(false, "{action:?} moves messages"),
        }
    }
}
