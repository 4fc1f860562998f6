//! Conjugate gradients on all unknowns, with the wire-basket preconditioner.
//!
//! The algorithm is Gropp's (see Ghysels and Vanroose 2014): it keeps `s = A p` and `z = M^-1 r` by recurrences. The iterates are those
//! of the usual algorithm but for rounding, and each of the two global sums has something to overlap with: the first one the
//! preconditioner, the second one the product with the matrix.

use super::condition::Step;
use super::layout::Layout;
use super::messages::{Arrived, Kind, Messages, Pending};
use super::options::Options;
use super::preconditioner::Preconditioner;
use super::problem;
use super::stencil::{
    add, add_scaled, clear_boundary, dot, larger, line, nothing_around, product_around, product_inside,
};

/// A solve that needs more iterations does not converge.
const MOST_ITERATIONS: usize = 1000;

/// A vector: the part of each subdomain of this rank.
type Field = Vec<Vec<f64>>;

pub(super) struct Solver<'a> {
    messages: Messages<'a>,
    preconditioner: Preconditioner,
    now: State,
    /// The state before the first iteration, where every solve begins.
    start: State,
    /// What the preconditioner makes of `s`.
    q: Field,
    /// The product of the matrix with `z`.
    w: Field,
    /// The last solve that has converged, of several.
    converged: Option<Converged>,
}

/// The solution, the residual, and its norm.
struct Converged {
    x: Field,
    r: Field,
    residual: f64,
}

/// The vectors of an iteration, and `(r, z)`.
#[derive(Clone)]
struct State {
    x: Field,
    r: Field,
    z: Field,
    p: Field,
    s: Field,
    gamma: f64,
}

/// What has been done.
#[derive(Debug)]
pub(super) struct Solved {
    pub(super) iterations: usize,
    /// Iterations that the first solve took until it had converged; `None` if it has not.
    pub(super) converged: Option<usize>,
    /// The root of `(r, M^-1 r)`, at the end and over what it was at the beginning of the solve.
    pub(super) residual: f64,
    pub(super) relative: f64,
    /// The iterations of the first solve.
    pub(super) steps: Vec<Step>,
}

impl<'a> Solver<'a> {
    /// Carries out what precedes the first iteration, for `x = 0`.
    pub(super) fn new(messages: Messages<'a>) -> lathide::Result<Self> {
        let (layout, own) = (messages.layout, messages.own());
        let zero: Field = own.clone().map(|_| vec![0.0; layout.n * layout.n]).collect();
        let r: Field = own.clone().map(|s| problem::right_side(&layout, s)).collect();
        let mut preconditioner = Preconditioner::new(&layout, own);
        let (mut z, mut s) = (zero.clone(), zero.clone());
        preconditioner.apply(&messages, &r, &mut z)?;
        let lines = messages.start(Kind::A, |s, side| line(part(&z, &messages, s), layout.n, side))?;
        product(&messages, &z, lines, &mut s)?;
        let gamma = messages.start_sum(dots(&r, &z))?.finish()?;
        let now = State { x: zero.clone(), r, p: z.clone(), z, s, gamma };
        Ok(Solver { start: now.clone(), now, messages, preconditioner, q: zero.clone(), w: zero, converged: None })
    }

    /// Iterates until the residual is small enough; or as often as it is told, beginning anew whenever it is. Then the last solve
    /// that has converged remains, if there is one.
    pub(super) fn solve(&mut self, options: &Options) -> Result<Solved, Box<dyn std::error::Error>> {
        let first = self.start.gamma.sqrt();
        let mut solved = Solved { iterations: 0, converged: None, residual: first, relative: 1.0, steps: Vec::new() };
        let mut in_this_solve = 0;
        let is_last = |done: usize| done > 0 && done == options.iterations;
        while !is_last(solved.iterations) {
            let step = self.iterate()?;
            if solved.converged.is_none() {
                solved.steps.push(step);
            }
            (solved.iterations, in_this_solve) = (solved.iterations + 1, in_this_solve + 1);
            // When nothing remains but rounding errors, gamma may be negative.
            solved.residual = self.now.gamma.abs().sqrt();
            solved.relative = solved.residual / first;
            if solved.relative <= options.tolerance {
                solved.converged.get_or_insert(in_this_solve);
                if options.iterations == 0 || is_last(solved.iterations) {
                    return Ok(solved);
                }
                self.begin_anew(solved.residual);
                in_this_solve = 0;
            } else if !solved.relative.is_finite() || in_this_solve == MOST_ITERATIONS {
                let why =
                    format!("no convergence: after {in_this_solve} iterations the residual is {:e}", solved.relative);
                return Err(format!("{why} of the first, --tolerance {:e}", options.tolerance).into());
            }
        }
        if let Some(Converged { x, r, residual }) = self.converged.take() {
            (self.now.x, self.now.r) = (x, r);
            (solved.residual, solved.relative) = (residual, residual / first);
        }
        Ok(solved)
    }

    fn begin_anew(&mut self, residual: f64) {
        let (State { x, r, z, p, s, gamma }, start) = (&mut self.now, &self.start);
        let spare = |field: &Field| field.iter().map(|part| vec![0.0; part.len()]).collect::<Field>();
        let converged = self.converged.get_or_insert_with(|| Converged { x: spare(x), r: spare(r), residual });
        converged.residual = residual;
        std::mem::swap(x, &mut converged.x);
        std::mem::swap(r, &mut converged.r);
        for (to, from) in [(x, &start.x), (r, &start.r), (z, &start.z), (p, &start.p), (s, &start.s)] {
            each(to, from, <[f64]>::copy_from_slice);
        }
        *gamma = start.gamma;
    }

    fn iterate(&mut self) -> lathide::Result<Step> {
        let (messages, preconditioner) = (&self.messages, &mut self.preconditioner);
        let State { x, r, z, p, s, gamma } = &mut self.now;
        let (q, w, n) = (&mut self.q, &mut self.w, messages.layout.n);
        messages.iteration(|| {
            let delta = messages.start_sum(dots(p, s))?;
            preconditioner.apply(messages, s, q)?;
            let alpha = *gamma / delta.finish()?;
            each(z, q, |z, q| add(z, -alpha, q));
            let lines = messages.start(Kind::A, |s, side| line(part(z, messages, s), n, side))?;
            each(r, s, |r, s| add(r, -alpha, s));
            let sum = messages.start_sum(dots(r, z))?;
            each(x, p, |x, p| add(x, alpha, p));
            product(messages, z, lines, w)?;
            let next = sum.finish()?;
            let beta = next / *gamma;
            *gamma = next;
            each(p, z, |p, z| add_scaled(p, beta, z));
            each(s, w, |s, w| add_scaled(s, beta, w));
            Ok(Step { alpha, beta })
        })
    }

    /// The largest differences on this rank: of the solution from that of the problem, and of the residual that was kept by a
    /// recurrence from that of the solution; and each subdomain's checksum of the solution.
    pub(super) fn check(&mut self) -> lathide::Result<([f64; 2], Vec<u64>)> {
        let (messages, State { x, r, .. }) = (&self.messages, &self.now);
        let layout = messages.layout;
        let lines = messages.start(Kind::A, |s, side| line(part(x, messages, s), layout.n, side))?;
        product(messages, x, lines, &mut self.w)?;
        let mut worst = [0.0; 2];
        for (at, s) in messages.own().enumerate() {
            let right_side = problem::right_side(&layout, s);
            let residuals = right_side.iter().zip(&self.w[at]).map(|(b, w)| b - w).zip(&r[at]);
            let drift = residuals.map(|(residual, r)| (residual - r).abs()).fold(0.0, larger);
            worst = [larger(worst[0], problem::error(&layout, s, &x[at])), larger(worst[1], drift)];
        }
        Ok((worst, x.iter().map(|x| checksum(x)).collect()))
    }
}

/// The product of the matrix with a vector; its lines at the subdomains' sides are on their way.
fn product(messages: &Messages, v: &Field, lines: Pending<Vec<Arrived>>, result: &mut Field) -> lathide::Result<()> {
    let (layout, first) = (messages.layout, messages.own().start);
    each(result, v, |result, v| product_inside(v, layout.n, result));
    let mut outside: Vec<_> = v.iter().map(|_| nothing_around(layout.n)).collect();
    for (s, side, line) in lines.finish()? {
        outside[s - first][side as usize] = line;
    }
    for (s, (result, (v, outside))) in messages.own().zip(result.iter_mut().zip(v.iter().zip(&outside))) {
        product_around(v, outside, layout.n, result);
        clear_boundary(&layout, s, result);
    }
    Ok(())
}

/// A subdomain's part of a vector.
fn part<'v>(v: &'v Field, messages: &Messages, subdomain: usize) -> &'v [f64] {
    &v[subdomain - messages.own().start]
}

/// Each subdomain's scalar product.
fn dots(a: &Field, b: &Field) -> impl Iterator<Item = f64> {
    a.iter().zip(b).map(|(a, b)| dot(a, b))
}

fn each(to: &mut Field, from: &Field, change: impl Fn(&mut [f64], &[f64])) {
    to.iter_mut().zip(from).for_each(|(to, from)| change(to, from));
}

/// Of all bits (Fowler, Noll and Vo, by words).
fn checksum(values: &[f64]) -> u64 {
    values.iter().fold(0xcbf2_9ce4_8422_2325, |sum, value| mix(sum, value.to_bits()))
}

pub(super) fn mix(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
}

/// The largest error that is to be expected: of the equations, and of their solution.
///
/// On a grid of `N` cells per side the largest value of a function is at most `sqrt(1/4 + ln N / 2 pi)` times its energy, the root of
/// the sum of all squared differences of neighbours (Green's function at its pole is the square of that). The residual's norm is the
/// energy of the error but for the preconditioner: [`energy_per_residual`].
pub(super) fn allowed_error(layout: &Layout, residual: f64) -> f64 {
    let largest = (0.25 + (layout.cells() as f64).ln() / (2.0 * std::f64::consts::PI)).sqrt();
    problem::discretization_error(layout) + largest * energy_per_residual(layout) * residual
}

/// At most so many times the residual's norm is the energy of the error: the root of the inverse of the smallest eigenvalue of the
/// preconditioned matrix. By the theory it is `O(1 + ln n)`; the factor 0.6 is found by experiment, and tested.
pub(super) fn energy_per_residual(layout: &Layout) -> f64 {
    1.0 + 0.6 * (layout.n as f64).ln()
}
