//! The sending side of a lane beside the first.

use std::collections::VecDeque;
use std::ops::Range;

use super::partial::Partial;
use super::retention::{BOUND_BYTES, Retention};
use crate::engine::acknowledgement::Acknowledgement;
use crate::wire::frame::{MatchKey, Stamp};

/// What it has taken and sent. What it takes, `lanes` decides.
pub(in crate::engine) struct Lane {
    /// What it has taken; the front has its turn.
    pub(in crate::engine) segments: VecDeque<Segment>,
    /// Bytes sent in this turn.
    turn: usize,
    /// Frames taken so far; the next frame's number.
    pub(in crate::engine) number: u32,
    /// The rest of a frame that the socket took only in part.
    pub(in crate::engine) partial: Option<Partial>,
    pub(in crate::engine) retention: Retention,
    pub(in crate::engine) acknowledgement: Acknowledgement,
    /// Behind the last byte of a message.
    last: u64,
    /// There is no connection now.
    pub(in crate::engine) is_down: bool,
}

/// Bytes of a message that a lane has taken and not put into frames.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Segment {
    pub(in crate::engine) index: usize,
    pub(in crate::engine) key: MatchKey,
    pub(in crate::engine) at: u64,
    pub(in crate::engine) to: u64,
    /// The peer knows that its bytes come next.
    pub(in crate::engine) is_said: bool,
    /// Follows its last byte, which is the message's.
    pub(in crate::engine) stamp: Option<Stamp>,
}

impl Lane {
    /// One that has no connection yet; `is_only`: of those beside the first it is the only one so far. That keeps as much as the first
    /// may, since all that is long goes there. More of them keep little: their bytes are copied when a program takes its buffer back.
    pub(super) fn new(is_only: bool) -> Self {
        // How soon the peer is told is less than the bound allows: where another forwards the connection, TCP does not know how much the
        // path holds.
        let (bound, told) = if is_only { (BOUND_BYTES, BOUND_BYTES / 2) } else { (BOUND_BYTES / 8, BOUND_BYTES / 8) };
        Lane {
            segments: VecDeque::new(),
            turn: 0,
            number: 0,
            partial: None,
            retention: Retention::new(bound),
            acknowledgement: Acknowledgement::new(told),
            last: 0,
            is_down: true,
        }
    }

    /// Whether the peer has acknowledged all bytes of messages that it was to bring.
    pub(in crate::engine) fn is_settled(&self) -> bool {
        // What is left of a frame whose message has been given up is nobody's.
        let is_under_way = self.partial.as_ref().is_some_and(|partial| partial.payload.is_some());
        let is_idle = self.segments.is_empty() && !is_under_way;
        is_idle && self.retention.acknowledged().wrapping_sub(self.last) < 1 << 63
    }

    /// The messages of which it has segments.
    pub(super) fn messages(&self) -> impl Iterator<Item = usize> {
        self.segments.iter().map(|segment| segment.index)
    }

    /// Some of a frame was sent: its head, which has these bytes there, and this of a message's payload.
    pub(in crate::engine) fn keep(&mut self, head: &[u8], payload: Option<(u64, Range<usize>)>) {
        self.retention.copy(head);
        if let Some((message_id, range)) = payload {
            self.retention.name(message_id, range);
            self.last = self.retention.sent();
        }
    }

    pub(super) fn is_under_way(&self, index: usize) -> bool {
        let payload = self.partial.as_ref().and_then(|partial| partial.payload.as_ref());
        payload.is_some_and(|(other, _)| *other == index)
    }

    /// Bytes of the front segment have been put into frames, up to `to`. Returns its message if those were its last.
    pub(in crate::engine) fn advance(&mut self, to: u64) -> Option<usize> {
        let front = self.segments.front_mut()?;
        self.turn += (to - front.at) as usize;
        front.at = to;
        if front.at == front.to {
            self.turn = 0;
            return self.segments.pop_front().map(|segment| segment.index);
        }
        None
    }

    /// Gives the next segment its turn, when the front's is over.
    pub(in crate::engine) fn take_turns(&mut self, turn_bytes: usize) {
        if self.turn < turn_bytes || self.segments.len() < 2 {
            return;
        }
        self.turn = 0;
        if let Some(front) = self.segments.front_mut() {
            front.is_said = false;
        }
        self.segments.rotate_left(1);
    }

    #[cfg(test)]
    pub(in crate::engine) fn begin_at(&mut self, position: u64) {
        self.retention.begin_at(position);
        self.acknowledgement.begin_at(position);
        self.last = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over an emulated link, or whatever else forwards connections, TCP does not see how long the path is. A path of 50 ms there and
    /// back at 50 Mbit/s does not stand still, though the peer says only now and then what has come.
    #[test]
    fn the_only_lane_beside_the_first_keeps_what_a_long_path_holds_that_nobody_tells_of() {
        let mut lane = Lane::new(true);
        let mut at = 0;
        while lane.retention.has_room(0) {
            lane.retention.name(1, at..at + 1000);
            at += 1000;
        }
        let told = (0..).find(|&count| {
            let mut acknowledgement = Lane::new(true).acknowledgement;
            acknowledgement.receives(count * 1000, 0, std::time::Duration::ZERO);
            acknowledgement.is_due(false)
        });
        let untold = 1000 * told.expect("it is told in the end");
        assert!(at - untold > 50_000_000 / 8 / 20, "{at}, {untold}");
        assert!(lane.retention.kept() <= BOUND_BYTES);
    }
}
