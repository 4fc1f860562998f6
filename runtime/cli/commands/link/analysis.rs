//! From what the nodes have found out to results. Pure. Ratios are those within a repetition, since the machine's
//! speed drifts from one to the next; times and rates are medians with the least and the greatest.

use super::plan::{Block, Kind, Order, SIGNAL_BYTES, Variant};
use super::results::{Loaded, ProcessorUse, Row, Values};
use crate::commands::common::compared::Compared;

const MIB: usize = 1 << 20;

/// Rows by size of the blocks of one kind, of which each has values. `unit`: what is done several times in a block.
fn rows(blocks: &[Block], kind: Kind, unit: &'static str, values: impl Fn(&Block) -> Values) -> Vec<Row> {
    let blocks = blocks.iter().filter(|block| block.order.kind == kind);
    Row::all(blocks.map(|block| {
        let Order { bytes, count, .. } = block.order;
        ([("bytes", bytes), (unit, count as usize)].into(), values(block))
    }))
}

/// Seconds one way of a message of lathide's, by rank 0's clock: with it alone, or in turns with the others.
fn one_way_s(block: &Block) -> Option<f64> {
    let index = match block.order.kind {
        Kind::Alone => 0,
        Kind::OneWay => 2,
        _ => return None,
    };
    Some(block.mine.get(index)? / f64::from(2 * block.order.count))
}

/// lathide's one-way times of every repetition, at the sizes compared with raw TCP and at those between.
pub(super) fn times(blocks: &[Block]) -> Vec<(usize, f64)> {
    blocks.iter().filter_map(|block| Some((block.order.bytes, one_way_s(block)?))).collect()
}

/// The names of quantiles, as [`Kind::OneWay`] has them behind the times.
const QUANTILES: [&str; 9] = [
    "raw_p50_s",
    "raw_p99_s",
    "raw_greatest_s",
    "raw_polled_p50_s",
    "raw_polled_p99_s",
    "raw_polled_greatest_s",
    "lathide_p50_s",
    "lathide_p99_s",
    "lathide_greatest_s",
];

/// lathide with the shortest messages, in pairs: against itself, and against raw TCP.
pub(super) fn comparisons(blocks: &[Block]) -> Vec<Compared> {
    let of = |kind| blocks.iter().filter(move |block| block.order.kind == kind);
    let Some(bytes) = of(Kind::OneWay).map(|block| block.order.bytes).min() else { return Vec::new() };
    let pairs = |kind: Kind, first: usize, second: usize| {
        let shortest = of(kind).filter(move |block| block.order.bytes == bytes);
        shortest.filter_map(move |block| Some((*block.mine.get(first)?, *block.mine.get(second)?)))
    };
    let all = [
        Compared::of(format!("lathide over lathide again (A/A), {bytes} B"), pairs(Kind::Twice, 0, 1)),
        Compared::of(format!("lathide over blocking raw TCP, {bytes} B"), pairs(Kind::OneWay, 2, 0)),
        Compared::of(format!("lathide over polled raw TCP, {bytes} B"), pairs(Kind::OneWay, 2, 1)),
    ];
    all.into_iter().flatten().collect()
}

/// One-way times.
pub(super) fn latency(blocks: &[Block]) -> Vec<Row> {
    rows(blocks, Kind::OneWay, "round_trips", |block| {
        let [raw, polled, lathide] =
            block.both(|mine, _| mine).map(|time_s: f64| time_s / f64::from(2 * block.order.count));
        // Of the round trips of a repetition, each.
        let quantiles = block.mine.iter().skip(2 * Variant::ALL.len()).copied();
        let quantiles = QUANTILES.into_iter().zip(quantiles);
        let whole = [
            ("raw_s", raw),
            ("raw_polled_s", polled),
            ("lathide_s", lathide),
            // Over blocking raw TCP: Strumpen's penalty factor (Fig. 19).
            ("penalty", lathide / raw),
            ("penalty_polled", lathide / polled),
        ];
        whole.into_iter().chain(quantiles).collect()
    })
}

/// How fast messages go one way, one after the other, under these names; and lathide over the better of both raw variants.
/// `each`: what a message counts.
fn rates(blocks: &[Block], kind: Kind, names: [&'static str; 3], each: fn(usize) -> f64) -> Vec<Row> {
    rows(blocks, kind, "messages", |block| {
        let all = each(block.order.bytes) * f64::from(block.order.count);
        let rates @ [raw, polled, lathide] = block.both(|_, theirs| theirs).map(|time_s: f64| all / time_s);
        names.into_iter().zip(rates).chain([("ratio", lathide / raw.max(polled))]).collect()
    })
}

/// Bytes of long messages.
pub(super) fn bandwidth(blocks: &[Block]) -> Vec<Row> {
    let names = ["raw_bytes_per_s", "raw_polled_bytes_per_s", "lathide_bytes_per_s"];
    rates(blocks, Kind::Stream, names, |bytes| bytes as f64)
}

/// Short messages; over raw TCP, with one write for each.
pub(super) fn rate(blocks: &[Block]) -> Option<Row> {
    rates(blocks, Kind::Rate, ["raw_per_s", "raw_polled_per_s", "lathide_per_s"], |_| 1.0).pop()
}

/// A message each way. The slower of the two nodes counts.
pub(super) fn exchange(blocks: &[Block]) -> Vec<Row> {
    rows(blocks, Kind::Exchange, "exchanges", |block| {
        let [pingpong, _, _] = block.both(|mine, _| mine);
        let [_, simultaneous, raw_simultaneous] = block.both(f64::max);
        vec![
            // One after the other, with lathide.
            ("pingpong_s", pingpong),
            // Both at once, with lathide.
            ("simultaneous_s", simultaneous),
            // Fig. 20.
            ("speedup", pingpong / simultaneous),
            // Both at once over one raw connection that neither direction blocks.
            ("raw_simultaneous_s", raw_simultaneous),
            ("penalty", simultaneous / raw_simultaneous),
        ]
    })
}

/// Transfers behind a calculation. The slower of the two nodes counts.
pub(super) fn overlap(blocks: &[Block], kind: Kind) -> Vec<Row> {
    rows(blocks, kind, "steps", |block| {
        let [calc, com, total, _, own_cpu] = block.both(f64::max);
        let [calcs, _, _, busy, _, spare] = block.both(|mine, theirs| mine + theirs);
        vec![
            ("t_calc_s", calc),
            ("t_com_s", com),
            ("t_total_s", total),
            // The hidden part of the communication.
            ("overlap", 1.0 - (total - calc) / com),
            // The same as the OSU micro-benchmarks and the Intel MPI Benchmarks (IMB-NBC) define it.
            ("overlap_osu", (1.0 - (total - calc) / com).max(0.0)),
            ("overlap_imb", ((com + calc - total) / com.max(calc)).clamp(0.0, 1.0)),
            // The calculation alone over the same one while the transfer runs and both nodes calculate.
            ("availability", calcs / busy),
            // The same while the other node only transfers, so that a core of the host may be free for the kernel's task.
            ("availability_spare", calcs / spare),
            // The overlap, if lathide's own threads had to share the calculation's processor: their processor time counts
            // as if the calculation were so much longer.
            ("effective_overlap", 1.0 - (total + own_cpu - calc) / com),
            // Processor time of lathide's own threads per transfer.
            ("own_cpu_s", own_cpu),
        ]
    })
}

/// Short messages beside a long one.
pub(super) fn loaded(blocks: &[Block]) -> Option<Loaded> {
    let (mut bytes, mut all) = (0, [Vec::new(), Vec::new()]);
    for Block { order, mine, .. } in blocks.iter().filter(|block| block.order.kind == Kind::Loaded) {
        bytes = order.bytes;
        let (idle_s, loaded_s) = mine.split_at(mine.len().min(order.count as usize));
        all[0].extend_from_slice(idle_s);
        all[1].extend_from_slice(loaded_s);
    }
    all.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [idle, loaded] = &all;
    let (idle_p50_s, idle_p99_s) = (quantile(idle, 0.5)?, quantile(idle, 0.99)?);
    let (p50_s, p99_s) = (quantile(loaded, 0.5)?, quantile(loaded, 0.99)?);
    let (p50_ratio, p99_ratio) = (p50_s / idle_p50_s, p99_s / idle_p99_s);
    let (idle_samples, samples) = (idle.len(), loaded.len());
    Some(Loaded { bytes, idle_p50_s, idle_p99_s, p50_s, p99_s, p50_ratio, p99_ratio, idle_samples, samples })
}

/// The least value that `share` of the `sorted` ones do not exceed; `None` if there are none.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Processor time: of the shortest messages to and fro, and of the stream whose messages are nearest to a MiB.
pub(super) fn processor(blocks: &[Block]) -> ProcessorUse {
    let per = |kind, unit, units: fn(usize) -> f64| {
        rows(blocks, kind, unit, |block| {
            let units = f64::from(block.order.count) * units(block.order.bytes);
            let [_, _, _, raw, polled, lathide] =
                block.both(|mine, theirs| mine + theirs).map(|cpu_s: f64| cpu_s / units);
            vec![("raw_s", raw), ("raw_polled_s", polled), ("lathide_s", lathide), ("ratio", lathide / raw)]
        })
    };
    let messages = per(Kind::OneWay, "round_trips", |_| 2.0);
    let streams = per(Kind::Stream, "messages", |bytes| bytes as f64 / MIB as f64);
    ProcessorUse {
        message: messages.into_iter().next().filter(|row| row.bytes() <= SIGNAL_BYTES),
        mib: streams.into_iter().min_by_key(|row| row.bytes().abs_diff(MIB)),
    }
}

/// The time of a message with fragments of one size (Fig. 11), from blocks and the size of their fragments.
pub(super) fn fragments(blocks: &[(usize, Block)]) -> Vec<Row> {
    Row::all(blocks.iter().filter_map(|(fragment_bytes, block)| {
        let counts = [("bytes", block.order.bytes), ("fragment_bytes", *fragment_bytes)];
        Some((counts.into(), vec![("s", one_way_s(block)?)]))
    }))
}
