//! Regions: parts of a program that it names, and the messages that are posted in them. Pure, but for what a thread
//! remembers of itself.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::sends::{Busy, Sends, Sent};
use crate::engine::OpId;

/// Regions of a node that are told apart; all others are one.
const REGIONS_MAX: usize = 64;
/// Its name.
const OTHERS: &str = "other regions";
/// Sizes of messages that are told apart in a region and a direction; others are counted with the nearest that is longer, or
/// else with the longest.
const SIZES_MAX: usize = 64;

/// The number of a region at its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RegionId(u8);

thread_local! {
    /// The region that this thread is in, and the node that it is one of.
    static CURRENT: Cell<Option<(u64, RegionId)>> = const { Cell::new(None) };
}

/// The region of `node` that the calling thread is in.
pub(crate) fn current(node: u64) -> Option<RegionId> {
    CURRENT.get().filter(|(of, _)| *of == node).map(|(_, region)| region)
}

/// The regions of a node that its threads have been in.
#[derive(Default)]
pub(crate) struct Regions(Mutex<Vec<Arc<Entry>>>);

/// One of them.
struct Entry {
    name: Box<str>,
    entered: AtomicU64,
    within_ns: AtomicU64,
    calculating_ns: AtomicU64,
}

/// What a thread was in before it has entered a region, since when it is there, and how long it had been outside of calls
/// until then.
pub(crate) struct Visit {
    entry: Arc<Entry>,
    before: Option<(u64, RegionId)>,
    since_ns: u64,
    outside_ns: u64,
}

impl Regions {
    /// The calling thread enters the region of this name, and has been outside of calls for so long.
    pub(crate) fn enter(&self, node: u64, name: &str, now_ns: u64, outside_ns: u64) -> Visit {
        let (region, entry) = self.entry(name);
        entry.entered.fetch_add(1, Ordering::Relaxed);
        Visit { entry, before: CURRENT.replace(Some((node, region))), since_ns: now_ns, outside_ns }
    }

    /// It leaves it.
    pub(crate) fn leave(visit: &Visit, now_ns: u64, outside_ns: u64) {
        visit.entry.within_ns.fetch_add(now_ns.saturating_sub(visit.since_ns), Ordering::Relaxed);
        visit.entry.calculating_ns.fetch_add(outside_ns.saturating_sub(visit.outside_ns), Ordering::Relaxed);
        CURRENT.set(visit.before);
    }

    fn entry(&self, name: &str) -> (RegionId, Arc<Entry>) {
        let mut entries = self.0.lock();
        let name = match entries.len() < REGIONS_MAX || entries.iter().any(|entry| *entry.name == *name) {
            true => name,
            false => OTHERS,
        };
        let at = entries.iter().position(|entry| *entry.name == *name).unwrap_or_else(|| {
            entries.push(Arc::new(Entry::new(name)));
            entries.len() - 1
        });
        (RegionId(at as u8), entries[at].clone())
    }

    /// All regions, in the order in which they were first entered.
    pub(crate) fn reports(&self, counts: &Counts) -> Vec<RegionReport> {
        let (entries, mut counts) = (self.0.lock(), counts.clone());
        counts.settle(true);
        let report = |(at, entry): (usize, &Arc<Entry>)| {
            let region = RegionId(at as u8);
            let within_ns = entry.within_ns.load(Ordering::Relaxed);
            let calculating_ns = entry.calculating_ns.load(Ordering::Relaxed).min(within_ns);
            let sending = counts.sending.get(&region).into_iter().flat_map(Busy::iter);
            RegionReport {
                name: entry.name.to_string(),
                entered: entry.entered.load(Ordering::Relaxed),
                within_s: seconds(within_ns),
                in_calls_s: seconds(within_ns - calculating_ns),
                sent: counts.sent.get(&region).map(Sizes::report).unwrap_or_default(),
                received: counts.received.get(&region).map(Sizes::report).unwrap_or_default(),
                sending: sending.map(|&(from_ns, to_ns)| [from_ns, to_ns].map(microseconds)).collect(),
            }
        };
        entries.iter().enumerate().map(report).collect()
    }
}

impl Entry {
    fn new(name: &str) -> Self {
        let zero = || AtomicU64::new(0);
        Entry { name: name.into(), entered: zero(), within_ns: zero(), calculating_ns: zero() }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// In seconds too, rounded to microseconds, which are fewer digits.
fn microseconds(nanoseconds: u64) -> f64 {
    ((nanoseconds + 500) / 1000) as f64 / 1e6
}

/// The messages of all regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    sent: BTreeMap<RegionId, Sizes>,
    received: BTreeMap<RegionId, Sizes>,
    /// Reads and collectives that were posted in a region and have not ended, and when they were posted.
    under_way: HashMap<OpId, (RegionId, u64)>,
    /// Messages that are leaving, if that is timed.
    sends: Option<Sends<RegionId>>,
    /// When messages of a region were leaving the host.
    sending: BTreeMap<RegionId, Busy>,
}

/// Messages by size.
#[derive(Clone, Debug, Default)]
struct Sizes(BTreeMap<u64, Sized>);

/// Messages of about one size, and the time of those that were timed.
#[derive(Clone, Copy, Debug, Default)]
struct Sized {
    messages: u64,
    timed: u64,
    time_ns: u64,
}

impl Sizes {
    fn of(&mut self, bytes: u64) -> &mut Sized {
        let mut at = bytes;
        if self.0.len() >= SIZES_MAX && !self.0.contains_key(&bytes) {
            let nearest = self.0.range(bytes..).next().or_else(|| self.0.last_key_value());
            at = nearest.map_or(bytes, |(bytes, _)| *bytes);
        }
        self.0.entry(at).or_default()
    }

    fn report(&self) -> Vec<RegionMessages> {
        let report = |(&bytes, &Sized { messages, timed, time_ns }): (&u64, &Sized)| RegionMessages {
            bytes,
            messages,
            timed,
            time_s: (timed > 0).then(|| seconds(time_ns)),
        };
        self.0.iter().map(report).collect()
    }
}

impl Sized {
    fn takes(&mut self, time_ns: u64) {
        self.timed += 1;
        self.time_ns += time_ns;
    }
}

impl Counts {
    /// Nothing so far. With `sends` sending times are counted too.
    pub(crate) fn new(sends: Option<Sends<RegionId>>) -> Self {
        Counts { sends, ..Counts::default() }
    }

    /// A read or a collective is posted in a region.
    pub(crate) fn begins(&mut self, op: OpId, region: Option<RegionId>, now_ns: u64) {
        if let Some(region) = region {
            self.under_way.insert(op, (region, now_ns));
        }
    }

    /// The region in which `op` was posted.
    pub(crate) fn region_of(&self, op: OpId) -> Option<RegionId> {
        // The usual case: a program without regions.
        if self.under_way.is_empty() {
            return None;
        }
        self.under_way.get(&op).map(|(region, _)| *region)
    }

    /// A read or a collective has ended. Returns the region in which it was posted, and when.
    pub(crate) fn ends(&mut self, op: OpId) -> Option<(RegionId, u64)> {
        if self.under_way.is_empty() {
            return None;
        }
        self.under_way.remove(&op)
    }

    /// A message is posted, and nothing of it is sent yet.
    pub(crate) fn sends(&mut self, op: OpId, region: Option<RegionId>, bytes: u64, now_ns: u64) {
        if let Some(region) = region {
            self.sent.entry(region).or_default().of(bytes).messages += 1;
        }
        if let Some(sends) = &mut self.sends {
            sends.posts(op, region, bytes, now_ns);
        }
    }

    /// The messages that are leaving, if that is timed.
    pub(crate) fn sends_mut(&mut self) -> Option<&mut Sends<RegionId>> {
        self.sends.as_mut()
    }

    /// Counts messages that have left: all, or so many that they are in order.
    pub(crate) fn settle(&mut self, all: bool) {
        let settled = self.sends.as_mut().map(|sends| sends.settle(all)).unwrap_or_default();
        for Sent { region, bytes, posted_ns, left_ns, time_ns } in settled {
            let Some(region) = region else { continue };
            self.sent.entry(region).or_default().of(bytes).takes(time_ns);
            self.sending.entry(region).or_default().add(posted_ns, left_ns);
        }
    }

    /// A message has come. `time_ns`: since its read was posted.
    pub(crate) fn receives(&mut self, region: Option<RegionId>, bytes: u64, time_ns: Option<u64>) {
        if let Some(region) = region {
            let sized = self.received.entry(region).or_default().of(bytes);
            sized.messages += 1;
            if let Some(time_ns) = time_ns {
                sized.takes(time_ns);
            }
        }
    }
}

/// The messages that were posted in one region ([`Node::region`](crate::Node::region)).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct RegionReport {
    /// The name that the program has given it.
    pub name: String,
    /// How often a thread has entered it.
    pub entered: u64,
    /// The time that threads were within, in seconds: the sum over all of them, of visits that have ended.
    pub within_s: f64,
    /// Of it, the time within calls of lathide, in posts and in waits. Some posts of short messages are not timed and left out.
    pub in_calls_s: f64,
    /// Messages that were sent for writes and collectives that were posted within, by size.
    pub sent: Vec<RegionMessages>,
    /// Messages that were received for reads and collectives that were posted within, by size.
    pub received: Vec<RegionMessages>,
    /// From when until when messages that were posted within were leaving the host, in seconds of this node's clock: the latest
    /// 256 intervals, rounded to microseconds. Empty unless [`Config::times_sends`](crate::Config::times_sends).
    pub sending: Vec<[f64; 2]>,
}

/// Messages of one size.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct RegionMessages {
    /// The length of each. In a region with more than 64 sizes some are shorter.
    pub bytes: u64,
    /// Their number.
    pub messages: u64,
    /// How many of them were timed: those read by the program, not by collectives; those sent if
    /// [`Config::times_sends`](crate::Config::times_sends).
    pub timed: u64,
    /// The sum of the times of those that were timed, in seconds. Of messages sent T_s (Stoica, Sultan, Keyes 2.5): from the post
    /// until the last byte has left the host, less the time that counts for messages that left before. Of messages received: from the
    /// post of the read until all of the message is there, waiting for a late sender included.
    pub time_s: Option<f64>,
}

impl std::fmt::Display for RegionReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RegionReport { name, entered, within_s, sent, received, .. } = self;
        let total = |of: &[RegionMessages]| {
            let bytes = of.iter().map(|sized| sized.bytes.saturating_mul(sized.messages)).fold(0, u64::saturating_add);
            (of.iter().map(|sized| sized.messages).sum::<u64>(), bytes)
        };
        let ((out, bytes_out), (into, bytes_in)) = (total(sent), total(received));
        write!(f, "region {name}: entered {entered} times, {:.3} ms within; ", within_s * 1e3)?;
        write!(f, "{out} messages, {bytes_out} bytes out; {into} messages, {bytes_in} bytes in")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(of: &[RegionMessages]) -> Vec<(u64, u64)> {
        of.iter().map(|sized| (sized.bytes, sized.messages)).collect()
    }

    #[test]
    fn messages_belong_to_the_innermost_region_of_their_node() {
        let (regions, mut counts) = (Regions::default(), Counts::default());
        counts.sends(OpId(90), current(7), 1, 0);
        let outer = regions.enter(7, "solve", 0, 0);
        counts.sends(OpId(91), current(7), 100, 0);
        assert_eq!(current(8), None, "another node's");
        let inner = regions.enter(7, "halo", 10, 3);
        counts.sends(OpId(92), current(7), 8, 20);
        counts.begins(OpId(1), current(7), 12);
        Regions::leave(&inner, 30, 8);
        counts.sends(OpId(91), current(7), 100, 0);
        Regions::leave(&outer, 100, 60);
        assert_eq!(current(7), None);
        assert_eq!(counts.ends(OpId(1)), Some((RegionId(1), 12)));
        counts.receives(Some(RegionId(1)), 64, Some(40));
        counts.receives(Some(RegionId(1)), 64, None);
        assert_eq!(counts.ends(OpId(1)), None);
        let reports = regions.reports(&counts);
        let names: Vec<&str> = reports.iter().map(|report| &*report.name).collect();
        assert_eq!(names, ["solve", "halo"]);
        assert_eq!((sizes(&reports[0].sent), sizes(&reports[0].received)), (vec![(100, 2)], vec![]));
        assert_eq!((sizes(&reports[1].sent), sizes(&reports[1].received)), (vec![(8, 1)], vec![(64, 2)]));
        assert_eq!((reports[1].entered, reports[1].within_s), (1, seconds(20)));
        assert_eq!((reports[0].in_calls_s, reports[1].in_calls_s), (seconds(40), seconds(15)));
        assert_eq!((reports[1].received[0].timed, reports[1].received[0].time_s), (1, Some(seconds(40))));
        assert_eq!((reports[1].sent[0].timed, reports[1].sent[0].time_s), (0, None), "not asked for");
    }

    #[test]
    fn sending_times_are_those_of_their_region() {
        let (regions, mut counts) = (Regions::default(), Counts::new(Some(Sends::new(2))));
        let mut end = 0;
        for op in 0..4u64 {
            let visit = (op != 1).then(|| regions.enter(9, "edges", 0, 0));
            counts.sends(OpId(op), current(9), 100, 1_000_000 * (op / 2));
            end += 100;
            counts.sends_mut().expect("timed").hands_over(OpId(op), 1, end);
            counts.sends_mut().expect("timed").leaves(1, end as u32 - 1, 1_000_000 * (op / 2) + 30_000 * (op % 2 + 1));
            visit.iter().for_each(|visit| Regions::leave(visit, 0, 0));
        }
        let edges = &regions.reports(&counts)[0];
        assert_eq!((edges.sent[0].timed, edges.sent[0].time_s), (3, Some(seconds(90_000))));
        assert_eq!(edges.sending, [[0.0, 30e-6], [1e-3, 1.06e-3]]);
    }

    #[test]
    fn names_and_sizes_without_end_take_bounded_room() {
        let (regions, mut counts) = (Regions::default(), Counts::default());
        for number in 0..1000u64 {
            let visit = regions.enter(1, &number.to_string(), 0, 0);
            (0..1000).for_each(|bytes| counts.sends(OpId(bytes), current(1), bytes, 0));
            Regions::leave(&visit, 0, 0);
        }
        let reports = regions.reports(&counts);
        assert_eq!((reports.len(), &*reports[REGIONS_MAX].name), (REGIONS_MAX + 1, OTHERS));
        assert!(reports.iter().all(|report| report.sent.len() <= SIZES_MAX));
        let all = |report: &RegionReport| report.sent.iter().map(|sized| sized.messages).sum::<u64>();
        assert_eq!(reports.iter().map(all).sum::<u64>(), 1_000_000);
    }
}
