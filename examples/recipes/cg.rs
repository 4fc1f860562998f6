//! Pipelined conjugate gradients (Ghysels and Vanroose, 2014): the scalar products are summed over all ranks during the
//! product of the matrix with a vector, and of that the neighbours' elements travel during the interior.

use std::error::Error;

use lathide::{Node, Operator, Shift};

const N: usize = 1000;
const DIAGONAL: f64 = 2.1; // with -1 on both sides of it

fn main() -> Result<(), Box<dyn Error>> {
    let node = lathide::init()?;
    let (rank, size) = (node.rank().index(), node.size() as usize);
    let rows = N * rank / size..N * (rank + 1) / size;
    let right_side = |row: usize| ((row * 31) % 17) as f64;
    let mut r: Vec<f64> = rows.clone().map(right_side).collect();
    let mut w = product(&node, &r)?;
    let [mut x, mut p, mut s, mut z] = std::array::from_fn(|_| vec![0.0; rows.len()]);
    let (mut last_gamma, mut alpha, mut steps) = (f64::INFINITY, 1.0, 0);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    while steps < N {
        let sums = node.initallreduce(&Operator::sum(), vec![dot(&r, &r), dot(&w, &r)])?;
        let q = product(&node, &w)?;
        let [gamma, delta] = sums.wait()?[..] else { unreachable!("two sums") };
        if gamma < 1e-20 {
            break; // on all ranks: they have the same bits
        }
        let beta = gamma / last_gamma;
        alpha = gamma / (delta - beta * gamma / alpha);
        for (i, q) in q.into_iter().enumerate() {
            (z[i], s[i], p[i]) = (q + beta * z[i], w[i] + beta * s[i], r[i] + beta * p[i]);
            (x[i], r[i], w[i]) = (x[i] + alpha * p[i], r[i] - alpha * s[i], w[i] - alpha * z[i]);
        }
        (last_gamma, steps) = (gamma, steps + 1);
    }

    let (mut d, mut direct) = (vec![DIAGONAL; N], (0..N).map(right_side).collect::<Vec<_>>());
    (1..N).for_each(|i| (d[i], direct[i]) = (DIAGONAL - 1.0 / d[i - 1], direct[i] + direct[i - 1] / d[i - 1]));
    direct[N - 1] /= d[N - 1]; // on one rank: Gauss' elimination
    (0..N - 1).rev().for_each(|i| direct[i] = (direct[i] + direct[i + 1]) / d[i]);
    let errors: f64 = x.iter().zip(&direct[rows]).map(|(x, direct)| (x - direct).abs()).sum();
    match node.allreduce(&Operator::sum(), vec![errors])?[0] {
        sum if sum < 1e-7 && rank == 0 => println!("cg: {N} unknowns, {size} ranks, {steps} steps: correct"),
        sum if sum < 1e-7 => {}
        sum => return Err(format!("the sequential result differs by {sum}").into()),
    }
    Ok(node.finalize()?)
}

/// The matrix times a vector of which each rank has its rows.
fn product(node: &Node, v: &[f64]) -> lathide::Result<Vec<f64>> {
    let [before, behind] = [node.rank().below(), node.rank().above(node.size())].map(|rank| rank.map(|rank| (rank, 1)));
    let rows = before.map(|_| 0).into_iter().chain(behind.map(|_| v.len() - 1)); // that a neighbour needs
    let shifts = [before, behind].map(|neighbour| Shift { to: neighbour, from: neighbour });
    let ghosts = node.initexchange(&shifts, rows.clone().map(|row| v[row]).collect())?;
    let mut result: Vec<f64> = v.iter().map(|v| DIAGONAL * v).collect();
    (1..v.len()).for_each(|i| (result[i], result[i - 1]) = (result[i] - v[i - 1], result[i - 1] - v[i]));
    ghosts.wait()?.iter().zip(rows).for_each(|(ghost, row)| result[row] -= ghost);
    Ok(result)
}
