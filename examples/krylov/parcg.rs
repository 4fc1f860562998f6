//! parCG (de Sturler and van der Vorst; Strumpen 1994, 4.3): plain CG in another order, so that each sum has work beside it.
//!
//! | sum | behind it |
//! | --- | --- |
//! | (p, Ap) | the update of x of the iteration before |
//! | (r, r) | the first half of the preconditioner |
//! | (r, z), known after the first half | the second half |
//!
//! Two sums still follow each other in an iteration, and the neighbours' rows before them.

use super::Outcome;
use super::matrix::{add, dot, turn};
use super::options::Stop;
use super::progress::{Progress, Solved};
use super::strip::{Phase, Strip};

pub(crate) fn solve(strip: &Strip<'_>, stop: Stop) -> Outcome<Solved> {
    let factors = &strip.factors;
    let (mut x, mut r) = (strip.zeros(), strip.right_side());
    let [mut z, mut p, mut last_p, mut q] = std::array::from_fn(|_| strip.zeros());
    factors.forward(&r, &mut z);
    let [mut rho, square] = strip.sums(Phase::Setup, [factors.square(&z), dot(&r, &r)])?.wait()?;
    factors.backward(&mut z);
    let (mut alpha, mut beta) = (0.0, 0.0);
    let (mut progress, mut passes) = (Progress::new(stop, strip.n), 0);
    let mut goes_on = progress.note(square)?;
    while goes_on {
        let _iteration = strip.iteration();
        std::mem::swap(&mut p, &mut last_p);
        p.copy_from_slice(&last_p);
        turn(&mut p, &z, beta);
        strip.product(Phase::Iteration, &p, &mut q)?;
        let sum = strip.sums(Phase::Iteration, [dot(&p, &q)])?;
        add(&mut x, alpha, &last_p);
        let [pq] = sum.wait()?;
        alpha = rho / pq;
        add(&mut r, -alpha, &q);
        let sum = strip.sums(Phase::Iteration, [dot(&r, &r)])?;
        factors.forward(&r, &mut z);
        let next = strip.sums(Phase::Iteration, [factors.square(&z)])?;
        factors.backward(&mut z);
        let ([square], [next]) = (sum.wait()?, next.wait()?);
        (beta, rho) = (next / rho, next);
        passes += 1;
        goes_on = progress.note(square)?;
    }
    add(&mut x, alpha, &p);
    Ok(progress.solved(x, passes))
}
