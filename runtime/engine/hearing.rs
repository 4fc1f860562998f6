//! What comes on a link's first lane, and what it does to the link.

use std::io::{self, IoSliceMut};

use super::link::{Link, Shared};
use super::outgoing::LANES_MAX;
use super::receive::{Frames, Head, Parser};
use super::reception::two_numbers;
use crate::error::WireError;
use crate::ids::Rank;
use crate::wire::frame::{ANSWER, CHARGED, FAILED, HOLDING, Kind, MessageHeader, PING, Stamp};

/// Why it is there.
const PARSER: &str = "it is missing while it runs only";

impl Link {
    pub(super) fn receive(
        &mut self,
        shared: &mut Shared,
        buffer: &mut [u8],
        read: &mut dyn FnMut(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<Result<usize, WireError>> {
        // Where both ends write in turn, the peer may have written twice meanwhile. If one read takes both and empties the socket, TCP
        // acknowledges them at once, in a packet of its own. If the second stays there, what is written next acknowledges both.
        let most = if self.outgoing.has_sent_short { self.parser().short_bytes() } else { None };
        let length = buffer.len();
        let buffer = &mut buffer[..most.map_or(length, |most| most.min(length))];
        let mut taken = self.with_parser(shared, |parser, frames| parser.receive(frames, buffer, read));
        if let Ok(Ok(count)) = taken {
            self.outgoing.has_sent_short = false;
            self.receives(count, shared);
            taken = Ok(self.unblock(shared).map(|()| count));
        }
        taken
    }

    #[cfg(test)]
    pub(super) fn feed(&mut self, shared: &mut Shared, bytes: &[u8]) -> Result<(), WireError> {
        self.with_parser(shared, |parser, frames| parser.feed(frames, bytes))?;
        self.receives(bytes.len(), shared);
        self.unblock(shared)
    }

    /// So many bytes have come, and were acted on.
    fn receives(&mut self, count: usize, shared: &mut Shared) {
        let begun = self.parser().head_begun();
        let acknowledgement = &mut self.outgoing.acknowledgement;
        acknowledgement.receives(count, begun, shared.now);
        if acknowledgement.untold() > 0 && !self.is_untold {
            self.is_untold = true;
            shared.untold.push(self.peer().into());
        }
        self.announce_output(shared);
    }

    fn with_parser<T>(&mut self, shared: &mut Shared, run: impl FnOnce(&mut Parser, &mut Acting<'_>) -> T) -> T {
        let mut parser = self.parser.take().expect(PARSER);
        let result = run(&mut parser, &mut Acting { link: self, shared });
        self.parser = Some(parser);
        result
    }

    /// Of the first lane, between two reads.
    pub(super) fn parser(&self) -> &Parser {
        self.parser.as_ref().expect(PARSER)
    }
}

/// A link while its parser runs.
struct Acting<'a> {
    link: &'a mut Link,
    shared: &'a mut Shared,
}

impl Frames for Acting<'_> {
    fn head(&mut self, head: Head) -> Result<(), WireError> {
        let Acting { link, shared } = self;
        let Head { header, message_header, body } = head;
        let (flags, message_id) = (header.flags, header.message_id);
        if link.farewell.heard && !matches!(header.kind, Kind::GoodbyeAck | Kind::Acknowledgement) {
            return Err(WireError::AfterGoodbye);
        }
        let Link { outgoing, incoming, .. } = &mut **link;
        match (header.kind, message_header) {
            (Kind::Data, Some(message_header)) => {
                let Shared { any, completions, now, .. } = &mut **shared;
                let control = &mut outgoing.control;
                let is_met = incoming.open(message_id, message_header, any, *now, control, completions)?;
                shared.meet(link.peer(), message_header, is_met);
            }
            (Kind::Data, None) if flags & CHARGED != 0 => incoming.charged(message_id)?,
            (Kind::Data, None) => {}
            (Kind::Envelope, Some(message_header)) => {
                let answer = flags & ANSWER != 0;
                let Shared { any, completions, now, .. } = &mut **shared;
                let message = (message_id, message_header, answer);
                let is_met = incoming.envelope(message, any, *now, &mut outgoing.control, completions)?;
                shared.meet(link.peer(), message_header, is_met);
            }
            (Kind::Grant, _) => {
                if !outgoing.grant(message_id) {
                    return Err(WireError::NoSuchMessage { what: "a grant", message_id });
                }
            }
            (Kind::Credit, _) => {
                let bytes = body.first_chunk().ok_or(WireError::Handshake("a credit frame without its number"))?;
                outgoing.credit(u64::from_le_bytes(*bytes));
            }
            (Kind::Hold, _) => {
                let holding = flags & HOLDING != 0;
                incoming.hold(holding, &shared.any, &mut outgoing.control);
                if holding {
                    shared.holders.push(link.peer());
                    shared.requests.push_back((link.peer(), None));
                }
            }
            (Kind::Want, Some(message_header)) => {
                if !outgoing.want(message_header.key) {
                    return Err(WireError::TooLong { what: "a number of wants", got: 1 << 20, most: 1 << 20 });
                }
            }
            (Kind::Refuse, Some(posted)) => {
                let message = body.first_chunk().ok_or(WireError::Handshake("a refusal without its message"))?;
                link.hear_refusal(message_id, &posted, &MessageHeader::decode(message)?, shared);
            }
            (Kind::Abort, _) => {
                let (bytes, segments) =
                    two_numbers(&body).ok_or(WireError::Handshake("an abort without its numbers"))?;
                incoming.abort(message_id, bytes, segments)?;
            }
            (Kind::Segment, _) => {
                return Err(WireError::NoSuchMessage { what: "a segment on the first lane", message_id });
            }
            (Kind::Lanes, _) => shared.wishes.push((link.peer(), message_id.min(LANES_MAX.into()) as u8)),
            (Kind::Goodbye, _) => {
                let culprit = (flags & FAILED != 0).then(|| Rank(message_id.try_into().unwrap_or(u32::MAX)));
                link.hear_goodbye(culprit, &body, shared);
            }
            (Kind::GoodbyeAck, _) => link.hear_confirmation(shared),
            (Kind::Acknowledgement, _) => {
                let position =
                    body.first_chunk().ok_or(WireError::Handshake("an acknowledgement without its position"))?;
                outgoing.acknowledgement.was_one();
                outgoing.retention.acknowledge(u64::from_le_bytes(*position), &mut shared.spent)?;
            }
            (Kind::Stamp, _) => {
                let stamp = body.first_chunk().ok_or(WireError::Handshake("a stamp frame without its times"))?;
                link.hear_stamp(flags & PING != 0, message_id, Stamp::decode(stamp), shared);
            }
            (Kind::Envelope | Kind::Want | Kind::Refuse, None) => unreachable!("the parser reads their opening"),
        }
        Ok(())
    }

    fn settle(&mut self, message_id: u64) {
        self.link.incoming.settle(message_id, &mut self.shared.completions);
    }

    fn place(&mut self, message_id: u64) -> Option<&mut [u8]> {
        self.link.incoming.place(message_id)
    }

    fn missing(&mut self, message_id: u64) -> Result<u64, WireError> {
        self.link.incoming.missing(message_id)
    }

    fn deliver(&mut self, message_id: u64, bytes: &[u8]) {
        self.link.incoming.deliver(message_id, bytes);
    }

    fn delivered(&mut self, message_id: u64, bytes: usize) {
        self.link.incoming.delivered(message_id, bytes);
    }

    fn whole(&mut self, message_id: u64, message_header: &MessageHeader, bytes: &[u8]) -> bool {
        let Acting { link, shared } = self;
        let Link { outgoing, incoming, farewell, .. } = &mut **link;
        let Shared { any, completions, now, .. } = &mut **shared;
        if farewell.heard || !any.is_empty() {
            return false;
        }
        let message = (message_id, message_header);
        let Some(is_met) = incoming.take_whole(message, bytes, *now, &mut outgoing.control, completions) else {
            return false;
        };
        shared.meet(link.peer(), *message_header, is_met);
        true
    }

    /// The first lane waits for no other.
    fn waits(&mut self) -> bool {
        false
    }

    fn expected_bytes(&self) -> Option<u64> {
        self.link.incoming.expected_bytes()
    }

    fn expected(&mut self) -> Option<(MessageHeader, &mut [u8])> {
        self.link.incoming.expected(&self.shared.any)
    }
}
