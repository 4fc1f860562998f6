//! What all robust fits share: weighted quantiles, the scale of residuals, Huber's loss and weights.

/// The value below which `share` of the weight lies; `None` without values. At a tie, the mean of the two values.
pub(super) fn quantile(values: impl IntoIterator<Item = (f64, f64)>, share: f64) -> Option<f64> {
    let mut values: Vec<(f64, f64)> = values.into_iter().filter(|(_, weight)| *weight > 0.0).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    for (index, (value, weight)) in values.iter().enumerate() {
        below += weight;
        // Sums of weights such as 1/3 are not exact.
        let excess = below - share * total;
        if excess.abs() <= 1e-12 * total && index + 1 < values.len() {
            return Some((value + values[index + 1].0) / 2.0);
        }
        if excess > 0.0 {
            return Some(*value);
        }
    }
    values.last().map(|(value, _)| *value)
}

/// The weighted median; 0 without values.
pub(super) fn median(values: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    quantile(values, 0.5).unwrap_or(0.0)
}

/// The median of equally weighted values; 0 without values.
pub(super) fn plain_median(values: impl IntoIterator<Item = f64>) -> f64 {
    median(values.into_iter().map(|value| (value, 1.0)))
}

/// The spread of residuals about 0: their median absolute value, scaled to be the standard deviation of normal
/// ones. Never below what rounding does.
pub(super) fn scale(residuals: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let spread = median(residuals.into_iter().map(|(residual, weight)| (residual.abs(), weight)));
    (1.4826 * spread).max(1e-12)
}

/// Where Huber's loss turns from square to linear, in scales: 95 percent efficient on normal residuals.
const TURN: f64 = 1.345;

/// The factor by which a residual's weight is reduced.
pub(super) fn huber_weight(residual: f64, scale: f64) -> f64 {
    let reach = TURN * scale;
    if residual.abs() <= reach { 1.0 } else { reach / residual.abs() }
}

/// Huber's loss of a residual, in units of scale.
pub(super) fn huber_loss(residual: f64, scale: f64) -> f64 {
    let distance = residual.abs() / scale;
    if distance <= TURN { distance * distance / 2.0 } else { TURN * (distance - TURN / 2.0) }
}

/// The place of the least `value` between `low` and `high`, by golden section, and that value. The function should
/// have one minimum there; if it has more, one of them.
pub(super) fn golden_section(mut low: f64, mut high: f64, rounds: u32, value: impl Fn(f64) -> f64) -> (f64, f64) {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..rounds {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = value(right);
        }
    }
    if at_left <= at_right { (left, at_left) } else { (right, at_right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        assert_eq!(quantile([], 0.5), None);
        assert_eq!(plain_median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(plain_median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([(1.0, 3.0), (2.0, 1.0), (9.0, 1.0)]), 1.0, "the first has most of the weight");
        assert_eq!(median([(1.0, 0.0), (5.0, 1.0)]), 5.0, "no weight, no say");
        let ten = || (1..=10).map(|value| (f64::from(value), 0.1));
        assert_eq!(
            (quantile(ten(), 0.9), quantile(ten(), 1.0), quantile(ten(), 0.0)),
            (Some(9.5), Some(10.0), Some(1.0))
        );
    }

    #[test]
    fn huber_by_hand() {
        assert_eq!(huber_loss(1.0, 1.0), 0.5);
        assert_eq!(huber_weight(1.0, 1.0), 1.0);
        assert!((huber_weight(-13.45, 1.0) - 0.1).abs() < 1e-12);
        assert!((huber_loss(TURN - 1e-9, 1.0) - huber_loss(TURN + 1e-9, 1.0)).abs() < 1e-8, "continuous");
    }

    #[test]
    fn golden_section_finds_a_kink() {
        let (place, value) = golden_section(0.0, 10.0, 80, |x| (x - 7.25).abs());
        assert!((place - 7.25).abs() < 1e-12 && value < 1e-12);
    }
}
