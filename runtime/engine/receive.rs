//! From bytes to frames: an incremental parser, and reads that put payload straight into posted buffers.
//!
//! While a long message arrives for a posted read, the next bytes are most likely its next fragments. So one
//! vectored read offers the rest of the posted buffer in fragments, with room for a header between each two.
//! Where a header turns out to be another one, what was read beyond it is taken out again and parsed as usual;
//! the places it lay in are filled by the right bytes later.

use std::io::{self, IoSliceMut};

use super::incoming::Incoming;
use crate::wire::WireError;
use crate::wire::frame::{HEADER_BYTES, Header, Kind, OPENING_BYTES, Opening};

/// Fragments that one call may read straight into a posted buffer.
const PREDICTED_MAX: usize = 64;
/// Predicting pays from two fragments on.
const PREDICTED_MIN: usize = 2;

/// What has been read of the frame under way.
#[derive(Default)]
pub(super) struct Parser {
    /// Frames that have begun; the next frame's number.
    pub(super) number: u32,
    /// A header, its opening and a control frame's body, as far as they are here.
    stage: Vec<u8>,
    /// The data frame whose payload is due: its message and the bytes left.
    payload: Option<(u32, usize)>,
    /// The message and length of the last data frame: the next one is probably alike.
    last: Option<(u32, usize)>,
}

/// A frame, payload apart.
pub(super) struct Head {
    pub(super) header: Header,
    pub(super) opening: Option<Opening>,
    /// What follows in a control frame.
    pub(super) body: Vec<u8>,
}

/// Who acts on frames: the link.
pub(super) trait Frames {
    fn head(&mut self, head: Head) -> Result<(), WireError>;
    fn settle(&mut self, slot: u32);
    fn incoming(&mut self) -> &mut Incoming;
}

impl Parser {
    /// Takes bytes as they came, in pieces of any size.
    pub(super) fn feed(&mut self, frames: &mut impl Frames, mut bytes: &[u8]) -> Result<(), WireError> {
        while !bytes.is_empty() {
            if let Some((slot, left)) = self.payload {
                let now = left.min(bytes.len());
                frames.incoming().deliver(slot, &bytes[..now]);
                bytes = &bytes[now..];
                self.advance(frames, slot, left - now);
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

    /// Reads once. `read` is a non-blocking vectored read; its errors and its end of file (0) are returned.
    pub(super) fn receive(
        &mut self,
        frames: &mut impl Frames,
        buffer: &mut [u8],
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<Result<usize, WireError>> {
        let Some(plan) = self.predict(frames) else {
            let count = read(&mut [IoSliceMut::new(buffer)])?;
            return Ok(self.feed(frames, &buffer[..count]).map(|()| count));
        };
        let mut headers = [[0; HEADER_BYTES]; PREDICTED_MAX];
        let Some(place) = frames.incoming().place(plan.slot) else { return Ok(Ok(0)) };
        let count = {
            let (first, mut rest) = place.split_at_mut(plan.left);
            let mut slices = Vec::with_capacity(2 * PREDICTED_MAX + 2);
            slices.push(IoSliceMut::new(first));
            for header in &mut headers {
                if rest.is_empty() {
                    break;
                }
                let (fragment, beyond) = rest.split_at_mut(plan.fragment.min(rest.len()));
                slices.push(IoSliceMut::new(header));
                slices.push(IoSliceMut::new(fragment));
                rest = beyond;
            }
            slices.push(IoSliceMut::new(&mut buffer[..HEADER_BYTES + OPENING_BYTES]));
            read(&mut slices)?
        };
        Ok(self.accept(frames, &plan, &headers, buffer, count).map(|()| count))
    }

    /// What the next bytes probably are, if it is worth a vectored read.
    fn predict(&self, frames: &mut impl Frames) -> Option<Plan> {
        if !self.stage.is_empty() {
            return None;
        }
        let (slot, fragment) = self.last?;
        let left = match self.payload {
            Some((current, left)) if current == slot => left,
            Some(_) => return None,
            None => 0,
        };
        let place = frames.incoming().place(slot)?;
        (fragment > 0 && place.len() >= left + PREDICTED_MIN * fragment).then_some(Plan { slot, left, fragment })
    }

    /// Goes through what a predicted read has brought.
    fn accept(
        &mut self,
        frames: &mut impl Frames,
        plan: &Plan,
        headers: &[[u8; HEADER_BYTES]; PREDICTED_MAX],
        buffer: &[u8],
        count: usize,
    ) -> Result<(), WireError> {
        let mut rest = count;
        let now = rest.min(plan.left);
        if plan.left > 0 {
            frames.incoming().delivered(plan.slot, now);
            self.advance(frames, plan.slot, plan.left - now);
            rest -= now;
        }
        for (at, header) in headers.iter().enumerate() {
            if rest == 0 {
                return Ok(());
            }
            let Some(missing) = frames.incoming().place(plan.slot).map(|place| place.len()) else { break };
            let length = plan.fragment.min(missing);
            if rest < HEADER_BYTES {
                return self.feed(frames, &header[..rest]);
            }
            let (kind, number) = (Kind::Data, self.number);
            let expected = Header { kind, flags: 0, number, slot: plan.slot, length: length as u32 };
            if *header != expected.encode() {
                return self.repair(frames, plan, &headers[at..], buffer, rest);
            }
            rest -= HEADER_BYTES;
            self.number = number.wrapping_add(1);
            let now = rest.min(length);
            frames.incoming().delivered(plan.slot, now);
            self.payload = Some((plan.slot, length));
            self.advance(frames, plan.slot, length - now);
            rest -= now;
        }
        self.feed(frames, &buffer[..rest])
    }

    /// The prediction failed at `headers[0]`: parses it and the `rest` bytes from it on as they came.
    fn repair(
        &mut self,
        frames: &mut impl Frames,
        plan: &Plan,
        headers: &[[u8; HEADER_BYTES]],
        buffer: &[u8],
        rest: usize,
    ) -> Result<(), WireError> {
        let mut bytes = Vec::with_capacity(rest);
        if let Some(mut place) = frames.incoming().place(plan.slot) {
            for header in headers {
                if bytes.len() >= rest || place.is_empty() {
                    break;
                }
                let (fragment, beyond) = place.split_at_mut(plan.fragment.min(place.len()));
                bytes.extend_from_slice(header);
                bytes.extend_from_slice(fragment);
                place = beyond;
            }
        }
        bytes.extend_from_slice(&buffer[..rest.saturating_sub(bytes.len())]);
        bytes.truncate(rest);
        self.feed(frames, &bytes)
    }

    /// How many bytes the head under way has, as far as that is known.
    fn head_bytes(&self) -> Result<usize, WireError> {
        let Some(header) = self.stage.first_chunk() else { return Ok(HEADER_BYTES) };
        let header = Header::decode(header)?;
        let opening = if header.has_opening() { OPENING_BYTES } else { 0 };
        let body = if header.kind == Kind::Data { 0 } else { header.length as usize };
        Ok(HEADER_BYTES + opening + body)
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
        let mut opening = None;
        if header.has_opening()
            && let Some((first, rest)) = body.split_first_chunk()
        {
            opening = Some(Opening::decode(first)?);
            body = rest;
        }
        let body = body.to_vec();
        self.stage.clear();
        frames.head(Head { header, opening, body })?;
        if header.kind == Kind::Data {
            let (slot, length) = (header.slot, header.length as usize);
            let missing = frames.incoming().missing(slot)?;
            if length as u64 > missing {
                return Err(WireError::TooLong { what: "a fragment", got: length as u64, most: missing });
            }
            self.last = Some((slot, length));
            self.payload = Some((slot, length));
            if length == 0 {
                self.advance(frames, slot, 0);
            }
        }
        Ok(())
    }

    /// `left` bytes of the frame's payload remain.
    fn advance(&mut self, frames: &mut impl Frames, slot: u32, left: usize) {
        self.payload = (left > 0).then_some((slot, left));
        if left == 0 {
            frames.settle(slot);
        }
    }
}

struct Plan {
    slot: u32,
    /// Payload bytes that complete the frame under way.
    left: usize,
    /// The length of the fragments to come.
    fragment: usize,
}
