//! Messages by the region in which they were posted. Pure.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::place::{Place, RegionId, seconds};
use super::report::RegionMessages;
use crate::engine::OpId;
use crate::ids::Rank;
use crate::observe::links::{CLASSES, Count, class};
use crate::observe::sends::{Busy, Sends, Sent};
use crate::observe::transfer::Traffic;

/// Sizes of messages that are told apart in a region and a direction; others are counted with the nearest that is longer, or
/// else with the longest.
pub(super) const SIZES_MAX: usize = 64;

/// The messages of all regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    sent: BTreeMap<RegionId, Sizes>,
    received: BTreeMap<RegionId, Sizes>,
    /// Reads and collectives that were posted in a region and have not ended, and when they were posted.
    under_way: HashMap<OpId, (Place, u64)>,
    /// Messages that are leaving, if that is timed.
    sends: Option<Sends<RegionId>>,
    /// When messages of a region were leaving the host.
    sending: BTreeMap<RegionId, Busy>,
    /// Messages out and in, of a region with all regions inside of it, by link and size class.
    traffic: HashMap<(RegionId, Rank, usize), [Count; 2]>,
}

/// Messages by size.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes(BTreeMap<u64, Sized>);

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

    pub(super) fn report(&self) -> Vec<RegionMessages> {
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
    pub(crate) fn begins(&mut self, op: OpId, place: Option<Place>, now_ns: u64) {
        if let Some(place) = place {
            self.under_way.insert(op, (place, now_ns));
        }
    }

    /// Where `op` was posted.
    pub(crate) fn place_of(&self, op: OpId) -> Option<Place> {
        // The usual case: a program without regions.
        if self.under_way.is_empty() {
            return None;
        }
        self.under_way.get(&op).map(|(place, _)| *place)
    }

    /// A read or a collective has ended. Returns where it was posted, and when.
    pub(crate) fn ends(&mut self, op: OpId) -> Option<(Place, u64)> {
        if self.under_way.is_empty() {
            return None;
        }
        self.under_way.remove(&op)
    }

    /// A message is posted, and nothing of it is sent yet.
    pub(crate) fn sends(&mut self, op: OpId, place: Option<Place>, (to, bytes): (Rank, u64), now_ns: u64) {
        if let Some(place) = place {
            self.sent.entry(place.innermost).or_default().of(bytes).messages += 1;
            self.passes(place, to, bytes, 0);
        }
        if let Some(sends) = &mut self.sends {
            sends.posts(op, place.map(|place| place.innermost), bytes, now_ns);
        }
    }

    /// A message that counts for all regions around: out (0) or in (1).
    fn passes(&mut self, place: Place, peer: Rank, bytes: u64, direction: usize) {
        for region in place.all() {
            let count = &mut self.traffic.entry((region, peer, class(bytes))).or_default()[direction];
            count.messages += 1;
            count.bytes = count.bytes.saturating_add(bytes);
        }
    }

    /// Whether it is timed when messages leave.
    pub(crate) fn times_sends(&self) -> bool {
        self.sends.is_some()
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
    pub(crate) fn receives(&mut self, place: Option<Place>, (from, bytes): (Rank, u64), time_ns: Option<u64>) {
        if let Some(place) = place {
            self.passes(place, from, bytes, 1);
            let sized = self.received.entry(place.innermost).or_default().of(bytes);
            sized.messages += 1;
            if let Some(time_ns) = time_ns {
                sized.takes(time_ns);
            }
        }
    }

    /// Those sent for operations that were posted within the region, by size.
    pub(super) fn sent(&self, region: RegionId) -> Option<&Sizes> {
        self.sent.get(&region)
    }

    /// Those received.
    pub(super) fn received(&self, region: RegionId) -> Option<&Sizes> {
        self.received.get(&region)
    }

    /// When messages of the region were leaving the host.
    pub(super) fn sending(&self, region: RegionId) -> Option<&Busy> {
        self.sending.get(&region)
    }

    /// The messages of the region and all inside of it, by link.
    pub(super) fn traffic(&self, region: RegionId) -> Vec<(Rank, Traffic)> {
        let mut all: BTreeMap<Rank, Traffic> = BTreeMap::new();
        for ((_, peer, class), [sent, received]) in self.traffic.iter().filter(|((of, ..), _)| *of == region) {
            let traffic = all.entry(*peer).or_insert([[Count::default(); CLASSES]; 2]);
            (traffic[0][*class], traffic[1][*class]) = (*sent, *received);
        }
        all.into_iter().collect()
    }
}
