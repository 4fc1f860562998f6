//! Rank 0's check: the same iterations on one rank, bit for bit, when they should have stopped, and how far the solution is.

use super::Outcome;
use super::jacobi::{contraction, framed, relax, solution};
use super::options::{Options, Stop, Version};

/// Checks all points after so many iterations. Returns the greatest distance from the analytic solution.
pub(crate) fn check(options: &Options, whole: &[f64], iterations: usize) -> Outcome<f64> {
    let n = options.n;
    let (expected, changes) = sequential(n, iterations);
    if let Some(wrong) = (0..n * n).find(|at| whole[*at].to_bits() != expected[*at].to_bits()) {
        let (row, column) = (wrong / n, wrong % n);
        return Err(format!("row {row}, column {column}: {} instead of {}", whole[wrong], expected[wrong]).into());
    }
    if let Stop::Epsilon { epsilon, .. } = options.stop {
        let in_vain = usize::from(options.version == Version::Hidden);
        let small = changes.iter().position(|change| *change < epsilon).map(|at| at + 1 + in_vain);
        if small != Some(iterations) {
            return Err(format!("{iterations} iterations, but the last one should be {small:?}").into());
        }
    }
    converged(n, whole, iterations)
}

/// The points after so many iterations, and the greatest change of each.
fn sequential(n: usize, iterations: usize) -> (Vec<f64>, Vec<f64>) {
    let mut old = framed(n, &[0..n, 0..n]);
    let mut new = old.clone();
    let mut iterate = || {
        let change = relax(&old, &mut new, n + 2, &[1..n + 1, 1..n + 1]);
        std::mem::swap(&mut old, &mut new);
        change
    };
    let changes = (0..iterations).map(|_| iterate()).collect();
    (old.chunks(n + 2).skip(1).take(n).flat_map(|row| &row[1..n + 1]).copied().collect(), changes)
}

/// No iteration lets the error's Euclidean norm be more than the contraction times that before it, but for rounding.
fn converged(n: usize, whole: &[f64], iterations: usize) -> Outcome<f64> {
    let exact: Vec<f64> = (1..=n).flat_map(|row| (1..=n).map(move |column| solution(n, row, column))).collect();
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let first = norm(&mut exact.iter().copied());
    let last = norm(&mut exact.iter().zip(whole).map(|(exact, value)| exact - value));
    let bound = contraction(n).powf(iterations as f64) * first * (1.0 + 1e-9) + 1e-13 * (n * n) as f64;
    if last.is_nan() || last > bound {
        return Err(format!("the error's norm is {last:e} after {iterations} iterations, more than {bound:e}").into());
    }
    Ok(exact.iter().zip(whole).map(|(exact, value)| (exact - value).abs()).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &str) -> Options {
        Options::parse(words.split(' ').map(String::from)).expect("they are right")
    }

    #[test]
    fn wrong_results_are_told() {
        let options = options("--n 9 --iterations 20");
        let (whole, _) = sequential(9, 20);
        check(&options, &whole, 20).expect("it is right");
        let mut wrong = whole.clone();
        wrong[10] = f64::from_bits(wrong[10].to_bits() + 1);
        assert!(check(&options, &wrong, 20).expect_err("one bit").to_string().contains("row 1, column 1"));
        assert!(check(&options, &whole, 21).is_err());
        assert!(converged(9, &whole, 200).expect_err("too far").to_string().contains("the error's norm"));
    }

    #[test]
    fn the_last_iteration_is_the_first_with_a_small_change_or_the_one_after_it() {
        let (_, changes) = sequential(9, 300);
        let last = changes.iter().position(|change| *change < 1e-5).expect("it converges") + 1;
        for (version, in_vain) in [("native", 0), ("synchronised", 0), ("hidden", 1)] {
            let options = options(&format!("--n 9 --epsilon 1e-5 --version {version}"));
            let checked = |iterations| check(&options, &sequential(9, iterations).0, iterations);
            assert!(checked(last + in_vain).expect("it is right") < 1e-3);
            let error = checked(last + in_vain + 1).expect_err("too late");
            assert!(error.to_string().contains("but the last one should be"), "{error}");
            checked(last + in_vain - 1).expect_err("too early");
        }
    }

    #[test]
    fn the_iteration_converges_to_the_analytic_solution() {
        let (whole, _) = sequential(9, 800);
        assert!(converged(9, &whole, 800).expect("it is right") < 1e-12);
    }
}
