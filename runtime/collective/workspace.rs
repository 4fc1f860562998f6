//! The buffers a schedule works on, and the steps that need no message: copies and combinations.

use std::ops::Range;

use super::operator::Operator;
use super::schedule::{Action, Buffer, Region, Schedule};
use crate::buffer::Element;

/// One rank's buffers while its schedule is under way.
#[derive(Clone, Debug)]
pub struct Workspace<T> {
    buffers: [Vec<T>; 3],
}

impl<T: Copy> Workspace<T> {
    /// Buffers for `schedule`. `blank` fills the scratch buffer; no schedule reads what it has not written.
    pub fn new(schedule: &Schedule, input: Vec<T>, output: Vec<T>, blank: T) -> Self {
        Workspace { buffers: [input, output, vec![blank; schedule.scratch() as usize]] }
    }

    /// The elements of a region.
    pub fn slice(&self, region: Region) -> &[T] {
        &self.buffers[place(region.buffer)][span(region)]
    }

    /// The elements of a region, to be written.
    pub fn slice_mut(&mut self, region: Region) -> &mut [T] {
        &mut self.buffers[place(region.buffer)][span(region)]
    }

    /// Does a copy or a combination. Returns whether it was one: all else is for whoever moves messages.
    ///
    /// # Panics
    /// If a region lies outside its buffer, or source and destination overlap: schedules of other sizes.
    pub fn apply(&mut self, action: &Action, operator: &Operator<T>) -> bool {
        match *action {
            Action::Combine { into, with, side } => {
                let (into, with) = self.pair(into, with);
                operator.combine(into, with, side);
            }
            Action::Copy { from, into } => {
                let (into, from) = self.pair(into, from);
                into.copy_from_slice(from);
            }
            _ => return false,
        }
        true
    }

    /// Input and output, given back.
    pub fn into_buffers(self) -> (Vec<T>, Vec<T>) {
        let [input, output, _] = self.buffers;
        (input, output)
    }

    fn pair(&mut self, into: Region, from: Region) -> (&mut [T], &[T]) {
        const APART: &str = "a step's regions lie apart and within their buffers";
        let [a, b] = [place(into.buffer), place(from.buffer)];
        if a == b {
            let [into, from] = self.buffers[a].get_disjoint_mut([span(into), span(from)]).expect(APART);
            (into, from)
        } else {
            let [a, b] = self.buffers.get_disjoint_mut([a, b]).expect(APART);
            (&mut a[span(into)], &b[span(from)])
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
        assert!(work.apply(&Action::Copy { from: Region::input(0, 2), into: high }, &minus));
        assert!(work.apply(&Action::Copy { from: high, into: low }, &minus));
        assert_eq!(work.slice(room), [1, 2, 1, 2]);
        let (into, with) = (Region::output(0, 2), low);
        assert!(work.apply(&Action::Combine { into, with, side: Side::Right }, &minus));
        assert_eq!(work.slice(into), [9, 18]);
        assert!(work.apply(&Action::Combine { into, with, side: Side::Left }, &minus));
        assert_eq!(work.slice(into), [-8, -16]);
        work.bytes_mut(low)[0] = 7;
        assert_eq!(work.bytes(low)[..5], [7, 0, 0, 0, 2]);
        assert!(!work.apply(&Action::Signal { to: crate::ids::Rank(1) }, &minus));
        assert_eq!(work.into_buffers(), (vec![1, 2], vec![-8, -16]));
    }
}
