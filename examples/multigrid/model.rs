//! What the program counted, beside what the paper's tables imply, and what the paper's model makes of it (Matheson and Tarjan
//! 1993, the GAP model: every message costs the same, wherever it goes, and calculation and communication do not overlap).
//!
//! The paper prints no counts; those beside ours were found from its tables, which leave a factor open
//! (`lathide_models::multigrid`). Why ours differ:
//!
//! - *Operations*: 41.7 for each point of a large square instead of 26. An addition and a multiplication are two here, so a sweep
//!   is 7; the residual 6; restriction 2.75, interpolation 3: 32.75 on the finest level, and 26.75 on others, whose first sweep is one
//!   multiplication. The paper's 19.5 on each level would be three sweeps with one operation for each of 5 stencil points, and 4.5.
//!   In three dimensions 48 with 9, 8, 3.75 and 4.25, instead of 39.4.
//! - *Words*: 34 for each point of an edge instead of 32. A rank with neighbours on all sides receives four edges before each of
//!   three sweeps and the residual on the finest level, 16 as in the paper; on coarser levels the first sweep needs none. Restriction
//!   receives two more, interpolation two halves, and corners. In three dimensions 35 instead of 56, whose 42 on each level would
//!   be seven exchanges of six faces; ours are four and three, and half of the faces for restriction and a quarter of those for
//!   interpolation. With 4 ranks, or 8 in three dimensions, a rank has neighbours on half of its sides only.
//! - *Coarse levels*: three exchanges with four neighbours are the paper's 12 messages. Full weighting and linear interpolation need
//!   up to eight more, since the nine points around are on as many ranks: 20. The rank whose point is on the next level too has 33
//!   flops instead of 17: 1 and two sweeps of 7, the residual 6, restriction 11, correction 1. In three dimensions 44 messages instead
//!   of 28, and 58 flops instead of 34. The coarsest level, a single point, has one operation and no message, and counts in the
//!   mean.
//!
//! The model's fixed cost is that of a message alone. Messages of an exchange travel together, so a second prediction has the
//! cost of each further message instead. Neither hides anything, and both give each rank a processor of its own. The measured
//! efficiency is the part of the time in which ranks neither post messages nor wait for them, in the mean.

use std::time::Instant;

use lathide::{Node, Tag};
use lathide_models::BadParameter;
use lathide_models::multigrid::{Counts, Dimensions, Grid, MachineModel, Messages, Network, predict};

use super::Measured;
use super::options::{Given, Options};

const PING: Tag = Tag(3);
const REPEATS: usize = 21;
/// Messages at once, to find what each of them costs.
const BURST: usize = 64;
const LONG: usize = 1000;

/// What messages cost, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Costs {
    /// A message of one word alone, one way.
    fixed_s: f64,
    /// Each further one of many at once.
    further_s: f64,
    word_s: f64,
}

/// What is given, and the rest as ranks 0 and 1 measure it.
pub(crate) fn costs(node: &Node, given: Given) -> lathide::Result<Costs> {
    let complete = given.fixed_s.is_some() && given.further_s.is_some() && given.word_s.is_some();
    let is_measured = !complete && node.size() > 1;
    let [mut short_s, mut long_s, mut burst_s] = [0.0; 3];
    if is_measured && node.rank().index() < 2 {
        [short_s, long_s] = [ping_pong(node, 1)?, ping_pong(node, LONG)?];
        burst_s = burst(node)?;
    }
    let fixed_s = given.fixed_s.unwrap_or(short_s);
    Ok(Costs {
        fixed_s,
        further_s: given.further_s.unwrap_or(((burst_s - 2.0 * short_s) / (BURST - 1) as f64).max(0.0)),
        word_s: given.word_s.unwrap_or(((long_s - short_s) / (LONG - 1) as f64).max(0.0)),
    })
}

/// The median time of a message one way.
fn ping_pong(node: &Node, words: usize) -> lathide::Result<f64> {
    let first = node.rank() == 0;
    let other = u32::from(first);
    let mut buffer = vec![0.0f64; words];
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        if first {
            buffer = node.initwrite(other, PING, buffer)?.wait()?;
        }
        buffer = node.initread(other, PING, buffer)?.wait()?;
        if !first {
            buffer = node.initwrite(other, PING, buffer)?.wait()?;
        }
        times.push(start.elapsed().as_secs_f64() / 2.0);
    }
    Ok(median(times))
}

/// The median time of many messages of one word from rank 0 to rank 1, and one back.
fn burst(node: &Node) -> lathide::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        if node.rank() == 0 {
            let writes: Result<Vec<_>, _> = (0..BURST).map(|_| node.initwrite(1, PING, vec![0.0f64])).collect();
            for write in writes? {
                write.wait()?;
            }
            node.initread(1, PING, vec![0.0f64])?.wait()?;
        } else {
            let reads: Result<Vec<_>, _> = (0..BURST).map(|_| node.initread(0, PING, vec![0.0f64])).collect();
            for read in reads? {
                read.wait()?;
            }
            node.initwrite(0, PING, vec![0.0f64])?.wait()?;
        }
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Sums over the levels of a kind, in each cycle of the busiest rank.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Sums {
    flops: f64,
    messages: f64,
    words: f64,
    exchanges: f64,
}

/// The model's counts, and the exchanges that it does not know.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Counted {
    counts: Counts,
    fine: Sums,
    coarse: Sums,
}

/// Of a run on `per_side` ranks per side.
fn counted(options: &Options, per_side: usize, measured: &Measured) -> Counted {
    let (mut fine, mut coarse) = (Sums::default(), Sums::default());
    for (level, count) in measured.busiest.iter().enumerate() {
        let sums = if options.points >> level > per_side { &mut fine } else { &mut coarse };
        let each = |number: u64| number as f64 / measured.cycles as f64;
        sums.flops += each(count.flops);
        sums.messages += each(count.sent.max(count.received));
        sums.words += each(count.words);
        sums.exchanges += each(count.exchanges);
    }
    let edge = edge(options, per_side);
    let levels = (per_side as f64).log2().max(1.0);
    let all = measured.flops.iter().sum::<u64>() as f64 / measured.cycles as f64;
    let counts = Counts {
        fine_flops: all / (options.points as f64).powi(options.dims as i32),
        coarse_flops: if per_side > 1 { coarse.flops / levels } else { 0.0 },
        fine_words: fine.words / edge,
        coarse_messages: coarse.messages / levels,
        long_messages: fine.messages / (edge / options.words as f64).ceil(),
    };
    Counted { counts, fine, coarse }
}

/// Points on an edge or face of a rank's part.
fn edge(options: &Options, per_side: usize) -> f64 {
    (options.points as f64 / per_side as f64).powi(options.dims as i32 - 1)
}

/// What a cycle takes, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Times {
    alone_s: f64,
    computation_s: f64,
    total_s: f64,
}

/// By the paper's model, and with messages of an exchange together.
fn predicted(
    options: &Options,
    per_side: usize,
    counted: &Counted,
    flop_s: f64,
    costs: &Costs,
) -> Result<[Times; 2], BadParameter> {
    let messages = match options.words {
        1 => Messages::OneWord,
        words => Messages::Long { words_max: words as f64, spool_cycles_per_word: costs.word_s },
    };
    // A cycle of the model's processor is a second.
    let network = Network::Gap { fixed_cycles: costs.fixed_s };
    let machine = MachineModel { network, messages, cycles_per_flop: flop_s };
    let dimensions = if options.dims == 2 { Dimensions::Two } else { Dimensions::Three };
    let grid = Grid { dimensions, points_per_side: options.points as f64, counts: counted.counts };
    let paper = predict(&grid, &machine, (per_side as f64).powi(options.dims as i32))?;
    let times = |communication_s: f64| {
        let computation_s = paper.computation_cycles();
        Times { alone_s: paper.serial_cycles(), computation_s, total_s: computation_s + communication_s }
    };
    let Counted { fine, coarse, .. } = counted;
    let (exchanges, messages) = (fine.exchanges + coarse.exchanges, fine.messages + coarse.messages);
    let further = (messages - exchanges).max(0.0);
    let together_s = exchanges * costs.fixed_s + further * costs.further_s + (fine.words + coarse.words) * costs.word_s;
    Ok([times(paper.communication_cycles()), times(together_s)])
}

/// Counts, predictions and measurements, line by line.
pub(crate) fn print(
    options: &Options,
    per_side: usize,
    measured: &Measured,
    alone_s: f64,
    costs: &Costs,
) -> Result<(), BadParameter> {
    println!("each cycle, the busiest rank of each level:");
    println!("points per side  per rank      flops  messages      words  exchanges");
    for (level, count) in measured.busiest.iter().enumerate() {
        let points = options.points >> level;
        let per_rank = if points > per_side { points / per_side } else { 1 };
        let each = |number: u64| number as f64 / measured.cycles as f64;
        let [flops, messages, words, exchanges] =
            [count.flops, count.sent.max(count.received), count.words, count.exchanges].map(each);
        println!("{points:15}  {per_rank:8}  {flops:9.0}  {messages:8.1}  {words:9.1}  {exchanges:9.1}");
    }
    let counted = counted(options, per_side, measured);
    let (ours, paper) = (counted.counts, if options.dims == 2 { Counts::TWO } else { Counts::THREE });
    println!(
        "counted (the paper's, inferred): {:.2} ({:.2}) flops per point of the finest level, {:.2} ({}) words per point of an edge, {:.1} \
         ({}) flops and {:.1} ({}) messages on each coarse level",
        ours.fine_flops,
        paper.fine_flops,
        ours.fine_words,
        paper.fine_words,
        ours.coarse_flops,
        paper.coarse_flops,
        ours.coarse_messages,
        paper.coarse_messages,
    );
    let flop_s = alone_s * measured.cycles as f64 / measured.flops.iter().sum::<u64>() as f64;
    println!(
        "a cycle alone takes {:.3} ms: {:.3} ns per flop; a message {:.2} us, each further one {:.2} us, a word {:.2} ns",
        1e3 * alone_s,
        1e9 * flop_s,
        1e6 * costs.fixed_s,
        1e6 * costs.further_s,
        1e9 * costs.word_s
    );
    let names = ["predicted, every message alone", "predicted, messages of an exchange together"];
    for (name, times) in names.iter().zip(predicted(options, per_side, &counted, flop_s, costs)?) {
        line(name, times.total_s, times.alone_s, times.computation_s / times.total_s);
    }
    line("measured", measured.cycle_s, alone_s, measured.efficiency);
    let processors = std::thread::available_parallelism().map_or(1, |number| number.get());
    let ranks = per_side.pow(options.dims as u32);
    if ranks > processors {
        println!("rank 0's host has {processors} processors: if all {ranks} ranks are there, they share them");
    }
    Ok(())
}

fn line(name: &str, cycle_s: f64, alone_s: f64, efficiency: f64) {
    let (speedup, percent) = (alone_s / cycle_s, 100.0 * efficiency);
    println!("{name}: a cycle {:.3} ms, speed-up {speedup:.4}, efficiency {percent:.2} %", 1e3 * cycle_s);
}
