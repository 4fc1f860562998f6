//! Lanes beside the first: what long messages have to say goes over connections of its own.
//!
//! The first lane opens every message, in the order of posting, and keeps it for itself if it is short. The rest of a long one is
//! taken by the other lanes as *segments*, each by one lane, which brings it in order from its beginning to its end; a message
//! may be in several segments at once. So what is short never waits behind what is long, in no buffer of either host, and a path
//! that slows one connection after each loss has several to slow. A lane has its own frames, positions, acknowledgements and
//! bytes kept: it is cut and goes on by itself, and what it had to bring waits for it.

use std::collections::VecDeque;

use super::lane::{Lane, Segment};
use super::{Control, Express, Message, Outgoing, Stage};
use crate::engine::Completed;
use crate::wire::frame::Kind;

/// The most lanes of a link beside the first.
pub(crate) const LANES_MAX: u8 = 8;
/// So many fragments are a segment: where there is one lane, which others may come to help, and where there are several. What
/// one has taken no other can.
const SEGMENT_FRAGMENTS: (usize, usize) = (256, 64);
/// A message on two lanes is two to send and two to read. One that is not longer goes on the first alone, if no long one is under way.
const WHOLE_BYTES_MAX: usize = 32 << 10;
/// As long as no more is under way there: what is short waits behind it.
const AHEAD_BYTES_MAX: u64 = 64 << 10;
/// Messages of different keys that take turns on a lane.
const SEGMENTS_MAX: usize = 8;
/// Fragments that a lane sends of a segment before the next has its turn.
const TURN_FRAGMENTS: usize = 64;

impl Outgoing {
    /// Whether long messages go by other lanes: one of them has a connection.
    pub(in crate::engine) fn has_lanes(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.is_down)
    }

    /// Whether a message of so many bytes, which is to go now, goes whole on the first lane though there are others: it is not long, and what
    /// is short waits behind little.
    pub(in crate::engine) fn may_go_whole(&self, bytes: usize) -> bool {
        let is_idle = |lane: &Lane| lane.segments.is_empty() && lane.partial.is_none();
        let fits = bytes <= WHOLE_BYTES_MAX.min(self.batch.longest());
        fits && !self.has_bulk()
            && self.lanes.iter().all(is_idle)
            && self.retention.kept() + bytes as u64 <= AHEAD_BYTES_MAX
    }

    /// There are to be at least `count` lanes beside the first; new ones have no connection yet.
    pub(in crate::engine) fn open_lanes(&mut self, count: u8) {
        while self.lanes.len() < count.min(LANES_MAX).into() {
            self.lanes.push(Lane::new(self.lanes.is_empty()));
        }
    }

    /// A lane has a connection: whatever is long opens on the first lane, for the others to go on with.
    pub(in crate::engine) fn lane_is_up(&mut self, lane: usize) {
        self.lanes[lane].is_down = false;
        let Outgoing { bulk, express, messages, .. } = self;
        bulk.retain(|&index| {
            let message = messages[index].as_ref();
            let is_opened = message.is_none_or(is_opened);
            if !is_opened {
                express.push_back(Express::Message(index));
            }
            is_opened
        });
    }

    /// Asks the peer for so many lanes.
    pub(in crate::engine) fn wish_lanes(&mut self, count: u8) {
        self.control.push_back(Control::about(Kind::Lanes, count.into()));
    }

    /// Whether long messages wait, of which some bytes are neither in frames nor taken by lanes.
    pub(in crate::engine) fn has_bulk(&self) -> bool {
        !self.bulk.is_empty() || !self.for_lanes.is_empty()
    }

    /// Bytes of long messages that have not been put into frames, nor taken by lanes.
    pub(in crate::engine) fn bulk_bytes(&self) -> u64 {
        let waits = self.bulk.iter().chain(&self.for_lanes).map(|&index| self.message(index));
        waits.map(|message| message.message_header.total - message.sent).sum()
    }

    /// Whether a lane has, or could take, something to send.
    pub(in crate::engine) fn lane_has_frames(&self, lane: usize) -> bool {
        let Lane { segments, partial, .. } = &self.lanes[lane];
        partial.is_some() || !segments.is_empty() || self.next_for(lane).is_some()
    }

    /// Whether it may send something now.
    pub(in crate::engine) fn lane_has_output(&self, lane: usize) -> bool {
        let Lane { is_down, retention, acknowledgement, .. } = &self.lanes[lane];
        if self.is_mute || *is_down {
            return false;
        }
        let has_room = retention.has_room(0);
        retention.unsent() > 0 || acknowledgement.is_due(false) || (has_room && self.lane_has_frames(lane))
    }

    /// The next message of which `lane` may take a segment: none of whose key it has.
    fn next_for(&self, lane: usize) -> Option<usize> {
        let Lane { segments, .. } = &self.lanes[lane];
        if segments.len() >= SEGMENTS_MAX {
            return None;
        }
        let mut waits = self.for_lanes.iter().chain(&self.bulk).copied();
        waits.find(|&index| {
            let message = self.message(index);
            let key = message.message_header.key;
            is_opened(message) && segments.iter().all(|segment| segment.key != key)
        })
    }

    /// Has `lane` take what it may.
    pub(in crate::engine) fn fill_lane(&mut self, lane: usize) {
        self.lanes[lane].take_turns(TURN_FRAGMENTS * self.fragment_bytes);
        let is_alone = self.lanes.iter().filter(|lane| !lane.is_down).count() == 1;
        let segment = if is_alone { SEGMENT_FRAGMENTS.0 } else { SEGMENT_FRAGMENTS.1 };
        let segment_bytes = (segment * self.fragment_bytes) as u64;
        while let Some(index) = self.next_for(lane) {
            // A lane among several takes one at a time: the one that is quick takes more of them.
            if !is_alone && !self.lanes[lane].segments.is_empty() {
                return;
            }
            let message = self.message_mut(index);
            let (at, total, key) = (message.sent, message.message_header.total, message.message_header.key);
            let to = total.min(at + segment_bytes);
            message.sent = to;
            message.parts += 1;
            // Of one that comes over several lanes none knows when all of it has come.
            let stamp = if to == total { message.stamp.take().filter(|_| is_alone) } else { None };
            self.lanes[lane].segments.push_back(Segment { index, key, at, to, is_said: false, stamp });
            self.bulk.retain(|&other| other != index);
            self.for_lanes.retain(|&other| other != index);
            if to < total {
                self.for_lanes.push_front(index);
            }
        }
    }

    /// The last bytes of a segment have left.
    pub(in crate::engine) fn part_is_gone(&mut self, index: usize, completions: &mut VecDeque<Completed>) {
        self.message_mut(index).parts -= 1;
        self.end_if_gone(index, completions);
    }

    /// A message is to stop: lanes put no more of it into frames.
    pub(super) fn take_from_lanes(&mut self, index: usize) {
        let Outgoing { lanes, messages, .. } = self;
        let Some(message) = &mut messages[index] else { return };
        let total = message.message_header.total;
        // What nobody has taken counts as not sent anyway.
        let mut untouched = 0;
        for lane in lanes {
            let is_under_way = lane.is_under_way(index);
            lane.segments.retain(|segment| {
                if segment.index != index {
                    return true;
                }
                untouched += segment.to - segment.at;
                match &mut lane.partial {
                    // The frame under way ends the part, if it is not the end of one before.
                    Some(partial) if is_under_way && partial.finishes.is_none() => partial.finishes = Some(index),
                    _ => message.parts -= 1,
                }
                false
            });
        }
        debug_assert!(message.sent <= total && untouched <= message.sent);
        message.sent -= untouched;
    }

    /// All messages end: frames under way carry their bytes themselves from now on.
    pub(super) fn clear_lanes(&mut self) {
        self.for_lanes.clear();
        for at in 0..self.lanes.len() {
            self.lanes[at].segments.clear();
            let Some(mut partial) = self.lanes[at].partial.take() else { continue };
            let rest = match &partial.payload {
                Some((index, range)) => self.message(*index).source.part(range.clone()),
                None => Some(&[][..]),
            };
            match rest.map(<[u8]>::to_vec) {
                Some(rest) => {
                    partial.detach(rest);
                    self.lanes[at].partial = Some(partial);
                }
                None => self.is_mute = true,
            }
        }
    }
}

/// Whether the peer knows the message by what the first lane has brought, and whatever that has to say of it.
fn is_opened(message: &Message) -> bool {
    matches!(message.stage, Stage::Ready { opened: true, charged: false })
}
