//! The condition number of the preconditioned matrix, from the coefficients of conjugate gradients.
//!
//! They are the elements of Lanczos' tridiagonal matrix, whose extreme eigenvalues soon come close to those of the matrix.

/// The coefficients of an iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    /// How far the solution goes along the direction.
    pub(super) alpha: f64,
    /// How much of the direction remains in the next one.
    pub(super) beta: f64,
}

/// The smallest and the largest eigenvalue, as far as these iterations know them.
pub(super) fn extreme_eigenvalues(steps: &[Step]) -> [f64; 2] {
    let diagonal = |i: usize| {
        let before = i.checked_sub(1).map_or(0.0, |before| steps[before].beta / steps[before].alpha);
        1.0 / steps[i].alpha + before
    };
    // Beta may be negative where nothing remains but rounding errors.
    let square_beside = |i: usize| steps[i].beta.max(0.0) / steps[i].alpha.powi(2);
    let matrix: Vec<[f64; 2]> = (0..steps.len()).map(|i| [diagonal(i), square_beside(i)]).collect();
    let bound = matrix.iter().map(|[diagonal, square]| diagonal.abs() + 2.0 * square.sqrt()).fold(0.0, f64::max);
    // The smallest number with so many eigenvalues below it.
    let bisect = |count: usize| {
        let (mut low, mut high) = (0.0, 2.0 * bound);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if eigenvalues_below(&matrix, middle) < count { low = middle } else { high = middle }
        }
        high
    };
    [bisect(1), bisect(matrix.len())]
}

/// How many eigenvalues of a tridiagonal matrix are below a number: as many as the elimination has negative pivots (Sturm). The
/// matrix is given by rows, each with its element on the diagonal and the square of that beside it.
fn eigenvalues_below(matrix: &[[f64; 2]], number: f64) -> usize {
    let (mut pivot, mut square, mut count) = (1.0, 0.0, 0);
    for [diagonal, next] in matrix {
        pivot = diagonal - number - square / pivot;
        square = *next;
        if pivot == 0.0 {
            pivot = f64::MIN_POSITIVE;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conjugate gradients on a diagonal matrix find its eigenvalues.
    #[test]
    fn eigenvalues_are_those_of_the_matrix() {
        let matrix = [0.25, 1.0, 2.0, 3.0, 7.0];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (mut r, mut p, mut steps) = ([1.0; 5], [1.0; 5], Vec::new());
        for known in [3, 5] {
            while steps.len() < known {
                let s: Vec<f64> = matrix.iter().zip(p).map(|(a, p)| a * p).collect();
                let gamma = dot(&r, &r);
                let alpha = gamma / dot(&p, &s);
                r.iter_mut().zip(s).for_each(|(r, s)| *r -= alpha * s);
                let beta = dot(&r, &r) / gamma;
                p.iter_mut().zip(r).for_each(|(p, r)| *p = r + beta * *p);
                steps.push(Step { alpha, beta });
            }
            let [smallest, largest] = extreme_eigenvalues(&steps);
            assert!(smallest > 0.25 - 1e-9 && largest < 7.0 + 1e-9, "after {known}: {smallest} and {largest}");
            assert!(known < 5 || (smallest < 0.25 + 1e-9 && largest > 7.0 - 1e-9), "{smallest} and {largest}");
        }
    }
}
