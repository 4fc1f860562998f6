//! From queues to vectored writes: many frames in one call, nothing copied but headers and small payloads.
//!
//! Frames are taken from the queues for one call; what the socket does not accept goes back, so that a small
//! message posted meanwhile still goes ahead of it. Only the frame under way must be finished first.

mod short;
mod taken;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

use super::outgoing::{Body, Control, Express, Outgoing, Partial, Stage, TURN_FRAGMENTS};
use super::{Completed, Progress};
use crate::buffer::memory;
use crate::wire::frame::{ANSWER, CHARGED, FIRST, Header, Kind, MessageHeader};
pub(super) use short::Short;
pub(super) use taken::Batch;
use taken::{Frame, Undo};

/// Slices in one vectored call: far below the system's limit of 1024, enough for 64 fragments.
const SLICES_MAX: usize = 130;
/// So few frames are most calls with short messages.
const FEW_FRAMES: usize = 2;
/// Bytes one turn sends to one link before reading again.
const BURST_BYTES_MAX: usize = 1 << 20;
/// Messages up to this are copied beside their header: a copy is cheaper than two more slices, and than to know of the buffer
/// until the peer has acknowledged it.
pub(crate) const COPY_BYTES_MAX: usize = 8192;
/// The same of the end of a longer message, whose buffer is known anyway.
const COPY_END_BYTES_MAX: usize = 512;
/// Small messages may pass long ones by this many fragments before a long one sends again.
const EXPRESS_RUN_FRAGMENTS: usize = 4;

/// What came of an attempt to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// Nothing is left to send.
    All,
    /// The socket takes no more now.
    Blocked,
    /// The burst is over; more could go at once.
    More,
}

/// Why nothing of a call was sent.
pub(super) enum Unsent {
    Socket(io::Error),
    /// The message's buffer does not give its bytes.
    Buffer(MessageHeader),
}

impl Outgoing {
    /// Sends as much as the socket takes, at most one burst. `write` is a non-blocking vectored write.
    pub(super) fn transmit(
        &mut self,
        batch: &mut Batch,
        completions: &mut VecDeque<Completed>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        if self.is_mute {
            return Ok(Sent::All);
        }
        if self.is_down {
            return Ok(Sent::All);
        }
        let mut burst = 0;
        loop {
            if self.retention.unsent() > 0 {
                match self.send_again(write) {
                    Ok(true) => continue,
                    Ok(false) => return Ok(Sent::Blocked),
                    Err(Unsent::Socket(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Ok(Sent::Blocked);
                    }
                    Err(Unsent::Socket(error)) => return Err(error),
                    Err(Unsent::Buffer(message_header)) => {
                        self.broken = Some(message_header);
                        return Ok(Sent::Blocked);
                    }
                }
            }
            let sent = match self.only_short() {
                Some(index) => self.send_short(index, &mut batch.scratch, completions, write),
                None => self.send_frames(batch, completions, write),
            };
            let (offered, written) = match sent {
                Ok((0, _)) => return Ok(Sent::All),
                Ok(counts) => counts,
                Err(Unsent::Socket(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.batch.was_blocked(burst);
                    return Ok(Sent::Blocked);
                }
                Err(Unsent::Socket(error)) => return Err(error),
                Err(Unsent::Buffer(message_header)) => {
                    self.broken = Some(message_header);
                    return Ok(Sent::Blocked);
                }
            };
            burst += written;
            if written < offered {
                self.batch.was_blocked(burst);
                return Ok(Sent::Blocked);
            }
            self.batch.was_taken(offered);
            if !self.has_output() {
                return Ok(Sent::All);
            }
            if burst >= BURST_BYTES_MAX {
                return Ok(Sent::More);
            }
        }
    }

    /// Sends what one call takes. Returns the bytes offered, and how many of them were written.
    fn send_frames(
        &mut self,
        batch: &mut Batch,
        completions: &mut VecDeque<Completed>,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        self.fill(batch);
        match self.write_batch(batch, write) {
            Ok((offered, written)) => {
                self.commit(batch, written, completions);
                Ok((offered, written))
            }
            Err(unsent) => {
                self.put_back(batch, 0);
                Err(unsent)
            }
        }
    }

    fn fill(&mut self, batch: &mut Batch) {
        batch.scratch.clear();
        batch.frames.clear();
        if !self.has_room() {
            // The peer may wait for this before it tells of what it has received itself.
            if self.acknowledgement.is_due(false) {
                batch.frames.extend([self.acknowledgement_frame(&mut batch.scratch)]);
            }
            if self.has_frames() {
                self.retention.is_full();
            }
            return;
        }
        if self.acknowledgement.is_due(self.has_frames()) {
            batch.frames.extend([self.acknowledgement_frame(&mut batch.scratch)]);
        }
        let (mut slices, mut bytes) = (2, 0);
        let most = self.retention.call(self.next_bytes());
        while slices + 2 <= SLICES_MAX && bytes < most {
            let Some(frame) = self.take_frame(&mut batch.scratch) else { return };
            // Adjacent heads without payload share a slice.
            let joins = batch.frames.last().is_some_and(|last: &Frame| last.payload.is_none());
            slices += usize::from(!joins) + usize::from(frame.payload.is_some());
            bytes += frame.bytes();
            batch.frames.push(frame);
        }
    }

    fn write_batch(
        &self,
        batch: &Batch,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        // Room for all slices is two kilobytes to clear: more than the frames themselves, where they are few.
        if batch.frames.len() <= FEW_FRAMES {
            self.write_slices::<{ 2 * FEW_FRAMES + 3 }>(batch, write)
        } else {
            self.write_slices::<SLICES_MAX>(batch, write)
        }
    }

    fn write_slices<const MAX: usize>(
        &self,
        batch: &Batch,
        write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Unsent> {
        let mut slices = [IoSlice::new(&[]); MAX];
        let (mut count, mut offered) = (0, 0);
        let mut add = |bytes| {
            slices[count] = IoSlice::new(bytes);
            count += 1;
            offered += bytes.len();
        };
        if let Some(partial) = &self.partial {
            if !partial.head.is_empty() {
                add(&partial.head[..]);
            }
            if let Some((index, range)) = &partial.payload {
                add(self.part(*index, range)?);
            }
        }
        let mut head = 0..0;
        for frame in &batch.frames {
            head.end = frame.head.end;
            if let Some((index, range)) = &frame.payload {
                add(&batch.scratch[head.clone()]);
                add(self.part(*index, range)?);
                head.start = head.end;
            }
        }
        if !head.is_empty() {
            add(&batch.scratch[head]);
        }
        if offered == 0 {
            return Ok((0, 0));
        }
        write_some(&slices[..count], write).map(|written| (offered, written))
    }

    /// Bytes of a message.
    pub(super) fn part(&self, index: usize, range: &Range<usize>) -> Result<&[u8], Unsent> {
        let message = self.message(index);
        message.source.part(range.clone()).ok_or(Unsent::Buffer(message.message_header))
    }

    /// The first `written` bytes are gone: completes what they complete and puts the rest back.
    fn commit(&mut self, batch: &mut Batch, mut written: usize, completions: &mut VecDeque<Completed>) {
        if let Some(mut partial) = self.partial.take() {
            let Partial { head, payload, .. } = &partial;
            let (of_head, of_payload) = taken(written, head.len(), payload);
            self.keep(&head[..of_head], of_payload);
            written = partial.advance(written);
            if partial.is_written() {
                self.finish(partial.finishes, completions);
                // What is in the batch of the same message is not sent yet.
                if let Some((index, _)) = partial.payload
                    && partial.finishes.is_none()
                    && !batch.frames.iter().any(|frame| frame.undo.message() == Some(index))
                {
                    self.end_if_gone(index, completions);
                }
            } else {
                self.partial = Some(partial);
            }
        }
        let mut kept = 0;
        for frame in &batch.frames {
            if written == 0 {
                break;
            }
            kept += 1;
            if matches!(&frame.undo, Undo::Control(control) if control.kind == Kind::GoodbyeAck) {
                self.answers(frame.bytes());
            }
            let (of_head, of_payload) = taken(written, frame.head.len(), &frame.payload);
            let head = &batch.scratch[frame.head.clone()];
            self.keep(&head[..of_head], of_payload);
            if written >= frame.bytes() {
                written -= frame.bytes();
                self.finish(frame.finishes, completions);
            } else {
                let mut partial = Partial {
                    head: batch.scratch[frame.head.clone()].to_vec(),
                    payload: frame.payload.clone(),
                    finishes: frame.finishes,
                };
                written = partial.advance(written);
                self.partial = Some(partial);
            }
        }
        self.put_back(batch, kept);
    }

    fn finish(&mut self, finishes: Option<usize>, completions: &mut VecDeque<Completed>) {
        if let Some(index) = finishes {
            self.complete(index, completions);
        }
    }

    /// The next frame: control first, then what leaves in the order of posting, long messages in between.
    fn take_frame(&mut self, scratch: &mut Vec<u8>) -> Option<Frame> {
        if let Some(stamp) = self.stamp_due.take() {
            return Some(Frame { undo: Undo::Stamp, ..self.control_frame(stamp, scratch) });
        }
        if let Some(control) = self.control.pop_front() {
            return Some(self.control_frame(control, scratch));
        }
        let has_bulk = !self.bulk.is_empty() && !self.has_lanes();
        let bulk_is_due = has_bulk && self.express_run >= EXPRESS_RUN_FRAGMENTS * self.fragment_bytes;
        if !bulk_is_due && let Some(entry) = self.express.pop_front() {
            return Some(match entry {
                Express::Envelope(index) if !self.envelope_can_go_as_message(index) => {
                    self.envelope_frame(index, scratch)
                }
                Express::Envelope(index) | Express::Message(index) => self.first_frame(index, scratch),
            });
        }
        if has_bulk && let Some(&index) = self.bulk.front() {
            return Some(self.bulk_frame(index, scratch));
        }
        if self.goodbye_is_due() {
            let goodbye = self.goodbye.take()?;
            return Some(self.control_frame(goodbye, scratch));
        }
        None
    }

    fn acknowledgement_frame(&mut self, scratch: &mut Vec<u8>) -> Frame {
        let position = self.acknowledgement.tell();
        let body = Body::Number(position);
        let control = Control { body, ..Control::about(Kind::Acknowledgement, 0) };
        Frame { undo: Undo::Acknowledgement, ..self.control_frame(control, scratch) }
    }

    fn control_frame(&mut self, control: Control, scratch: &mut Vec<u8>) -> Frame {
        let (number, numbers, opening_bytes, stamp);
        let body = match &control.body {
            Body::Number(value) => {
                number = value.to_le_bytes();
                &number[..]
            }
            Body::Numbers(one, other) => {
                numbers = [one.to_le_bytes(), other.to_le_bytes()].concat();
                &numbers[..]
            }
            Body::Stamp(value) => {
                stamp = value.encode();
                &stamp[..]
            }
            Body::MessageHeaders(_, message) => {
                opening_bytes = message.encode();
                &opening_bytes[..]
            }
            Body::Words(words) => words.as_bytes(),
            Body::Empty | Body::MessageHeader(_) => &[],
        };
        let message_header = match &control.body {
            Body::MessageHeader(message_header) | Body::MessageHeaders(message_header, _) => Some(*message_header),
            _ => None,
        };
        let head = self.head(control.kind, control.flags, control.message_id, message_header, body.len(), scratch);
        scratch.extend_from_slice(body);
        Frame { head: head.start..scratch.len(), payload: None, finishes: None, undo: Undo::Control(control) }
    }

    fn envelope_frame(&mut self, index: usize, scratch: &mut Vec<u8>) -> Frame {
        let message = self.message_mut(index);
        let answer = match &mut message.stage {
            Stage::Announced { answer, sent } => {
                *sent = true;
                *answer
            }
            stage => unreachable!("an envelope of a message that is {stage:?}"),
        };
        let (message_id, message_header) = (message.message_id, message.message_header);
        let flags = if answer { ANSWER } else { 0 };
        let head = self.head(Kind::Envelope, flags, message_id, Some(message_header), 0, scratch);
        let undo = Undo::Envelope { index, express_run: self.express_run };
        self.express_run += head.len();
        Frame { head, payload: None, finishes: None, undo }
    }

    /// A message's first fragment, or its only one.
    fn first_frame(&mut self, index: usize, scratch: &mut Vec<u8>) -> Frame {
        let undo =
            Undo::Express { index, express_run: self.express_run, stage: self.message(index).stage, in_bulk: None };
        let mut frame = self.data_frame(index, undo, scratch);
        self.express_run += frame.bytes();
        if frame.finishes.is_none() {
            let at = self.push_bulk(index);
            if let Undo::Express { in_bulk, .. } = &mut frame.undo {
                *in_bulk = Some(at);
            }
        }
        frame
    }

    fn bulk_frame(&mut self, index: usize, scratch: &mut Vec<u8>) -> Frame {
        let (turn, express_run, stage) = (self.turn, self.express_run, self.message(index).stage);
        let before = self.message(index).sent;
        let undo = Undo::Bulk { index, bytes: 0, turn, express_run, gone: false, rotated: 0, stage };
        let mut frame = self.data_frame(index, undo, scratch);
        let taken = self.message(index).sent - before;
        self.express_run = 0;
        self.turn += taken as usize;
        let is_last = frame.finishes.is_some();
        if is_last {
            self.bulk.pop_front();
        }
        let key = |index: usize| self.message(index).message_header.key;
        let key_goes_on = self.bulk.front().is_some_and(|&front| key(front) == key(index));
        let mut went = 0;
        if !key_goes_on {
            // The next key is in front already.
            self.turn = 0;
        } else if self.turn >= TURN_FRAGMENTS * self.fragment_bytes {
            self.turn = 0;
            went = self.rotate_bulk();
        }
        if let Undo::Bulk { bytes, gone, rotated, .. } = &mut frame.undo {
            (*bytes, *gone, *rotated) = (taken, is_last, went);
        }
        frame
    }

    fn data_frame(&mut self, index: usize, undo: Undo, scratch: &mut Vec<u8>) -> Frame {
        let (batch_bytes, fragment_bytes) = (self.batch.bytes(), self.fragment_bytes);
        let message = self.message(index);
        let (total, begins) = (message.message_header.total as usize, message.sent == 0);
        // Of what other lanes go on with, this one brings the beginning only.
        let most = match self.has_lanes() && total > batch_bytes {
            true if begins && self.may_go_whole(total) => total,
            true => fragment_bytes,
            false => batch_bytes,
        };
        let message = self.message_mut(index);
        let (message_id, message_header, from) = (message.message_id, message.message_header, message.sent as usize);
        let Stage::Ready { opened, charged } = message.stage else {
            unreachable!("data of a message that is not ready")
        };
        let to = (from + most).min(total);
        message.sent = to as u64;
        message.stage = Stage::Ready { opened: true, charged: false };
        let is_last = message.sent == message_header.total;
        let op = message.op;
        if is_last && let Some(stamp) = message.stamp {
            self.stamp_due = Some(Control { body: Body::Stamp(stamp), ..Control::about(Kind::Stamp, message_id) });
        }
        if from == 0 && !is_last {
            self.notes.take(message_id, Progress::Goes(op));
        }
        let flags = if opened { 0 } else { FIRST } | if charged { CHARGED } else { 0 };
        let mut head =
            self.head(Kind::Data, flags, message_id, (!opened).then_some(message_header), to - from, scratch);
        let (mut payload, finishes) = (Some((index, from..to)), is_last.then_some(index));
        let most = if is_last && from == 0 { COPY_BYTES_MAX } else { COPY_END_BYTES_MAX };
        // A buffer that does not give them now is asked again when they are to go, and fails then.
        if to - from <= most
            && let Some(bytes) = self.message(index).source.part(from..to)
        {
            memory::append(scratch, bytes);
            head.end = scratch.len();
            payload = None;
        }
        Frame { head, payload, finishes, undo }
    }

    fn head(
        &mut self,
        kind: Kind,
        flags: u8,
        message_id: u64,
        message_header: Option<MessageHeader>,
        length: usize,
        scratch: &mut Vec<u8>,
    ) -> Range<usize> {
        let start = scratch.len();
        self.put_head((kind, flags), message_id, message_header, length, scratch);
        self.number = self.number.wrapping_add(1);
        start..scratch.len()
    }

    /// The head of the next frame.
    fn put_head(
        &self,
        (kind, flags): (Kind, u8),
        message_id: u64,
        message_header: Option<MessageHeader>,
        length: usize,
        scratch: &mut Vec<u8>,
    ) {
        let header = Header { kind, flags, number: self.number, message_id, length: length as u32 };
        scratch.extend_from_slice(&header.encode());
        if let Some(message_header) = message_header {
            scratch.extend_from_slice(&message_header.encode());
        }
    }
}

/// What `written` bytes are of a frame: of its head, and of its payload.
fn taken(
    written: usize,
    head: usize,
    payload: &Option<(usize, Range<usize>)>,
) -> (usize, Option<(usize, Range<usize>)>) {
    let of_head = written.min(head);
    let rest =
        |(index, Range { start, end }): &(usize, Range<usize>)| (*index, *start..(*end).min(start + written - of_head));
    (of_head, payload.as_ref().map(rest))
}

/// Writes once, in spite of signals.
pub(super) fn write_some(
    slices: &[IoSlice<'_>],
    write: &mut dyn FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
) -> Result<usize, Unsent> {
    loop {
        match write(slices) {
            Ok(written) => return Ok(written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Unsent::Socket(error)),
        }
    }
}
