//! Repeated measurements summed up: median, least and greatest.

use serde::{Deserialize, Serialize};

/// Median, minimum and maximum of repeated measurements, in the unit of what was measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// The median; of an even number of values the mean of the two in the middle.
    pub median: f64,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
}

impl Summary {
    /// Sums up; `None` if there are no values, or one of them is not a finite number.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => (values[middle - 1] + values[middle]) / 2.0,
            _ => values[middle],
        };
        Some(Summary { median, min: values[0], max: values[values.len() - 1] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Summary::of([4.0]).unwrap().median, 4.0);
        assert_eq!(Summary::of([4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(Summary::of([9.0, -1.0, 2.0, 3.0]), Some(Summary { median: 2.5, min: -1.0, max: 9.0 }));
        assert_eq!(Summary::of([1.0, f64::NAN]), None);
    }
}
