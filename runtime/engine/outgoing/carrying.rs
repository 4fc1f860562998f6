//! What lanes beside the first send: segments of long messages, in long frames, and what they have received.
//!
//! Nothing short waits here, so frames need not be taken back to let another pass: those of one call are planned, and what the
//! socket has taken of them counts as sent.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

use super::lane::Segment;
use super::retention::CALL_BYTES_MAX;
use super::{Outgoing, Partial};
use crate::engine::Completed;
use crate::engine::transmit::{Sent, Unsent, write_some};
use crate::wire::frame::{FRAGMENT_BYTES_MAX, Header, Kind, STAMP_BYTES};

/// Fragments behind one header.
const FRAME_FRAGMENTS: usize = 16;
/// Frames in one call.
const FRAMES_MAX: usize = 48;
/// Bytes one turn sends on one lane before reading again.
const BURST_BYTES_MAX: usize = 1 << 20;

/// Frames for one call.
#[derive(Default)]
struct Plan {
    heads: Vec<u8>,
    frames: Vec<Frame>,
}

struct Frame {
    head: Range<usize>,
    /// The message and its bytes.
    payload: Option<(usize, u64, Range<usize>)>,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Acknowledgement,
    Segment,
    Data,
    Stamp,
}

impl Plan {
    fn add(&mut self, header: Header, body: &[&[u8]], what: What) {
        let start = self.heads.len();
        self.heads.extend_from_slice(&header.encode());
        body.iter().for_each(|bytes| self.heads.extend_from_slice(bytes));
        self.frames.push(Frame { head: start..self.heads.len(), payload: None, what });
    }
}

impl Outgoing {
    /// As [`Outgoing::transmit`], on a lane beside the first.
    pub(in crate::engine) fn transmit_lane(
        &mut self,
        lane: usize,
        completions: &mut VecDeque<Completed>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        let mut burst = 0;
        loop {
            if self.is_mute || self.lanes[lane].is_down {
                return Ok(Sent::All);
            }
            let outcome = if self.lanes[lane].retention.unsent() > 0 {
                self.send_lane_again(lane, write)
            } else {
                self.send_on(lane, completions, write)
            };
            match outcome {
                Ok((0, 0)) => return Ok(Sent::All),
                Ok((offered, written)) if written < offered => return Ok(Sent::Blocked),
                Ok((_, written)) => burst += written,
                Err(Unsent::Socket(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Blocked),
                Err(Unsent::Socket(error)) => return Err(error),
                Err(Unsent::Buffer(message_header)) => {
                    self.broken = Some(message_header);
                    return Ok(Sent::Blocked);
                }
            }
            if !self.lane_has_output(lane) {
                return Ok(Sent::All);
            }
            if burst >= BURST_BYTES_MAX {
                return Ok(Sent::More);
            }
        }
    }

    /// Sends what is new. Returns how many bytes were offered, and how many taken.
    fn send_on(
        &mut self,
        lane: usize,
        completions: &mut VecDeque<Completed>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        let plan = self.plan(lane);
        let outcome = self.write_plan(lane, &plan, write);
        let taken = outcome.as_ref().map_or(0, |(_, written)| *written);
        self.commit_plan(lane, &plan, taken, completions);
        outcome
    }

    fn plan(&mut self, lane: usize) -> Plan {
        let mut plan = Plan::default();
        let has_room = self.lanes[lane].retention.has_room(0);
        if has_room {
            self.fill_lane(lane);
        } else if self.lane_has_frames(lane) {
            self.lanes[lane].retention.is_full();
        }
        let frame_bytes = (FRAME_FRAGMENTS * self.fragment_bytes).min(FRAGMENT_BYTES_MAX);
        let most = self.lanes[lane].retention.call(0);
        let this = &mut self.lanes[lane];
        let mut number = this.number;
        let mut header = |kind, message_id, length: u64| {
            let header = Header { kind, flags: 0, number, message_id, length: length as u32 };
            number = number.wrapping_add(1);
            header
        };
        if this.acknowledgement.is_due(has_room && !this.segments.is_empty()) {
            let position = this.acknowledgement.tell().to_le_bytes();
            plan.add(header(Kind::Acknowledgement, 0, 8), &[&position], What::Acknowledgement);
        }
        let mut bytes = 0;
        for &Segment { index, at, to, is_said, stamp, .. } in this.segments.iter().filter(|_| has_room) {
            let message_id = self.messages[index].as_ref().map_or(0, |message| message.message_id);
            if !is_said {
                let body = [at.to_le_bytes(), (to - at).to_le_bytes()];
                plan.add(header(Kind::Segment, message_id, 16), &[&body[0], &body[1]], What::Segment);
            }
            let mut at = at;
            while at < to && bytes < most && plan.frames.len() < FRAMES_MAX {
                let end = to.min(at + frame_bytes.min(most - bytes).max(1) as u64);
                plan.add(header(Kind::Data, message_id, end - at), &[], What::Data);
                if let Some(frame) = plan.frames.last_mut() {
                    frame.payload = Some((index, message_id, at as usize..end as usize));
                }
                bytes += (end - at) as usize;
                at = end;
            }
            if at == to
                && let Some(stamp) = stamp
            {
                plan.add(header(Kind::Stamp, message_id, STAMP_BYTES as u64), &[&stamp.encode()], What::Stamp);
            }
            if at < to || plan.frames.len() >= FRAMES_MAX || bytes >= most {
                break;
            }
        }
        plan
    }

    fn write_plan(
        &self,
        lane: usize,
        plan: &Plan,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        let mut slices = Vec::with_capacity(2 * plan.frames.len() + 2);
        if let Some(Partial { head, payload, .. }) = &self.lanes[lane].partial {
            slices.push(IoSlice::new(head));
            if let Some((index, range)) = payload {
                slices.push(IoSlice::new(self.part(*index, range)?));
            }
        }
        let mut heads = 0..0;
        for frame in &plan.frames {
            heads.end = frame.head.end;
            if let Some((index, _, range)) = &frame.payload {
                slices.push(IoSlice::new(&plan.heads[heads.clone()]));
                slices.push(IoSlice::new(self.part(*index, range)?));
                heads.start = heads.end;
            }
        }
        slices.push(IoSlice::new(&plan.heads[heads]));
        slices.retain(|slice| !slice.is_empty());
        let offered = slices.iter().map(|slice| slice.len()).sum();
        if offered == 0 {
            return Ok((0, 0));
        }
        write_some(&slices, write).map(|written| (offered, written))
    }

    /// The first `written` bytes have left: of the frame that was under way, then of the planned ones.
    fn commit_plan(&mut self, lane: usize, plan: &Plan, mut written: usize, completions: &mut VecDeque<Completed>) {
        if let Some(mut partial) = self.lanes[lane].partial.take() {
            let of_head = written.min(partial.head.len());
            let head = partial.head[..of_head].to_vec();
            let payload = partial.payload.as_ref().map(|(index, range)| {
                (self.message(*index).message_id, range.start..range.end.min(range.start + written - of_head))
            });
            self.lanes[lane].keep(&head, payload);
            written = partial.advance(written);
            if !partial.is_written() {
                self.lanes[lane].partial = Some(partial);
            } else if let Some(index) = partial.finishes {
                self.part_is_gone(index, completions);
            }
        }
        for frame in &plan.frames {
            if written == 0 {
                if frame.what == What::Acknowledgement {
                    self.lanes[lane].acknowledgement.was_not_told();
                }
                continue;
            }
            written = self.commit_frame(lane, plan, frame, written, completions);
        }
    }

    /// `written` bytes have left of a frame and of those behind it. Returns how many were of those behind it.
    fn commit_frame(
        &mut self,
        lane: usize,
        plan: &Plan,
        frame: &Frame,
        written: usize,
        completions: &mut VecDeque<Completed>,
    ) -> usize {
        let head = &plan.heads[frame.head.clone()];
        let of_head = written.min(head.len());
        let length = frame.payload.as_ref().map_or(0, |(.., range)| range.len());
        let of_payload = (written - of_head).min(length);
        let this = &mut self.lanes[lane];
        let begun = frame.payload.as_ref().map(|(_, id, range)| (*id, range.start..range.start + of_payload));
        this.keep(&head[..of_head], begun);
        this.number = this.number.wrapping_add(1);
        let (mut finishes, mut said) = (None, None);
        match frame.what {
            What::Acknowledgement | What::Stamp => {}
            What::Segment => {
                if let Some(front) = this.segments.front_mut() {
                    front.is_said = true;
                    said = Some(front.index);
                }
            }
            What::Data => {
                let to = frame.payload.as_ref().map_or(0, |(.., range)| range.end as u64);
                finishes = this.advance(to);
            }
        }
        if of_head + of_payload < head.len() + length {
            let payload = frame.payload.as_ref().map(|(index, _, range)| (*index, range.start + of_payload..range.end));
            this.partial = Some(Partial { head: head[of_head..].to_vec(), payload, finishes });
        } else if let Some(index) = finishes {
            self.part_is_gone(index, completions);
        }
        if let Some(index) = said {
            self.message_mut(index).said += 1;
        }
        written - of_head - of_payload
    }

    /// Sends on of what the last connection has lost. Returns how many bytes were offered, and how many taken.
    fn send_lane_again(
        &mut self,
        lane: usize,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        let under_way = |message_id| {
            self.messages().find(|message| message.message_id == message_id).map(|message| &*message.source)
        };
        let lost = self.lanes[lane].retention.lost(CALL_BYTES_MAX, under_way);
        let bytes = lost.map_err(|message_id| Unsent::Buffer(self.header_of(message_id)))?;
        let count = write_some(&[IoSlice::new(&bytes)], write)?;
        self.lanes[lane].retention.sent_again(count);
        Ok((bytes.len(), count))
    }
}
