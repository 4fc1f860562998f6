//! From bytes to frames: an incremental parser, and reads that put payload straight into posted buffers.
//!
//! While a long message arrives for a posted read, the next bytes are most likely its next fragments. So one
//! vectored read offers the rest of the posted buffer in fragments, with room for a header between each two.
//! When a long message has filled a read's buffer and the next read of its key waits with as long a buffer, or else one of
//! those that were posted first, the next message most likely fills that one. So even its first fragments are read in
//! place, together with the short end of a message before it. An acknowledgement in between is taken out, and what lies
//! behind it moves up. Where a header turns out to be another one, what was read beyond it is taken out again and parsed as
//! usual; the places it lay in are filled by the right bytes later.

mod plan;

use std::io::{self, IoSliceMut};

use self::plan::{NOTICE_BYTES, PREDICTED_MAX, Plan, gather, pull};
use crate::buffer::memory;
use crate::error::WireError;
use crate::wire::frame::{FIRST, HEADER_BYTES, Header, Kind, MESSAGE_HEADER_BYTES, MessageHeader};

/// So many notices are taken out of what one call has read: whoever sends nothing else has each move all behind it.
const NOTICES_MAX: usize = 4;
/// Bytes of a first fragment's head.
const HEAD_BYTES: usize = HEADER_BYTES + MESSAGE_HEADER_BYTES;
/// Predicting pays from two frames on ...
const PREDICTED_MIN: usize = 2;
/// ... or if it saves copying more than this, which takes a microsecond.
const COPIED_MAX: usize = 16 << 10;

/// What has been read of the frame under way.
#[derive(Default)]
pub(super) struct Parser {
    /// Frames that have begun; the next frame's number.
    pub(super) number: u32,
    /// A header, its message header and a control frame's body, as far as they are here.
    stage: Vec<u8>,
    /// The data frame whose payload is due: its message and the bytes left.
    payload: Option<(u64, usize)>,
    /// The message and length of the last data frame: the next one is probably alike.
    pub(super) last: Option<(u64, usize)>,
    /// The length of a long message's first frame, the last time.
    first: Option<usize>,
    /// The length of the last message, if it was a short one.
    short: Option<usize>,
    /// What has come behind a frame that must wait for something on another lane.
    held: Vec<u8>,
}

/// A frame, payload apart.
pub(super) struct Head {
    pub(super) header: Header,
    pub(super) message_header: Option<MessageHeader>,
    /// What follows in a control frame.
    pub(super) body: Vec<u8>,
}

/// Who acts on frames: the link.
pub(super) trait Frames {
    fn head(&mut self, head: Head) -> Result<(), WireError>;
    fn settle(&mut self, message_id: u64);
    /// Where the next bytes of a message go, if straight into a posted buffer.
    fn place(&mut self, message_id: u64) -> Option<&mut [u8]>;
    /// How many of its bytes are still to come this way.
    fn missing(&mut self, message_id: u64) -> Result<u64, WireError>;
    /// These have come; not more than are missing.
    fn deliver(&mut self, message_id: u64, bytes: &[u8]);
    /// So many have been read straight into the place.
    fn delivered(&mut self, message_id: u64, bytes: usize);
    /// The bytes of the message that probably comes next, if a read waits for it.
    fn expected_bytes(&self) -> Option<u64>;
    /// That message, with the buffer it will go to.
    fn expected(&mut self) -> Option<(MessageHeader, &mut [u8])>;
    /// Whether the last frame must wait for something on another lane, and all behind it.
    fn waits(&mut self) -> bool;
    /// All `bytes` of a message in one frame. Returns whether they were taken: else the frame is to be handed on as any other.
    fn whole(&mut self, message_id: u64, message_header: &MessageHeader, bytes: &[u8]) -> bool;
}

impl Parser {
    /// How many bytes of a head are here that is not complete.
    pub(super) fn head_begun(&self) -> usize {
        self.stage.len()
    }

    /// The bytes of the next message, if it begins with the next byte, the last one was short, and it is like that.
    pub(super) fn short_bytes(&self) -> Option<usize> {
        let is_between = self.stage.is_empty() && self.payload.is_none() && self.held.is_empty();
        self.short.filter(|_| is_between).map(|length| HEAD_BYTES + length)
    }

    /// What had to wait need not any more: goes on with what has come behind it.
    pub(super) fn go_on(&mut self, frames: &mut impl Frames) -> Result<(), WireError> {
        let held = std::mem::take(&mut self.held);
        self.feed(frames, &held)
    }

    /// Takes bytes as they came, in pieces of any size.
    pub(super) fn feed(&mut self, frames: &mut impl Frames, mut bytes: &[u8]) -> Result<(), WireError> {
        while !bytes.is_empty() {
            if frames.waits() {
                memory::append(&mut self.held, bytes);
                return Ok(());
            }
            if let Some((message_id, left)) = self.payload {
                let now = left.min(bytes.len());
                frames.deliver(message_id, &bytes[..now]);
                bytes = &bytes[now..];
                self.advance(frames, message_id, left - now);
                continue;
            }
            if self.stage.is_empty()
                && let Some(count) = self.whole(frames, bytes)
            {
                bytes = &bytes[count..];
                continue;
            }
            let needed = self.head_bytes()?;
            let now = (needed - self.stage.len()).min(bytes.len());
            self.stage.extend_from_slice(&bytes[..now]);
            bytes = &bytes[now..];
            if self.stage.len() == self.head_bytes()? {
                self.begin(frames)?;
            }
        }
        Ok(())
    }

    /// Takes the frame at the front of `bytes`, if it is all of a message: the way of most short ones, of which nothing need be
    /// remembered between head and end. Returns the frame's bytes. What is wrong with other frames is found where they begin.
    fn whole(&mut self, frames: &mut impl Frames, bytes: &[u8]) -> Option<usize> {
        let header = Header::decode(bytes.first_chunk()?).ok()?;
        let Header { kind: Kind::Data, flags: FIRST, number, message_id, length } = header else { return None };
        let length = length as usize;
        let message_header = MessageHeader::decode(bytes[HEADER_BYTES..].first_chunk()?).ok()?;
        let payload = bytes[HEAD_BYTES..].get(..length)?;
        let is_all = message_header.total == length as u64 && number == self.number;
        if !is_all || !frames.whole(message_id, &message_header, payload) {
            return None;
        }
        self.number = number.wrapping_add(1);
        self.last = Some((message_id, length));
        self.short = Some(length);
        self.begins_with(length, &message_header);
        Some(HEAD_BYTES + length)
    }

    /// A message begins with a fragment of this length: if it is long, the next one probably begins alike.
    fn begins_with(&mut self, length: usize, message_header: &MessageHeader) {
        if message_header.total > length as u64 || length > COPIED_MAX {
            self.first = Some(length);
        }
    }

    /// Reads once. `read` is a non-blocking vectored read; its errors and its end of file (0) are returned.
    pub(super) fn receive(
        &mut self,
        frames: &mut impl Frames,
        buffer: &mut [u8],
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<Result<usize, WireError>> {
        if let Some(plan) = self.next_fragments(frames) {
            return self.receive_fragments(frames, plan, buffer, read);
        }
        if let Some((message_header, plan, rest)) = self.next_message(frames)
            && rest + HEAD_BYTES <= buffer.len()
        {
            return self.receive_message(frames, (message_header, plan), buffer.split_at_mut(rest), read);
        }
        let count = read(&mut [IoSliceMut::new(buffer)])?;
        Ok(self.feed(frames, &buffer[..count]).map(|()| count))
    }

    /// Reads fragments of the message under way into its place.
    fn receive_fragments(
        &mut self,
        frames: &mut impl Frames,
        plan: Plan,
        buffer: &mut [u8],
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<Result<usize, WireError>> {
        let mut headers = [[0; HEADER_BYTES]; PREDICTED_MAX];
        let tail = &mut buffer[..HEAD_BYTES];
        let Some(place) = frames.place(plan.message_id) else { return Ok(Ok(0)) };
        let count = read(&mut plan.room(&mut [], place, &mut headers[..plan.most()], tail))?;
        Ok(self.accept(frames, &plan, &mut headers, tail, count).map(|()| count))
    }

    /// Reads the end of a message, if one is under way, into the first part of `buffer`, and the beginning of the next message
    /// into its probable place.
    fn receive_message(
        &mut self,
        frames: &mut impl Frames,
        (message_header, mut plan): (MessageHeader, Plan),
        (end, buffer): (&mut [u8], &mut [u8]),
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<Result<usize, WireError>> {
        let (mut head, mut headers) = ([0; HEAD_BYTES], [[0; HEADER_BYTES]; PREDICTED_MAX]);
        let tail = &mut buffer[..HEAD_BYTES];
        let Some((_, place)) = frames.expected() else { return Ok(Ok(0)) };
        let mut room = plan.room(&mut head, place, &mut headers[..plan.most()], tail);
        if !end.is_empty() {
            room.insert(0, IoSliceMut::new(end));
        }
        let count = read(&mut room)?;
        let end = &end[..count.min(end.len())];
        let mut behind = count - end.len();
        // What the end completes may change what is expected: so first it is seen what has come behind it.
        let mut notice = None;
        if behind > NOTICE_BYTES
            && let Some(found) = notice_at(&head, self.number)
            && let Some((_, place)) = frames.expected()
        {
            notice = Some(found);
            pull(&mut plan.room(&mut head, place, &mut headers[..plan.most()], tail), behind);
            behind -= NOTICE_BYTES;
        }
        let number = self.number.wrapping_add(u32::from(notice.is_some()));
        let notice: &[u8] = notice.as_ref().map_or(&[], |frame| frame);
        let taken = match opens(&head[..behind.min(HEAD_BYTES)], number, &message_header, plan.left) {
            Some(message_id) => {
                plan.message_id = message_id;
                let begun = [end, notice, &head].into_iter().try_for_each(|bytes| self.feed(frames, bytes));
                begun.and_then(|()| self.accept(frames, &plan, &mut headers, tail, behind - HEAD_BYTES))
            }
            None => {
                let place = frames.expected().map(|(_, place)| place).unwrap_or_default();
                let bytes = gather(&plan.room(&mut head, place, &mut headers[..plan.most()], tail), behind);
                [end, notice, &bytes].into_iter().try_for_each(|bytes| self.feed(frames, bytes))
            }
        };
        Ok(taken.map(|()| count))
    }

    /// The next fragments of the message under way, if that is worth a vectored read.
    fn next_fragments(&self, frames: &mut impl Frames) -> Option<Plan> {
        if !self.stage.is_empty() {
            return None;
        }
        let (message_id, fragment) = self.last?;
        let left = match self.payload {
            Some((current, left)) if current == message_id => left,
            Some(_) => return None,
            None => 0,
        };
        let place = frames.place(message_id)?.len();
        (fragment > 0 && pays(place, left, fragment)).then_some(Plan { message_id, left, fragment })
    }

    /// The message that probably comes next, and how its first bytes will be cut; its message_id is not known yet. Before it
    /// come so many bytes, the end of the message under way.
    fn next_message(&self, frames: &mut impl Frames) -> Option<(MessageHeader, Plan, usize)> {
        if !self.stage.is_empty() {
            return None;
        }
        let rest = match self.payload {
            None => 0,
            Some((message_id, left)) => {
                let is_end = left <= COPIED_MAX && frames.missing(message_id).ok()? == left as u64;
                is_end.then_some(left)?
            }
        };
        let fragment = self.first.filter(|&fragment| fragment > 0)?;
        // Whether a read waits is not looked up where it would not matter: for short messages.
        let bytes = frames.expected_bytes()? as usize;
        if !pays(bytes, 0, fragment) {
            return None;
        }
        let (message_header, _) = frames.expected()?;
        let plan = Plan { message_id: 0, left: fragment.min(bytes), fragment };
        Some((message_header, plan, rest))
    }

    /// Goes through what a predicted read has brought.
    fn accept(
        &mut self,
        frames: &mut impl Frames,
        plan: &Plan,
        headers: &mut [[u8; HEADER_BYTES]; PREDICTED_MAX],
        tail: &mut [u8],
        count: usize,
    ) -> Result<(), WireError> {
        let mut rest = count;
        let mut offered = frames.place(plan.message_id).map_or(0, |place| place.len());
        let now = rest.min(plan.left);
        if plan.left > 0 {
            frames.delivered(plan.message_id, now);
            offered = offered.saturating_sub(now);
            self.advance(frames, plan.message_id, plan.left - now);
            rest -= now;
        }
        let (headers, mut at, mut notices) = (&mut headers[..plan.most()], 0, 0);
        while rest > 0 && at < headers.len() {
            // One whose read was given up keeps its place when it is complete: nothing was offered behind it.
            let Some(place) = frames.place(plan.message_id).filter(|place| !place.is_empty()) else {
                if offered == 0 {
                    break;
                }
                // Other lanes have brought what this one was to bring; what was read into the place is its reader's now.
                return Err(WireError::NoSuchMessage { what: "data", message_id: plan.message_id });
            };
            let (header, length) = (headers[at], plan.fragment.min(place.len()));
            if rest < HEADER_BYTES {
                return self.feed(frames, &header[..rest]);
            }
            let (kind, number) = (Kind::Data, self.number);
            let expected = Header { kind, flags: 0, number, message_id: plan.message_id, length: length as u32 };
            if header != expected.encode() {
                if rest > NOTICE_BYTES
                    && notices < NOTICES_MAX
                    && let Some(body) = place[..length].get(..NOTICE_BYTES - HEADER_BYTES)
                    && let Some(notice) = notice_at(&[&header, body].concat(), number)
                {
                    let plan = Plan { left: 0, ..*plan };
                    pull(&mut plan.room(&mut [], place, &mut headers[at..], tail), rest);
                    (rest, notices) = (rest - NOTICE_BYTES, notices + 1);
                    self.feed(frames, &notice)?;
                    continue;
                }
                return self.repair(frames, plan, &mut headers[at..], tail, rest);
            }
            rest -= HEADER_BYTES;
            self.number = number.wrapping_add(1);
            let now = rest.min(length);
            frames.delivered(plan.message_id, now);
            offered = offered.saturating_sub(now);
            self.payload = Some((plan.message_id, length));
            self.advance(frames, plan.message_id, length - now);
            rest -= now;
            at += 1;
        }
        self.feed(frames, &tail[..rest])
    }

    /// The prediction failed at `headers[0]`: parses it and the `rest` bytes from it on as they came.
    fn repair(
        &mut self,
        frames: &mut impl Frames,
        plan: &Plan,
        headers: &mut [[u8; HEADER_BYTES]],
        tail: &mut [u8],
        rest: usize,
    ) -> Result<(), WireError> {
        let plan = Plan { left: 0, ..*plan };
        let place = frames.place(plan.message_id).unwrap_or_default();
        let bytes = gather(&plan.room(&mut [], place, headers, tail), rest);
        self.feed(frames, &bytes)
    }

    /// How many bytes the head under way has, as far as that is known.
    fn head_bytes(&self) -> Result<usize, WireError> {
        let Some(header) = self.stage.first_chunk() else { return Ok(HEADER_BYTES) };
        let header = Header::decode(header)?;
        let message_header = if header.has_opening() { MESSAGE_HEADER_BYTES } else { 0 };
        let body = if header.kind == Kind::Data { 0 } else { header.length as usize };
        Ok(HEADER_BYTES + message_header + body)
    }

    /// The head is complete: hands it on.
    fn begin(&mut self, frames: &mut impl Frames) -> Result<(), WireError> {
        let Some(header) = self.stage.first_chunk() else { return Ok(()) };
        let header = Header::decode(header)?;
        if header.number != self.number {
            return Err(WireError::Number { got: header.number, expected: self.number });
        }
        self.number = self.number.wrapping_add(1);
        let mut body = &self.stage[HEADER_BYTES..];
        let mut message_header = None;
        if header.has_opening()
            && let Some((first, rest)) = body.split_first_chunk()
        {
            message_header = Some(MessageHeader::decode(first)?);
            body = rest;
        }
        let body = body.to_vec();
        self.stage.clear();
        self.short = None;
        frames.head(Head { header, message_header, body })?;
        if header.kind == Kind::Data {
            let (message_id, length) = (header.message_id, header.length as usize);
            let missing = frames.missing(message_id)?;
            if length as u64 > missing {
                return Err(WireError::TooLong { what: "a fragment", got: length as u64, most: missing });
            }
            self.last = Some((message_id, length));
            if let Some(message_header) = message_header {
                self.begins_with(length, &message_header);
            }
            self.payload = Some((message_id, length));
            if length == 0 {
                self.advance(frames, message_id, 0);
            }
        }
        Ok(())
    }

    /// `left` bytes of the frame's payload remain.
    fn advance(&mut self, frames: &mut impl Frames, message_id: u64, left: usize) {
        self.payload = (left > 0).then_some((message_id, left));
        if left == 0 {
            frames.settle(message_id);
        }
    }
}

/// Whether a predicted read pays where `place` bytes are missing, `left` of them in the frame under way.
fn pays(place: usize, left: usize, fragment: usize) -> bool {
    place >= left + PREDICTED_MIN * fragment || place > COPIED_MAX
}

/// Whether `head` is frame `number` and opens the expected message with a first fragment of `length`; its message_id.
fn opens(head: &[u8], number: u32, expected: &MessageHeader, length: usize) -> Option<u64> {
    let (header, message_header) = head.split_first_chunk()?;
    let header = Header::decode(header).ok()?;
    let message_header = MessageHeader::decode(message_header.first_chunk()?).ok()?;
    let (kind, flags) = (Kind::Data, FIRST);
    let alike = Header { kind, flags, number, message_id: header.message_id, length: length as u32 };
    (header == alike && message_header == *expected).then_some(header.message_id)
}

/// Frame `number` at the front of `bytes`, if it is an acknowledgement or credit.
fn notice_at(bytes: &[u8], number: u32) -> Option<[u8; NOTICE_BYTES]> {
    let frame: &[u8; NOTICE_BYTES] = bytes.first_chunk()?;
    let header = Header::decode(frame.first_chunk()?).ok()?;
    let is_one = matches!(header.kind, Kind::Acknowledgement | Kind::Credit) && header.number == number;
    (is_one && header.length as usize == NOTICE_BYTES - HEADER_BYTES).then_some(*frame)
}
