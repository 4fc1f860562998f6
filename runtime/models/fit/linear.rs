//! Robust least squares on the relative error for times that are sums of costs, none of them negative.

use super::robust::{self, huber_weight, plain_median};

/// The most costs that a sum may have.
pub(super) const COLUMNS: usize = 7;

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
    let times_s: Vec<f64> = equations.iter().map(|equation| equation.time_s).collect();
    iterate(equations, &Like::all(&times_s), ROUNDS)
}

/// The coefficients of about the least absolute relative error: what choosing between many models needs. The likes
/// are those of the equations' times.
pub(super) fn solve_quickly(equations: &[Equation], likes: &[Like]) -> [f64; COLUMNS] {
    iterate(equations, likes, ROUNDS_QUICK)
}

fn iterate(equations: &[Equation], likes: &[Like], rounds: u32) -> [f64; COLUMNS] {
    let mut reference: Vec<f64> = likes.iter().map(|like| like.middle_s).collect();
    let mut residuals = vec![0.0; equations.len()];
    let mut weights: Vec<f64> = equations.iter().zip(&reference).map(|(e, r)| e.weight / (r * r)).collect();
    let mut coefficients = [0.0; COLUMNS];
    let mut scale: f64 = 1.0;
    for round in 0..rounds {
        let before = coefficients;
        coefficients = nonnegative(equations, &weights);
        for (index, equation) in equations.iter().enumerate() {
            // Relative to the prediction, not to the noisy time itself; the bounds keep a bad start from running away.
            let predicted_s = equation.predicted_s(&coefficients);
            reference[index] = predicted_s.clamp(likes[index].bounds_s.0, likes[index].bounds_s.1);
            residuals[index] = (predicted_s - equation.time_s) / reference[index];
        }
        if round < LAST_ABSOLUTE {
            // Only keeps the weights finite, so any measure of the residuals will do.
            let mean = residuals.iter().map(|residual| residual.abs()).sum::<f64>() / equations.len() as f64;
            scale = (1e-4 * mean).max(1e-15);
        } else if round < LAST_SCALE {
            scale = robust::scale(residuals.iter().zip(equations).map(|(residual, e)| (*residual, e.weight)));
        } else if before.iter().zip(&coefficients).all(|(old, new)| (new - old).abs() <= 1e-12 * old) {
            break;
        }
        for (index, equation) in equations.iter().enumerate() {
            let residual = residuals[index];
            let factor =
                if round < LAST_ABSOLUTE { 1.0 / residual.abs().max(scale) } else { huber_weight(residual, scale) };
            weights[index] = equation.weight * factor / (reference[index] * reference[index]);
        }
    }
    coefficients
}

/// What the time of an equation is like, judged by its neighbours.
pub(super) struct Like {
    /// Their median, which one outlier cannot spoil.
    middle_s: f64,
    /// Half of the least, and twice the greatest.
    bounds_s: (f64, f64),
}

impl Like {
    /// The likes of times that follow each other.
    pub(super) fn all(times_s: &[f64]) -> Vec<Self> {
        let around = |index: usize| {
            let last = times_s.len() - 1;
            let reach = 2.min(index).min(last - index).max(1);
            let first = index.saturating_sub(reach).min(last.saturating_sub(2));
            let near = || times_s[first..=(index + reach).max(2).min(last)].iter().copied();
            let (least, most) = near().fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), t| (l.min(t), m.max(t)));
            Like { middle_s: plain_median(near()), bounds_s: (least / 2.0, most * 2.0) }
        };
        (0..times_s.len()).map(around).collect()
    }
}

/// A small symmetric matrix, of which the lower triangle is used.
type Matrix = [[f64; COLUMNS]; COLUMNS];

/// Least squares with no negative coefficient: of all choices of columns whose solution is not negative, the one that
/// explains most.
fn nonnegative(equations: &[Equation], weights: &[f64]) -> [f64; COLUMNS] {
    let mut gram: Matrix = [[0.0; COLUMNS]; COLUMNS];
    let mut right = [0.0; COLUMNS];
    for (equation, weight) in equations.iter().zip(weights) {
        let time_s = equation.time_s - equation.fixed_s;
        for (i, x) in equation.columns.iter().enumerate() {
            let weighted = weight * x;
            right[i] += weighted * time_s;
            for (j, y) in equation.columns[..=i].iter().enumerate() {
                gram[i][j] += weighted * y;
            }
        }
    }
    // Columns are brought to length 1, since bytes and counts differ by many orders. Unused ones have length 0.
    let length: [f64; COLUMNS] = std::array::from_fn(|i| gram[i][i].sqrt());
    let used = (0..COLUMNS).filter(|i| length[*i] > 0.0).fold(0_u32, |used, i| used | 1 << i);
    for i in 0..COLUMNS {
        right[i] /= length[i];
        (0..=i).for_each(|j| gram[i][j] /= length[i] * length[j]);
    }
    let mut best = ([0.0; COLUMNS], 0.0);
    for choice in (1..=used).rev().filter(|choice| choice & !used == 0) {
        let Some((solution, explained)) = of_columns(&gram, &right, choice) else { continue };
        if explained > best.1 {
            best = (solution, explained);
        }
        if choice == used {
            break; // all columns, none negative: nothing explains more
        }
    }
    std::array::from_fn(|i| if best.0[i] > 0.0 { best.0[i] / length[i] } else { 0.0 })
}

/// The solution with some of the columns, and how much of the times it explains; `None` if a coefficient is negative,
/// or the columns depend on each other.
fn of_columns(gram: &Matrix, right: &[f64; COLUMNS], choice: u32) -> Option<([f64; COLUMNS], f64)> {
    let (mut chosen, mut count) = ([0; COLUMNS], 0);
    for i in (0..COLUMNS).filter(|i| choice >> i & 1 == 1) {
        chosen[count] = i;
        count += 1;
    }
    let chosen = &chosen[..count];
    // Cholesky's factor, and the solution forwards and backwards.
    let (mut factor, mut solution) = ([[0.0; COLUMNS]; COLUMNS], [0.0; COLUMNS]);
    for i in 0..count {
        for j in 0..=i {
            let sum = gram[chosen[i]][chosen[j]] - (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            if i == j && sum < 1e-13 {
                return None;
            }
            factor[i][j] = if i == j { sum.sqrt() } else { sum / factor[j][j] };
        }
        let known: f64 = (0..i).map(|k| factor[i][k] * solution[k]).sum();
        solution[i] = (right[chosen[i]] - known) / factor[i][i];
    }
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|k| factor[k][i] * solution[k]).sum();
        solution[i] = (solution[i] - known) / factor[i][i];
    }
    if solution[..count].iter().any(|value| *value < 0.0) {
        return None;
    }
    let mut all = [0.0; COLUMNS];
    chosen.iter().zip(&solution).for_each(|(&i, value)| all[i] = *value);
    Some((all, all.iter().zip(right).map(|(value, target)| if *value > 0.0 { value * target } else { 0.0 }).sum()))
}

/// Rounds at most.
const ROUNDS: u32 = 60;
const ROUNDS_QUICK: u32 = 8;
/// After this round come Huber's weights.
const LAST_ABSOLUTE: u32 = 14;
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
        assert!(solution[2..].iter().all(|unused| *unused == 0.0), "{solution:?}");
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
