//! Sending times T_s (Stoica, Sultan, Keyes 1994, section 2.5) of messages: until the last byte has left the host, not until
//! `wait` returns. Pure.
//!
//! A host's messages leave one after another, and small ones overtake long ones. So T_s of a message is what the host takes for it
//! alone: from its post until it has left, less the time that counts for messages which have left before. The sum over messages is
//! the time for which the host was sending.

use std::collections::VecDeque;

use foldhash::HashMap;

use crate::engine::OpId;

/// Departures that are kept until they are put in order: links tell of theirs one link after another.
const UNSORTED_MAX: usize = 512;
/// Intervals that are kept: the latest. A report has them for each region, and goes over the job's network.
const INTERVALS_MAX: usize = 256;

/// A message that has not left yet.
#[derive(Clone, Copy, Debug)]
struct Message<R> {
    region: Option<R>,
    bytes: u64,
    posted_ns: u64,
}

/// A message has left the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<R> {
    pub(super) region: Option<R>,
    pub(super) bytes: u64,
    pub(super) posted_ns: u64,
    pub(super) left_ns: u64,
    /// T_s.
    pub(super) time_ns: u64,
}

/// Times when something was under way: the latest intervals, apart from each other and in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy(VecDeque<(u64, u64)>);

impl Busy {
    /// From `from` on until `to`, which is no earlier than all before. Returns how much of that is new.
    pub(super) fn add(&mut self, from: u64, to: u64) -> u64 {
        let (mut start, mut new) = (from, to.saturating_sub(from));
        while let Some(&(earlier, until)) = self.0.back()
            && until >= from
        {
            self.0.pop_back();
            new = new.saturating_sub(until - earlier.max(from));
            start = start.min(earlier);
        }
        if self.0.len() == INTERVALS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((start, to));
        new
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(u64, u64)> {
        self.0.iter()
    }
}

/// The messages of a node that are leaving, each perhaps in a region, which `R` names.
#[derive(Clone, Debug)]
pub(crate) struct Sends<R> {
    /// Posted, and not yet handed to the socket as a whole.
    posted: HashMap<OpId, Message<R>>,
    links: Vec<Outgoing<R>>,
    /// Left, in the order in which that was told.
    left: Vec<(u64, Message<R>)>,
    /// When messages were leaving whose time is known.
    busy: Busy,
}

/// What one socket has been handed.
#[derive(Clone, Debug)]
struct Outgoing<R> {
    /// Messages, and how many bytes the socket had been handed at the end of each.
    messages: VecDeque<(u64, Message<R>)>,
    /// As many bytes have left.
    left_bytes: u64,
}

impl<R: Copy> Sends<R> {
    pub(crate) fn new(ranks: u32) -> Self {
        let link = || Outgoing { messages: VecDeque::new(), left_bytes: 0 };
        Sends {
            posted: HashMap::default(),
            links: (0..ranks).map(|_| link()).collect(),
            left: Vec::new(),
            busy: Busy::default(),
        }
    }

    /// A message is posted.
    pub(super) fn posts(&mut self, op: OpId, region: Option<R>, bytes: u64, posted_ns: u64) {
        self.posted.insert(op, Message { region, bytes, posted_ns });
    }

    /// All of a message is handed to the socket of `link`, which has been handed `end` bytes in all.
    pub(crate) fn hands_over(&mut self, op: OpId, link: usize, end: u64) {
        if let Some(message) = self.posted.remove(&op) {
            self.links[link].messages.push_back((end, message));
        }
    }

    /// The `byte`th byte of `link`, modulo 2^32 and from 0, and all before have left the host.
    pub(crate) fn leaves(&mut self, link: usize, byte: u32, at_ns: u64) {
        let Outgoing { messages, left_bytes } = &mut self.links[link];
        // The next number of bytes that ends so; of what is sent again it has been told before.
        let further = byte.wrapping_add(1).wrapping_sub(*left_bytes as u32);
        if further > u32::MAX / 2 {
            return;
        }
        *left_bytes += u64::from(further);
        while let Some(&(end, message)) = messages.front()
            && end <= *left_bytes
        {
            messages.pop_front();
            self.left.push((at_ns, message));
        }
    }

    /// What is known to have left since the last time; the latest are kept back, since others may have left before them, unless
    /// `all` are asked for.
    pub(super) fn settle(&mut self, all: bool) -> Vec<Sent<R>> {
        if !all && self.left.len() < UNSORTED_MAX {
            return Vec::new();
        }
        self.left.sort_by_key(|(at_ns, _)| *at_ns);
        let count = if all { self.left.len() } else { UNSORTED_MAX / 2 };
        let sent = self.left.drain(..count).map(|(left_ns, Message { region, bytes, posted_ns })| Sent {
            region,
            bytes,
            posted_ns,
            left_ns,
            time_ns: self.busy.add(posted_ns, left_ns),
        });
        sent.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(sends: &mut Sends<()>) -> Vec<(u64, u64)> {
        sends.settle(true).iter().map(|sent| (sent.bytes, sent.time_ns)).collect()
    }

    #[test]
    fn messages_of_a_host_leave_one_after_another() {
        let mut sends = Sends::<()>::new(3);
        for (op, bytes) in [(1, 100), (2, 200), (3, 300)] {
            sends.posts(OpId(op), None, bytes, 10);
        }
        sends.hands_over(OpId(1), 1, 116);
        sends.hands_over(OpId(2), 2, 216);
        sends.hands_over(OpId(3), 1, 432);
        sends.leaves(2, 215, 70);
        sends.leaves(1, 115, 30);
        assert_eq!(times(&mut sends), [(100, 20), (200, 40)], "of another link, and told in another order");
        sends.leaves(1, 430, 90);
        assert_eq!(times(&mut sends), [], "its last byte has not left");
        sends.leaves(1, 431, 100);
        assert_eq!(times(&mut sends), [(300, 30)]);
        sends.posts(OpId(4), None, 8, 500);
        sends.hands_over(OpId(4), 1, 456);
        sends.leaves(1, 455, 508);
        assert_eq!(times(&mut sends), [(8, 8)], "the host was idle before");
    }

    #[test]
    fn who_overtakes_takes_only_its_own_time() {
        let mut sends = Sends::<()>::new(2);
        sends.posts(OpId(1), None, 1 << 20, 100);
        sends.posts(OpId(2), None, 8, 900);
        sends.hands_over(OpId(2), 0, 24);
        sends.leaves(0, 23, 930);
        sends.hands_over(OpId(1), 1, 1 << 20);
        sends.leaves(1, (1 << 20) - 1, 1000);
        sends.posts(OpId(3), None, 9, 950);
        sends.hands_over(OpId(3), 0, 48);
        sends.leaves(0, 47, 1010);
        assert_eq!(times(&mut sends), [(8, 30), (1 << 20, 870), (9, 10)]);
        assert_eq!(sends.busy.iter().collect::<Vec<_>>(), [&(100, 1010)]);
    }

    #[test]
    fn numbers_of_bytes_wrap_and_may_come_again() {
        let mut sends = Sends::<()>::new(1);
        let mut end = 0u64;
        for op in 0..12 {
            end += 1 << 30;
            sends.posts(OpId(op), None, 1 << 30, op * 100);
            sends.hands_over(OpId(op), 0, end);
            sends.leaves(0, (end - 1) as u32, op * 100 + 40);
            sends.leaves(0, (end - 1000) as u32, op * 100 + 60);
        }
        assert_eq!(times(&mut sends), [(1 << 30, 40); 12]);
    }

    #[test]
    fn what_is_settled_early_is_in_order() {
        let mut sends = Sends::<()>::new(2);
        let mut ends = [0, 0];
        let mut all = Vec::new();
        for op in 0..10_000u64 {
            let link = (op % 2) as usize;
            ends[link] += 10;
            sends.posts(OpId(op), None, 1, op * 10);
            sends.hands_over(OpId(op), link, ends[link]);
            // One link tells of eight departures at a time.
            if op % 16 > 13 {
                for back in (0..8).rev() {
                    let end: u64 = ends[link] - back * 10;
                    sends.leaves(link, (end - 1) as u32, (op - back * 2) * 10 + 5);
                }
            }
            all.extend(sends.settle(false));
        }
        all.extend(sends.settle(true));
        assert_eq!(all.len(), 10_000);
        assert!(all.iter().all(|sent| sent.time_ns == 5));
        assert!(all.is_sorted_by_key(|sent| sent.left_ns));
    }
}
