//! Multigrid for Poisson's equation, as Matheson and Tarjan analysed it in 1993: V- and F-cycles in two and three dimensions, two
//! weighted Jacobi sweeps down and one up, on squares or cubes of points, with messages of one word or of up to 1000.
//!
//! `lathide run -n 4 target/release/examples/multigrid --dims 2 --n 512 --cycle v --message-words 1000 --version hidden`
//!
//! It counts what it calculates and sends, and puts that beside what the paper's tables imply. With those counts, and the
//! measured costs of an operation and of messages, the paper's model predicts speed-up and efficiency (`model.rs`). The
//! result must be the sequential one to the bit.
//!
//! | option | |
//! | --- | --- |
//! | `--dims 2\|3` | `q x q` ranks, or `q x q x q`, q a power of two |
//! | `--n N` | points per side, a power of two; 256, or 32 in three dimensions |
//! | `--cycle v\|f` | |
//! | `--cycles K`, `--tolerance T` | 10 cycles; or until the residual is T times that of the first cycle |
//! | `--message-words W` | the longest message, 1 to 1000 words of 8 bytes |
//! | `--version native\|synchronised\|hidden` | edges are waited for before the points that do not need them, or after those |
//! | `--fixed S`, `--further S`, `--per-word S` | costs of messages in seconds, else measured |
//!
//! Regions: "cycle" is one cycle; in it are "fine edges" of levels on which ranks have several points, "coarse edges" of those
//! with at most one, "sums" for the residual with `--tolerance`, and "barrier" of the synchronised version. "check" is around the
//! rest.

mod cube;
mod cycle;
mod edges;
mod hierarchy;
mod kernels;
mod model;
mod options;
mod problem;

use std::process::ExitCode;
use std::time::Instant;

use cycle::Solver;
use edges::{Count, Edges};
use hierarchy::Place;
use lathide::{Node, Operator, Tag};
use options::{CYCLES_MAX, End, Options};
use problem::Found;

const RESULT: Tag = Tag(2);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("multigrid: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let per_side = options.ranks_per_side(node.size() as usize)?;
    match options.dims {
        2 => solve::<2>(&node, &options, per_side)?,
        _ => solve::<3>(&node, &options, per_side)?,
    }
    Ok(node.finalize()?)
}

/// What the ranks did together.
struct Measured {
    cycles: usize,
    /// The slowest rank's.
    cycle_s: f64,
    /// The part of the time that ranks neither posted nor waited, in the mean.
    efficiency: f64,
    /// The busiest rank of each level.
    busiest: Vec<Count>,
    /// The operations of all ranks on each level.
    flops: Vec<u64>,
}

fn solve<const D: usize>(node: &Node, options: &Options, per_side: usize) -> Outcome<()> {
    let place = Place::<D>::of_rank(node.rank().index(), per_side);
    let edges = |levels| Edges::new(Some(node), options.version, options.words, levels);
    let mut solver = Solver::new(options.points, place, edges, matches!(options.end, End::Tolerance(_)));
    let costs = {
        let _region = node.region("check");
        model::costs(node, options.costs)?
    };
    node.barrier()?;
    let start = Instant::now();
    let cycles = iterate(&mut solver, options, |solver| {
        let _region = node.region("cycle");
        solver.cycle(options.cycle)
    })?;
    let time_s = start.elapsed().as_secs_f64();

    let _region = node.region("check");
    let measured = measured(node, &solver, cycles, time_s)?;
    let parts = gather(node, &solver)?;
    let checked: Outcome<()> = match parts {
        Some(parts) => check::<D>(options, per_side, &parts, &measured).and_then(|(found, alone_s)| {
            model::print(options, per_side, &measured, alone_s, &costs)?;
            print(options, node.size(), &measured, &found);
            Ok(())
        }),
        None => Ok(()),
    };
    // All ranks fail, if the check does.
    let wrong = node.broadcast(0, vec![u8::from(checked.is_err())])?;
    checked?;
    if wrong[0] == 1 { Err("the check failed on rank 0".into()) } else { Ok(()) }
}

/// As many cycles as are wanted. All ranks come to the same number, since they see the same residuals.
fn iterate<S>(
    solver: &mut S,
    options: &Options,
    mut cycle: impl FnMut(&mut S) -> lathide::Result<Option<f64>>,
) -> Outcome<usize> {
    let (most, part) = match options.end {
        End::Cycles(cycles) => (cycles, None),
        End::Tolerance(part) => (CYCLES_MAX, Some(part)),
    };
    let mut first = None;
    for done in 1..=most {
        let residual = cycle(solver)?;
        if let (Some(residual), Some(part)) = (residual, part)
            && residual <= part * *first.get_or_insert(residual)
        {
            return Ok(done);
        }
    }
    match part {
        Some(part) => Err(format!("the residual is not {part:e} of the first one after {most} cycles").into()),
        None => Ok(most),
    }
}

fn measured<const D: usize>(node: &Node, solver: &Solver<D>, cycles: usize, time_s: f64) -> Outcome<Measured> {
    let counts = &solver.edges.counts;
    let mine = counts.iter().flat_map(|count| [count.flops, count.sent, count.received, count.words, count.exchanges]);
    let most = node.allreduce(&Operator::max(), mine.collect())?;
    let busiest = most.chunks_exact(5).map(|most| Count {
        flops: most[0],
        sent: most[1],
        received: most[2],
        words: most[3],
        exchanges: most[4],
    });
    let flops = node.allreduce(&Operator::sum(), counts.iter().map(|count| count.flops).collect())?;
    let slowest_s = node.allreduce(&Operator::max(), vec![time_s])?[0];
    let calculating = 1.0 - solver.edges.communication.as_secs_f64() / time_s;
    let efficiency = node.allreduce(&Operator::sum(), vec![calculating])?[0] / f64::from(node.size());
    Ok(Measured { cycles, cycle_s: slowest_s / cycles as f64, efficiency, busiest: busiest.collect(), flops })
}

/// All ranks' points of the finest level, at rank 0.
fn gather<const D: usize>(node: &Node, solver: &Solver<D>) -> Outcome<Option<Vec<Vec<f64>>>> {
    let level = &solver.levels[0];
    let mine = level.shape.own.pack(level.shape.cube, &level.u);
    if node.rank() != 0 {
        node.initwrite(0, RESULT, mine)?.wait()?;
        return Ok(None);
    }
    let mut parts = vec![mine];
    for rank in 1..node.size() {
        let shape = hierarchy::Shape::<D>::new(level.shape.points, Place::of_rank(rank as usize, level.shape.place.of));
        parts.push(node.initread(rank, RESULT, vec![0.0; shape.own.len()])?.wait()?);
    }
    Ok(Some(parts))
}

/// Compares with the same cycles on one rank, and with the known solution. Returns what was found, and the time of a cycle alone.
fn check<const D: usize>(
    options: &Options,
    per_side: usize,
    parts: &[Vec<f64>],
    measured: &Measured,
) -> Outcome<(Found, f64)> {
    let edges = |levels| Edges::new(None, options.version, options.words, levels);
    let watches = matches!(options.end, End::Tolerance(_));
    let mut alone = Solver::<D>::new(options.points, Place::of_rank(0, 1), edges, watches);
    let before = problem::residual(&mut alone.levels[0]);
    let start = Instant::now();
    let cycles = iterate(&mut alone, options, |alone| alone.cycle(options.cycle))?;
    let alone_s = start.elapsed().as_secs_f64() / cycles as f64;
    if cycles != measured.cycles {
        return Err(format!("{} cycles instead of {cycles}", measured.cycles).into());
    }
    for (rank, part) in parts.iter().enumerate() {
        let shape = hierarchy::Shape::<D>::new(options.points, Place::of_rank(rank, per_side));
        let mut block = shape.own;
        block.first.iter_mut().zip(shape.origin).for_each(|(first, origin)| *first += origin);
        let expected = block.pack(alone.levels[0].shape.cube, &alone.levels[0].u);
        if let Some(at) = (0..expected.len()).find(|at| part[*at].to_bits() != expected[*at].to_bits()) {
            return Err(format!("rank {rank}, point {at}: {} instead of {}", part[at], expected[at]).into());
        }
    }
    let flops: Vec<u64> = alone.edges.counts.iter().map(|count| count.flops).collect();
    if flops != measured.flops {
        return Err(
            format!("the ranks calculated {:?} operations by level instead of {flops:?}", measured.flops).into()
        );
    }
    let errors = problem::errors(&alone.levels[0]);
    let found = Found { cycles, residuals: [before, problem::residual(&mut alone.levels[0])], errors };
    found.check(D, options.points)?;
    Ok((found, alone_s))
}

fn print(options: &Options, ranks: u32, measured: &Measured, found: &Found) {
    let Options { dims, points, cycle, version, words, .. } = options;
    println!(
        "multigrid: {cycle:?}-cycle in {dims} dimensions, {version:?}, {points} points per side, {ranks} ranks, up to {words} words per \
         message: {} cycles of {:.3} ms; a cycle leaves {:.3} of the residual; error {:.2e}, of the discrete solution {:.1e}: correct to \
         the bit",
        measured.cycles,
        1e3 * measured.cycle_s,
        found.factor(),
        found.errors[0],
        found.errors[1],
    );
}
