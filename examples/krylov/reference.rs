//! Conjugate gradients on one rank, for comparison: the textbook's, on the whole square, with the same preconditioner.

use std::ops::Range;

use super::Outcome;
use super::ilu::Factors;
use super::matrix::{add, dot, product, turn};
use super::options::{Preconditioner, Stop};
use super::problem::right_side;
use super::progress::{Progress, Solved};

/// The preconditioner has a block for each of `shares`, as on so many ranks.
pub(crate) fn solve(n: usize, preconditioner: Preconditioner, shares: &[Range<usize>], stop: Stop) -> Outcome<Solved> {
    let blocks: Vec<Factors> = shares
        .iter()
        .map(|rows| match preconditioner {
            Preconditioner::None => Factors::none(n),
            Preconditioner::Ilu => Factors::ilu(n, rows.len()),
        })
        .collect();
    let precondition = |r: &[f64], z: &mut [f64]| {
        for (rows, block) in shares.iter().zip(&blocks) {
            let own = rows.start * n..rows.end * n;
            block.solve(&r[own.clone()], &mut z[own]);
        }
    };
    let boundary = vec![0.0; n];
    let (mut x, mut r) = (vec![0.0; n * n], right_side(n, 0..n));
    let [mut z, mut q] = std::array::from_fn(|_| vec![0.0; n * n]);
    precondition(&r, &mut z);
    let (mut p, mut rho) = (z.clone(), dot(&r, &z));
    let mut progress = Progress::new(stop, n);
    let mut passes = 0;
    while progress.note(dot(&r, &r))? {
        product(n, &p, [&boundary, &boundary], &mut q);
        let alpha = rho / dot(&p, &q);
        add(&mut x, alpha, &p);
        add(&mut r, -alpha, &q);
        precondition(&r, &mut z);
        let next = dot(&r, &z);
        turn(&mut p, &z, next / rho);
        rho = next;
        passes += 1;
    }
    Ok(progress.solved(x, passes))
}
