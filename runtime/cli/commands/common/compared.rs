//! Variants that were measured in pairs, compared. Pure.

use lathide_models::stats::{self, Comparison};
use serde::Serialize;
use serde_json::{Value, json};

use crate::report::results::{Form, Table};

/// The time of one variant over that of another: a row of the table.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Compared {
    /// Which.
    pub(crate) what: String,
    /// The median of the ratios within pairs, and the ends of its interval; without those, there are too few pairs.
    pub(crate) ratio: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    /// The probability of the interval, by order statistics.
    pub(crate) confidence: Option<f64>,
    pub(crate) ratio_of_medians: f64,
    /// How often chance alone shows as clear a difference, by the exact sign test.
    pub(crate) p: f64,
    pub(crate) differs: bool,
    pub(crate) pairs: usize,
}

impl Compared {
    /// Of pairs of times; `None` without pairs, or if a time is no number above 0.
    pub(crate) fn of(what: impl Into<String>, pairs: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let Comparison { ratio, interval, ratio_of_medians, p, differs, pairs } = Comparison::of(&first, &second)?;
        let [low, high, confidence] =
            [interval.map(|it| it.low), interval.map(|it| it.high), interval.map(|it| it.confidence)];
        Some(Compared { what: what.into(), ratio, low, high, confidence, ratio_of_medians, p, differs, pairs })
    }
}

/// What the least and the greatest of so many repetitions say of the median.
pub(crate) fn median_interval(repeats: usize) -> Value {
    let samples: Vec<f64> = (0..repeats).map(|sample| sample as f64).collect();
    if stats::median_interval(&samples).is_none() {
        return Value::Null;
    }
    let confidence = 1.0 - 2.0 * 0.5_f64.powi(repeats as i32);
    json!({ "confidence": confidence, "method": "order_statistics", "ends": ["_min", "_max"] })
}

/// The rows of `comparisons`.
pub(crate) fn table() -> Table {
    Table::of("comparisons")
        .title(
            "What differs, by the exact sign test of the pairs: p is how often chance alone shows as clear a difference, and up to \
             0.05 counts as one. A/A is a thing against itself: what no difference looks like; chance alone marks it in at most one \
             of twenty runs. Ratios are within pairs, since what slows the machine for a while slows both of a pair; where the \
             ratio of the medians is another, the machine drifted.",
        )
        .column("what", "what", Form::Word)
        .column("ratio", "ratio", Form::Fixed(3))
        .column("low", "95 %\nfrom", Form::Fixed(3))
        .column("high", "\nto", Form::Fixed(3))
        .column("ratio_of_medians", "ratio of\nmedians", Form::Fixed(3))
        .column("p", "p", Form::Fixed(3))
        .column("differs", "differs", Form::Mark)
        .column("pairs", "pairs", Form::Count)
}
