//! How far an iteration has come, and when it stops.

use super::Outcome;
use super::options::Stop;

/// What an algorithm returns.
pub(crate) struct Solved {
    /// This rank's part of the solution.
    pub(crate) x: Vec<f64>,
    /// How often the region `iteration` was entered. A pipelined iteration knows its residual one pass later.
    pub(crate) passes: usize,
    /// The residual's norm before the first iteration and after each.
    pub(crate) history: Vec<f64>,
}

/// The residuals so far. They have the same bits on all ranks, so all ranks stop at the same time.
pub(crate) struct Progress {
    stop: Stop,
    n: usize,
    history: Vec<f64>,
}

impl Progress {
    pub(crate) fn new(stop: Stop, n: usize) -> Self {
        Progress { stop, n, history: Vec::new() }
    }

    /// Notes the square of a residual's norm. Returns whether to go on.
    pub(crate) fn note(&mut self, square: f64) -> Outcome<bool> {
        let done = self.history.len();
        if !(square.is_finite() && square >= 0.0) {
            return Err(format!(
                "the square of the residual's norm is {square} after {done} iterations: rounding has broken the algorithm \
                 down; fewer --iterations, or a greater --tolerance, would be right"
            )
            .into());
        }
        self.history.push(square.sqrt());
        let (first, last) = (self.history[0], self.history[done]);
        match self.stop {
            // Nothing is left to do when the residual has vanished; what follows would be 0 / 0.
            Stop::Iterations(iterations) => Ok(done < iterations && last > VANISHED * first),
            Stop::Tolerance(tolerance) if last <= tolerance * first => Ok(false),
            Stop::Tolerance(tolerance) if done >= most(self.n) => Err(format!(
                "the residual is {:.1e} of the first one after {done} iterations, not --tolerance {tolerance}",
                last / first
            )
            .into()),
            Stop::Tolerance(_) => Ok(true),
        }
    }

    pub(crate) fn solved(self, x: Vec<f64>, passes: usize) -> Solved {
        Solved { x, passes, history: self.history }
    }
}

/// The part of the first residual that is nothing.
const VANISHED: f64 = 1e-100;

/// No tolerance needs more iterations: `n / pi` times the logarithm of two over it, by the condition of the matrix, would do.
fn most(n: usize) -> usize {
    100 + 20 * n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(stop: Stop, squares: &[f64]) -> Vec<bool> {
        let mut progress = Progress::new(stop, 10);
        squares.iter().map(|square| progress.note(*square).expect("it goes on")).collect()
    }

    #[test]
    fn it_stops_after_so_many_iterations_or_when_nothing_is_left() {
        assert_eq!(noted(Stop::Iterations(2), &[4.0, 3.0, 2.0]), [true, true, false]);
        assert_eq!(noted(Stop::Iterations(9), &[4.0, 3.0, 0.0]), [true, true, false]);
        assert_eq!(noted(Stop::Tolerance(0.1), &[4.0, 0.05, 0.03]), [true, true, false]);
    }

    #[test]
    fn it_refuses_what_is_no_norm_and_what_does_not_converge() {
        for square in [f64::NAN, -1.0, f64::INFINITY] {
            let error = Progress::new(Stop::Iterations(2), 10).note(square).expect_err("it is no square");
            assert!(error.to_string().contains("after 0 iterations"), "{error}");
        }
        let mut progress = Progress::new(Stop::Tolerance(0.1), 10);
        assert!((0..300).all(|_| progress.note(1.0).expect("it goes on")));
        let error = progress.note(1.0).expect_err("it has not converged");
        assert!(error.to_string().contains("1.0e0 of the first one after 300 iterations"), "{error}");
    }
}
