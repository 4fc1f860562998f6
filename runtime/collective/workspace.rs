//! The buffers a schedule works on, and the steps that need no message: copies and combinations.
//!
//! Messages are sent from these buffers and received into them, without a copy: each step under way borrows its regions,
//! and a schedule has no two steps under way at once that would write what the other needs.

use lathide_sys::pieces::{Exclusive, Pieces, Shared};

use super::operator::Operator;
use super::prepared::{Prepared, span};
use super::schedule::{Action, Buffer, Region};
use super::scratch;
use crate::buffer::memory;

/// One rank's buffers while its schedule is under way.
#[derive(Debug)]
pub(super) struct Workspace<T> {
    buffers: [Pieces<T>; 3],
}

impl<T: Copy + Send + 'static> Workspace<T> {
    /// Buffers for `schedule`. `blank` fills the scratch buffer; no schedule reads what it has not written.
    pub(super) fn new(schedule: &Prepared, input: Vec<T>, output: Vec<T>, blank: T) -> Self {
        let scratch = scratch::room(schedule.scratch() as usize, blank);
        let [input_cuts, output_cuts, scratch_cuts] = schedule.cuts();
        Workspace {
            buffers: [
                Pieces::new(input, input_cuts),
                Pieces::new(output, output_cuts),
                Pieces::new(scratch, scratch_cuts),
            ],
        }
    }

    /// Bytes of all buffers.
    pub(super) fn bytes(&self) -> usize {
        self.buffers.iter().map(|pieces| pieces.len() * size_of::<T>()).sum()
    }

    /// The elements of a region, to be read.
    ///
    /// # Panics
    /// If a step under way writes some of them, or they lie outside the buffer: a schedule of other sizes.
    pub(super) fn share(&self, region: Region) -> Shared<T> {
        self.buffers[place(region.buffer)].share(span(region)).expect(APART)
    }

    /// The elements of a region, to be written.
    ///
    /// # Panics
    /// If a step under way reads or writes some of them, or they lie outside the buffer.
    pub(super) fn lend(&self, region: Region) -> Exclusive<T> {
        self.buffers[place(region.buffer)].lend_alone(span(region)).expect(APART)
    }

    /// Does a copy or a combination. Returns whether it was one: all else is for whoever moves messages.
    ///
    /// # Panics
    /// As [`Workspace::share`] and [`Workspace::lend`] do. If the operator does, or is missing where one is needed.
    pub(super) fn apply(&mut self, action: &Action, operator: Option<&Operator<T>>) -> bool {
        match *action {
            Action::Combine { into, with, side } => {
                let operator = operator.expect("who combines has an operator");
                operator.combine(&mut self.lend(into), &self.share(with), side);
            }
            Action::Copy { from, into } => memory::copy(&mut self.lend(into), &self.share(from)),
            _ => return false,
        }
        true
    }

    /// The input and the output, given back. What a message has borrowed still is copied.
    pub(super) fn into_buffers(self) -> [Vec<T>; 2] {
        let [input, output, room] = self.buffers;
        if let Ok(room) = room.into_vec() {
            scratch::keep(room);
        }
        [input, output].map(|pieces| {
            pieces.into_vec().unwrap_or_else(|lent| memory::copy_of(&lent.share(0..lent.len()).expect(APART)))
        })
    }
}

/// What schedules are checked for.
const APART: &str = "steps that are under way at once keep apart, within their buffers";

fn place(buffer: Buffer) -> usize {
    match buffer {
        Buffer::Input => 0,
        Buffer::Output => 1,
        Buffer::Scratch => 2,
    }
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
        let (low, high) = (room.part(&(0..2)), room.part(&(2..4)));
        let steps = [
            Action::Copy { from: Region::input(0, 2), into: high },
            Action::Copy { from: high, into: low },
            Action::Combine { into: Region::output(0, 2), with: low, side: Side::Right },
            Action::Combine { into: Region::output(0, 2), with: low, side: Side::Left },
        ];
        builder.copy(Region::input(0, 2), high, &[]);
        builder.copy(high, low, &[]);
        let mut work = Workspace::new(&builder.finish().into(), vec![1, 2], vec![10, 20], 0);
        for (step, expected) in steps.iter().zip([[10, 20], [10, 20], [9, 18], [-8, -16]]) {
            assert!(work.apply(step, Some(&minus)));
            assert_eq!(work.share(Region::output(0, 2))[..], expected, "{step:?}");
        }
        assert_eq!(work.share(room)[..], [1, 2, 1, 2]);
        let mut lent = work.lend(low);
        lent[0] = 7;
        assert!(!work.apply(&Action::Signal { to: crate::ids::Rank(1) }, Some(&minus)));
        assert_eq!((work.share(high)[..].to_vec(), lent[..].to_vec()), (vec![1, 2], vec![7, 2]));
        drop(lent);
        assert_eq!(work.into_buffers(), [[1, 2], [-8, -16]]);
    }
}
