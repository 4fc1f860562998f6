//! Robust least squares on the relative error for times that are sums of costs, none of them negative.

use super::robust::{self, huber_weight, plain_median};

/// The most costs that a sum may have.
pub(super) const COLUMNS: usize = 6;

/// One equation: `time_s = fixed_s + sum of coefficient * column`. Unused columns are 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Equation {
    pub(super) columns: [f64; COLUMNS],
    /// The part of the time that is known already.
    pub(super) fixed_s: f64,
    pub(super) time_s: f64,
    pub(super) weight: f64,
}

impl Equation {
    pub(super) fn predicted_s(&self, coefficients: &[f64; COLUMNS]) -> f64 {
        self.fixed_s + self.columns.iter().zip(coefficients).map(|(x, c)| x * c).sum::<f64>()
    }
}

/// The coefficients of at least 0 that minimise the relative error, robustly. Equations must be in an order in which
/// times of neighbours are alike, such as by size.
///
/// First least absolute errors, which outliers cannot mislead, then Huber's weights.
pub(super) fn solve(equations: &[Equation]) -> [f64; COLUMNS] {
    let likes = neighbours(equations);
    let mut reference: Vec<f64> = likes.iter().map(|like| like.middle_s).collect();
    let mut coefficients = [0.0; COLUMNS];
    let mut scale: f64 = 1.0;
    let mut before = f64::INFINITY;
    for round in 0..ROUNDS {
        let weighted = |index: usize, equation: &Equation| {
            let residual = (equation.predicted_s(&coefficients) - equation.time_s) / reference[index];
            let factor = match round {
                0 => 1.0,
                1..FIRST_HUBER => 1.0 / residual.abs().max(1e-3 * scale),
                _ => huber_weight(residual, scale),
            };
            equation.weight * factor / (reference[index] * reference[index])
        };
        let weights: Vec<f64> = equations.iter().enumerate().map(|(i, equation)| weighted(i, equation)).collect();
        coefficients = nonnegative(equations, &weights);
        for ((reference, like), equation) in reference.iter_mut().zip(&likes).zip(equations) {
            // Relative to the prediction, not to the noisy time itself; the bounds keep a bad start from running away.
            *reference = equation.predicted_s(&coefficients).clamp(like.bounds_s.0, like.bounds_s.1);
        }
        let residuals = equations.iter().zip(&reference).map(|(equation, reference)| {
            ((equation.predicted_s(&coefficients) - equation.time_s) / reference, equation.weight)
        });
        let seen = robust::scale(residuals);
        if round < LAST_SCALE {
            scale = seen;
        }
        if round >= LAST_SCALE && (seen - before).abs() <= 1e-9 * seen {
            break;
        }
        before = seen;
    }
    coefficients
}

/// What the time of an equation is like, judged by its neighbours.
struct Like {
    /// Their median, which one outlier cannot spoil.
    middle_s: f64,
    /// Half of the least, and twice the greatest.
    bounds_s: (f64, f64),
}

/// The likes of each equation.
fn neighbours(equations: &[Equation]) -> Vec<Like> {
    let around = |index: usize| {
        let last = equations.len() - 1;
        let reach = 2.min(index).min(last - index).max(1);
        let first = index.saturating_sub(reach).min(last.saturating_sub(2));
        let near = || equations[first..=(index + reach).max(2).min(last)].iter().map(|equation| equation.time_s);
        let (least, most) = near().fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), t| (l.min(t), m.max(t)));
        Like { middle_s: plain_median(near()), bounds_s: (least / 2.0, most * 2.0) }
    };
    (0..equations.len()).map(around).collect()
}

/// Least squares with no negative coefficient: of all choices of columns whose solution is not negative, the one that
/// explains most.
fn nonnegative(equations: &[Equation], weights: &[f64]) -> [f64; COLUMNS] {
    let mut gram = [[0.0; COLUMNS]; COLUMNS];
    let mut right = [0.0; COLUMNS];
    for (equation, weight) in equations.iter().zip(weights) {
        let time_s = equation.time_s - equation.fixed_s;
        for (i, x) in equation.columns.iter().enumerate() {
            right[i] += weight * x * time_s;
            for (j, y) in equation.columns.iter().enumerate().take(i + 1) {
                gram[i][j] += weight * x * y;
            }
        }
    }
    // Columns are brought to length 1, since bytes and counts differ by many orders.
    let length: [f64; COLUMNS] = std::array::from_fn(|i| gram[i][i].sqrt());
    let unit = |i: usize, j: usize| gram[i.max(j)][i.min(j)] / length[i] / length[j];
    let used: Vec<usize> = (0..COLUMNS).filter(|i| length[*i] > 0.0).collect();
    let mut best = ([0.0; COLUMNS], 0.0);
    for choice in (1..1_u32 << used.len()).rev() {
        let chosen: Vec<usize> =
            used.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, i)| *i).collect();
        let rows = chosen.iter().map(|&i| chosen.iter().map(|&j| unit(i, j)).collect()).collect();
        let targets: Vec<f64> = chosen.iter().map(|&i| right[i] / length[i]).collect();
        let Some(solution) = cholesky(rows, targets.clone()) else { continue };
        if solution.iter().any(|value| *value < 0.0) {
            continue;
        }
        let explained: f64 = solution.iter().zip(&targets).map(|(value, target)| value * target).sum();
        if explained > best.1 {
            best = ([0.0; COLUMNS], explained);
            chosen.iter().zip(&solution).for_each(|(&i, value)| best.0[i] = value / length[i]);
        }
        if choice + 1 == 1 << used.len() {
            break; // all columns, none negative: nothing explains more
        }
    }
    best.0
}

/// Solves a small symmetric positive definite system; `None` if its columns depend on each other.
fn cholesky(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for i in 0..size {
        for j in 0..=i {
            let sum = matrix[i][j] - (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum::<f64>();
            if i == j && sum < 1e-13 {
                return None;
            }
            matrix[i][j] = if i == j { sum.sqrt() } else { sum / matrix[j][j] };
        }
        right[i] = (right[i] - (0..i).map(|k| matrix[i][k] * right[k]).sum::<f64>()) / matrix[i][i];
    }
    for i in (0..size).rev() {
        right[i] = (right[i] - (i + 1..size).map(|k| matrix[k][i] * right[k]).sum::<f64>()) / matrix[i][i];
    }
    Some(right)
}

/// Rounds in all; the first of them with the weights of least absolute errors, then Huber's.
const ROUNDS: u32 = 60;
const FIRST_HUBER: u32 = 15;
/// From here on the scale is fixed, so that the rest converges.
const LAST_SCALE: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn equation(columns: &[f64], time_s: f64) -> Equation {
        let columns = std::array::from_fn(|i| columns.get(i).copied().unwrap_or(0.0));
        Equation { columns, fixed_s: 0.0, time_s, weight: 1.0 }
    }

    #[test]
    fn a_line_with_gross_outliers_comes_out_exactly() {
        let time = |x: f64| 20.0 + 3.0 * x;
        let mut equations: Vec<_> = (0..20).map(|e| 2.0_f64.powi(e)).map(|x| equation(&[1.0, x], time(x))).collect();
        equations[3].time_s *= 40.0;
        equations[12].time_s /= 25.0;
        let solution = solve(&equations);
        assert!((solution[0] / 20.0 - 1.0).abs() < 1e-8 && (solution[1] / 3.0 - 1.0).abs() < 1e-8, "{solution:?}");
        assert_eq!(solution[2..], [0.0; 4]);
    }

    #[test]
    fn nothing_is_negative() {
        let falling: Vec<_> = (0..10).map(f64::from).map(|x| equation(&[1.0, x], 20.0 - x)).collect();
        let solution = solve(&falling);
        assert_eq!(solution[1], 0.0, "a constant is the best that does not fall");
        assert!((11.0..=20.0).contains(&solution[0]), "{solution:?}");
        let steep: Vec<_> = (1..10).map(f64::from).map(|x| equation(&[1.0, x], 5.0 * x - 4.0)).collect();
        assert_eq!(solve(&steep)[0], 0.0);
    }

    #[test]
    fn what_is_known_is_taken_off() {
        let known = |x: f64| Equation { fixed_s: 2.0 * x, ..equation(&[1.0, x], 7.0 + 5.0 * x) };
        let solution = solve(&[1.0, 2.0, 4.0, 8.0].map(known));
        assert!((solution[0] - 7.0).abs() < 1e-9 && (solution[1] - 3.0).abs() < 1e-9, "{solution:?}");
    }

    #[test]
    fn columns_that_say_the_same_do_no_harm() {
        let twice: Vec<_> = (1..9).map(f64::from).map(|x| equation(&[1.0, x, 2.0 * x], 1.0 + 4.0 * x)).collect();
        let solution = solve(&twice);
        assert!(solution.iter().all(|value| value.is_finite() && *value >= 0.0));
        assert!((solution[1] + 2.0 * solution[2] - 4.0).abs() < 1e-9, "{solution:?}");
    }
}
