//! Plain conjugate gradients, as an ordinary program has them: two sums in each iteration, one after the other.
//!
//! In the hidden version the neighbours' rows travel during the interior of the product, and the second sums during the update
//! of x. Nothing can hide the first one.

use super::Outcome;
use super::matrix::{add, dot, turn};
use super::options::Stop;
use super::progress::{Progress, Solved};
use super::strip::{Phase, Strip};

pub(crate) fn solve(strip: &Strip<'_>, stop: Stop) -> Outcome<Solved> {
    let (mut x, mut r) = (strip.zeros(), strip.right_side());
    let [mut z, mut q] = std::array::from_fn(|_| strip.zeros());
    strip.factors.solve(&r, &mut z);
    let mut p = z.clone();
    let [mut rho, square] = strip.sums(Phase::Setup, [dot(&r, &z), dot(&r, &r)])?.wait()?;
    let (mut progress, mut passes) = (Progress::new(stop, strip.n), 0);
    let mut goes_on = progress.note(square)?;
    while goes_on {
        let _iteration = strip.iteration();
        strip.product(Phase::Iteration, &p, &mut q)?;
        let [pq] = strip.sums(Phase::Iteration, [dot(&p, &q)])?.wait()?;
        let alpha = rho / pq;
        add(&mut r, -alpha, &q);
        strip.factors.solve(&r, &mut z);
        let sums = strip.sums(Phase::Iteration, [dot(&r, &z), dot(&r, &r)])?;
        add(&mut x, alpha, &p);
        let [next, square] = sums.wait()?;
        turn(&mut p, &z, next / rho);
        rho = next;
        passes += 1;
        goes_on = progress.note(square)?;
    }
    Ok(progress.solved(x, passes))
}
