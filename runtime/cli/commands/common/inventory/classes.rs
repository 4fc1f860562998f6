//! Classes of messages: what all ranks did in a region, per unit of work and rank. Pure.

use std::collections::BTreeMap;

use lathide::observe::BESIDE;
use lathide_models::hyperbolic::Messages;

use super::reports::{RankReport, RegionReport, SizeReport};
use super::together::{mean_senders, offsets};

/// The regions that are a unit of work unless another is named.
const UNITS: [&str; 2] = ["iteration", "cycle"];

/// What a program sends, by class.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Inventory {
    pub(crate) ranks: u32,
    /// The region that is a unit of work; the whole job where there is none.
    pub(crate) per: Option<String>,
    /// How often it was done.
    pub(crate) units: u64,
    /// How long a unit took the slowest rank.
    pub(crate) unit_s: Option<f64>,
    /// Of a unit, the mean time outside and inside of calls.
    pub(crate) outside_and_inside_s: Option<[f64; 2]>,
    /// In the order in which they were first entered.
    pub(crate) classes: Vec<Class>,
    /// What is not as it should be.
    pub(crate) notes: Vec<String>,
}

/// The messages of one region.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) sent: Traffic,
    pub(crate) received: Traffic,
    /// The mean number of ranks that send while one does; unknown unless sends were timed.
    pub(crate) senders: Option<f64>,
}

/// Messages of a class in one direction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Traffic {
    /// The ranks that have any.
    pub(crate) ranks: u32,
    /// By size, per unit and rank of those.
    pub(crate) messages: Vec<Messages>,
    /// How many are posted in a visit of the region, on average.
    pub(crate) at_once: f64,
    /// What they took, per unit and rank of those; `None` if some were not timed.
    pub(crate) measured_s: Option<f64>,
    /// The rank with the most bytes, and its messages and bytes per unit.
    pub(crate) busiest: Option<(u32, [f64; 2])>,
}

impl Inventory {
    /// What these ranks have reported, per unit: per `per`, or per iteration or cycle if the program has such a region.
    ///
    /// # Errors
    /// In words, if there are no regions, or none of that name.
    pub(crate) fn of(reports: &[RankReport], per: Option<&str>) -> Result<Self, String> {
        let mut names: Vec<&str> = Vec::new();
        for region in reports.iter().flat_map(|report| &report.regions) {
            if !names.contains(&&*region.name) {
                names.push(&region.name);
            }
        }
        if names.is_empty() {
            return Err("the program has named no regions: it has no inventory by class (let _halo = \
                        node.region(\"halo\"); names one)"
                .to_owned());
        }
        let per = match per {
            Some(per) if names.contains(&per) => Some(per),
            Some(per) => return Err(format!("there is no region {per}; there are {}", names.join(", "))),
            None => UNITS.into_iter().find(|unit| names.contains(unit)),
        };
        let mut notes = Vec::new();
        let outer: Vec<&RegionReport> = per.map(|per| of_name(reports, per)).unwrap_or_default();
        let units = outer.iter().map(|region| region.entered).max().unwrap_or(1).max(1);
        if let Some(per) = per
            && (outer.len() < reports.len() || outer.iter().any(|region| region.entered != units))
        {
            notes.push(format!("not all ranks were in {per} as often: {units} times is the most, and what counts"));
        }
        let aligned = offsets(reports);
        let classes = names.iter().map(|name| Class::of(reports, name, (units, &aligned)));
        let classes: Vec<Class> = classes.filter(|class| class.sent.ranks + class.received.ranks > 0).collect();
        if classes.is_empty() {
            return Err(format!("no messages were posted in its regions ({})", names.join(", ")));
        }
        let unit_s = outer.iter().map(|region| region.within_s / units as f64).reduce(f64::max);
        Ok(Inventory {
            ranks: reports.len() as u32,
            per: per.map(str::to_owned),
            units,
            unit_s,
            outside_and_inside_s: inside(&outer, units),
            classes,
            notes,
        })
    }

    /// What it is per, in words.
    pub(crate) fn unit(&self) -> &str {
        self.per.as_deref().unwrap_or("job")
    }
}

impl Class {
    fn of(reports: &[RankReport], name: &str, (units, offsets): (u64, &[Option<f64>])) -> Self {
        let sent = Traffic::of(reports, name, units, |region| &region.sent);
        let received = Traffic::of(reports, name, units, |region| &region.received);
        let mut sending = Vec::new();
        for (report, offset_s) in reports.iter().zip(offsets) {
            let sends = |region: &&RegionReport| region.name == name && count(&region.sent)[0] > 0.0;
            let Some(region) = report.regions.iter().find(sends) else { continue };
            // A rank whose clock is unknown has no known intervals.
            let known = |offset_s| region.sending.iter().map(|it| it.map(|at| at - offset_s)).collect();
            sending.push(offset_s.map(known).unwrap_or_default());
        }
        let senders = if sending.is_empty() { None } else { mean_senders(&sending) };
        Class { name: name.to_owned(), sent, received, senders }
    }
}

impl Traffic {
    fn of(reports: &[RankReport], name: &str, units: u64, of: fn(&RegionReport) -> &Vec<SizeReport>) -> Self {
        let (mut ranks, mut visits, mut sizes, mut measured_s) = (0, 0, BTreeMap::new(), Some(0.0));
        let mut busiest: Option<(u32, [f64; 2])> = None;
        for report in reports {
            let region = report.regions.iter().find(|region| region.name == name);
            let messages = region.map(of).map(Vec::as_slice).unwrap_or_default();
            let all = count(messages);
            if all[0] == 0.0 {
                continue;
            }
            ranks += 1;
            visits += region.map_or(0, |region| region.entered);
            for sized in messages {
                *sizes.entry(sized.bytes).or_insert(0.0) += sized.messages as f64;
                measured_s = measured_s.zip(sized.all_s()).map(|(all, own)| all + own);
            }
            if busiest.is_none_or(|(_, most)| all[1] > most[1]) {
                busiest = Some((report.rank, all));
            }
        }
        let share = units as f64 * f64::from(ranks.max(1));
        let per = |(bytes, messages): (u64, f64)| Messages { bytes: bytes as f64, count: messages / share };
        let count: f64 = sizes.values().sum();
        Traffic {
            ranks,
            at_once: (count / visits.max(1) as f64).max(1.0),
            messages: sizes.into_iter().map(per).collect(),
            measured_s: measured_s.filter(|_| ranks > 0).map(|all_s| all_s / share),
            busiest: busiest.map(|(rank, all)| (rank, all.map(|all| all / units as f64))),
        }
    }

    /// Messages and bytes per unit and rank.
    pub(crate) fn count(&self) -> [f64; 2] {
        let bytes = |it: &Messages| it.count * it.bytes;
        [self.messages.iter().map(|it| it.count).sum(), self.messages.iter().map(bytes).sum()]
    }
}

/// Whether a region counts among the messages of a unit of work unless it is asked for.
pub(crate) fn counts(region: &str) -> bool {
    !BESIDE.contains(&region)
}

/// Which do not, in words.
pub(crate) fn beside() -> String {
    BESIDE.join(", ")
}

/// Messages and their bytes.
fn count(messages: &[SizeReport]) -> [f64; 2] {
    let bytes = |sized: &SizeReport| sized.messages as f64 * sized.bytes as f64;
    [messages.iter().map(|sized| sized.messages as f64).sum(), messages.iter().map(bytes).sum()]
}

fn of_name<'a>(reports: &'a [RankReport], name: &str) -> Vec<&'a RegionReport> {
    reports.iter().filter_map(|report| report.regions.iter().find(|region| region.name == name)).collect()
}

fn inside(outer: &[&RegionReport], units: u64) -> Option<[f64; 2]> {
    let share = units as f64 * outer.len() as f64;
    let mut both = [0.0; 2];
    for region in outer {
        let inside_s = region.in_calls_s?;
        both = [both[0] + (region.within_s - inside_s).max(0.0), both[1] + inside_s];
    }
    (!outer.is_empty()).then(|| both.map(|all_s| all_s / share))
}

#[cfg(test)]
#[path = "classes_tests.rs"]
mod tests;
