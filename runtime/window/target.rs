//! What other ranks ask of this rank's parts of windows, and how it is done: in the order of the requests of each rank, and
//! while the program computes.
//!
//! A bounded number of requests of each rank is read, and of those a bounded number of chunks is under way. What waits
//! beyond that waits at its sender, or in the link's window, like any message that nobody reads. A request waits while the
//! program has the memory that it needs; others of the same rank wait behind it.

use std::collections::{BTreeMap, VecDeque};

use super::codec::{REQUEST_BYTES_MAX, REQUESTS, Request, payload_key};
use super::posts::{Posts, Purpose};
use super::serve::{Advance, Asked, CHUNKS_MAX, Leaving, OwnPart, REQUESTS_MAX, Server};
use crate::engine::Outcome;
use crate::error::Error;
use crate::ids::Rank;

/// This rank's parts of windows, and what others ask of them.
pub(super) struct Target {
    rank: Rank,
    parts: BTreeMap<u32, OwnPart>,
    next_window: u32,
    origins: BTreeMap<Rank, Served>,
    /// What was refused, until the program is told.
    refused: VecDeque<Error>,
}

/// What one rank asks.
#[derive(Default)]
struct Served {
    queue: VecDeque<Asked>,
    /// Requests that have come and are not read yet; and reads for requests that are posted and not in the queue.
    unread: usize,
    reads: usize,
    /// The number of the next read for a request, and of the next request for the queue: reads meet requests in order, but
    /// a short request may be complete before the one that came first. Those wait here.
    next_read: u64,
    next_request: u64,
    early: BTreeMap<u64, Option<Asked>>,
    /// It holds messages that it cannot announce: a read asks it for requests.
    holds: bool,
    /// Chunks of operands that reads were posted for and that are not done with.
    held: u64,
    leaving: Leaving,
    /// How many of its requests were refused.
    refused: u64,
    /// The first request waits for memory that the program has.
    is_blocked: bool,
}

impl Target {
    pub(super) fn new(rank: Rank) -> Self {
        Target { rank, parts: BTreeMap::new(), next_window: 0, origins: BTreeMap::new(), refused: VecDeque::new() }
    }

    /// Adds a window; returns its number.
    pub(super) fn add(&mut self, part: OwnPart) -> u32 {
        let window = self.next_window;
        self.next_window += 1;
        self.parts.insert(window, part);
        window
    }

    /// From now on what others ask of it is refused.
    pub(super) fn remove(&mut self, window: u32) -> Option<OwnPart> {
        self.parts.remove(&window)
    }

    /// Whether a window of this number has been made.
    pub(super) fn has_made(&self, window: u32) -> bool {
        window < self.next_window
    }

    /// A request has come from `from`.
    pub(super) fn meet(&mut self, posts: &mut Posts<'_>, from: Rank) {
        let served = self.origins.entry(from).or_default();
        served.unread += 1;
        served.read_requests(posts, from);
    }

    /// `from` holds messages that it cannot announce, perhaps requests.
    pub(super) fn meet_holder(&mut self, posts: &mut Posts<'_>, from: Rank) {
        let served = self.origins.entry(from).or_default();
        served.holds = true;
        served.read_requests(posts, from);
    }

    /// A read for a request has ended.
    pub(super) fn take_request(&mut self, posts: &mut Posts<'_>, from: Rank, number: u64, outcome: Outcome) {
        let served = self.origins.entry(from).or_default();
        let mut asked = None;
        match outcome {
            Outcome::Read(mut place, _) => {
                asked =
                    Request::decode(place.bytes_mut()).map(|(request, operands)| Asked::new(number, request, operands));
                if asked.is_none() {
                    tracing::warn!(rank = %self.rank, %from, "a request that this version does not know");
                }
            }
            // It has left, or the job has failed.
            _ => served.holds = false,
        }
        served.early.insert(number, asked);
        while let Some(next) = served.early.remove(&served.next_request) {
            served.next_request += 1;
            served.reads -= 1;
            served.queue.extend(next);
        }
        self.serve(posts, from);
    }

    /// A chunk of operands has come, or will not.
    pub(super) fn take_operands(&mut self, posts: &mut Posts<'_>, from: Rank, which: (u64, u64), outcome: Outcome) {
        let Some(served) = self.origins.get_mut(&from) else { return };
        let (number, chunk) = which;
        let bytes = match outcome {
            Outcome::Read(place, _) => place.into_any().downcast::<Vec<u8>>().map(|bytes| *bytes).unwrap_or_default(),
            // It has left; or it is another one than was said, or too long, of which both sides know: operands of another
            // length change nothing.
            _ => Vec::new(),
        };
        if let Some(asked) = served.queue.iter_mut().find(|asked| asked.number == number) {
            asked.here.insert(chunk, bytes);
        }
        self.serve(posts, from);
    }

    /// A chunk of a reply has left, or will not.
    pub(super) fn take_reply(&mut self, posts: &mut Posts<'_>, to: Rank, bytes: usize) {
        if let Some(served) = self.origins.get_mut(&to) {
            served.leaving.count -= 1;
            served.leaving.bytes -= bytes;
            self.serve(posts, to);
        }
    }

    /// Goes on with requests that waited for the program, or for a window that is gone.
    pub(super) fn serve_blocked(&mut self, posts: &mut Posts<'_>) {
        let is_blocked = |(from, served): (&Rank, &Served)| served.is_blocked.then_some(*from);
        let blocked: Vec<Rank> = self.origins.iter().filter_map(is_blocked).collect();
        blocked.into_iter().for_each(|from| self.serve(posts, from));
    }

    /// Carries out what `from` asks, as far as it goes.
    fn serve(&mut self, posts: &mut Posts<'_>, from: Rank) {
        let Some(served) = self.origins.get_mut(&from) else { return };
        let mut server = Server { rank: self.rank, from, parts: &self.parts, refused: &mut self.refused };
        loop {
            served.read_operands(posts, from, &self.parts);
            let Some(asked) = served.queue.front_mut() else {
                served.is_blocked = false;
                break;
            };
            let before = asked.done;
            let advance = server.advance(posts, asked, &mut served.leaving, &mut served.refused);
            let is_read = asked.chunks_to_come() > 0;
            let done = if is_read { asked.done - before } else { 0 };
            served.held -= done;
            match advance {
                Advance::Done => _ = served.queue.pop_front(),
                // What is done with has made room for more.
                Advance::Waits if done > 0 => {}
                other => {
                    served.is_blocked = matches!(other, Advance::Blocked);
                    break;
                }
            }
        }
        served.read_requests(posts, from);
    }

    /// The next refusal.
    pub(super) fn poll_refusal(&mut self) -> Option<Error> {
        self.refused.pop_front()
    }

    /// Whether there is one.
    pub(super) fn has_refusals(&self) -> bool {
        !self.refused.is_empty()
    }

    /// What is asked of it, for messages of tests.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let of = |(from, served): (&Rank, &Served)| {
            let queue: Vec<_> =
                served.queue.iter().map(|asked| (asked.request, asked.posted, asked.done, asked.here.len())).collect();
            let Served { unread, reads, holds, held, leaving, is_blocked, .. } = served;
            let (count, bytes) = (leaving.count, leaving.bytes);
            format!(
                "from {from}: {queue:?}, unread {unread}, reads {reads}, holds {holds}, held {held}, leaving {count} of \
                 {bytes} bytes, blocked {is_blocked}"
            )
        };
        self.origins.iter().map(of).collect::<Vec<_>>().join("\n")
    }

    /// Whether nothing is asked that can be done now.
    pub(super) fn is_idle(&self) -> bool {
        self.origins.values().all(|served| (served.queue.is_empty() && served.unread == 0) || served.is_blocked)
    }
}

impl Served {
    /// Reads the requests that have come, as long as there is room for them.
    fn read_requests(&mut self, posts: &mut Posts<'_>, from: Rank) {
        while self.queue.len() + self.reads < REQUESTS_MAX && (self.unread > 0 || (self.holds && self.reads == 0)) {
            let place = Box::new(vec![0u8; REQUEST_BYTES_MAX]);
            let purpose = Purpose::Request { from, number: self.next_read };
            if posts.read(from, REQUESTS, place, purpose).is_err() {
                (self.unread, self.holds) = (0, false);
                return;
            }
            self.unread = self.unread.saturating_sub(1);
            self.next_read += 1;
            self.reads += 1;
        }
    }

    /// Reads operands of the requests in the queue, the first ones first. Of a rank that has left nothing more comes: what it
    /// has asked is over.
    fn read_operands(&mut self, posts: &mut Posts<'_>, from: Rank, parts: &BTreeMap<u32, OwnPart>) {
        for asked in &mut self.queue {
            while asked.posted < asked.chunks_to_come() {
                if self.held == CHUNKS_MAX {
                    return;
                }
                let chunk = asked.posted;
                let (bytes, key) = (asked.place_bytes(chunk, parts), payload_key(asked.request.id));
                let purpose = Purpose::Operands { from, number: asked.number, chunk };
                if posts.read(from, key, Box::new(vec![0u8; bytes]), purpose).is_err() {
                    self.queue.clear();
                    self.held = 0;
                    return;
                }
                asked.posted += 1;
                self.held += 1;
            }
        }
    }
}
