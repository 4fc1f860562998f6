//! How many rows each strip has: in proportion to the speed of its rank, so that on uneven hosts all are done at the same time.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::jacobi::{framed, relax};

/// Long enough to see a host whose processor time is rationed: rations are per tenth of a second.
const LONG_ENOUGH: Duration = Duration::from_millis(400);
/// Rows of the trial.
const TRIAL: usize = 32;

/// Divides `rows` in proportion to `weights`, by greatest remainders (Hamilton's method). Of equal remainders the first ones round
/// up. Everyone gets one at least; where that takes more than the proportion, whoever has most gives it.
pub(crate) fn apportion(rows: usize, weights: &[f64]) -> Vec<Range<usize>> {
    let sum: f64 = weights.iter().sum();
    let quotas: Vec<f64> = weights.iter().map(|weight| rows as f64 * weight / sum).collect();
    let mut counts: Vec<usize> = quotas.iter().map(|quota| quota.floor() as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| quotas[*b].fract().total_cmp(&quotas[*a].fract()));
    let rest = rows.saturating_sub(counts.iter().sum());
    order.iter().take(rest).for_each(|at| counts[*at] += 1);
    while let Some(none) = counts.iter().position(|count| *count == 0) {
        let most = (0..counts.len()).rev().max_by_key(|at| counts[*at]).unwrap_or(none);
        if counts[most] <= 1 {
            break;
        }
        counts[most] -= 1;
        counts[none] += 1;
    }
    let mut start = 0;
    let next = |count: usize| {
        start += count;
        start - count..start
    };
    counts.into_iter().map(next).collect()
}

/// The points per second that this rank calculates, with rows of `n` points.
pub(crate) fn measure(n: usize) -> f64 {
    let area = [1..TRIAL + 1, 1..n + 1];
    let mut old = framed(n.max(TRIAL), &[0..TRIAL, 0..n]);
    let mut new = old.clone();
    let (start, mut times) = (Instant::now(), 0);
    while start.elapsed() < LONG_ENOUGH {
        std::hint::black_box(relax(&old, &mut new, n + 2, &area));
        std::mem::swap(&mut old, &mut new);
        times += 1;
    }
    (times * TRIAL * n) as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rows: usize, weights: &[f64]) -> Vec<usize> {
        let shares = apportion(rows, weights);
        assert!(shares[0].start == 0 && shares.windows(2).all(|two| two[0].end == two[1].start), "{shares:?}");
        assert_eq!(shares.last().map(|share| share.end), Some(rows));
        shares.iter().map(Range::len).collect()
    }

    #[test]
    fn rows_are_in_proportion_to_speed() {
        assert_eq!(counts(100, &[1.0, 3.0]), [25, 75]);
        assert_eq!(counts(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(counts(10, &[1.2, 1.3, 1.5]), [3, 3, 4]);
        assert_eq!(counts(21, &[6.0, 6.0, 2.0]), [9, 9, 3]);
        assert_eq!(counts(7, &[5e8]), [7]);
    }

    #[test]
    fn everyone_gets_a_row() {
        assert_eq!(counts(5, &[1.0, 1e6, 1.0]), [1, 3, 1]);
        assert_eq!(counts(3, &[1.0, 1e300, 1e-300]), [1, 1, 1]);
        assert_eq!(counts(4, &[1.0; 4]), [1; 4]);
        assert_eq!(counts(6, &[0.0, 0.0, 1.0, 1.0]), [1, 1, 2, 2]);
    }

    #[test]
    fn nobody_is_further_than_one_row_from_the_proportion() {
        for rows in 20..120 {
            let weights = [3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.6];
            for (count, weight) in counts(rows, &weights).into_iter().zip(weights) {
                let quota = rows as f64 * weight / weights.iter().sum::<f64>();
                assert!((count as f64 - quota).abs() < 1.0, "{rows}: {count} instead of {quota}");
            }
        }
    }

    #[test]
    fn a_speed_is_a_number_of_points_per_second() {
        let speed = measure(3);
        assert!(speed.is_finite() && speed > 0.0, "{speed}");
    }
}
