//! The flow in a square cavity with a moving lid, by multigrid that is parallel in space and in time: the second application of
//! Stoica, Sultan and Keyes (1994), section 5.2, after Horton's code.
//!
//! `lathide run -n 4 target/release/examples/cavity --px 2 --pt 2 --n 64 --planes 8 --version hidden --check sequential`
//!
//! `px` ranks share a plane, the fluid at one time, by strips of columns; `pt` planes are solved at once, one group of them after
//! another. After each V-cycle a plane sends its iterate to the next one, which takes it for the time step before.
//!
//! - `--n` cells per side; `--reynolds`; `--dt` from plane to plane (`inf`: the steady equations); `--planes` in all groups;
//!   `--lid steady` or `oscillating`.
//! - `--cycles` V-cycles for each group, or as many as `--tolerance` needs: the root of the mean square of the residuals.
//! - `--version native`, `synchronised` (a barrier of all ranks before iterates are sent) or `hidden`. With `--lag 1` a plane takes
//!   iterates that are a cycle older, and residuals decide on the end a cycle later: then a cycle hides the iterates and the sums. The
//!   planes converge to the same flow, more slowly.
//! - `--check sequential`: one plane after another on one rank; `--check ghia`: the published steady flow at Reynolds number 100.
//!
//! All versions give the same flow bit for bit, for the same strips, planes and lag: what is printed as `fields` depends on every bit
//! of the last planes. Sums only decide on the end.
//!
//! Regions name what messages are for: a `cycle` has messages for `edge` (columns of ghost cells, on each level and in each sweep),
//! `grid` (iterates), `sums` (residuals) and, if synchronised, `barrier`. Outside of cycles there are `start`, when a
//! group of planes begins, and `result`.

mod check;
mod cycle;
mod ghia;
mod grid;
mod ilu;
mod momentum;
mod options;
mod planes;
mod simple;
mod space;
mod time;
mod transfer;

use std::process::ExitCode;

use grid::{Flow, Strip};
use options::Options;
use planes::Ranks;
use time::{Solver, Summary};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cavity: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let Options { px, pt, setting, .. } = options;
    if px.checked_mul(pt) != Some(node.size() as usize) {
        return Err(format!("{} ranks, but --px {px} and --pt {pt}: there must be px times pt", node.size()).into());
    }
    let strip = Strip::of(setting.n, node.rank().index() % px, px);
    let mut solver = Solver::new(setting, strip, Ranks::new(&node, &options)?);
    let mut last = Vec::new();
    node.barrier()?;
    let summary = solver.run(|plane| last = plane.own())?;
    drop(solver);
    let gathered = {
        let _region = node.region("result");
        node.gather(0, last)?
    };
    if let Some(strips) = gathered {
        let planes: Vec<Flow> =
            strips.chunks_exact(strips.len() / pt).map(|strips| check::whole(setting.n, strips, px)).collect();
        let found = check::check(&options, &planes)?;
        tell(&options, summary, check::fingerprint(&planes), &found);
    }
    Ok(node.finalize()?)
}

fn tell(options: &Options, summary: Summary, fields: u64, found: &str) {
    let Options { px, pt, setting, version, .. } = options;
    let Summary { cycles, seconds, residual } = summary;
    let lag = if setting.lag == 0 { String::new() } else { format!(" with lag {}", setting.lag) };
    println!(
        "{version:?}{lag}: {n} x {n} cells, Re {re}, {planes} planes of dt {dt} on {size} = {px} x {pt} ranks, {cycles} V-cycles \
         of {time:.3} ms, residual {residual:.2e}, fields {fields:016x}, {found}",
        n = setting.n,
        re = setting.reynolds,
        planes = setting.planes,
        dt = setting.dt,
        size = px * pt,
        time = 1e3 * seconds / cycles as f64,
    );
}
