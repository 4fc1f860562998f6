//! Rank 0's check: the result against the analytic solution, and the residuals against a sequential CG.
//!
//! No two orders of summation give the same bits, and all CG methods amplify the difference slowly. So residuals are compared
//! within a tolerance, of two parts: relative to the residual, and relative to the first one ([`allowed`]).

use std::ops::Range;

use super::Outcome;
use super::matrix::{dot, product};
use super::options::{Algorithm, Options, Stop};
use super::problem::{error_bound, right_side, solution};
use super::reference;

/// What has been checked.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The norm of what is left of the equations, worked out anew, relative to the right side.
    pub(crate) residual: f64,
    /// The greatest distance from the analytic solution.
    pub(crate) error: f64,
    /// What it can be at most.
    pub(crate) bound: f64,
}

/// Checks `x`, the whole solution, and `history`, the residuals' norms as the algorithm has calculated them.
pub(crate) fn check(options: &Options, shares: &[Range<usize>], x: &[f64], history: &[f64]) -> Outcome<Checked> {
    let n = options.n;
    let norm = residual(n, x);
    let error = x.iter().zip(&solution(n, 0..n)).map(|(x, u)| (x - u).abs()).fold(0.0, f64::max);
    let bound = error_bound(n, norm);
    if !norm.is_finite() {
        return Err(format!("the residual of the result is {norm}").into());
    }
    if error > bound {
        return Err(format!("a point is {error:e} from the analytic solution, more than {bound:e}").into());
    }
    let expected = reference::solve(n, options.preconditioner, shares, options.stop)?.history;
    compare(options, history, &expected)?;
    let (last, first) = (history[history.len() - 1], expected[0]);
    let [_, part] = allowed(options);
    if (norm - last).abs() > part * first {
        return Err(format!("the residual is {norm:e}, and not {last:e} as calculated").into());
    }
    Ok(Checked { residual: norm / first, error, bound })
}

/// The norm of the right side minus the matrix times `x`.
fn residual(n: usize, x: &[f64]) -> f64 {
    let boundary = vec![0.0; n];
    let mut rest = vec![0.0; n * n];
    product(n, x, [&boundary, &boundary], &mut rest);
    rest.iter_mut().zip(&right_side(n, 0..n)).for_each(|(rest, right)| *rest = right - *rest);
    dot(&rest, &rest).sqrt()
}

/// Residuals after the same number of iterations, and how many there are of these.
fn compare(options: &Options, history: &[f64], expected: &[f64]) -> Outcome<()> {
    let (done, needed) = (history.len() - 1, expected.len() - 1);
    if matches!(options.stop, Stop::Tolerance(_)) && done.abs_diff(needed) > 1 {
        return Err(format!("{done} iterations, but a sequential CG needs {needed}").into());
    }
    let [relative, of_first] = allowed(options);
    for (iteration, (own, expected_one)) in history.iter().zip(expected).enumerate() {
        let difference = (own - expected_one).abs();
        if difference.is_nan() || difference > relative * expected_one + of_first * expected[0] {
            return Err(format!(
                "the residual after {iteration} iterations is {own:e}, and that of a sequential CG {expected_one:e}"
            )
            .into());
        }
    }
    Ok(())
}

/// How much of a residual, and how much of the first one, rounding may change. These are some ten times what was observed for up
/// to 800 x 800 points, and for a thousand iterations of 100 x 100, of which 600 were too many.
fn allowed(options: &Options) -> [f64; 2] {
    match options.algorithm {
        Algorithm::Cg | Algorithm::ParCg => [1e-6, 1e-10],
        Algorithm::Pipelined if (1..=50).contains(&options.replace) => [1e-4, 1e-8],
        // Nothing stops the growth of rounding in the recurrences.
        Algorithm::Pipelined => [1e-2, 1e-6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &str) -> Options {
        Options::parse(words.split(' ').map(String::from)).expect("they are right")
    }

    #[test]
    fn wrong_results_are_told() {
        let (options, shares) = (options("--n 12 --preconditioner ilu"), [0..5, 5..12]);
        let right = reference::solve(12, options.preconditioner, &shares, options.stop).expect("it converges");
        let (x, history) = (right.x, right.history);
        let checked = check(&options, &shares, &x, &history).expect("it is right");
        assert!(checked.error > checked.bound / 20.0, "{checked:?}");

        let told = |x: &[f64], history: &[f64]| check(&options, &shares, x, history).expect_err("wrong").to_string();
        let with = |values: &[f64], at: usize, value: f64| {
            let mut values = values.to_vec();
            values[at] = value;
            values
        };
        assert!(told(&with(&x, 7, f64::NAN), &history).contains("the residual of the result is NaN"));
        assert!(told(&with(&x, 7, x[7] + 1e-7), &history).contains("as calculated"));
        assert!(told(&x, &with(&history, 3, history[3] * 1.01)).contains("after 3 iterations"));
        assert!(told(&x, &with(&history, 3, f64::NAN)).contains("after 3 iterations"));
        assert!(told(&x, &history[..history.len() - 2]).contains("but a sequential CG needs"));
        let other = check(&options, &[0..6, 6..12], &x, &history).expect_err("another preconditioner");
        assert!(other.to_string().contains("that of a sequential CG"), "{other}");
    }

    #[test]
    fn the_error_is_of_second_order() {
        let error = |n: usize| {
            let options = options(&format!("--n {n} --tolerance 1e-10"));
            let share = 0..n;
            let shares = std::slice::from_ref(&share);
            let x = reference::solve(n, options.preconditioner, shares, options.stop).expect("it converges");
            check(&options, shares, &x.x, &x.history).expect("it is right").error
        };
        // Half the spacing, from 1/16 to 1/32 and 1/64.
        let ratios = [error(15) / error(31), error(31) / error(63)];
        assert!(ratios.iter().all(|ratio| (3.9..4.1).contains(ratio)), "{ratios:?}");
    }
}
