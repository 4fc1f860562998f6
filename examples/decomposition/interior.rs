//! The fast Poisson solver of a subdomain's interior, by sine transforms in both directions: `n^2 log n` operations.
//!
//! The matrix is that of the five-point stencil times `h^2`: 4 on the diagonal, -1 for each neighbour. Sines are its eigenvectors,
//! so a solution is known by its spectrum. Two short cuts use that: the solution next to the edges follows from the spectrum
//! before the rest does, and the spectrum of a right side that is zero but next to the edges needs no transform in two dimensions.

use std::ops::Range;

use super::sine::Sine;

/// A solver for all subdomains of one size.
pub(super) struct Interior {
    n: usize,
    sine: Sine,
    /// `sin(pi k / n)`, for `k` in `1..n`: the eigenvectors next to their first end. At the other end the even ones change sign.
    first: Vec<f64>,
    /// `4 sin^2(pi k / 2 n)`: the eigenvalues in one dimension.
    eigenvalues: Vec<f64>,
    turned: Vec<f64>,
}

impl Interior {
    pub(super) fn new(n: usize) -> Self {
        let angle = |k: usize| std::f64::consts::PI * k as f64 / n as f64;
        Interior {
            n,
            sine: Sine::new(n),
            first: (1..n).map(|k| angle(k).sin()).collect(),
            eigenvalues: (1..n).map(|k| 4.0 * (angle(k) / 2.0).sin().powi(2)).collect(),
            turned: vec![0.0; (n - 1) * (n - 1)],
        }
    }

    /// The spectrum of the solution for a right side: the interior of a subdomain's `n` rows of `n` points.
    pub(super) fn spectrum(&mut self, right_side: &[f64], spectrum: &mut [f64]) {
        let (n, m) = (self.n, self.n - 1);
        spectrum
            .chunks_exact_mut(m)
            .zip(right_side.chunks_exact(n))
            .for_each(|(to, from)| to.copy_from_slice(&from[..m]));
        self.sine.transform(spectrum);
        self.turn(spectrum);
        self.sine.transform(spectrum);
        self.divide(spectrum);
    }

    /// The spectrum of the solution for a right side that is zero but for the points next to the sides, in the order west, south,
    /// east, north. The corners' points belong to two sides.
    pub(super) fn spectrum_of_sides(&mut self, sides: &mut [Vec<f64>; 4], spectrum: &mut [f64]) {
        sides.iter_mut().for_each(|side| self.sine.transform(side));
        let [west, south, east, north] = &*sides;
        let both = |a: &[f64], b: &[f64], sign: f64| a.iter().zip(b).map(|(a, b)| a + sign * b).collect::<Vec<f64>>();
        // What meets an eigenvector with an odd number, and with an even one: it has different signs at its two ends.
        let across = [both(west, east, 1.0), both(west, east, -1.0)];
        let along = [both(south, north, 1.0), both(south, north, -1.0)];
        for (k, row) in spectrum.chunks_exact_mut(self.n - 1).enumerate() {
            let (own, ends, across) = (self.first[k], [along[0][k], along[1][k]], &across[k % 2]);
            for (pair, (first, across)) in row.chunks_mut(2).zip(self.first.chunks(2).zip(across.chunks(2))) {
                let values = pair.iter_mut().zip(first.iter().zip(across).zip(ends));
                values.for_each(|(value, ((first, across), along))| *value = own * across + first * along);
            }
        }
        self.divide(spectrum);
    }

    /// The solution at the points next to the sides, from its spectrum, in the order west, south, east, north.
    pub(super) fn next_to_sides(&mut self, spectrum: &[f64]) -> [Vec<f64>; 4] {
        let m = self.n - 1;
        let [mut odd, mut even] = [vec![0.0; m], vec![0.0; m]];
        let [mut south, mut north] = [vec![0.0; m], vec![0.0; m]];
        for (k, row) in spectrum.chunks_exact(m).enumerate() {
            let (sum, across) = (if k % 2 == 0 { &mut odd } else { &mut even }, self.first[k]);
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += across * value);
            let mut ends = [0.0; 2];
            for (pair, first) in row.chunks(2).zip(self.first.chunks(2)) {
                pair.iter().zip(first).zip(&mut ends).for_each(|((value, first), end)| *end += first * value);
            }
            (south[k], north[k]) = (ends[0] + ends[1], ends[0] - ends[1]);
        }
        let west = odd.iter().zip(&even).map(|(odd, even)| odd + even).collect();
        let east = odd.iter().zip(&even).map(|(odd, even)| odd - even).collect();
        let mut sides = [west, south, east, north];
        sides.iter_mut().for_each(|side| self.sine.transform(side));
        sides
    }

    /// From the spectrum half of the way to the solution: transformed back in one direction.
    pub(super) fn back(&mut self, spectrum: &mut [f64]) {
        self.sine.transform(spectrum);
        self.turn(spectrum);
    }

    /// The other half of the way, for some of the rows.
    pub(super) fn back_rows(&mut self, half: &mut [f64], rows: Range<usize>) {
        let m = self.n - 1;
        self.sine.transform(&mut half[rows.start * m..rows.end * m]);
    }

    /// Divides by the eigenvalues, and by what the transforms there and back multiply with.
    fn divide(&self, spectrum: &mut [f64]) {
        let scale = (2.0 / self.n as f64).powi(2);
        for (row, across) in spectrum.chunks_exact_mut(self.n - 1).zip(&self.eigenvalues) {
            row.iter_mut().zip(&self.eigenvalues).for_each(|(value, along)| *value *= scale / (across + along));
        }
    }

    /// Transposes, block by block.
    fn turn(&mut self, square: &mut [f64]) {
        const BLOCK: usize = 16;
        let m = self.n - 1;
        for j in (0..m).step_by(BLOCK) {
            for i in (0..m).step_by(BLOCK) {
                for row in j..(j + BLOCK).min(m) {
                    (i..(i + BLOCK).min(m)).for_each(|column| self.turned[column * m + row] = square[row * m + column]);
                }
            }
        }
        square.copy_from_slice(&self.turned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| f64::from((i * 7919 % 101) as u32) / 50.0 - 1.0).collect()
    }

    /// A solution of `m` rows of `m` points, from its spectrum.
    fn solution(interior: &mut Interior, mut spectrum: Vec<f64>) -> Vec<f64> {
        interior.back(&mut spectrum);
        let m = interior.n - 1;
        interior.back_rows(&mut spectrum, 0..m / 2);
        interior.back_rows(&mut spectrum, m / 2..m);
        spectrum
    }

    /// The right side at a point, from the solution.
    fn product(u: &[f64], m: usize, column: usize, row: usize) -> f64 {
        let at = |i: usize, j: usize| {
            if (1..=m).contains(&i) && (1..=m).contains(&j) { u[(j - 1) * m + i - 1] } else { 0.0 }
        };
        let (i, j) = (column + 1, row + 1);
        4.0 * at(i, j) - at(i - 1, j) - at(i + 1, j) - at(i, j - 1) - at(i, j + 1)
    }

    #[test]
    fn solves_the_five_point_equations() {
        for n in [2, 4, 8, 32] {
            let (mut interior, m) = (Interior::new(n), n - 1);
            let (right_side, mut spectrum) = (numbers(n * n), vec![0.0; m * m]);
            interior.spectrum(&right_side, &mut spectrum);
            let sides = interior.next_to_sides(&spectrum);
            let u = solution(&mut interior, spectrum);
            for (row, column) in (0..m).flat_map(|row| (0..m).map(move |column| (row, column))) {
                let difference = product(&u, m, column, row) - right_side[row * n + column];
                assert!(difference.abs() < 1e-12, "n = {n}, column {column}, row {row}: {difference}");
            }
            let expected = |at: usize| [u[at * m], u[at], u[at * m + m - 1], u[(m - 1) * m + at]];
            for (at, side) in (0..m).flat_map(|at| (0..4).map(move |side| (at, side))) {
                assert!((sides[side][at] - expected(at)[side]).abs() < 1e-12, "n = {n}, side {side}, {at}");
            }
        }
    }

    #[test]
    fn solves_for_a_right_side_next_to_the_sides() {
        for n in [2, 4, 8, 32] {
            let (mut interior, m) = (Interior::new(n), n - 1);
            let all = numbers(4 * m);
            let mut sides = [0, 1, 2, 3].map(|side| all[side * m..(side + 1) * m].to_vec());
            let mut right_side = vec![0.0; n * n];
            for at in 0..m {
                right_side[at * n] += sides[0][at];
                right_side[at] += sides[1][at];
                right_side[at * n + m - 1] += sides[2][at];
                right_side[(m - 1) * n + at] += sides[3][at];
            }
            let [mut expected, mut spectrum] = [vec![0.0; m * m], vec![0.0; m * m]];
            interior.spectrum(&right_side, &mut expected);
            interior.spectrum_of_sides(&mut sides, &mut spectrum);
            let difference = expected.iter().zip(&spectrum).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(difference < 1e-12, "n = {n}: {difference}");
        }
    }
}
