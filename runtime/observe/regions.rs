//! Regions: parts of a program that it names, and the messages that are posted in them. Pure, but for what a thread
//! remembers of itself.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

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
}

/// What a thread was in before it has entered a region, and since when it is there.
pub(crate) struct Visit {
    entry: Arc<Entry>,
    before: Option<(u64, RegionId)>,
    since_ns: u64,
}

impl Regions {
    /// The calling thread enters the region of this name.
    pub(crate) fn enter(&self, node: u64, name: &str, now_ns: u64) -> Visit {
        let (region, entry) = self.entry(name);
        entry.entered.fetch_add(1, Ordering::Relaxed);
        Visit { entry, before: CURRENT.replace(Some((node, region))), since_ns: now_ns }
    }

    /// It leaves it.
    pub(crate) fn leave(visit: &Visit, now_ns: u64) {
        visit.entry.within_ns.fetch_add(now_ns.saturating_sub(visit.since_ns), Ordering::Relaxed);
        CURRENT.set(visit.before);
    }

    fn entry(&self, name: &str) -> (RegionId, Arc<Entry>) {
        let mut entries = self.0.lock();
        let name = match entries.len() < REGIONS_MAX || entries.iter().any(|entry| *entry.name == *name) {
            true => name,
            false => OTHERS,
        };
        let at = entries.iter().position(|entry| *entry.name == *name).unwrap_or_else(|| {
            let entry = Entry { name: name.into(), entered: AtomicU64::new(0), within_ns: AtomicU64::new(0) };
            entries.push(Arc::new(entry));
            entries.len() - 1
        });
        (RegionId(at as u8), entries[at].clone())
    }

    /// All regions, in the order in which they were first entered.
    pub(crate) fn reports(&self, counts: &Counts) -> Vec<RegionReport> {
        let entries = self.0.lock();
        let report = |(at, entry): (usize, &Arc<Entry>)| {
            let messages = |sizes: &BTreeMap<RegionId, Sizes>| {
                let sizes = sizes.get(&RegionId(at as u8)).into_iter().flat_map(|sizes| &sizes.0);
                sizes.map(|(&bytes, &messages)| RegionMessages { bytes, messages }).collect()
            };
            RegionReport {
                name: entry.name.to_string(),
                entered: entry.entered.load(Ordering::Relaxed),
                within_s: entry.within_ns.load(Ordering::Relaxed) as f64 * 1e-9,
                sent: messages(&counts.sent),
                received: messages(&counts.received),
            }
        };
        entries.iter().enumerate().map(report).collect()
    }
}

/// The messages of all regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    sent: BTreeMap<RegionId, Sizes>,
    received: BTreeMap<RegionId, Sizes>,
    /// Reads and collectives that were posted in a region and have not ended.
    under_way: HashMap<OpId, RegionId>,
}

/// Messages by size.
#[derive(Clone, Debug, Default)]
struct Sizes(BTreeMap<u64, u64>);

impl Sizes {
    fn count(&mut self, bytes: u64) {
        let mut at = bytes;
        if self.0.len() >= SIZES_MAX && !self.0.contains_key(&bytes) {
            let nearest = self.0.range(bytes..).next().or_else(|| self.0.last_key_value());
            at = nearest.map_or(bytes, |(bytes, _)| *bytes);
        }
        *self.0.entry(at).or_default() += 1;
    }
}

impl Counts {
    /// A read or a collective is posted in a region.
    pub(crate) fn begins(&mut self, op: OpId, region: Option<RegionId>) {
        if let Some(region) = region {
            self.under_way.insert(op, region);
        }
    }

    /// The region in which `op` was posted.
    pub(crate) fn region_of(&self, op: OpId) -> Option<RegionId> {
        // The usual case: a program without regions.
        if self.under_way.is_empty() {
            return None;
        }
        self.under_way.get(&op).copied()
    }

    /// A read or a collective has ended. Returns the region in which it was posted.
    pub(crate) fn ends(&mut self, op: OpId) -> Option<RegionId> {
        if self.under_way.is_empty() {
            return None;
        }
        self.under_way.remove(&op)
    }

    pub(crate) fn sends(&mut self, region: Option<RegionId>, bytes: u64) {
        if let Some(region) = region {
            self.sent.entry(region).or_default().count(bytes);
        }
    }

    pub(crate) fn receives(&mut self, region: Option<RegionId>, bytes: u64) {
        if let Some(region) = region {
            self.received.entry(region).or_default().count(bytes);
        }
    }
}

/// The messages that were posted in one region ([`Node::region`](crate::Node::region)).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegionReport {
    /// The name that the program has given it.
    pub name: String,
    /// How often a thread has entered it.
    pub entered: u64,
    /// The time that threads were within, in seconds: the sum over all of them, of visits that have ended.
    pub within_s: f64,
    /// Messages that were sent for writes and collectives that were posted within, by size.
    pub sent: Vec<RegionMessages>,
    /// Messages that were received for reads and collectives that were posted within, by size.
    pub received: Vec<RegionMessages>,
}

/// Messages of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegionMessages {
    /// The length of each. In a region with more than 64 sizes some are shorter.
    pub bytes: u64,
    /// Their number.
    pub messages: u64,
}

impl std::fmt::Display for RegionReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RegionReport { name, entered, within_s, sent, received } = self;
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
        counts.sends(current(7), 1);
        let outer = regions.enter(7, "solve", 0);
        counts.sends(current(7), 100);
        assert_eq!(current(8), None, "another node's");
        let inner = regions.enter(7, "halo", 10);
        counts.sends(current(7), 8);
        counts.begins(OpId(1), current(7));
        Regions::leave(&inner, 30);
        counts.sends(current(7), 100);
        Regions::leave(&outer, 100);
        assert_eq!(current(7), None);
        let region = counts.ends(OpId(1));
        counts.receives(region, 64);
        assert_eq!(counts.ends(OpId(1)), None);
        let reports = regions.reports(&counts);
        let names: Vec<&str> = reports.iter().map(|report| &*report.name).collect();
        assert_eq!(names, ["solve", "halo"]);
        assert_eq!((sizes(&reports[0].sent), sizes(&reports[0].received)), (vec![(100, 2)], vec![]));
        assert_eq!((sizes(&reports[1].sent), sizes(&reports[1].received)), (vec![(8, 1)], vec![(64, 1)]));
        assert_eq!((reports[1].entered, reports[1].within_s), (1, 20e-9));
    }

    #[test]
    fn names_and_sizes_without_end_take_bounded_room() {
        let (regions, mut counts) = (Regions::default(), Counts::default());
        for number in 0..1000u64 {
            let visit = regions.enter(1, &number.to_string(), 0);
            (0..1000).for_each(|bytes| counts.sends(current(1), bytes));
            Regions::leave(&visit, 0);
        }
        let reports = regions.reports(&counts);
        assert_eq!((reports.len(), &*reports[REGIONS_MAX].name), (REGIONS_MAX + 1, OTHERS));
        assert!(reports.iter().all(|report| report.sent.len() <= SIZES_MAX));
        let all = |report: &RegionReport| report.sent.iter().map(|sized| sized.messages).sum::<u64>();
        assert_eq!(reports.iter().map(all).sum::<u64>(), 1_000_000);
    }
}
