//! Conjugate gradients three ways: plain, parCG and pipelined, for Poisson's equation on the unit square.
//!
//! Plain CG waits for two sums in each iteration. parCG (de Sturler and van der Vorst, whose model is in Strumpen 1994, 4.3 and
//! Fig. 24) hides its sums behind halves of the preconditioner and the update of x. Pipelined CG (Ghysels and Vanroose 2014)
//! has one sum, behind the preconditioner and the product with the matrix. Rows of points are shared in strips.
//!
//! `lathide run -n 4 target/release/examples/krylov --algorithm pipelined --version hidden --n 200 --preconditioner ilu`
//!
//! | regions | what |
//! | --- | --- |
//! | `iteration` | one pass of the algorithm; the others are within it |
//! | `halo` | the neighbours' rows for a product with the matrix |
//! | `sums` | scalar products over all ranks |
//! | `barrier` | in the synchronised version, before each of those |
//! | `replacement` | the neighbours' rows when pipelined CG works its residuals out anew |
//! | `setup` | the messages before the first iteration |
//! | `check` | the messages after the last one |
//!
//! Rank 0 compares the result with a sequential CG and with the analytic solution (`check.rs`).

mod cg;
mod check;
mod ilu;
mod matrix;
mod options;
mod parcg;
mod pipelined;
mod problem;
mod progress;
mod reference;
mod strip;

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use lathide::{Node, Operator};

use self::check::Checked;
use self::options::{Algorithm, Options};
use self::progress::Solved;
use self::strip::Strip;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("krylov: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let size = node.size() as usize;
    if size > options.n {
        return Err(format!("{size} ranks, but only {} rows of points: every rank needs one", options.n).into());
    }
    let shares: Vec<Range<usize>> = (0..size).map(|rank| share(options.n, rank, size)).collect();
    let strip = Strip::new(&node, &options, shares[node.rank().index()].clone());

    {
        let _setup = node.region("setup");
        node.barrier()?;
    }
    let start = Instant::now();
    let solved = solve(&strip, &options)?;
    let own_time = start.elapsed().as_secs_f64();
    finish(&node, &options, &shares, solved, own_time)?;
    Ok(node.finalize()?)
}

fn solve(strip: &Strip<'_>, options: &Options) -> Outcome<Solved> {
    match options.algorithm {
        Algorithm::Cg => cg::solve(strip, options.stop),
        Algorithm::ParCg => parcg::solve(strip, options.stop),
        Algorithm::Pipelined => pipelined::solve(strip, options.stop, options.replace),
    }
}

/// The rows of one rank. The first ranks take one more where it does not come out even.
fn share(rows: usize, rank: usize, size: usize) -> Range<usize> {
    let start = |rank: usize| rank * (rows / size) + rank.min(rows % size);
    start(rank)..start(rank + 1)
}

/// Rank 0 checks the result and says what it is.
fn finish(node: &Node, options: &Options, shares: &[Range<usize>], solved: Solved, own_time: f64) -> Outcome<()> {
    let _check = node.region("check");
    let time = node.allreduce(&Operator::max(), vec![own_time])?[0];
    let counts: Vec<usize> = shares.iter().map(|rows| rows.len() * options.n).collect();
    let Solved { x, passes, history } = solved;
    let Some(x) = node.gather_counts(0, &counts, x)? else { return Ok(()) };
    let Checked { residual, error, bound } = check::check(options, shares, &x, &history)?;
    let Options { algorithm, version, preconditioner, n, .. } = options;
    let (ranks, iterations, each) = (shares.len(), history.len() - 1, time * 1e3 / passes.max(1) as f64);
    println!(
        "krylov: {algorithm} {version}, preconditioner {preconditioner}: {n} x {n} points, {ranks} ranks, {iterations} iterations \
         of {each:.3} ms, residual {residual:e}, error {error:e} of at most {bound:.1e}: correct"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alone, as a job of one rank; `tests/it/applications/krylov.rs` has more of them.
    #[test]
    fn all_algorithms_agree_with_the_sequential_one() {
        let node = lathide::init().expect("a job of one");
        for words in ["--preconditioner none", "--preconditioner ilu", "--version native", "--iterations 9"] {
            let algorithms = ["cg", "parcg", "pipelined"];
            let bits = algorithms.map(|algorithm| {
                let words = format!("--algorithm {algorithm} --n 15 {words}");
                let options = Options::parse(words.split(' ').map(String::from)).expect("they are right");
                let solved = solve(&Strip::new(&node, &options, 0..15), &options).expect("it converges");
                let one_more = usize::from(algorithm == "pipelined");
                assert_eq!(solved.passes + 1, solved.history.len() + one_more, "{words}");
                let whole = 0..15;
                check::check(&options, std::slice::from_ref(&whole), &solved.x, &solved.history).expect(&words);
                solved.x.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            });
            assert!(bits[0] != bits[2], "{words}: recurrences round");
        }
        node.finalize().expect("nothing is left");
    }

    #[test]
    fn shares_are_all_rows_and_differ_by_one_at_most() {
        for (rows, size) in [(1, 1), (7, 7), (7, 3), (100, 16), (16, 15)] {
            let shares: Vec<_> = (0..size).map(|rank| share(rows, rank, size)).collect();
            assert!(shares[0].start == 0 && shares[size - 1].end == rows, "{shares:?}");
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start), "{shares:?}");
            assert!(shares.iter().all(|own| own.len() == rows / size || own.len() == rows / size + 1), "{shares:?}");
        }
    }
}
