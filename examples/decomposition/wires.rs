//! The wire basket: edges and crosspoints (Bramble, Pasciak and Schatz).
//!
//! On an edge the Schur complement is replaced by `2 K^(1/2)`, where `K` is the one-dimensional Laplacian with -1, 2, -1: sines are
//! its eigenvectors. What the crosspoints have is continued linearly along the edges. Their own matrix is the five-point stencil of
//! the coarse grid, whose cells are the subdomains.

use super::layout::Layout;
use super::sine::Sine;

/// Solvers for edges of one length.
pub(super) struct Edges {
    n: usize,
    sine: Sine,
}

impl Edges {
    pub(super) fn new(n: usize) -> Self {
        Edges { n, sine: Sine::new(n) }
    }

    /// What an edge contributes to the right sides of the crosspoints at its two ends: sums with the weights of linear interpolation.
    pub(super) fn arms(&self, residual: &[f64]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for (k, value) in (1..).zip(residual) {
            let weight = f64::from(k) / self.n as f64;
            sums = [sums[0] + (1.0 - weight) * value, sums[1] + weight * value];
        }
        sums
    }

    /// Replaces a right side by the solution for `2 K^(1/2)`.
    pub(super) fn solve(&mut self, right_side: &mut [f64]) {
        self.sine.transform(right_side);
        for (k, value) in (1..).zip(&mut *right_side) {
            let root = 2.0 * (std::f64::consts::PI * f64::from(k) / (2.0 * self.n as f64)).sin();
            *value *= 2.0 / self.n as f64 / (2.0 * root);
        }
        self.sine.transform(right_side);
    }

    /// Adds what is linear between two crosspoints.
    pub(super) fn add_linear(&self, edge: &mut [f64], [start, end]: [f64; 2]) {
        for (k, value) in (1..).zip(edge) {
            let weight = f64::from(k) / self.n as f64;
            *value += (1.0 - weight) * start + weight * end;
        }
    }
}

/// The crosspoints' matrix, in full, as its Cholesky factor.
pub(super) struct Crosspoints {
    /// The rows of the lower triangle.
    factor: Vec<Vec<f64>>,
}

impl Crosspoints {
    pub(super) fn new(layout: &Layout) -> Self {
        let mut factor: Vec<Vec<f64>> = (0..layout.crosspoints()).map(|row| matrix_row(layout, row)).collect();
        for row in 0..factor.len() {
            let (above, rest) = factor.split_at_mut(row);
            let here = &mut rest[0];
            for column in 0..row {
                let sum: f64 = here[..column].iter().zip(&above[column]).map(|(a, b)| a * b).sum();
                here[column] = (here[column] - sum) / above[column][column];
            }
            let sum: f64 = here[..row].iter().map(|a| a * a).sum();
            here[row] = (here[row] - sum).sqrt();
        }
        Crosspoints { factor }
    }

    /// Replaces a right side by the solution.
    pub(super) fn solve(&self, right_side: &mut [f64]) {
        for (row, factors) in self.factor.iter().enumerate() {
            let sum: f64 = factors[..row].iter().zip(&*right_side).map(|(a, b)| a * b).sum();
            right_side[row] = (right_side[row] - sum) / factors[row];
        }
        for (row, factors) in self.factor.iter().enumerate().rev() {
            let value = right_side[row] / factors[row];
            right_side[row] = value;
            right_side.iter_mut().zip(&factors[..row]).for_each(|(above, factor)| *above -= factor * value);
        }
    }
}

/// A row of the matrix, up to the diagonal.
fn matrix_row(layout: &Layout, row: usize) -> Vec<f64> {
    let place = |crosspoint: usize| (crosspoint % (layout.side - 1), crosspoint / (layout.side - 1));
    let (i, j) = place(row);
    let element = |(other_i, other_j): (usize, usize)| match i.abs_diff(other_i) + j.abs_diff(other_j) {
        0 => 4.0,
        1 => -1.0,
        _ => 0.0,
    };
    (0..=row).map(|column| element(place(column))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The solution for `K^(1/2)`, twice, is that for `K`.
    #[test]
    fn the_edge_solver_is_a_root() {
        for n in [2, 4, 16, 64] {
            let mut edges = Edges::new(n);
            let right_side: Vec<f64> = (1..n).map(|k| f64::from((k * 31 % 17) as u32) - 8.0).collect();
            let mut u = right_side.clone();
            edges.solve(&mut u);
            edges.solve(&mut u);
            let at = |k: usize| if (1..n).contains(&k) { u[k - 1] } else { 0.0 };
            for k in 1..n {
                // 2 K^(1/2) twice is 4 K.
                let product = 4.0 * (2.0 * at(k) - at(k - 1) - at(k + 1));
                assert!((product - right_side[k - 1]).abs() < 1e-10, "n = {n}, k = {k}: {product}");
            }
        }
    }

    /// The sums with weights are the transpose of linear interpolation.
    #[test]
    fn arms_are_the_transpose_of_interpolation() {
        let edges = Edges::new(8);
        let residual = [1.0, -2.0, 3.0, 5.0, -7.0, 11.0, 13.0];
        for ends in [[1.0, 0.0], [0.0, 1.0], [0.5, -3.0]] {
            let mut linear = [0.0; 7];
            edges.add_linear(&mut linear, ends);
            let product: f64 = linear.iter().zip(&residual).map(|(a, b)| a * b).sum();
            let [start, end] = edges.arms(&residual);
            assert!((product - start * ends[0] - end * ends[1]).abs() < 1e-12, "{ends:?}");
        }
    }

    #[test]
    fn the_crosspoints_solution_fits_their_equations() {
        for side in [1, 2, 3, 4, 8] {
            let layout = Layout { side, n: 2, ranks: 1 };
            let right_side: Vec<f64> = (0..layout.crosspoints()).map(|c| f64::from((c * 5 % 7) as u32) - 2.0).collect();
            let mut solution = right_side.clone();
            Crosspoints::new(&layout).solve(&mut solution);
            let value = |i, j| layout.crosspoint((i, j)).map_or(0.0, |c| solution[c]);
            for (i, j) in (1..side).flat_map(|i| (1..side).map(move |j| (i, j))) {
                let around = value(i - 1, j) + value(i + 1, j) + value(i, j - 1) + value(i, j + 1);
                let expected = layout.crosspoint((i, j)).map(|c| right_side[c]);
                let product = 4.0 * value(i, j) - around;
                assert!(expected.is_some_and(|expected| (product - expected).abs() < 1e-12), "{side}: ({i}, {j})");
            }
        }
    }
}
