//! Domain decomposition: Poisson's equation on the unit square, by conjugate gradients with a wire-basket preconditioner (Stoica,
//! Sultan and Keyes 1994, section 5.1; Bramble, Pasciak and Schatz; Keyes and Gropp).
//!
//! The square is cut into `--subdomains` squares of `--n` cells per side. A rank carries one or more of them: the result does not
//! depend on how many, to the bit. It is compared with the problem's smooth solution.
//!
//! `lathide run -n 4 target/release/examples/decomposition --version hidden --subdomains 4 --n 64`
//!
//! `--iterations K` makes exactly so many iterations, beginning the solve anew as often as it has converged to `--tolerance`:
//! for measuring.
//!
//! The messages' regions within `iteration`:
//!
//! - `edge A`, `edge B`, `edge C`: vectors of neighbours, for the matrix, the edges' right sides, the edges' values;
//! - `arms`: one word to the owner of a crosspoint, from two of the four edges that meet there;
//! - `crosspoints`: a broadcast of one word for each crosspoint;
//! - `sums`: two global sums;
//! - `barrier`, in `--version synchronised`, before each exchange of vectors.

mod condition;
mod interior;
mod layout;
mod messages;
mod options;
mod preconditioner;
mod problem;
mod sine;
mod solver;
mod stencil;
#[cfg(test)]
mod tests;
mod wires;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use condition::extreme_eigenvalues;
use lathide::{Node, Operator};
use layout::Layout;
use messages::Messages;
use options::Options;
use solver::{Solved, Solver, allowed_error, mix};
use stencil::larger;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decomposition: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let result = solve(&node, &options)?;
    if node.rank() == 0 {
        println!("{}", result.line(&options));
    }
    Ok(node.finalize()?)
}

/// What came out, on every rank.
#[derive(Debug)]
struct Outcomes {
    layout: Layout,
    solved: Solved,
    time: Duration,
    error: f64,
    allowed: f64,
    checksum: u64,
}

impl Outcomes {
    fn line(&self, options: &Options) -> String {
        let (Layout { n, ranks, .. }, Solved { iterations, relative, converged, steps, .. }) =
            (self.layout, &self.solved);
        let each = self.time.as_secs_f64() * 1e3 / (*iterations).max(1) as f64;
        let converged = converged.map_or("not yet converged".into(), |count| format!("converged in {count}"));
        let [smallest, largest] = extreme_eigenvalues(steps);
        format!(
            "decomposition, {}: {} subdomains of {n} x {n} cells on {ranks} ranks, {iterations} iterations of {each:.3} ms, \
             {converged}, condition number {:.2}, residual {relative:.1e}, error {:.4e} of at most {:.4e}, checksum {:016x}: \
             correct",
            options.version,
            self.layout.subdomains(),
            largest / smallest,
            self.error,
            self.allowed,
            self.checksum
        )
    }
}

fn solve(node: &Node, options: &Options) -> Outcome<Outcomes> {
    let layout = Layout { side: options.side, n: options.n, ranks: node.size() as usize };
    let (ranks, subdomains) = (layout.ranks, layout.subdomains());
    if ranks > subdomains {
        return Err(format!("{ranks} ranks, but only {subdomains} subdomains: every rank needs one").into());
    }
    let mut solver = {
        let _setup = node.region("setup");
        Solver::new(Messages::new(node, layout, options.version))?
    };
    node.barrier()?;
    let start = Instant::now();
    let solved = solver.solve(options)?;
    node.barrier()?;
    let time = start.elapsed();

    let _check = node.region("check");
    let (worst, own) = solver.check()?;
    let largest = Operator::new("larger", true, larger);
    let [error, drift] = node.allreduce(&largest, worst.to_vec())?[..] else { unreachable!("two numbers") };
    let allowed = allowed_error(&layout, solved.residual);
    if !is_at_most(error, allowed) {
        return Err(format!("the solution is off by {error:e}, which should be at most {allowed:e}").into());
    }
    if !is_at_most(drift, 1e-10) {
        return Err(format!("the residual is off by {drift:e} after {} iterations", solved.iterations).into());
    }
    let checksum = checksum(node, &layout, &own)?;
    Ok(Outcomes { layout, solved, time, error, allowed, checksum })
}

/// Not, if it is NaN.
fn is_at_most(value: f64, most: f64) -> bool {
    value <= most
}

/// Of all subdomains, in their order.
fn checksum(node: &Node, layout: &Layout, own: &[u64]) -> lathide::Result<u64> {
    let mut places = vec![0; layout.subdomains()];
    layout.of_rank(node.rank().index()).zip(own).for_each(|(subdomain, sum)| places[subdomain] = *sum);
    Ok(node.allreduce(&Operator::sum(), places)?.into_iter().fold(0, mix))
}
