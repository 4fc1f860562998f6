//! The preconditioner: incomplete factors of a strip's own part of the matrix, without those that connect it with its neighbours.
//!
//! The matrix is symmetric, so ILU(0) is `M = (D + L) D^-1 (D + L')`, with the matrix's own `L` below the diagonal: only the
//! pivots `D` have to be worked out. parCG needs the two halves of `z = M^-1 r`, and that `(r, z) = (t, D t)` after the first
//! half `t = (D + L)^-1 r`: the sum can travel during the second half (de Sturler and van der Vorst).

/// The factors of a strip, or none: `M = 1`.
pub(crate) struct Factors {
    n: usize,
    /// One over each pivot.
    inverse: Option<Vec<f64>>,
}

impl Factors {
    /// No preconditioner.
    pub(crate) fn none(n: usize) -> Self {
        Factors { n, inverse: None }
    }

    /// Of the matrix of `rows` rows of `n` points.
    pub(crate) fn ilu(n: usize, rows: usize) -> Self {
        let mut inverse = vec![0.0; n * rows];
        for at in 0..inverse.len() {
            inverse[at] = 1.0 / (4.0 - before(n, at, &inverse));
        }
        Factors { n, inverse: Some(inverse) }
    }

    /// `z = M^-1 r`.
    pub(crate) fn solve(&self, r: &[f64], z: &mut [f64]) {
        self.forward(r, z);
        self.backward(z);
    }

    /// The first half: `t = (D + L)^-1 r`.
    pub(crate) fn forward(&self, r: &[f64], t: &mut [f64]) {
        let Some(inverse) = &self.inverse else { return t.copy_from_slice(r) };
        for at in 0..r.len() {
            t[at] = (r[at] + before(self.n, at, t)) * inverse[at];
        }
    }

    /// The second half: from `t` to `z`.
    pub(crate) fn backward(&self, z: &mut [f64]) {
        let Some(inverse) = &self.inverse else { return };
        let (n, len) = (self.n, z.len());
        for at in (0..len).rev() {
            let right = if at % n == n - 1 { 0.0 } else { z[at + 1] };
            let below = if at + n >= len { 0.0 } else { z[at + n] };
            z[at] += (right + below) * inverse[at];
        }
    }

    /// `(r, z)`, from the first half alone: `(t, D t)`.
    pub(crate) fn square(&self, t: &[f64]) -> f64 {
        match &self.inverse {
            Some(inverse) => t.iter().zip(inverse).map(|(t, inverse)| t * t / inverse).sum(),
            None => t.iter().map(|t| t * t).sum(),
        }
    }
}

/// The left neighbour's element plus that of the row above.
fn before(n: usize, at: usize, v: &[f64]) -> f64 {
    let left = if at.is_multiple_of(n) { 0.0 } else { v[at - 1] };
    let above = if at < n { 0.0 } else { v[at - n] };
    left + above
}

#[cfg(test)]
mod tests {
    use super::super::matrix::{dot, product};
    use super::*;

    fn some(len: usize) -> Vec<f64> {
        (0..len).map(|i| ((i * 29) % 17) as f64 - 7.0).collect()
    }

    /// One row of points has a tridiagonal matrix, of which nothing is left out.
    #[test]
    fn factors_of_one_row_are_the_matrix() {
        for (n, rows) in [(9, 1), (1, 9), (1, 1)] {
            let (v, nothing) = (some(n * rows), vec![0.0; n]);
            let (mut r, mut z) = (vec![0.0; v.len()], vec![0.0; v.len()]);
            product(n, &v, [&nothing, &nothing], &mut r);
            Factors::ilu(n, rows).solve(&r, &mut z);
            assert!(z.iter().zip(&v).all(|(z, v)| (z - v).abs() < 1e-13), "{z:?}, {v:?}");
        }
    }

    /// `M` agrees with the matrix wherever that has elements: `M - A` is only where fill-in was left out.
    #[test]
    fn what_is_left_out_is_fill_in() {
        let (n, rows) = (4, 3);
        let factors = Factors::ilu(n, rows);
        // The columns of M^-1, and from them M times a vector: M z = r for z = M^-1 r.
        let unit = |at: usize| (0..n * rows).map(|i| f64::from(u8::from(i == at))).collect::<Vec<_>>();
        let nothing = vec![0.0; n];
        for at in 0..n * rows {
            // r = (D + L) D^-1 (D + L') e, worked out from the pivots.
            let inverse = factors.inverse.as_ref().expect("there are factors");
            let mut e = unit(at);
            let mut upper = vec![0.0; e.len()];
            for i in 0..e.len() {
                let right = if i % n == n - 1 { 0.0 } else { e[i + 1] };
                let below = if i + n >= e.len() { 0.0 } else { e[i + n] };
                upper[i] = e[i] - (right + below) * inverse[i];
            }
            let r: Vec<f64> = (0..e.len()).map(|i| upper[i] / inverse[i] - before(n, i, &upper)).collect();
            let mut z = vec![0.0; e.len()];
            factors.solve(&r, &mut z);
            assert!(z.iter().zip(&e).all(|(z, e)| (z - e).abs() < 1e-14), "{z:?}");
            product(n, &unit(at), [&nothing, &nothing], &mut e);
            for i in 0..e.len() {
                let is_fill_in = i.abs_diff(at) == n - 1;
                assert!(is_fill_in || (r[i] - e[i]).abs() < 1e-14, "element {i}, {at}: {} and {}", r[i], e[i]);
            }
        }
    }

    #[test]
    fn the_first_half_has_the_scalar_product() {
        let r = some(30);
        for factors in [Factors::ilu(5, 6), Factors::none(5)] {
            let (mut t, mut z) = (vec![0.0; 30], vec![0.0; 30]);
            factors.forward(&r, &mut t);
            factors.solve(&r, &mut z);
            let (square, expected) = (factors.square(&t), dot(&r, &z));
            assert!((square / expected - 1.0).abs() < 1e-14, "{square}, {expected}");
        }
    }
}
