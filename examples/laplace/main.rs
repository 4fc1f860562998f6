//! Laplace's equation by Jacobi's iteration, decomposed into strips or into blocks (Hanuliak 2014, sections 6.1 and 6.1.1).
//!
//! A strip has two neighbours and long edges, a block has four and shorter ones: what is faster depends on the start-up time and
//! the time per word, as `lathide predict decomposition` says. Columns of a block travel as strided sections. The iteration
//! stops when no point changes by epsilon any more: in the hidden version that is known one iteration later.
//!
//! `lathide run -n 9 target/release/examples/laplace --decomposition blocks --version hidden --n 300 --epsilon 1e-4`
//!
//! `--shares speed` gives faster ranks broader strips (`shares.rs`).
//!
//! | regions | what |
//! | --- | --- |
//! | `iteration` | one iteration; the next three are within it |
//! | `halo` | the edges of the neighbours |
//! | `change` | the greatest change, over all ranks; not with `--iterations` |
//! | `barrier` | in the synchronised version, before each of those |
//! | `setup` | the messages before the first iteration |
//! | `check` | the messages after the last one |
//!
//! Rank 0 compares the result with a sequential one, bit for bit, and with the analytic solution (`check.rs`).

mod block;
mod check;
mod jacobi;
mod options;
mod shares;

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use lathide::{Grid, Node, Operator, Section};

use self::block::Block;
use self::options::{Decomposition, Options, Shares};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("laplace: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let dims = dims(&options, node.size() as usize)?;
    let grid = Grid::new(&node, dims, [false, false])?;
    let cuts = cuts(&node, &options, dims)?;
    let mut block = Block::new(&grid, options.n, own(&grid, &cuts, node.rank().index()))?;

    {
        let _setup = node.region("setup");
        node.barrier()?;
    }
    let start = Instant::now();
    let iterations = block.run(&node, options.version, options.stop)?;
    let own_time = start.elapsed().as_secs_f64();
    let _check = node.region("check");
    let time = node.allreduce(&Operator::max(), vec![own_time])?[0];
    if let Some(whole) = gather(&node, &grid, &cuts, options.n, &block)? {
        let error = check::check(&options, &whole, iterations)?;
        let Options { decomposition, version, n, .. } = options;
        let ([down, across], each) = (dims, time * 1e3 / iterations as f64);
        let rows = match options.shares {
            Shares::Equal => String::new(),
            Shares::Speed => format!(" with {:?} rows", cuts[0].iter().map(Range::len).collect::<Vec<_>>()),
        };
        println!(
            "laplace: {decomposition} {version}: {n} x {n} points on {down} x {across} ranks{rows}, {iterations} iterations of \
             {each:.3} ms, error {error:.2e}: correct to the bit"
        );
    }
    Ok(node.finalize()?)
}

/// How many ranks there are down and across.
fn dims(options: &Options, size: usize) -> Outcome<[usize; 2]> {
    let n = options.n;
    match options.decomposition {
        Decomposition::Strips if size > n => {
            Err(format!("{size} ranks, but only {n} rows: every strip needs one").into())
        }
        Decomposition::Strips => Ok([size, 1]),
        Decomposition::Blocks => match Grid::balanced(size) {
            [down, across] if down > n || across > n => Err(format!(
                "{size} ranks are {down} x {across} blocks, but there are only {n} x {n} points: every block needs one"
            )
            .into()),
            dims => Ok(dims),
        },
    }
}

/// The rows of each line of ranks, and the columns of each.
fn cuts(node: &Node, options: &Options, dims: [usize; 2]) -> Outcome<[Vec<Range<usize>>; 2]> {
    let equal = |parts: usize| shares::apportion(options.n, &vec![1.0; parts]);
    let rows = match options.shares {
        Shares::Equal => equal(dims[0]),
        Shares::Speed => {
            let _setup = node.region("setup");
            // All at the same time, as later.
            node.barrier()?;
            let speeds = node.allgather(vec![shares::measure(options.n)])?;
            shares::apportion(options.n, &speeds)
        }
    };
    Ok([rows, equal(dims[1])])
}

/// The rows and columns of a rank.
fn own(grid: &Grid<2>, [rows, columns]: &[Vec<Range<usize>>; 2], rank: usize) -> [Range<usize>; 2] {
    let [row, column] = grid.coordinates_of(rank).unwrap_or_default();
    [rows[row].clone(), columns[column].clone()]
}

/// All points, at rank 0.
fn gather(
    node: &Node,
    grid: &Grid<2>,
    cuts: &[Vec<Range<usize>>; 2],
    n: usize,
    block: &Block,
) -> lathide::Result<Option<Vec<f64>>> {
    let blocks: Vec<[Range<usize>; 2]> = (0..node.size() as usize).map(|rank| own(grid, cuts, rank)).collect();
    let counts: Vec<usize> = blocks.iter().map(|[rows, columns]| rows.len() * columns.len()).collect();
    let Some(all) = node.gather_counts(0, &counts, block.points()?)? else { return Ok(None) };
    let (mut whole, mut rest) = (vec![0.0; n * n], &all[..]);
    for (place, count) in blocks.iter().zip(counts) {
        let (points, after) = rest.split_at(count);
        Section::of(&[n, n], place)?.unpack(points, &mut whole)?;
        rest = after;
    }
    Ok(Some(whole))
}
