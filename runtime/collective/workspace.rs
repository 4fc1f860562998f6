//! The buffers a schedule works on, and the steps that need no message: copies and combinations.
//!
//! A buffer that no step writes any more, such as the input or the output of a broadcast's root, may be shared with
//! the messages that are sent from it: then these need no copy.

use std::ops::Range;
use std::sync::Arc;

use super::operator::Operator;
use super::schedule::{Action, Buffer, Region, Schedule};
use crate::buffer::Element;

/// One rank's buffers while its schedule is under way.
#[derive(Clone, Debug)]
pub struct Workspace<T> {
    buffers: [Arc<Vec<T>>; 3],
    /// Elements of each that steps are still to write.
    unwritten: [u64; 3],
}

/// A part of a buffer, shared.
#[derive(Clone, Debug)]
pub(super) struct Shared<T> {
    buffer: Arc<Vec<T>>,
    span: Range<usize>,
}

impl<T> Shared<T> {
    /// All of a buffer.
    pub(super) fn whole(buffer: Arc<Vec<T>>) -> Self {
        let span = 0..buffer.len();
        Shared { buffer, span }
    }

    /// Its elements.
    pub(super) fn slice(&self) -> &[T] {
        &self.buffer[self.span.clone()]
    }
}

impl<T: Copy> Workspace<T> {
    /// Buffers for `schedule`. `blank` fills the scratch buffer; no schedule reads what it has not written.
    pub fn new(schedule: &Schedule, input: Vec<T>, output: Vec<T>, blank: T) -> Self {
        let mut unwritten = [0; 3];
        for region in schedule.steps().filter_map(|step| schedule.action(step).writes()) {
            unwritten[place(region.buffer)] += region.count;
        }
        Workspace { buffers: [input, output, vec![blank; schedule.scratch() as usize]].map(Arc::new), unwritten }
    }

    /// The elements of a region.
    pub fn slice(&self, region: Region) -> &[T] {
        &self.buffers[place(region.buffer)][span(region)]
    }

    /// The elements of a region, to be written.
    pub fn slice_mut(&mut self, region: Region) -> &mut [T] {
        &mut Arc::make_mut(&mut self.buffers[place(region.buffer)])[span(region)]
    }

    /// A region to be sent without a copy: `None` if its buffer is still to be written.
    pub(super) fn share(&self, region: Region) -> Option<Shared<T>> {
        let buffer = &self.buffers[place(region.buffer)];
        (self.unwritten[place(region.buffer)] == 0).then(|| Shared { buffer: buffer.clone(), span: span(region) })
    }

    /// The whole buffer, if that is what `region` is: a step that writes all of it has it for itself.
    pub(super) fn take(&mut self, region: Region) -> Option<Vec<T>> {
        let buffer = &mut self.buffers[place(region.buffer)];
        if span(region) != (0..buffer.len()) {
            return None;
        }
        Arc::get_mut(buffer).map(std::mem::take)
    }

    /// A step writes these elements to `region`.
    pub(super) fn put(&mut self, region: Region, elements: &[T]) {
        self.slice_mut(region).copy_from_slice(elements);
        self.wrote(region);
    }

    /// Whether the buffer of `region` was [taken](Workspace::take).
    pub(super) fn is_taken(&self, region: Region) -> bool {
        self.buffers[place(region.buffer)].is_empty() && region.count > 0
    }

    /// Gives a buffer back that was [taken](Workspace::take) and is written.
    pub(super) fn put_back(&mut self, region: Region, buffer: Vec<T>) {
        self.buffers[place(region.buffer)] = Arc::new(buffer);
        self.wrote(region);
    }

    fn wrote(&mut self, region: Region) {
        let unwritten = &mut self.unwritten[place(region.buffer)];
        *unwritten = unwritten.saturating_sub(region.count);
    }

    /// Does a copy or a combination. Returns whether it was one: all else is for whoever moves messages.
    ///
    /// # Panics
    /// If a region lies outside its buffer, or source and destination overlap: schedules of other sizes. If the operator
    /// does, or is missing where one is needed.
    pub fn apply(&mut self, action: &Action, operator: Option<&Operator<T>>) -> bool {
        match *action {
            Action::Combine { into, with, side } => {
                let operator = operator.expect("who combines has an operator");
                let (into, with) = self.pair(into, with);
                operator.combine(into, with, side);
            }
            Action::Copy { from, into } => {
                let (into, from) = self.pair(into, from);
                into.copy_from_slice(from);
            }
            _ => return false,
        }
        action.writes().into_iter().for_each(|region| self.wrote(region));
        true
    }

    /// Input and output, given back.
    pub fn into_buffers(self) -> (Vec<T>, Vec<T>) {
        let [input, output, _] = self.buffers.map(Arc::unwrap_or_clone);
        (input, output)
    }

    fn pair(&mut self, into: Region, from: Region) -> (&mut [T], &[T]) {
        const APART: &str = "a step's regions lie apart and within their buffers";
        let [a, b] = [place(into.buffer), place(from.buffer)];
        if a == b {
            let buffer = Arc::make_mut(&mut self.buffers[a]);
            let [into, from] = buffer.get_disjoint_mut([span(into), span(from)]).expect(APART);
            (into, from)
        } else {
            let [a, b] = self.buffers.get_disjoint_mut([a, b]).expect(APART);
            (&mut Arc::make_mut(a)[span(into)], &b[span(from)])
        }
    }
}

impl<T: Element> Workspace<T> {
    /// The bytes of a region, to be sent.
    pub fn bytes(&self, region: Region) -> &[u8] {
        bytemuck::cast_slice(self.slice(region))
    }

    /// The bytes of a region, to be received into.
    pub fn bytes_mut(&mut self, region: Region) -> &mut [u8] {
        bytemuck::cast_slice_mut(self.slice_mut(region))
    }
}

fn place(buffer: Buffer) -> usize {
    match buffer {
        Buffer::Input => 0,
        Buffer::Output => 1,
        Buffer::Scratch => 2,
    }
}

fn span(region: Region) -> Range<usize> {
    region.start as usize..region.end() as usize
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Builder, Side};
    use super::*;

    #[test]
    fn steps_work_across_and_within_buffers() {
        let mut builder = Builder::new();
        let room = builder.scratch(4);
        let minus = Operator::new("minus", false, |left: i32, right: i32| left - right);
        let mut work = Workspace::new(&builder.finish(), vec![1, 2], vec![10, 20], 0);
        let (low, high) = (room.part(&(0..2)), room.part(&(2..4)));
        assert!(work.apply(&Action::Copy { from: Region::input(0, 2), into: high }, Some(&minus)));
        assert!(work.apply(&Action::Copy { from: high, into: low }, Some(&minus)));
        assert_eq!(work.slice(room), [1, 2, 1, 2]);
        let (into, with) = (Region::output(0, 2), low);
        assert!(work.apply(&Action::Combine { into, with, side: Side::Right }, Some(&minus)));
        assert_eq!(work.slice(into), [9, 18]);
        assert!(work.apply(&Action::Combine { into, with, side: Side::Left }, Some(&minus)));
        assert_eq!(work.slice(into), [-8, -16]);
        work.bytes_mut(low)[0] = 7;
        assert_eq!(work.bytes(low)[..5], [7, 0, 0, 0, 2]);
        assert!(!work.apply(&Action::Signal { to: crate::ids::Rank(1) }, Some(&minus)));
        assert_eq!(work.into_buffers(), (vec![1, 2], vec![-8, -16]));
    }
}
