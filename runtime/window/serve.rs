//! How one rank's requests are carried out, one by one: against this rank's parts of windows, as far as the program leaves
//! them free and replies can leave.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::buffers::Memory;
use super::codec::{CHUNK_BYTES, FLUSH_BYTES, REFUSAL_BYTES, REFUSALS, Refusal, Request, reply_key};
use super::origin::error;
use super::posts::{Posts, Purpose};
use super::update::Update;
use crate::buffer::{ElementType, memory};
use crate::error::{Error, WindowFault};
use crate::ids::Rank;
use crate::operation::WindowCall;
use crate::wire::frame::MatchKey;

/// Requests of one rank that are read before the first is complete.
pub(super) const REQUESTS_MAX: usize = if cfg!(test) { 3 } else { 64 };
/// Chunks of one rank's operands that are read, or wait to be carried out; replies to it have as many bytes.
pub(super) const CHUNKS_MAX: u64 = if cfg!(test) { 2 } else { 4 };

/// This rank's part of a window.
pub(crate) struct OwnPart {
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) element: ElementType,
    pub(crate) element_bytes: u32,
    /// The number of elements.
    pub(crate) length: u64,
}

/// The replies and refusals that are under way.
#[derive(Default)]
pub(super) struct Leaving {
    pub(super) count: usize,
    pub(super) bytes: usize,
}

/// A request that is not complete.
pub(super) struct Asked {
    /// Counts the requests of its rank as they were read: ids are the other's own, and may be alike.
    pub(super) number: u64,
    pub(super) request: Request,
    /// Operands that have come with it.
    operands: Vec<u8>,
    /// How many chunks of operands reads were posted for, and those that are here.
    pub(super) posted: u64,
    pub(super) here: BTreeMap<u64, Vec<u8>>,
    /// Chunks that are done with.
    pub(super) done: u64,
    /// What still comes of it is dropped.
    is_refused: bool,
}

/// How far a request has come.
pub(super) enum Advance {
    Done,
    /// The program has the memory.
    Blocked,
    /// For operands, or until replies have left.
    Waits,
}

impl Asked {
    pub(super) fn new(number: u64, request: Request, operands: &[u8]) -> Self {
        let (operands, here) = (operands.to_vec(), BTreeMap::new());
        Asked { number, request, operands, posted: 0, here, done: 0, is_refused: false }
    }

    /// Bytes of the place for a chunk of its operands. None where elements are longer than any of `parts`, and than a
    /// chunk: those cannot be carried out, and a number that another rank has written is no reason to take memory.
    pub(super) fn place_bytes(&self, chunk: u64, parts: &BTreeMap<u32, OwnPart>) -> usize {
        let bytes = self.request.bytes_of(&self.request.chunk(chunk)).len();
        let fits = |part: &OwnPart| part.element_bytes == self.request.element_bytes;
        let is_known = bytes as u64 <= CHUNK_BYTES || parts.get(&self.request.window).is_some_and(fits);
        if is_known { bytes } else { 0 }
    }

    /// How many chunks of operands come as messages of their own.
    pub(super) fn chunks_to_come(&self) -> u64 {
        if self.request.is_inline() { 0 } else { self.request.chunks() }
    }
}

/// Carries out the requests of one rank.
pub(super) struct Server<'a> {
    pub(super) rank: Rank,
    pub(super) from: Rank,
    pub(super) parts: &'a BTreeMap<u32, OwnPart>,
    /// What the program is to be told.
    pub(super) refused: &'a mut VecDeque<Error>,
}

impl Server<'_> {
    /// Goes on with a request. `refused` counts those that were refused.
    pub(super) fn advance(
        &mut self,
        posts: &mut Posts<'_>,
        asked: &mut Asked,
        leaving: &mut Leaving,
        refused: &mut u64,
    ) -> Advance {
        if asked.request.call == WindowCall::Flush {
            if !leaving.has_room(FLUSH_BYTES as usize) {
                return Advance::Waits;
            }
            self.reply(posts, leaving, &asked.request, refused.to_le_bytes().to_vec());
            return Advance::Done;
        }
        let fault = if asked.is_refused { None } else { self.fault(&asked.request) };
        if let Some(fault) = fault {
            // Who does not read why gets no more of them.
            if !leaving.has_room(REFUSAL_BYTES) {
                return Advance::Waits;
            }
            asked.is_refused = true;
            *refused += 1;
            self.refuse(posts, leaving, Refusal { request: asked.request, fault });
        }
        let Some(part) = self.parts.get(&asked.request.window).filter(|_| !asked.is_refused) else {
            return self.discard(asked);
        };
        match asked.request.call {
            WindowCall::Get => self.get(posts, part, asked, leaving),
            WindowCall::Put => self.update(part, asked, Update::Replace),
            WindowCall::Accumulate => self.update(part, asked, asked.request.update),
            WindowCall::FetchUpdate | WindowCall::CompareExchange => self.exchange(posts, part, asked, leaving),
            WindowCall::Flush => Advance::Done,
        }
    }

    /// Why a request cannot be carried out.
    fn fault(&self, request: &Request) -> Option<WindowFault> {
        let Some(part) = self.parts.get(&request.window) else { return Some(WindowFault::Dropped) };
        if (request.element, request.element_bytes) != (part.element, part.element_bytes) {
            return Some(WindowFault::Element { held: part.element });
        }
        if request.start.checked_add(request.count).is_none_or(|end| end > part.length) {
            return Some(WindowFault::Bounds { length: part.length });
        }
        let combines = matches!(request.call, WindowCall::Accumulate | WindowCall::FetchUpdate);
        (combines && !request.update.is_defined_for(request.element)).then_some(WindowFault::Update)
    }

    /// Tells both sides.
    fn refuse(&mut self, posts: &mut Posts<'_>, leaving: &mut Leaving, refusal: Refusal) {
        // What a rank asks of itself it hears as the one that has asked.
        if self.from != self.rank {
            self.refused.push_back(error(self.from, self.rank, &refusal));
        }
        // One that is gone needs not be told.
        self.answer(posts, leaving, REFUSALS, refusal.encode());
    }

    /// A node that has said goodbye writes to itself only.
    fn can_write(&self, posts: &Posts<'_>) -> bool {
        self.from == self.rank || !posts.is_leaving()
    }

    /// Drops the operands of a request that was refused.
    fn discard(&self, asked: &mut Asked) -> Advance {
        while asked.here.remove(&asked.done).is_some() {
            asked.done += 1;
        }
        if asked.done >= asked.chunks_to_come() { Advance::Done } else { Advance::Waits }
    }

    fn get(&self, posts: &mut Posts<'_>, part: &OwnPart, asked: &mut Asked, leaving: &mut Leaving) -> Advance {
        let request = asked.request;
        while asked.done < request.chunks() {
            let mut copy = Vec::new();
            let bytes = self.bytes(part, &request, &request.chunk(asked.done));
            if !leaving.has_room(bytes.len()) {
                return Advance::Waits;
            }
            if !part.memory.try_read(&mut |all| memory::append(&mut copy, &all[bytes.clone()])) {
                return Advance::Blocked;
            }
            if !self.reply(posts, leaving, &request, copy) {
                return Advance::Done;
            }
            asked.done += 1;
        }
        Advance::Done
    }

    fn update(&self, part: &OwnPart, asked: &mut Asked, update: Update) -> Advance {
        let request = asked.request;
        if request.is_inline() {
            let bytes = self.bytes(part, &request, &(0..request.count));
            let mut change = |all: &mut [u8]| apply(update, part.element, &mut all[bytes.clone()], &asked.operands);
            return if part.memory.try_write(&mut change) { Advance::Done } else { Advance::Blocked };
        }
        while let Some(operands) = asked.here.get(&asked.done) {
            let bytes = self.bytes(part, &request, &request.chunk(asked.done));
            let mut change = |all: &mut [u8]| apply(update, part.element, &mut all[bytes.clone()], operands);
            if !part.memory.try_write(&mut change) {
                return Advance::Blocked;
            }
            asked.here.remove(&asked.done);
            asked.done += 1;
        }
        if asked.done == request.chunks() { Advance::Done } else { Advance::Waits }
    }

    /// Changes one element, and replies with what it was.
    fn exchange(&self, posts: &mut Posts<'_>, part: &OwnPart, asked: &Asked, leaving: &mut Leaving) -> Advance {
        let request = asked.request;
        let bytes = self.bytes(part, &request, &(0..1));
        if !leaving.has_room(bytes.len()) {
            return Advance::Waits;
        }
        let operands = &asked.operands[..];
        let (expected, new) = match request.call {
            WindowCall::CompareExchange => operands.split_at(operands.len() / 2),
            _ => (&[][..], operands),
        };
        let mut before = Vec::new();
        let mut change = |all: &mut [u8]| {
            let element = &mut all[bytes.clone()];
            before.extend_from_slice(element);
            match request.call {
                _ if new.len() != element.len() => {}
                WindowCall::CompareExchange if expected == element => element.copy_from_slice(new),
                WindowCall::CompareExchange => {}
                _ => request.update.apply(part.element, element, new),
            }
        };
        if !part.memory.try_write(&mut change) {
            return Advance::Blocked;
        }
        self.reply(posts, leaving, &request, before);
        Advance::Done
    }

    /// The bytes of a request's elements within a part of a window; it was checked that they are there.
    fn bytes(&self, part: &OwnPart, request: &Request, elements: &Range<u64>) -> Range<usize> {
        debug_assert!(request.start + elements.end <= part.length, "what was checked");
        request.bytes_of(&(request.start + elements.start..request.start + elements.end))
    }

    /// Returns whether the reply can go.
    fn reply(&self, posts: &mut Posts<'_>, leaving: &mut Leaving, to: &Request, reply: Vec<u8>) -> bool {
        self.answer(posts, leaving, reply_key(to.id), reply)
    }

    fn answer(&self, posts: &mut Posts<'_>, leaving: &mut Leaving, key: MatchKey, answer: Vec<u8>) -> bool {
        let bytes = answer.len();
        let purpose = Purpose::Reply { to: self.from, bytes };
        let can_go = self.can_write(posts) && posts.write(self.from, key, Box::new(answer), purpose).is_ok();
        if can_go {
            leaving.count += 1;
            leaving.bytes += bytes;
        }
        can_go
    }
}

/// Combines operands with the elements that they are for. Those of another length are none of this version's.
fn apply(update: Update, element: ElementType, into: &mut [u8], operands: &[u8]) {
    if into.len() == operands.len() {
        update.apply(element, into, operands);
    }
}

impl Leaving {
    /// Whether a reply of so many bytes can follow.
    fn has_room(&self, bytes: usize) -> bool {
        self.count == 0 || (self.count < REQUESTS_MAX && (self.bytes + bytes) as u64 <= CHUNKS_MAX * CHUNK_BYTES)
    }
}
