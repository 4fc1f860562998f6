//! What a multigrid cycle calculates: weighted Jacobi sweeps, the residual, full weighting and linear interpolation for
//! Poisson's equation with the usual stencil of `2 D + 1` points (Matheson and Tarjan 1993, "explicit weighted Jacobi", second
//! order). Pure.
//!
//! `b` is the right side times h², and so is the residual. Each function counts its floating point operations: every addition,
//! subtraction and multiplication of values is one. A test counts them by a type that sees each.

use std::array::from_fn;
use std::ops::{Add, Mul, Sub};

use super::cube::{Block, Cube};

/// What is calculated with.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + From<f64>
{
}

impl Number for f64 {}

/// The sums of neighbours on both sides, dimension by dimension, at the points of a line.
fn neighbours<T: Number, const D: usize>(u: &[T], start: usize, count: usize, cube: Cube<D>) -> [[&[T]; 2]; D] {
    let strides = cube.strides();
    from_fn(|d| [&u[start - strides[d]..][..count], &u[start + strides[d]..][..count]])
}

fn sum<T: Number, const D: usize>(sides: &[[&[T]; 2]; D], at: usize) -> T {
    let mut sum = sides[0][0][at] + sides[0][1][at];
    for [before, behind] in &sides[1..] {
        sum = sum + before[at] + behind[at];
    }
    sum
}

/// A weighted Jacobi sweep: `new = (1 - w) u + w / 2D (b + neighbours)`.
pub(crate) fn sweep<T: Number, const D: usize>(
    cube: Cube<D>,
    block: &Block<D>,
    [u, b]: [&[T]; 2],
    new: &mut [T],
    weight: f64,
) -> u64 {
    let [kept, taken] = [T::from(1.0 - weight), T::from(weight / (2 * D) as f64)];
    let count = block.count[D - 1];
    block.lines(cube, |start, _| {
        let sides = neighbours(u, start, count, cube);
        let (u, b, new) = (&u[start..][..count], &b[start..][..count], &mut new[start..][..count]);
        for at in 0..count {
            new[at] = kept * u[at] + taken * (b[at] + sum(&sides, at));
        }
    });
    (block.len() * (2 * D + 3)) as u64
}

/// The same where `u` is 0: `new = w / 2D b`. With the weight 1 it solves the equation of a single point.
pub(crate) fn first_sweep<T: Number, const D: usize>(
    cube: Cube<D>,
    block: &Block<D>,
    b: &[T],
    new: &mut [T],
    weight: f64,
) -> u64 {
    let taken = T::from(weight / (2 * D) as f64);
    let count = block.count[D - 1];
    block.lines(cube, |start, _| {
        let line = new[start..][..count].iter_mut().zip(&b[start..][..count]);
        line.for_each(|(new, b)| *new = taken * *b);
    });
    block.len() as u64
}

/// The residual: `r = b + neighbours - 2D u`.
pub(crate) fn residual<T: Number, const D: usize>(
    cube: Cube<D>,
    block: &Block<D>,
    [u, b]: [&[T]; 2],
    r: &mut [T],
) -> u64 {
    let diagonal = T::from((2 * D) as f64);
    let count = block.count[D - 1];
    block.lines(cube, |start, _| {
        let sides = neighbours(u, start, count, cube);
        let (u, b, r) = (&u[start..][..count], &b[start..][..count], &mut r[start..][..count]);
        for at in 0..count {
            r[at] = b[at] + sum(&sides, at) - diagonal * u[at];
        }
    });
    (block.len() * (2 * D + 2)) as u64
}

/// Full weighting of the residual at the even points `block` to the coarse points from `to` on. The right side of the coarse
/// grid is four times that, since h² is.
pub(crate) fn restrict<T: Number, const D: usize>(
    [fine, coarse]: [Cube<D>; 2],
    block: &Block<D>,
    to: [usize; D],
    r: &[T],
    b: &mut [T],
) -> u64 {
    let classes: [Vec<usize>; 4] = from_fn(|nonzero| if nonzero <= D { offsets(fine, nonzero) } else { Vec::new() });
    let scale = T::from(4.0 / 4f64.powi(D as i32));
    let weights: [T; 4] = from_fn(|nonzero| T::from(2f64.powi(D as i32 - nonzero as i32)));
    // Offsets are counted from the lowest corner of the points around.
    let corner = fine.at([1; D]);
    block.lines(fine, |start, number| {
        let line = coarse.at(from_fn(|d| to[d] + if d + 1 < D { number[d] } else { 0 }));
        for (at, b) in b[line..][..block.count[D - 1]].iter_mut().enumerate() {
            let around = &r[start + 2 * at - corner..];
            let of = |class: &[usize]| class[1..].iter().fold(around[class[0]], |sum, offset| sum + around[*offset]);
            let mut sum = weights[0] * around[corner];
            for nonzero in 1..D {
                sum = sum + weights[nonzero] * of(&classes[nonzero]);
            }
            *b = scale * (sum + of(&classes[D]));
        }
    });
    (block.len() * (3usize.pow(D as u32) + D)) as u64
}

/// The points around the middle one of a block of 3 in each dimension that differ from it in so many dimensions, counted from
/// its lowest corner.
fn offsets<const D: usize>(cube: Cube<D>, nonzero: usize) -> Vec<usize> {
    let all = (0..3usize.pow(D as u32)).map(|number| from_fn(|d| number / 3usize.pow(d as u32) % 3));
    all.filter(|point: &[usize; D]| point.iter().filter(|x| **x != 1).count() == nonzero)
        .map(|point| cube.at(point))
        .collect()
}

/// Brings the coarse solution to the even points `block`; it is in the coarse points from `from` on.
pub(crate) fn inject<const D: usize>(
    [fine, coarse]: [Cube<D>; 2],
    block: &Block<D>,
    from: [usize; D],
    u: &[f64],
    e: &mut [f64],
) {
    let points = Block { first: from, count: block.count, step: 1 };
    block.unpack(fine, e, &points.pack(coarse, u));
}

/// Linear interpolation of what is in the even points of `e`, added to `u` at the points of one parity: each is the mean of the
/// nearest even points.
pub(crate) fn interpolate<T: Number, const D: usize>(
    cube: Cube<D>,
    block: &Block<D>,
    parity: [usize; D],
    e: &[T],
    u: &mut [T],
) -> u64 {
    let odd = parity.iter().sum::<usize>();
    let strides = cube.strides();
    let mut offsets = vec![0];
    let mut lowest = 0;
    for d in (0..D).filter(|d| parity[*d] == 1) {
        offsets = offsets.into_iter().flat_map(|offset| [offset, offset + 2 * strides[d]]).collect();
        lowest += strides[d];
    }
    let part = T::from(1.0 / offsets.len() as f64);
    block.lines(cube, |start, _| {
        for at in (start..).step_by(2).take(block.count[D - 1]) {
            let around = &e[at - lowest..];
            let sum = offsets[1..].iter().fold(around[0], |sum, offset| sum + around[*offset]);
            u[at] = u[at] + if odd == 0 { sum } else { part * sum };
        }
    });
    let each = if odd == 0 { 1 } else { offsets.len() + 1 };
    (block.len() * each) as u64
}

/// The greatest absolute value; it does not depend on an order.
pub(crate) fn largest<const D: usize>(cube: Cube<D>, block: &Block<D>, array: &[f64]) -> f64 {
    let mut largest = 0.0f64;
    block.lines(cube, |start, _| {
        largest = array[start..][..block.count[D - 1]].iter().fold(largest, |most, value| most.max(value.abs()));
    });
    largest
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! { static OPERATIONS: Cell<u64> = const { Cell::new(0) }; }

    /// Counts what is done with it.
    #[derive(Clone, Copy)]
    struct Counted(f64);

    impl From<f64> for Counted {
        fn from(value: f64) -> Self {
            Counted(value)
        }
    }

    fn counted(value: f64) -> Counted {
        OPERATIONS.set(OPERATIONS.get() + 1);
        Counted(value)
    }

    impl Add for Counted {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            counted(self.0 + other.0)
        }
    }

    impl Sub for Counted {
        type Output = Self;
        fn sub(self, other: Self) -> Self {
            counted(self.0 - other.0)
        }
    }

    impl Mul for Counted {
        type Output = Self;
        fn mul(self, other: Self) -> Self {
            counted(self.0 * other.0)
        }
    }

    impl Number for Counted {}

    fn operations<const D: usize>() {
        let cube = Cube::<D> { side: 6 };
        let [u, b] = [3.0, 4.0].map(|value| vec![Counted(value); cube.len()]);
        let mut out = vec![Counted(0.0); cube.len()];
        let block = Block::of(from_fn(|d| 6 - d));
        let same = |said: u64, what: &str| {
            assert_eq!(said, OPERATIONS.replace(0), "{what} in {D} dimensions");
            assert!(said > 0, "{what}");
        };
        same(sweep(cube, &block, [&u, &b], &mut out, 0.8), "sweep");
        same(first_sweep(cube, &block, &b, &mut out, 0.8), "first sweep");
        same(residual(cube, &block, [&u, &b], &mut out), "residual");
        let even = block.of_parity([0; D], [0; D]);
        let coarse = Cube { side: 3 };
        same(restrict([cube, coarse], &even, [1; D], &b, &mut out), "restriction");
        for number in 0..1 << D {
            let parity = from_fn(|d| number >> d & 1);
            let points = block.of_parity([0; D], parity);
            same(interpolate(cube, &points, parity, &b, &mut out), "interpolation");
        }
    }

    #[test]
    fn the_counts_are_those_of_the_operations() {
        operations::<2>();
        operations::<3>();
    }

    /// What is linear in every dimension is kept by restriction (but for the 4 of h²) and by interpolation.
    fn linear<const D: usize>() {
        let (fine, coarse) = (Cube::<D> { side: 6 }, Cube::<D> { side: 3 });
        let value = |point: [usize; D]| point.iter().enumerate().map(|(d, x)| (d + 1) as f64 * *x as f64).sum::<f64>();
        let mut r = vec![0.0; fine.len()];
        let all = Block { first: [0; D], count: [8; D], step: 1 };
        let everything: Vec<[usize; D]> =
            (0..fine.len()).map(|at| from_fn(|d| at / 8usize.pow((D - 1 - d) as u32) % 8)).collect();
        all.unpack(fine, &mut r, &everything.iter().map(|point| value(*point)).collect::<Vec<_>>());
        let even = Block::of([6; D]).of_parity([0; D], [0; D]);
        let mut b = vec![0.0; coarse.len()];
        restrict([fine, coarse], &even, [1; D], &r, &mut b);
        assert_eq!(b[coarse.at([2; D])], 4.0 * value([4; D]));
        assert_eq!(b[coarse.at(from_fn(|d| 1 + d))], 4.0 * value(from_fn(|d| 2 + 2 * d)));
        // The odd points are not looked at.
        let mut e = vec![f64::NAN; fine.len()];
        let known = all.of_parity([0; D], [0; D]);
        known.unpack(fine, &mut e, &known.pack(fine, &r));
        let mut u = vec![1.0; fine.len()];
        for number in 0..1 << D {
            let parity = from_fn(|d| number >> d & 1);
            interpolate(fine, &Block::of([5; D]).of_parity([0; D], parity), parity, &e, &mut u);
        }
        for point in everything.iter().filter(|point| point.iter().all(|x| (1..=5).contains(x))) {
            assert_eq!(u[fine.at(*point)], 1.0 + value(*point), "{point:?}");
        }
        let mut injected = vec![0.0; fine.len()];
        inject([fine, coarse], &even, [1; D], &b, &mut injected);
        assert_eq!(injected[fine.at([4; D])], b[coarse.at([2; D])]);
    }

    #[test]
    fn linear_functions_are_kept() {
        linear::<2>();
        linear::<3>();
    }

    #[test]
    fn a_sweep_moves_by_the_weighted_residual() {
        let cube = Cube::<2> { side: 4 };
        let u: Vec<f64> = (0..cube.len()).map(|at| (at * at % 17) as f64).collect();
        let b: Vec<f64> = (0..cube.len()).map(|at| (at % 5) as f64).collect();
        let (mut new, mut r) = (u.clone(), vec![0.0; cube.len()]);
        let block = Block::of([4; 2]);
        sweep(cube, &block, [&u, &b], &mut new, 0.8);
        residual(cube, &block, [&u, &b], &mut r);
        for (at, r) in r.iter().enumerate() {
            assert!((new[at] - u[at] - 0.2 * r).abs() < 1e-12, "{at}");
        }
        assert_eq!(
            largest(cube, &block, &[r.clone(), vec![]].concat()),
            r.iter().fold(0.0, |most: f64, r| most.max(r.abs()))
        );
    }
}
