//! Incomplete factorisation without fill of five-point matrices, one per strip.
//!
//! Off-diagonal blocks, the couplings across the edges of strips, are dropped (Stoica, Sultan and Keyes 1994, 5.2.1). Of a
//! five-point matrix only the diagonal of the factors differs from the matrix itself.

use super::grid::{Cells, Strip};

/// A five-point matrix: `here x - east x_E - west x_W - north x_N - south x_S`, and the inverse diagonal of its factors.
#[derive(Clone, Debug)]
pub(crate) struct Five {
    strip: Strip,
    pub(crate) here: Vec<f64>,
    /// East, west, north, south.
    pub(crate) to: [Vec<f64>; 4],
    inverse: Vec<f64>,
}

impl Five {
    pub(crate) fn new(strip: Strip) -> Self {
        Five { strip, here: strip.zeros(), to: std::array::from_fn(|_| strip.zeros()), inverse: strip.zeros() }
    }

    /// A row of which the diagonal is the sum of the neighbours' coefficients and `more`, divided by `relaxation`.
    pub(crate) fn set(&mut self, at: usize, neighbours: [f64; 4], more: f64, relaxation: f64) {
        self.here[at] = (neighbours.iter().sum::<f64>() + more) / relaxation;
        for (to, value) in self.to.iter_mut().zip(neighbours) {
            to[at] = value;
        }
    }

    /// Takes neighbours out of a row; the diagonal gets `times` their coefficients instead.
    pub(crate) fn close(&mut self, at: usize, closed: [bool; 4], times: f64) {
        for (to, _) in self.to.iter_mut().zip(closed).filter(|(_, closed)| *closed) {
            self.here[at] += times * to[at];
            to[at] = 0.0;
        }
    }

    /// Factorises the block of some cells.
    pub(crate) fn factorise(&mut self, cells: &Cells) {
        let s = self.strip.stride();
        let [east, west, north, south] = &self.to;
        for i in cells.i.clone() {
            for j in cells.j.clone() {
                let at = self.strip.at(i, j);
                let mut pivot = self.here[at];
                if i > *cells.i.start() {
                    pivot -= west[at] * east[at - s] * self.inverse[at - s];
                }
                if j > *cells.j.start() {
                    pivot -= south[at] * north[at - 1] * self.inverse[at - 1];
                }
                self.inverse[at] = 1.0 / pivot;
            }
        }
    }

    /// Solves with the factors of the block: `x` holds the right side before and the solution after. Outside of the block it is 0.
    pub(crate) fn solve(&self, cells: &Cells, x: &mut [f64]) {
        let s = self.strip.stride();
        let [east, west, north, south] = &self.to;
        let (first, last) = (*cells.i.start(), *cells.i.end());
        let (bottom, top) = (*cells.j.start(), *cells.j.end());
        for i in first..=last {
            for j in bottom..=top {
                let at = self.strip.at(i, j);
                let mut value = x[at];
                if i > first {
                    value += west[at] * x[at - s];
                }
                if j > bottom {
                    value += south[at] * x[at - 1];
                }
                x[at] = value * self.inverse[at];
            }
        }
        for i in (first..=last).rev() {
            for j in (bottom..=top).rev() {
                let at = self.strip.at(i, j);
                let mut value = 0.0;
                if i < last {
                    value += east[at] * x[at + s];
                }
                if j < top {
                    value += north[at] * x[at + 1];
                }
                x[at] += value * self.inverse[at];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with different coefficients in all rows, and a little on the diagonal.
    fn matrix(strip: Strip) -> Five {
        let mut five = Five::new(strip);
        strip.p_cells().each(|at| {
            five.set(at, [1.0, 2.0, 3.0, 4.0].map(|c| 1.0 + ((at as f64) * c).sin().abs()), 0.1, 1.0);
        });
        five
    }

    /// The right side less the block's product with `x`.
    fn residual(five: &Five, cells: &Cells, x: &[f64]) -> Vec<f64> {
        let (s, mut r) = (five.strip.stride(), five.strip.zeros());
        cells.each(|at| {
            let near = [at + s, at - s, at + 1, at - 1];
            let sum: f64 = five.to.iter().zip(near).map(|(to, near)| to[at] * x[near]).sum();
            r[at] = (at as f64).cos() - five.here[at] * x[at] + sum;
        });
        r
    }

    fn norm(r: &[f64]) -> f64 {
        r.iter().map(|r| r * r).sum::<f64>().sqrt()
    }

    /// A tridiagonal matrix has no fill: its factors are complete.
    #[test]
    fn a_column_or_a_row_is_solved_exactly() {
        let strip = Strip::of(16, 0, 1);
        let mut five = matrix(strip);
        for cells in [Cells { i: 3..=3, ..strip.p_cells() }, Cells { j: 5..=5, ..strip.p_cells() }] {
            five.factorise(&cells);
            let mut x = residual(&five, &cells, &strip.zeros());
            five.solve(&cells, &mut x);
            assert!(norm(&residual(&five, &cells, &x)) < 1e-12, "{cells:?}");
        }
    }

    #[test]
    fn sweeps_converge_in_a_block() {
        let strip = Strip::of(16, 1, 2);
        let (mut five, cells) = (matrix(strip), strip.p_cells());
        five.factorise(&cells);
        let mut x = strip.zeros();
        let first = norm(&residual(&five, &cells, &x));
        for _ in 0..60 {
            let mut change = residual(&five, &cells, &x);
            five.solve(&cells, &mut change);
            x.iter_mut().zip(change).for_each(|(x, change)| *x += change);
        }
        assert!(norm(&residual(&five, &cells, &x)) < 1e-9 * first);
        let outside = [0, strip.columns + 1].map(|i| norm(&x[strip.column(i)]));
        assert_eq!(outside, [0.0, 0.0]);
    }
}
