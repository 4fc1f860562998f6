//! Regions: parts of a program that it names, what its threads spend their time with within, and the messages that are posted in
//! them. Pure, but for what a thread remembers of itself.

mod counts;
mod place;
mod report;

use std::cell::Cell;
use std::sync::Arc;

use parking_lot::Mutex;

use super::figures::Figures;
use super::phases::{Sums, Times};
use super::sends::Busy;
use super::transfer::Traffic;
use crate::ids::Rank;
pub(crate) use counts::Counts;
use counts::Sizes;
pub(crate) use place::Place;
use place::{RegionId, seconds};
pub use report::{RegionMessages, RegionReport};

/// Regions of a node that are told apart; all others are one.
const REGIONS_MAX: usize = 64;
/// Its name.
const OTHERS: &str = "other regions";
/// The region that marks what counts of a program.
const SOLVE: &str = "solve";
/// Regions that are no part of a program's work, by their names: what separates measurements, and what is before and after all.
pub const BESIDE: [&str; 5] = ["barrier", "setup", "start", "check", "result"];
/// All regions but those, taken together.
const COUNTED: RegionId = RegionId(127);
/// More names of regions that count are too many for a line.
const NAMES_MAX: usize = 4;

thread_local! {
    /// Where this thread is, and at which node.
    static CURRENT: Cell<Option<(u64, Place)>> = const { Cell::new(None) };
}

/// Where the calling thread is in the regions of `node`.
pub(crate) fn current(node: u64) -> Option<Place> {
    CURRENT.get().filter(|(of, _)| *of == node).map(|(_, place)| place)
}

/// The regions of a node that its threads have been in.
#[derive(Default)]
pub(crate) struct Regions {
    named: Mutex<Vec<Arc<Entry>>>,
    counted: Arc<Entry>,
}

/// One of them.
#[derive(Default)]
struct Entry {
    name: Box<str>,
    spent: Mutex<Spent>,
}

/// What was spent within, in nanoseconds.
#[derive(Clone, Default)]
struct Spent {
    entered: u64,
    /// By threads that are not within any more.
    within: u64,
    sums: Sums,
    /// The threads that are within.
    open: Vec<Open>,
    /// When the first of them has entered it, and the kernel's processor time then.
    since: Moment,
    elapsed: u64,
    /// `None` if that cannot be told.
    kernel: Option<u64>,
}

/// A thread that is within a region.
#[derive(Clone)]
struct Open {
    thread: u32,
    since_ns: u64,
    sums: Sums,
}

/// A time of the node's clock, and what the kernel's thread had used of a processor by then, if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) now_ns: u64,
    pub(crate) kernel_ns: Option<u64>,
}

/// The calling thread at a moment: its number, and what it has spent so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) thread: u32,
    pub(crate) sums: Sums,
    pub(crate) moment: Moment,
}

/// A region that a thread has entered, and where it was before.
pub(crate) struct Visit {
    /// The regions that it has entered by this: not those that it was in already.
    begun: [Option<Arc<Entry>>; 2],
    before: Option<(u64, Place)>,
}

/// What was observed of the regions of a node.
#[derive(Default)]
pub(crate) struct Visited {
    named: Vec<OneVisited>,
    counted: Option<OneVisited>,
}

/// Of one of them: all but what needs the links' times.
struct OneVisited {
    report: RegionReport,
    times: Times,
    kernel_s: Option<f64>,
    traffic: Vec<(Rank, Traffic)>,
}

impl Regions {
    /// The calling thread enters the region of this name.
    pub(crate) fn enter(&self, node: u64, name: &str, own: &Own) -> Visit {
        let (region, entry) = self.entry(name);
        entry.spent.lock().entered += 1;
        let before = CURRENT.get();
        let around = current(node);
        let mut place = Place { innermost: region, around: around.map_or(0, |place| place.around) | 1 << region.0 };
        let is_new = |region: RegionId| around.is_none_or(|place| !place.is_in(region));
        let counted = !BESIDE.contains(&name) && is_new(COUNTED);
        if counted {
            place.around |= 1 << COUNTED.0;
        }
        let begun = [is_new(region).then_some(entry), counted.then(|| self.counted.clone())];
        begun.iter().flatten().for_each(|entry| entry.spent.lock().begins(own));
        CURRENT.set(Some((node, place)));
        Visit { begun, before }
    }

    /// It leaves it.
    pub(crate) fn leave(visit: &Visit, own: &Own) {
        visit.begun.iter().flatten().for_each(|entry| entry.spent.lock().ends(own));
        CURRENT.set(visit.before);
    }

    fn entry(&self, name: &str) -> (RegionId, Arc<Entry>) {
        let mut entries = self.named.lock();
        let name = match entries.len() < REGIONS_MAX || entries.iter().any(|entry| *entry.name == *name) {
            true => name,
            false => OTHERS,
        };
        let at = entries.iter().position(|entry| *entry.name == *name).unwrap_or_else(|| {
            entries.push(Arc::new(Entry { name: name.into(), ..Entry::default() }));
            entries.len() - 1
        });
        (RegionId(at as u8), entries[at].clone())
    }

    /// What was observed of all regions, in the order in which they were first entered. Of those that the calling thread is in,
    /// until now.
    pub(crate) fn visited(&self, mut counts: Counts, own: &Own) -> Visited {
        counts.settle(true);
        let one = |(region, name, entry): (RegionId, &str, &Arc<Entry>)| {
            let mut spent = entry.spent.lock().clone();
            spent.until(own);
            let sending = counts.sending(region).into_iter().flat_map(Busy::iter);
            let within_ns = spent.within;
            let calculating_ns = spent.sums.outside_ns().min(within_ns);
            let report = RegionReport {
                name: name.to_owned(),
                entered: spent.entered,
                elapsed_s: seconds(spent.elapsed),
                within_s: seconds(within_ns),
                in_calls_s: seconds(within_ns - calculating_ns),
                sent: counts.sent(region).map(Sizes::report).unwrap_or_default(),
                received: counts.received(region).map(Sizes::report).unwrap_or_default(),
                sending: sending.map(|&(from_ns, to_ns)| [from_ns, to_ns].map(microseconds)).collect(),
                figures: Figures::default(),
            };
            let kernel_s = spent.kernel.map(seconds);
            OneVisited { report, times: spent.sums.times(), kernel_s, traffic: counts.traffic(region) }
        };
        let entries = self.named.lock();
        let all = (0u8..).map(RegionId).zip(&*entries).map(|(region, entry)| (region, &*entry.name, entry));
        let named: Vec<OneVisited> = all.map(one).collect();
        let names: Vec<&str> = entries.iter().map(|entry| &*entry.name).filter(|name| !BESIDE.contains(name)).collect();
        let name = match names.len() {
            ..=NAMES_MAX => names.join(", "),
            count => format!("{} and {} others", names[..NAMES_MAX - 1].join(", "), count + 1 - NAMES_MAX),
        };
        let solve = entries.iter().position(|entry| &*entry.name == SOLVE);
        let counted = match solve {
            Some(at) => Some(one((RegionId(at as u8), SOLVE, &entries[at]))),
            None => (!names.is_empty()).then(|| one((COUNTED, &name, &self.counted))),
        };
        Visited { named, counted }
    }
}

impl Spent {
    /// The calling thread enters the region.
    fn begins(&mut self, own: &Own) {
        if self.open.is_empty() {
            self.since = own.moment;
        }
        self.open.push(Open { thread: own.thread, since_ns: own.moment.now_ns, sums: own.sums });
    }

    /// It leaves it.
    fn ends(&mut self, own: &Own) {
        let Some(at) = self.open.iter().position(|open| open.thread == own.thread) else { return };
        let open = self.open.swap_remove(at);
        self.within += own.moment.now_ns.saturating_sub(open.since_ns);
        self.sums.spend(&open.sums, &own.sums);
        if self.open.is_empty() {
            self.passes(own.moment);
        }
    }

    /// Counts what is not over: the time of the calling thread if it is within, and the time that anyone is.
    fn until(&mut self, own: &Own) {
        if self.open.is_empty() {
            return;
        }
        self.ends(own);
        if !self.open.is_empty() {
            self.passes(own.moment);
        }
    }

    fn passes(&mut self, Moment { now_ns, kernel_ns }: Moment) {
        self.elapsed += now_ns.saturating_sub(self.since.now_ns);
        let used = kernel_ns.zip(self.since.kernel_ns).map(|(now, since)| now.saturating_sub(since));
        self.kernel = used.map(|used| self.kernel.unwrap_or(0) + used);
    }
}

impl Visited {
    /// The reports of all regions, and of what counts. `figures`: of messages, times and the kernel's processor time.
    pub(super) fn reports(
        &self,
        figures: impl Fn(&[(Rank, Traffic)], Times, Option<f64>) -> Figures,
    ) -> (Vec<RegionReport>, Option<RegionReport>) {
        let report = |one: &OneVisited| {
            let figures = figures(&one.traffic, one.times, one.kernel_s);
            RegionReport { figures, ..one.report.clone() }
        };
        (self.named.iter().map(report).collect(), self.counted.as_ref().map(report))
    }
}

/// In seconds too, rounded to microseconds, which are fewer digits.
fn microseconds(nanoseconds: u64) -> f64 {
    ((nanoseconds + 500) / 1000) as f64 / 1e6
}

#[cfg(test)]
mod tests;
