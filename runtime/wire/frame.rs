//! The header that opens every frame, and what follows it. All integers are little-endian.
//!
//! ```text
//! header           kind u8 | length u24 | number u32 | message id u56 | flags u8      16 bytes
//! message header   tag u32 | element u16 | context u8 | group u24 | total u48         16 bytes
//! ```
//!
//! `number` counts the frames of a direction; it is a check, and wraps. `message_id` names a message of the sender's: it counts
//! them and must never wrap, since a message may stay unread for as long as the job runs; 2^56 at ten million a second are
//! two centuries. `length` is what follows the header without the message header. A message header follows the header of a
//! first fragment ([`FIRST`]), of an envelope, a want and a refusal; the table in [`Kind`] says what else follows.

use std::hash::{Hash, Hasher};

use crate::buffer::ElementType;
use crate::error::WireError;
use crate::ids::Tag;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 16;
/// Bytes of a message header.
pub(crate) const MESSAGE_HEADER_BYTES: usize = 16;
/// The most that follows a control frame's header: the words of a goodbye.
pub(crate) const CONTROL_BYTES_MAX: usize = 256;
/// Bits of a group's number.
pub(crate) const GROUP_BITS: u32 = 24;
/// The most payload behind one header: a train of fragments, or the longest fragment.
pub(crate) const FRAGMENT_BYTES_MAX: usize = 1 << 20;

/// A data frame that opens its message.
pub(crate) const FIRST: u8 = 1;
/// A data frame that takes its message's cost from the window although an envelope opened it.
pub(crate) const CHARGED: u8 = 2;
/// An envelope that answers a want.
pub(crate) const ANSWER: u8 = 4;
/// A hold that begins; without it, one that ends.
pub(crate) const HOLDING: u8 = 8;
/// A goodbye of a node whose job failed: `message_id` is the rank at fault, the words are the cause.
pub(crate) const FAILED: u8 = 16;
/// A stamp that belongs to no message: `message_id` counts the answers still wanted.
pub(crate) const PING: u8 = 32;

/// What a frame says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Fragments of message `message_id`, in a row: message header if first, payload.
    Data = 1,
    /// Message `message_id` waits at the sender for a grant: message header.
    Envelope = 2,
    /// Message `message_id` may be sent: its place is reserved.
    Grant = 3,
    /// The window has room again: bytes u64.
    Credit = 4,
    /// Messages wait at the sender that it may not even announce.
    Hold = 5,
    /// A read waits for a message of the message header's tag: message header.
    Want = 6,
    /// Message `message_id` does not fit the read it met: message header (the read's length and element type), and the message's own
    /// message header: the sender may have forgotten it.
    Refuse = 7,
    /// No more of the refused message `message_id` will come on any lane than so many bytes, u64, in so many segments, u64.
    Abort = 8,
    /// Nothing else will come: words of the cause if the node failed.
    Goodbye = 9,
    /// The goodbye and all before it has arrived.
    GoodbyeAck = 10,
    /// Message `message_id` was all in the frames before, and posted at this time: [`Stamp`].
    Stamp = 11,
    /// All bytes of the link before this position have arrived: u64.
    Acknowledgement = 12,
    /// On a lane for long messages: what follows of message `message_id` begins at this byte, u64, and this lane brings so many
    /// from there on, u64.
    Segment = 13,
    /// The sender wishes for so many lanes, `message_id`, beside the first; the lower rank opens them.
    Lanes = 14,
}

impl Kind {
    fn decode(kind: u8) -> Result<Self, WireError> {
        Ok(match kind {
            1 => Kind::Data,
            2 => Kind::Envelope,
            3 => Kind::Grant,
            4 => Kind::Credit,
            5 => Kind::Hold,
            6 => Kind::Want,
            7 => Kind::Refuse,
            8 => Kind::Abort,
            9 => Kind::Goodbye,
            10 => Kind::GoodbyeAck,
            11 => Kind::Stamp,
            12 => Kind::Acknowledgement,
            13 => Kind::Segment,
            14 => Kind::Lanes,
            kind => return Err(WireError::UnknownKind { kind }),
        })
    }
}

/// The 16 bytes in front of everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) number: u32,
    /// Below 2^56.
    pub(crate) message_id: u64,
    /// Bytes after the header, a message header not counted.
    pub(crate) length: u32,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        debug_assert!(self.message_id >> MESSAGE_ID_BITS == 0 && self.length >> 24 == 0);
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&(self.length << 8 | self.kind as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&(u64::from(self.flags) << MESSAGE_ID_BITS | self.message_id).to_le_bytes());
        bytes
    }

    /// Reads a header. A length that no honest peer sends is refused here, before anything relies on it.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, WireError> {
        let kind = Kind::decode(bytes[0])?;
        let length = u32_at(bytes, 0) >> 8;
        let (what, most) = match kind {
            Kind::Data => ("a fragment", FRAGMENT_BYTES_MAX),
            _ => ("a control frame", CONTROL_BYTES_MAX),
        };
        if length as usize > most {
            return Err(WireError::TooLong { what, got: length.into(), most: most as u64 });
        }
        let message_id = u64_at(bytes, 8) & ((1 << MESSAGE_ID_BITS) - 1);
        Ok(Header { kind, flags: bytes[15], number: u32_at(bytes, 4), message_id, length })
    }

    /// Whether a message header follows.
    pub(crate) fn has_opening(&self) -> bool {
        match self.kind {
            Kind::Data => self.flags & FIRST != 0,
            Kind::Envelope | Kind::Want | Kind::Refuse => true,
            _ => false,
        }
    }
}

/// What messages are matched by within a link: whose they are, the receiver's number of the group, and the tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct MatchKey {
    pub(crate) context: Context,
    /// In three bytes, since every table of messages has such keys.
    group: [u8; 3],
    pub(crate) tag: Tag,
}

impl Hash for MatchKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // All of it in one word: every message is looked up by it.
        state.write_u64(u64::from(self.tag.0) << 32 | u64::from(self.group()) << 8 | self.context as u64);
    }
}

impl MatchKey {
    /// A key of no group.
    pub(crate) const fn new(context: Context, tag: Tag) -> Self {
        MatchKey { context, group: [0; 3], tag }
    }

    pub(crate) fn user(tag: Tag) -> Self {
        MatchKey::new(Context::User, tag)
    }

    /// The same in a group that the receiver knows by this number.
    pub(crate) fn in_group(self, group: u32) -> Self {
        debug_assert!(group >> GROUP_BITS == 0);
        let [low, middle, high, _] = group.to_le_bytes();
        MatchKey { group: [low, middle, high], ..self }
    }

    /// The receiver's number of the group, below 2^24; 0 for messages of no group.
    pub(crate) fn group(self) -> u32 {
        let [low, middle, high] = self.group;
        u32::from_le_bytes([low, middle, high, 0])
    }

    /// The tag, if it is one the program chose.
    pub(crate) fn user_tag(self) -> Option<Tag> {
        (self.context == Context::User).then_some(self.tag)
    }
}

/// Whose messages: the program's, or those that lathide's own operations send among themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Context {
    User = 0,
    /// The messages of collectives.
    Collective = 1,
    /// What ranks say to each other about collectives that do not go as they should.
    Agreement = 2,
    /// Neighbours' exchanges.
    Neighbour = 3,
    /// What ranks tell each other of the times that they have observed.
    Calibration = 4,
    /// What the members of a new group tell each other.
    Founding = 5,
    /// One-sided communication: requests, refusals, and what these carry and bring back.
    Window = 8,
}

impl Context {
    /// Whether ranks that disagree, or of which one has failed, tell each other why such messages are not read.
    pub(crate) fn is_of_collectives(self) -> bool {
        matches!(self, Context::Collective | Context::Agreement | Context::Calibration)
    }

    fn decode(context: u8) -> Result<Self, WireError> {
        Ok(match context {
            0 => Context::User,
            1 => Context::Collective,
            2 => Context::Agreement,
            3 => Context::Neighbour,
            4 => Context::Calibration,
            5 => Context::Founding,
            8 => Context::Window,
            kind => return Err(WireError::UnknownKind { kind }),
        })
    }
}

/// What a message is: its key, its element type and its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MessageHeader {
    pub(crate) key: MatchKey,
    pub(crate) element: ElementType,
    /// Bytes of the whole message: below 2^48, as all that fits into memory.
    pub(crate) total: u64,
}

impl MessageHeader {
    pub(crate) fn encode(&self) -> [u8; MESSAGE_HEADER_BYTES] {
        let mut bytes = [0; MESSAGE_HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.key.tag.0.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.element.0.to_le_bytes());
        let (context, group) = (self.key.context, self.key.group());
        // No message is longer than memory; a read may have said that it takes more.
        let total = self.total.min((1 << TOTAL_BITS) - 1);
        bytes[6] = context as u8;
        bytes[7] = group as u8;
        bytes[8..16].copy_from_slice(&(total << 16 | u64::from(group >> 8)).to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; MESSAGE_HEADER_BYTES]) -> Result<Self, WireError> {
        let context = Context::decode(bytes[6])?;
        let rest = u64_at(bytes, 8);
        let group = u32::from(bytes[7]) | u32::from(rest as u16) << 8;
        Ok(MessageHeader {
            key: MatchKey::new(context, Tag(u32_at(bytes, 0))).in_group(group),
            element: ElementType(u16::from_le_bytes([bytes[4], bytes[5]])),
            total: rest >> 16,
        })
    }
}

/// What a stamp says: times of the sender's clock, for the receiver to compare with its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// When the message was posted, in nanoseconds of the sender's clock.
    pub(crate) sent_ns: u64,
    /// The least difference the sender has lately seen between its own clock at an arrival and the stamp of what
    /// arrived: the time on the way, and by how much the clocks differ.
    pub(crate) echo_ns: Option<i64>,
}

/// Bytes of a stamp.
pub(crate) const STAMP_BYTES: usize = 16;
/// No clock differs from another by as much.
const NO_ECHO: i64 = i64::MIN;

impl Stamp {
    pub(crate) fn encode(&self) -> [u8; STAMP_BYTES] {
        let mut bytes = [0; STAMP_BYTES];
        bytes[..8].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[8..].copy_from_slice(&self.echo_ns.unwrap_or(NO_ECHO).to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; STAMP_BYTES]) -> Self {
        let (mut sent, mut echo) = ([0; 8], [0; 8]);
        sent.copy_from_slice(&bytes[..8]);
        echo.copy_from_slice(&bytes[8..]);
        let echo_ns = i64::from_le_bytes(echo);
        Stamp { sent_ns: u64::from_le_bytes(sent), echo_ns: (echo_ns != NO_ECHO).then_some(echo_ns) }
    }
}

/// Bits of a message_id.
const MESSAGE_ID_BITS: u32 = 56;
/// Bits of a message's length.
const TOTAL_BITS: u32 = 48;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn headers_come_back(kind in 1u8..=12, flags: u8, number: u32, message_id in 0u64..1 << 56, length in 0u32..=256) {
            let header = Header { kind: Kind::decode(kind).unwrap(), flags, number, message_id, length };
            prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
        }

        #[test]
        fn message_headers_come_back(
            tag: u32,
            element: u16,
            context in 0u8..6,
            group in 0u32..1 << GROUP_BITS,
            total in 0u64..1 << TOTAL_BITS,
        ) {
            let key = MatchKey::new(Context::decode(context).unwrap(), Tag(tag)).in_group(group);
            let message_header = MessageHeader { key, element: ElementType(element), total };
            prop_assert_eq!(MessageHeader::decode(&message_header.encode()), Ok(message_header));
        }

        #[test]
        fn stamps_come_back(sent_ns: u64, echo_ns: Option<i64>) {
            let stamp = Stamp { sent_ns, echo_ns: echo_ns.filter(|echo_ns| *echo_ns != i64::MIN) };
            prop_assert_eq!(Stamp::decode(&stamp.encode()), stamp);
        }

        #[test]
        fn any_bytes_decode_or_are_refused(bytes: [u8; 16]) {
            if let Ok(header) = Header::decode(&bytes) {
                prop_assert!(header.length as usize <= FRAGMENT_BYTES_MAX);
            }
            let _ = MessageHeader::decode(&bytes);
        }
    }

    #[test]
    fn heads_that_are_almost_right_are_frames_or_errors() {
        const HEADS: u64 = 1_000_000;
        let key = MatchKey::user(Tag(7)).in_group(9);
        let opening = MessageHeader { key, element: ElementType(3), total: 5000 }.encode();
        let head = |kind, flags| {
            let header = Header { kind: Kind::decode(kind).unwrap(), flags, number: 3, message_id: 5, length: 100 };
            [header.encode(), opening].concat()
        };
        let corpus: Vec<Vec<u8>> = (1..=12).flat_map(|kind| [head(kind, 0), head(kind, 63)]).collect();
        crate::mutant::each_seed("heads_that_are_almost_right_are_frames_or_errors", HEADS, |chance| {
            let bytes = crate::mutant::bytes(chance, &corpus);
            let Some((head, rest)) = bytes.split_first_chunk() else { return false };
            let header = match Header::decode(head) {
                Ok(header) => header,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    return false;
                }
            };
            assert_eq!(header.encode(), *head, "what was decoded is what was there");
            let most = if header.kind == Kind::Data { FRAGMENT_BYTES_MAX } else { CONTROL_BYTES_MAX };
            assert!(header.length as usize <= most && header.message_id >> MESSAGE_ID_BITS == 0);
            let opening = rest.first_chunk().filter(|_| header.has_opening());
            opening.is_none_or(|opening| match MessageHeader::decode(opening) {
                Ok(message_header) => message_header.encode() == *opening && message_header.total >> TOTAL_BITS == 0,
                Err(_) => false,
            })
        });
    }

    #[test]
    fn every_context_comes_back() {
        for context in [Context::User, Context::Calibration, Context::Window] {
            assert_eq!(Context::decode(context as u8), Ok(context));
        }
        assert!(Context::decode(200).is_err());
    }

    #[test]
    fn lengths_no_honest_peer_sends_are_refused() {
        let mut bytes = Header { kind: Kind::Data, flags: 0, number: 0, message_id: 0, length: 0 }.encode();
        bytes[1..4].copy_from_slice(&[0xff; 3]);
        assert!(matches!(Header::decode(&bytes), Err(WireError::TooLong { .. })));
        bytes[0] = Kind::Credit as u8;
        bytes[1..4].copy_from_slice(&257u32.to_le_bytes()[..3]);
        assert!(matches!(Header::decode(&bytes), Err(WireError::TooLong { .. })));
    }
}
