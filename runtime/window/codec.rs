//! What windows say to each other, as bytes, and by what their messages are matched. All integers are little-endian.
//!
//! ```text
//! request   call u8 | update u8 | element u16 | window u32 | id u32 | element bytes u32 | start u64 | count u64 | operands
//! refusal   the request without its operands | why u8 | 0 u8 | element u16 | length u64
//! ```
//!
//! A request's operands follow it if they are short ([`INLINE_BYTES_MAX`]). Otherwise, and for what a request brings back,
//! chunks of at most [`CHUNK_BYTES`] are messages of their own, whose tag names the request ([`payload_key`],
//! [`reply_key`]). `id` counts the requests of one rank to another.

use std::ops::Range;

use super::update::Update;
use crate::buffer::ElementType;
use crate::error::WindowFault;
use crate::ids::Tag;
use crate::operation::WindowCall;
use crate::wire::frame::{Context, MatchKey};

/// Bytes of a request without its operands.
const REQUEST_BYTES: usize = 32;
/// Bytes of a refusal.
pub(super) const REFUSAL_BYTES: usize = REQUEST_BYTES + 12;
/// Operands of at most so many bytes travel with their request. Little in simulations, so that their few bytes are many.
pub(crate) const INLINE_BYTES_MAX: usize = if cfg!(test) { 48 } else { 512 };
/// The longest request with its operands.
pub(super) const REQUEST_BYTES_MAX: usize = REQUEST_BYTES + INLINE_BYTES_MAX;
/// Bytes of a chunk, unless one element has more. A chunk is copied at the target while nothing else moves there.
pub(super) const CHUNK_BYTES: u64 = if cfg!(test) { 136 } else { 256 << 10 };
/// Bytes that a flush brings back: the number of requests of this rank that the target has refused.
pub(super) const FLUSH_BYTES: u64 = 8;

/// What requests are matched by.
pub(super) const REQUESTS: MatchKey = MatchKey::new(Context::Window, Tag(0));
/// What refusals are matched by.
pub(super) const REFUSALS: MatchKey = MatchKey::new(Context::Window, Tag(1));
/// Tags of chunks that go to the target, and of those that come back.
const PAYLOAD: u32 = 1 << 30;
const REPLY: u32 = 1 << 31;

/// The first id that has the number of another; those are complete long before.
const IDS: u32 = 1 << 30;

/// What the chunks of a request's operands are matched by.
pub(super) fn payload_key(id: u32) -> MatchKey {
    MatchKey::new(Context::Window, Tag(PAYLOAD | (id % IDS)))
}

/// What the chunks that a request brings back are matched by.
pub(super) fn reply_key(id: u32) -> MatchKey {
    MatchKey::new(Context::Window, Tag(REPLY | (id % IDS)))
}

/// What a rank asks of another's part of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) call: WindowCall,
    pub(crate) update: Update,
    pub(crate) element: ElementType,
    pub(crate) element_bytes: u32,
    pub(crate) window: u32,
    pub(crate) id: u32,
    /// The first element, and how many.
    pub(crate) start: u64,
    pub(crate) count: u64,
}

impl Request {
    /// Bytes of its operands; `None` if no memory has so many.
    pub(crate) fn operand_bytes(&self) -> Option<u64> {
        let bytes = self.count.checked_mul(self.element_bytes.into())?;
        match self.call {
            WindowCall::Put | WindowCall::Accumulate | WindowCall::FetchUpdate => Some(bytes),
            WindowCall::CompareExchange => bytes.checked_mul(2),
            WindowCall::Get | WindowCall::Flush => Some(0),
        }
    }

    /// Whether its operands travel with it.
    pub(super) fn is_inline(&self) -> bool {
        self.operand_bytes().is_some_and(|bytes| bytes <= INLINE_BYTES_MAX as u64)
    }

    /// The number of its chunks, whichever way they go: at least one.
    pub(super) fn chunks(&self) -> u64 {
        self.count.div_ceil(self.chunk_elements()).max(1)
    }

    /// The elements of a chunk, counted from its first one.
    pub(super) fn chunk(&self, index: u64) -> Range<u64> {
        let start = index.saturating_mul(self.chunk_elements()).min(self.count);
        start..start.saturating_add(self.chunk_elements()).min(self.count)
    }

    /// Where its chunks begin.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = u64> + use<> {
        let request = *self;
        (0..request.chunks()).map(move |index| request.chunk(index).start)
    }

    /// The bytes of so many elements from its first one on.
    pub(super) fn bytes_of(&self, elements: &Range<u64>) -> Range<usize> {
        let bytes = |count: u64| (count * u64::from(self.element_bytes)) as usize;
        bytes(elements.start)..bytes(elements.end)
    }

    fn chunk_elements(&self) -> u64 {
        (CHUNK_BYTES / u64::from(self.element_bytes.max(1))).max(1)
    }

    pub(super) fn encode(&self, operands: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(REQUEST_BYTES + operands.len());
        bytes.extend([code(self.call), self.update.code()]);
        bytes.extend(self.element.0.to_le_bytes());
        [self.window, self.id, self.element_bytes].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        [self.start, self.count].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(operands);
        bytes
    }

    /// The request and its operands; `None`: no rank of this version says that.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[call, update], rest) = bytes.split_first_chunk()?;
        let (element, rest) = rest.split_first_chunk()?;
        let (window, rest) = rest.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (element_bytes, rest) = rest.split_first_chunk()?;
        let (start, rest) = rest.split_first_chunk()?;
        let (count, operands) = rest.split_first_chunk()?;
        let request = Request {
            call: CALLS.iter().copied().find(|known| code(*known) == call)?,
            update: Update::decode(update)?,
            element: ElementType(u16::from_le_bytes(*element)),
            element_bytes: u32::from_le_bytes(*element_bytes),
            window: u32::from_le_bytes(*window),
            id: u32::from_le_bytes(*id),
            start: u64::from_le_bytes(*start),
            count: u64::from_le_bytes(*count),
        };
        request.has_sense().then_some((request, operands))
    }

    /// Whether it is one that this version makes.
    fn has_sense(&self) -> bool {
        let Some(bytes) = self.operand_bytes() else { return false };
        let is_short = bytes <= INLINE_BYTES_MAX as u64;
        match self.call {
            WindowCall::CompareExchange | WindowCall::FetchUpdate => self.count == 1 && is_short,
            _ => self.element_bytes > 0,
        }
    }
}

/// A request that its target has not carried out, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) request: Request,
    pub(super) fault: WindowFault,
}

impl Refusal {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.request.encode(&[]);
        let (why, element, length) = match self.fault {
            WindowFault::Bounds { length } => (1, ElementType(0), length),
            WindowFault::Dropped => (2, ElementType(0), 0),
            WindowFault::Element { held } => (3, held, 0),
            WindowFault::Update => (4, ElementType(0), 0),
        };
        bytes.extend([why, 0]);
        bytes.extend(element.0.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes
    }

    /// `None`: no rank of this version says that.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (request, rest) = Request::decode(bytes)?;
        let (&[why, _], rest) = rest.split_first_chunk()?;
        let (element, rest) = rest.split_first_chunk()?;
        let length = u64::from_le_bytes(rest.try_into().ok()?);
        let fault = match why {
            1 => WindowFault::Bounds { length },
            2 => WindowFault::Dropped,
            3 => WindowFault::Element { held: ElementType(u16::from_le_bytes(*element)) },
            4 => WindowFault::Update,
            _ => return None,
        };
        Some(Refusal { request, fault })
    }
}

const CALLS: [WindowCall; 6] = [
    WindowCall::Accumulate,
    WindowCall::CompareExchange,
    WindowCall::FetchUpdate,
    WindowCall::Flush,
    WindowCall::Get,
    WindowCall::Put,
];

fn code(call: WindowCall) -> u8 {
    match call {
        WindowCall::Get => 1,
        WindowCall::Put => 2,
        WindowCall::Accumulate => 3,
        WindowCall::FetchUpdate => 4,
        WindowCall::CompareExchange => 5,
        WindowCall::Flush => 6,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests() -> impl Strategy<Value = Request> {
        let numbers = (any::<u16>(), 1u32..1 << 20, any::<u32>(), any::<u32>(), any::<u64>(), 0u64..1 << 40);
        (0..CALLS.len(), 0..Update::ALL.len(), numbers).prop_map(|(call, update, numbers)| {
            let (element, element_bytes, window, id, start, count) = numbers;
            let call = CALLS[call];
            let is_one = matches!(call, WindowCall::CompareExchange | WindowCall::FetchUpdate);
            let (element_bytes, count) =
                if is_one { (element_bytes % (INLINE_BYTES_MAX as u32 / 2) + 1, 1) } else { (element_bytes, count) };
            let (element, update) = (ElementType(element), Update::ALL[update]);
            Request { call, update, element, element_bytes, window, id, start, count }
        })
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn requests_come_back(request in requests(), operands in proptest::collection::vec(any::<u8>(), 0..40)) {
            let bytes = request.encode(&operands);
            prop_assert_eq!(Request::decode(&bytes), Some((request, &operands[..])));
            prop_assert_eq!(Request::decode(&bytes[..REQUEST_BYTES - 1]), None);
        }

        #[test]
        fn refusals_come_back(request in requests(), length: u64, element: u16) {
            let held = ElementType(element);
            let faults = [WindowFault::Bounds { length }, WindowFault::Dropped, WindowFault::Element { held }, WindowFault::Update];
            for fault in faults {
                let refusal = Refusal { request, fault };
                prop_assert_eq!(refusal.encode().len(), REFUSAL_BYTES);
                prop_assert_eq!(Refusal::decode(&refusal.encode()), Some(refusal));
            }
        }

        #[test]
        fn any_bytes_decode_or_do_not(bytes in proptest::collection::vec(any::<u8>(), 0..80), call in 0u8..8) {
            let _ = Request::decode(&bytes);
            let mut bytes = bytes;
            bytes.splice(..0, [call, 1]);
            if let Some((request, _)) = Request::decode(&bytes) {
                prop_assert!(request.chunk(request.chunks() - 1).end == request.count);
            }
            let _ = Refusal::decode(&bytes);
        }

        #[test]
        fn chunks_are_all_of_a_request(request in requests()) {
            let request = Request { count: request.count % 5_000_000, ..request };
            let mut end = 0;
            for chunk in (0..request.chunks().min(2000)).map(|index| request.chunk(index)) {
                prop_assert_eq!(chunk.start, end);
                let bytes = request.bytes_of(&chunk).len() as u64;
                prop_assert!(bytes <= CHUNK_BYTES.max(request.element_bytes.into()));
                end = chunk.end;
            }
            prop_assert!(end == request.count || request.chunks() > 2000);
        }
    }

    #[test]
    fn requests_that_are_almost_right_make_sense_or_none() {
        const REQUESTS: u64 = 1_000_000;
        let request = |call| Request {
            call,
            update: Update::Sum,
            element: ElementType(3),
            element_bytes: 8,
            window: 1,
            id: 7,
            start: 2,
            count: 1,
        };
        let corpus: Vec<Vec<u8>> = CALLS
            .into_iter()
            .flat_map(|call| {
                [
                    request(call).encode(&[1; 16]),
                    Refusal { request: request(call), fault: WindowFault::Dropped }.encode(),
                ]
            })
            .collect();
        crate::mutant::each_seed("requests_that_are_almost_right_make_sense_or_none", REQUESTS, |chance| {
            let bytes = crate::mutant::bytes(chance, &corpus);
            let refusal = Refusal::decode(&bytes);
            assert!(refusal.is_none() || bytes.len() == REFUSAL_BYTES);
            let Some((request, operands)) = Request::decode(&bytes) else { return false };
            assert_eq!(operands.len(), bytes.len() - REQUEST_BYTES);
            let last = request.chunk(request.chunks() - 1);
            assert!(last.end == request.count && request.bytes_of(&last).start <= request.bytes_of(&last).end);
            assert!(
                !request.is_inline() || request.operand_bytes().is_some_and(|bytes| bytes <= INLINE_BYTES_MAX as u64)
            );
            true
        });
    }

    #[test]
    fn keys_do_not_meet() {
        let keys = [REQUESTS, REFUSALS, payload_key(0), payload_key(IDS - 1), reply_key(0), reply_key(IDS - 1)];
        for (at, key) in keys.iter().enumerate() {
            assert!(keys[at + 1..].iter().all(|other| other != key));
        }
        assert_eq!(payload_key(IDS + 7), payload_key(7), "numbers turn round");
    }
}
