//! What passes over each link: messages and bytes by size, and a bounded sample of their times on the way. Pure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::downs::Downs;
use super::offset::{LinkClock, Offset};
use crate::engine::Arrival;
use crate::ids::Rank;
use crate::wire::frame::Stamp;
use lathide_models::fit::Sample;

/// Sizes are counted by classes of a factor of 2: up to 64 bytes, 128, ... beyond 64 MiB.
pub(crate) const CLASSES: usize = 22;
/// Samples kept of each class; the newest take the place of the oldest.
const SAMPLES_MAX: usize = 32;
/// The first messages of a class carry a stamp, then one of so many: short ones, where a stamp counts, and others.
const FIRST_STAMPS: u64 = 32;
const SHORT_BYTES: u64 = 4096;
const SHORT_EACH: u64 = 32;
const LONG_EACH: u64 = 4;
/// A peer that has not shown its clock for so long is asked, with the next message. And how often both answer.
const ASK_EACH_NS: u64 = 500_000_000;
pub(crate) const ANSWERS: u32 = 2;
/// No message takes less: of a sample that shows less the difference of the clocks was not known yet.
const SOUND_S: f64 = 1e-6;
/// Links that are looked at for what is usual.
const USUAL_LINKS_MAX: usize = 16;
/// How often the difference of the clocks goes into a timeline.
const TELL_EACH_NS: u64 = 200_000_000;

/// Whether a message of `bytes` carries a stamp, after so many of its class.
fn is_chosen(before: u64, bytes: u64) -> bool {
    let each = if bytes <= SHORT_BYTES { SHORT_EACH } else { LONG_EACH };
    before < FIRST_STAMPS || before.is_multiple_of(each)
}

/// The class of a message.
pub(crate) fn class(bytes: u64) -> usize {
    let beyond = bytes.saturating_sub(1) >> 6;
    ((u64::BITS - beyond.leading_zeros()) as usize).min(CLASSES - 1)
}

/// Messages of one class in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Count {
    /// Both.
    pub(crate) fn plus(self, other: Count) -> Count {
        Count { messages: self.messages + other.messages, bytes: self.bytes.saturating_add(other.bytes) }
    }
}

/// What has passed over one link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) sent: [Count; CLASSES],
    pub(crate) received: [Count; CLASSES],
    pub(crate) clock: LinkClock,
    /// When the peer is to be asked for its clock again.
    ask_at_ns: u64,
    /// When the difference of the clocks is worth telling again, and the bound that was told.
    told: (u64, u64),
    samples: [Ring; CLASSES],
    /// Those of messages that were sent after the last one with a stamp had arrived: they stood in no queue behind it.
    alone: [Ring; CLASSES],
    /// When that arrived, by the clock of this rank.
    arrived_ns: u64,
    pub(crate) downs: Downs,
}

/// The newest samples of a class.
#[derive(Clone, Debug, Default)]
struct Ring {
    samples: Vec<Sample>,
    next: usize,
}

/// What passes over all links of a node.
pub(crate) struct Links {
    links: Box<[Link]>,
    typical: Arc<Typical>,
}

/// The usual time on the way, by link and class, for threads that do not hold the lock.
pub(crate) struct Typical(Box<[TypicalOfLink]>);

#[derive(Default)]
struct TypicalOfLink {
    times_ns: [AtomicU64; CLASSES],
    /// A bit for each class of which something is known.
    known: AtomicU32,
}

impl Typical {
    pub(crate) fn new(size: u32) -> Self {
        Typical((0..size).map(|_| TypicalOfLink::default()).collect())
    }

    /// In nanoseconds, as observed of the class. Else at most: by the bytes, from the nearest shorter class that is
    /// known, or as a longer one. `u64::MAX` if nothing is known of the link.
    pub(crate) fn time_ns(&self, peer: Rank, bytes: u64) -> u64 {
        let Some(link) = self.0.get(peer.index()) else { return u64::MAX };
        let (class, known) = (class(bytes), link.known.load(Ordering::Acquire));
        let time_ns = |at: u32| link.times_ns[at as usize].load(Ordering::Relaxed);
        let up_to_own = known & (u32::MAX >> (u32::BITS - 1 - class as u32));
        match up_to_own.checked_ilog2() {
            Some(own) if own == class as u32 => time_ns(own),
            Some(shorter) => time_ns(shorter).saturating_mul(1 + (bytes >> (6 + shorter))),
            // The first longer one.
            None if known != 0 => time_ns(known.trailing_zeros()),
            None => u64::MAX,
        }
    }

    fn learn(&self, peer: Rank, bytes: u64, time_ns: u64) {
        let Some(link) = self.0.get(peer.index()) else { return };
        let typical = &link.times_ns[class(bytes)];
        let old = typical.load(Ordering::Relaxed);
        // One message that was held up says little about the next.
        let new = if old == 0 { time_ns.max(1) } else { old - old / 8 + time_ns.min(old.saturating_mul(4)) / 8 };
        typical.store(new.max(1), Ordering::Relaxed);
        link.known.fetch_or(1 << class(bytes), Ordering::Release);
    }
}

impl Links {
    pub(crate) fn new(typical: Arc<Typical>) -> Self {
        Links { links: vec![Link::default(); typical.0.len()].into(), typical }
    }

    /// Whether [`Links::posts`] would return nothing.
    pub(crate) fn lets_pass(&self, now_ns: u64, peer: Rank, bytes: u64) -> bool {
        let Some(link) = self.links.get(peer.index()) else { return true };
        now_ns < link.ask_at_ns && !is_chosen(link.sent[class(bytes)].messages, bytes)
    }

    /// A write of `bytes` to `peer` is posted. Returns the stamp it is to carry, if it is chosen, and the one to ask
    /// for the peer's clock with, if that is due.
    pub(crate) fn posts(&mut self, now_ns: u64, peer: Rank, bytes: u64) -> (Option<Stamp>, Option<Stamp>) {
        let Some(link) = self.links.get_mut(peer.index()) else { return (None, None) };
        let count = &mut link.sent[class(bytes)];
        let is_chosen = is_chosen(count.messages, bytes);
        count.messages += 1;
        count.bytes += bytes;
        let asks = now_ns >= link.ask_at_ns;
        if asks {
            link.ask_at_ns = now_ns + ASK_EACH_NS;
        }
        let stamp = Stamp { sent_ns: now_ns, echo_ns: link.clock.echo() };
        (is_chosen.then_some(stamp), asks.then_some(stamp))
    }

    /// A read of `bytes` from `peer` is complete.
    pub(crate) fn receives(&mut self, peer: Rank, bytes: u64) {
        if let Some(link) = self.links.get_mut(peer.index()) {
            let count = &mut link.received[class(bytes)];
            count.messages += 1;
            count.bytes += bytes;
        }
    }

    /// A stamp arrives. Returns what to answer it with, if the peer wants that.
    pub(crate) fn arrives(&mut self, now_ns: u64, arrival: &Arrival) -> Option<Stamp> {
        let Arrival { peer, bytes, stamp, answers } = *arrival;
        let link = self.links.get_mut(peer.index())?;
        let is_short = bytes.unwrap_or(0) <= SHORT_BYTES;
        let raw = link.clock.hear(now_ns, stamp.sent_ns, stamp.echo_ns, is_short);
        if is_short && stamp.echo_ns.is_some() {
            link.ask_at_ns = now_ns + ASK_EACH_NS;
        }
        if let (Some(bytes), Some(offset)) = (bytes, link.clock.offset()) {
            let time_ns = raw.saturating_sub(offset.ns).max(1) as u64;
            let sample = Sample { bytes, time_s: time_ns as f64 * 1e-9 };
            link.samples[class(bytes)].put(sample);
            if now_ns.saturating_sub(time_ns) >= link.arrived_ns {
                link.alone[class(bytes)].put(sample);
            }
            self.typical.learn(peer, bytes, time_ns);
        }
        if bytes.is_some() {
            link.arrived_ns = now_ns;
        }
        (answers > 0).then(|| Stamp { sent_ns: now_ns, echo_ns: link.clock.echo() })
    }

    /// The link to `peer` is about to go down, since a checksum was wrong.
    pub(crate) fn is_damaged(&mut self, peer: Rank) {
        if let Some(link) = self.links.get_mut(peer.index()) {
            link.downs.by_checksum += 1;
        }
    }

    /// The link to `peer` goes down.
    pub(crate) fn goes_down(&mut self, now_ns: u64, peer: Rank) {
        if let Some(link) = self.links.get_mut(peer.index()) {
            link.downs.begins(now_ns);
        }
    }

    /// It goes on, or is given up.
    pub(crate) fn is_down_no_more(&mut self, now_ns: u64, peer: Rank) {
        if let Some(link) = self.links.get_mut(peer.index()) {
            link.downs.ends(now_ns);
        }
    }

    /// A stamp for every link, to ask for the peer's clock with.
    pub(crate) fn ask_all(&mut self, now_ns: u64) -> impl Iterator<Item = (Rank, Stamp)> {
        (0u32..).map(Rank).zip(&mut self.links).map(move |(peer, link)| {
            link.ask_at_ns = now_ns + ASK_EACH_NS;
            (peer, Stamp { sent_ns: now_ns, echo_ns: link.clock.echo() })
        })
    }

    /// The difference of the clocks, if it is known better than it was told last, or that is long ago.
    pub(crate) fn news(&mut self, now_ns: u64, peer: Rank) -> Option<Offset> {
        let link = self.links.get_mut(peer.index())?;
        let offset = link.clock.offset()?;
        let (again_ns, told) = link.told;
        if now_ns < again_ns && told > 0 && offset.error_ns >= told {
            return None;
        }
        link.told = (now_ns + TELL_EACH_NS, offset.error_ns);
        Some(offset)
    }

    /// The one-way times of each class of sizes, over the first links to ranks that `counts` and that have shown some: that which
    /// one of `of` is shorter than, of messages that stood in no queue if there are any.
    pub(crate) fn usual(&self, counts: impl Fn(Rank) -> bool, of: usize) -> Vec<Sample> {
        let shown =
            self.iter().filter(|(peer, link)| counts(*peer) && link.samples().any(|samples| !samples.is_empty()));
        let links: Vec<&Link> = shown.map(|(_, link)| link).take(USUAL_LINKS_MAX).collect();
        let of_class = |class: usize| {
            let sound = |of: fn(&Link) -> &[Ring; CLASSES]| -> Vec<Sample> {
                let samples = links.iter().flat_map(|link| &of(link)[class].samples);
                samples.filter(|sample| sample.time_s > SOUND_S).copied().collect()
            };
            let alone = sound(|link| &link.alone);
            let mut samples = if alone.is_empty() { sound(|link| &link.samples) } else { alone };
            samples.sort_by(|one, other| one.time_s.total_cmp(&other.time_s));
            samples.get(samples.len() / of).copied()
        };
        (0..CLASSES).filter_map(of_class).collect()
    }

    /// Every link, by rank.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Rank, &Link)> {
        (0u32..).map(Rank).zip(&self.links)
    }
}

impl Link {
    /// The samples kept, by class, small messages first.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &[Sample]> {
        self.samples.iter().map(|ring| &ring.samples[..])
    }

    /// The same, of each class only those that stood in no queue, if there are any.
    pub(crate) fn unqueued(&self) -> impl Iterator<Item = &[Sample]> {
        let both = self.alone.iter().zip(&self.samples);
        both.map(|(alone, all)| if alone.samples.is_empty() { &all.samples[..] } else { &alone.samples[..] })
    }

    /// Messages and bytes of all classes.
    pub(crate) fn total(counts: &[Count; CLASSES]) -> Count {
        counts.iter().copied().fold(Count::default(), Count::plus)
    }
}

impl Ring {
    fn put(&mut self, sample: Sample) {
        if self.samples.len() < SAMPLES_MAX {
            self.samples.push(sample);
        } else {
            self.samples[self.next] = sample;
            self.next = (self.next + 1) % SAMPLES_MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Rank = Rank(1);

    fn links() -> Links {
        Links::new(Arc::new(Typical::new(2)))
    }

    #[test]
    fn classes_double() {
        let classes: Vec<usize> =
            [0, 1, 64, 65, 128, 129, 4096, 4097, 64 << 20, (64 << 20) + 1, u64::MAX].map(class).into();
        assert_eq!(classes, [0, 0, 0, 1, 1, 2, 6, 7, 20, 21, 21]);
    }

    /// The sender is ahead: its later messages stand in a queue.
    #[test]
    fn what_is_usual_is_of_messages_that_stood_in_no_queue() {
        let (mut here, mut there) = (links(), links());
        let quiet = |stamp, answers| Arrival { peer: PEER, bytes: None, stamp, answers };
        let (_, asks) = here.posts(1_000_000, PEER, 0);
        let answer = there.arrives(1_010_000, &quiet(asks.unwrap(), 2)).unwrap();
        let again = here.arrives(1_020_000, &quiet(answer, 1)).unwrap();
        there.arrives(1_030_000, &quiet(again, 0));
        for message in 0..20u64 {
            let (stamp, _) = here.posts(2_000_000 + 1000 * message, PEER, 4096);
            let arrival = Arrival { peer: PEER, bytes: Some(4096), stamp: stamp.unwrap(), answers: 0 };
            there.arrives(2_050_000 + 40_000 * message, &arrival);
        }
        let usual = there.usual(|_| true, 4)[0].time_s;
        assert!((usual - 50e-6).abs() < 1e-6, "{usual}");
    }

    #[test]
    fn many_messages_carry_few_stamps_and_leave_few_samples() {
        let (mut here, mut there) = (links(), links());
        let (mut stamps, mut asked) = (0, 0);
        for turn in 0..10_000u64 {
            let now = 1_000_000 + turn * 100_000;
            let (stamp, asks) = here.posts(now, PEER, 8);
            if let Some(stamp) = asks {
                asked += 1;
                let answer = there.arrives(now + 10, &Arrival { peer: Rank(0), bytes: None, stamp, answers: 2 });
                let arrival = Arrival { peer: PEER, bytes: None, stamp: answer.unwrap(), answers: 1 };
                let stamp = here.arrives(now + 20, &arrival).unwrap();
                there.arrives(now + 30, &Arrival { peer: Rank(0), bytes: None, stamp, answers: 0 });
            }
            if let Some(stamp) = stamp {
                stamps += 1;
                let arrival = Arrival { peer: Rank(0), bytes: Some(8), stamp, answers: 0 };
                assert_eq!(there.arrives(now + 10, &arrival), None);
            }
        }
        assert_eq!(asked, 2, "in a second, with nothing else coming back");
        assert!((300..400).contains(&stamps), "{stamps}");
        let (_, link) = there.iter().next().unwrap();
        let samples: Vec<&Sample> = link.samples().flatten().collect();
        assert!(samples.len() == SAMPLES_MAX, "{}", samples.len());
        assert!(samples.iter().all(|sample| (sample.time_s - 10e-9).abs() < 2e-9), "{samples:?}");
        assert_eq!(there.typical.time_ns(Rank(0), 8), 10);
        let (_, link) = here.iter().nth(1).unwrap();
        let total = Link::total(&link.sent);
        assert_eq!((total.messages, total.bytes), (10_000, 80_000));
    }

    #[test]
    fn a_message_that_is_held_up_changes_the_usual_time_little() {
        let typical = Typical::new(1);
        typical.learn(Rank(0), 8, 1000);
        typical.learn(Rank(0), 8, 1_000_000);
        assert!(typical.time_ns(Rank(0), 8) < 1500);
        (0..100).for_each(|_| typical.learn(Rank(0), 8, 5000));
        assert!(typical.time_ns(Rank(0), 8).abs_diff(5000) < 100, "but it follows");
        assert_eq!(typical.time_ns(Rank(7), 8), u64::MAX, "no such rank");
    }

    /// A clock may say anything.
    #[test]
    fn stamps_of_any_times_are_taken() {
        // By how much the clocks may seem to differ.
        let extremes = [0, 1, 1_000_000, u64::MAX / 4, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX];
        let echoes = [None, Some(0), Some(i64::MAX), Some(i64::MIN + 1), Some(-1)];
        for (first, second) in extremes.iter().flat_map(|first| extremes.map(|second| (*first, second))) {
            let (mut links, mut now_ns) = (links(), 1_000_000u64);
            for (differ, echo_ns) in [first, second, first].into_iter().flat_map(|one| echoes.map(|echo| (one, echo))) {
                for bytes in [None, Some(0), Some(8), Some(8), Some(1 << 40), Some(u64::MAX)] {
                    now_ns += 1000;
                    let stamp = Stamp { sent_ns: now_ns.wrapping_sub(differ), echo_ns };
                    let arrival = Arrival { peer: PEER, bytes, stamp, answers: u32::MAX };
                    assert!(links.arrives(now_ns, &arrival).is_some());
                    links.news(now_ns, PEER);
                }
            }
            assert!(links.usual(|_| true, 2).iter().all(|sample| sample.time_s > 0.0));
            assert!(links.typical.time_ns(PEER, 8) > 0 && links.typical.time_ns(PEER, u64::MAX) > 0);
        }
    }

    #[test]
    fn sizes_that_were_not_seen_take_at_most_what_their_bytes_do() {
        let typical = Typical::new(1);
        assert_eq!(typical.time_ns(Rank(0), 8), u64::MAX, "nothing is known");
        typical.learn(Rank(0), 128, 1000);
        assert_eq!((typical.time_ns(Rank(0), 8), typical.time_ns(Rank(0), 120)), (1000, 1000));
        assert_eq!(typical.time_ns(Rank(0), 1280), 11_000, "ten times the bytes, and what a message takes");
    }
}
