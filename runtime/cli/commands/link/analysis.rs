//! From what the nodes have found out to results. Pure. Ratios are those within a repetition, since the machine's
//! speed drifts from one to the next; times and rates are medians with the least and the greatest.

use crate::report::summary::Summary;

use super::plan::{Cost, Direction, Exchanged, Hidden, Order, Own, SIGNAL_BYTES};
use super::results::{Bandwidth, Exchange, Fragments, Latency, Loaded, Overlap, Processor, ProcessorUse, Rate};

/// One block as both nodes saw it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Block {
    pub(super) order: Order,
    pub(super) mine: Own,
    pub(super) theirs: Own,
}

/// The blocks of each size, ascending.
fn by_size<'a, T>(blocks: &'a [Block], of: impl Fn(&'a Block) -> Option<(usize, T)>) -> Vec<(usize, Vec<T>)> {
    let mut sizes: Vec<(usize, Vec<T>)> = Vec::new();
    for (bytes, block) in blocks.iter().filter_map(of) {
        match sizes.iter_mut().find(|(size, _)| *size == bytes) {
            Some((_, all)) => all.push(block),
            None => sizes.push((bytes, vec![block])),
        }
    }
    sizes.sort_by_key(|(bytes, _)| *bytes);
    sizes
}

/// A value for each variant, in the order of `Variant::ALL`, summed up over the repetitions.
struct Variants {
    raw: Summary,
    polled: Summary,
    lathide: Summary,
}

impl Variants {
    fn of(values: &[[f64; 3]]) -> Option<Self> {
        let variant = |variant: usize| Summary::of(values.iter().map(|values| values[variant]));
        Some(Variants { raw: variant(0)?, polled: variant(1)?, lathide: variant(2)? })
    }
}

/// A ratio within each repetition, summed up.
fn ratio(values: &[[f64; 3]], of: fn(&[f64; 3]) -> f64) -> Option<Summary> {
    Summary::of(values.iter().map(of))
}

/// lathide against the better of both raw ways, where more is better.
fn against_better([raw, polled, lathide]: &[f64; 3]) -> f64 {
    lathide / raw.max(*polled)
}

/// What all variants have cost: the sum over both nodes, or one node's.
type Costs = [Cost; 3];

/// One-way times by size.
pub(super) fn latency(blocks: &[Block]) -> Vec<Latency> {
    let sizes = by_size(blocks, |block| match (block.order, &block.mine) {
        (Order::OneWay { bytes, round_trips }, Own::Variants(costs)) => Some((bytes, (round_trips, *costs))),
        _ => None,
    });
    let one = |(bytes, blocks): (usize, Vec<(u32, Costs)>)| {
        let time = |(round_trips, costs): &(u32, Costs)| costs.map(|cost| cost.wall_s / f64::from(2 * round_trips));
        let times: Vec<[f64; 3]> = blocks.iter().map(time).collect();
        let variants = Variants::of(&times)?;
        Some(Latency {
            bytes,
            raw_s: variants.raw,
            raw_polled_s: variants.polled,
            lathide_s: variants.lathide,
            penalty: ratio(&times, |[raw, _, lathide]| lathide / raw)?,
            penalty_polled: ratio(&times, |[_, polled, lathide]| lathide / polled)?,
            round_trips: blocks[0].0,
            repeats: times.len(),
        })
    };
    sizes.into_iter().filter_map(one).collect()
}

/// lathide's one-way times of every repetition, at the sizes compared with raw TCP and at those between.
pub(super) fn times(blocks: &[Block]) -> Vec<(usize, f64)> {
    let time = |block: &Block| match (block.order, &block.mine) {
        (Order::OneWay { bytes, round_trips }, Own::Variants([_, _, cost]))
        | (Order::Alone { bytes, round_trips }, Own::Alone(cost)) => {
            Some((bytes, cost.wall_s / f64::from(2 * round_trips)))
        }
        _ => None,
    };
    blocks.iter().filter_map(time).collect()
}

/// Bandwidth by size.
pub(super) fn bandwidth(blocks: &[Block]) -> Vec<Bandwidth> {
    let sizes = by_size(blocks, |block| match (block.order, &block.theirs) {
        (Order::Stream { bytes, messages }, Own::Variants(costs)) => Some((bytes, (messages, *costs))),
        _ => None,
    });
    let one = |(bytes, blocks): (usize, Vec<(u32, Costs)>)| {
        let rate =
            |(messages, costs): &(u32, Costs)| costs.map(|cost| bytes as f64 * f64::from(*messages) / cost.wall_s);
        let rates: Vec<[f64; 3]> = blocks.iter().map(rate).collect();
        let variants = Variants::of(&rates)?;
        Some(Bandwidth {
            bytes,
            raw_bytes_per_s: variants.raw,
            raw_polled_bytes_per_s: variants.polled,
            lathide_bytes_per_s: variants.lathide,
            ratio: ratio(&rates, against_better)?,
            messages: blocks[0].0,
            repeats: rates.len(),
        })
    };
    sizes.into_iter().filter_map(one).collect()
}

/// The message rate.
pub(super) fn rate(blocks: &[Block]) -> Option<Rate> {
    let mut count = 0;
    let mut rates = Vec::new();
    for block in blocks {
        if let (Order::Rate { messages }, Own::Variants(costs)) = (block.order, &block.theirs) {
            count = messages;
            rates.push(costs.map(|cost| f64::from(messages) / cost.wall_s));
        }
    }
    let variants = Variants::of(&rates)?;
    Some(Rate {
        bytes: SIGNAL_BYTES,
        raw_per_s: variants.raw,
        raw_polled_per_s: variants.polled,
        lathide_per_s: variants.lathide,
        ratio: ratio(&rates, against_better)?,
        messages: count,
        repeats: rates.len(),
    })
}

/// Exchanges by size. The slower of the two nodes counts.
pub(super) fn exchange(blocks: &[Block]) -> Vec<Exchange> {
    let sizes = by_size(blocks, |block| match (block.order, &block.mine, &block.theirs) {
        (Order::Exchange { bytes, .. }, Own::Exchange(mine), Own::Exchange(theirs)) => Some((bytes, (*mine, *theirs))),
        _ => None,
    });
    let one = |(bytes, blocks): (usize, Vec<(Exchanged, Exchanged)>)| {
        let over = |of: fn(&Exchanged, &Exchanged) -> f64| Summary::of(blocks.iter().map(|(a, b)| of(a, b)));
        Some(Exchange {
            bytes,
            pingpong_s: over(|mine, _| mine.pingpong_s)?,
            simultaneous_s: over(simultaneous_s)?,
            speedup: over(|mine, theirs| mine.pingpong_s / simultaneous_s(mine, theirs))?,
            raw_simultaneous_s: over(raw_simultaneous_s)?,
            penalty: over(|mine, theirs| simultaneous_s(mine, theirs) / raw_simultaneous_s(mine, theirs))?,
            repeats: blocks.len(),
        })
    };
    sizes.into_iter().filter_map(one).collect()
}

fn simultaneous_s(mine: &Exchanged, theirs: &Exchanged) -> f64 {
    mine.simultaneous_s.max(theirs.simultaneous_s)
}

fn raw_simultaneous_s(mine: &Exchanged, theirs: &Exchanged) -> f64 {
    mine.raw_simultaneous_s.max(theirs.raw_simultaneous_s)
}

/// Overlap by size, of transfers in this direction.
pub(super) fn overlap(blocks: &[Block], direction: Direction) -> Vec<Overlap> {
    let sizes = by_size(blocks, |block| match (block.order, &block.mine, &block.theirs) {
        (Order::Overlap { direction: its, bytes, .. }, Own::Overlap(mine), Own::Overlap(theirs))
            if its == direction =>
        {
            Some((bytes, (*mine, *theirs)))
        }
        _ => None,
    });
    let one = |(bytes, blocks): (usize, Vec<(Hidden, Hidden)>)| {
        let slower: Vec<Hidden> = blocks.iter().map(|(mine, theirs)| slower(mine, theirs)).collect();
        let over = |of: fn(&Hidden) -> f64| Summary::of(slower.iter().map(of));
        Some(Overlap {
            bytes,
            t_calc_s: over(|both| both.calc_s)?,
            t_com_s: over(|both| both.com_s)?,
            t_total_s: over(|both| both.total_s)?,
            overlap: over(|both| 1.0 - (both.total_s - both.calc_s) / both.com_s)?,
            availability: Summary::of(
                blocks.iter().map(|(mine, theirs)| (mine.calc_s + theirs.calc_s) / (mine.busy_s + theirs.busy_s)),
            )?,
            availability_spare: Summary::of(
                blocks.iter().map(|(mine, theirs)| (mine.calc_s + theirs.calc_s) / (mine.spare_s + theirs.spare_s)),
            )?,
            effective_overlap: over(|both| 1.0 - (both.total_s + both.own_cpu_s - both.calc_s) / both.com_s)?,
            own_cpu_s: over(|both| both.own_cpu_s)?,
            repeats: blocks.len(),
        })
    };
    sizes.into_iter().filter_map(one).collect()
}

fn slower(mine: &Hidden, theirs: &Hidden) -> Hidden {
    Hidden {
        calc_s: mine.calc_s.max(theirs.calc_s),
        com_s: mine.com_s.max(theirs.com_s),
        total_s: mine.total_s.max(theirs.total_s),
        busy_s: mine.busy_s.max(theirs.busy_s),
        own_cpu_s: mine.own_cpu_s.max(theirs.own_cpu_s),
        spare_s: mine.spare_s.max(theirs.spare_s),
    }
}

/// Short messages beside a long one.
pub(super) fn loaded(blocks: &[Block]) -> Option<Loaded> {
    let (mut long, mut idle, mut loaded) = (0, Vec::new(), Vec::new());
    for block in blocks {
        if let (Order::Loaded { bytes, .. }, Own::Loaded { idle_s, loaded_s }) = (block.order, &block.mine) {
            long = bytes;
            idle.extend_from_slice(idle_s);
            loaded.extend_from_slice(loaded_s);
        }
    }
    idle.sort_by(f64::total_cmp);
    loaded.sort_by(f64::total_cmp);
    let (idle_p50_s, idle_p99_s) = (quantile(&idle, 0.5)?, quantile(&idle, 0.99)?);
    let (p50_s, p99_s) = (quantile(&loaded, 0.5)?, quantile(&loaded, 0.99)?);
    Some(Loaded {
        bytes: long,
        idle_p50_s,
        idle_p99_s,
        p50_s,
        p99_s,
        p50_ratio: p50_s / idle_p50_s,
        p99_ratio: p99_s / idle_p99_s,
        idle_samples: idle.len(),
        samples: loaded.len(),
    })
}

/// The least value that `share` of the `sorted` ones do not exceed; `None` if there are none.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Processor time: of the shortest messages to and fro, and of the stream whose messages are nearest to a MiB.
pub(super) fn processor(blocks: &[Block]) -> ProcessorUse {
    let both = |mine: &Costs, theirs: &Costs, units: f64| {
        [0, 1, 2].map(|variant: usize| (mine[variant].cpu_s + theirs[variant].cpu_s) / units)
    };
    let messages = by_size(blocks, |block| match (block.order, &block.mine, &block.theirs) {
        (Order::OneWay { bytes, round_trips }, Own::Variants(mine), Own::Variants(theirs)) => {
            Some((bytes, both(mine, theirs, f64::from(2 * round_trips))))
        }
        _ => None,
    });
    let streams = by_size(blocks, |block| match (block.order, &block.mine, &block.theirs) {
        (Order::Stream { bytes, messages }, Own::Variants(mine), Own::Variants(theirs)) => {
            Some((bytes, both(mine, theirs, f64::from(messages) * bytes as f64 / MIB as f64)))
        }
        _ => None,
    });
    let one = |(bytes, times): (usize, Vec<[f64; 3]>)| {
        let variants = Variants::of(&times)?;
        Some(Processor {
            bytes,
            raw_s: variants.raw,
            raw_polled_s: variants.polled,
            lathide_s: variants.lathide,
            ratio: ratio(&times, |[raw, _, lathide]| lathide / raw)?,
        })
    };
    let shortest = messages.into_iter().next().filter(|(bytes, _)| *bytes <= SIGNAL_BYTES);
    let nearest = streams.into_iter().min_by_key(|(bytes, _)| bytes.abs_diff(MIB));
    ProcessorUse { message: shortest.and_then(one), mib: nearest.and_then(one) }
}

/// Message times by fragment size, from pairs of fragment size and seconds.
pub(super) fn fragments(bytes: usize, times: &[(usize, f64)]) -> Vec<Fragments> {
    let mut sizes: Vec<usize> = times.iter().map(|(fragment_bytes, _)| *fragment_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let one = |fragment_bytes: usize| {
        let of = || times.iter().filter(|(size, _)| *size == fragment_bytes).map(|(_, time_s)| *time_s);
        Some(Fragments { fragment_bytes, bytes, s: Summary::of(of())?, repeats: of().count() })
    };
    sizes.into_iter().filter_map(one).collect()
}

const MIB: usize = 1 << 20;
