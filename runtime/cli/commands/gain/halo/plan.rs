//! What the two nodes of `lathide gain --halo` shall measure, and what they have: plain data.

use lathide_models::BadParameter;
use lathide_models::gain::DeepHalo;
use serde::{Deserialize, Serialize};

use super::super::plan::COLUMNS_MAX;
use crate::commands::common::raw::RawPlace;
use crate::commands::common::strip::Shape;

/// A block is at least so long, which makes wake-ups negligible, and has at least so many exchanges.
const BLOCK_S: f64 = 0.2;
const EXCHANGES_MIN: f64 = 3.0;
const SLOPE_BYTES: f64 = 65536.0;
/// Two nodes: a strip has one side with a neighbour.
const SIDES: u32 = 1;

/// What is to be measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::commands::gain) struct Plan {
    /// Points per column.
    pub(super) rows: usize,
    /// t_calc over t_com with an exchange in each step.
    pub(super) gamma: f64,
    /// Numbers of ghost columns, ascending.
    pub(super) halos: Vec<u32>,
    /// How often everything is measured.
    pub(super) repeats: u32,
    /// By then all is to be over, in seconds after the nodes have begun, but for the first repetition.
    pub(super) deadline_s: Option<f64>,
    /// Where the raw connection is.
    pub(super) raw: Option<RawPlace>,
}

impl Plan {
    /// The lengths of messages, in columns, whose times give a and b: from one column to the most that are exchanged, or to
    /// some [`SLOPE_BYTES`], so that the line has a length to lie on.
    pub(super) fn lengths(&self) -> Vec<u32> {
        let enough = (SLOPE_BYTES / self.bytes(1)).ceil().clamp(8.0, COLUMNS_MAX as f64) as u32;
        let most = self.halos.last().copied().unwrap_or(1).max(enough);
        let middle = f64::from(most).sqrt().round() as u32;
        vec![1, middle, (middle * most).isqrt(), most]
    }

    /// The model, from what was measured apart from the stencil.
    pub(super) fn model(&self, calculation_s: f64, line: Line) -> Result<DeepHalo, BadParameter> {
        DeepHalo::new(COLUMNS_MAX as u32, SIDES, calculation_s, line.a_s, line.b_s_per_byte * self.bytes(1))
    }

    /// The length of a message of so many columns.
    pub(super) fn bytes(&self, columns: u32) -> f64 {
        (self.rows * size_of::<f64>()) as f64 * f64::from(columns)
    }

    /// About how many seconds it all takes, where messages of one row and of one column take so long.
    pub(super) fn estimate_s(&self, least_s: f64, column_s: f64) -> f64 {
        let line = Line { a_s: least_s, b_s_per_byte: ((column_s - least_s) / self.bytes(1)).max(0.0) };
        let block = |each_s: f64| f64::from(exchanges(each_s)) * each_s;
        let Ok(model) = self.model(self.gamma * column_s, line) else { return 0.0 };
        let lengths = self.lengths().into_iter().map(|columns| block(model.exchange_s(columns))).sum::<f64>();
        let halos = self.halos.iter().map(|halo| {
            let group = |step_s: Result<f64, BadParameter>| block(f64::from(*halo) * step_s.unwrap_or(0.0));
            group(model.step_s(*halo)) + group(model.hidden_step_s(*halo))
        });
        f64::from(self.repeats) * (lengths + halos.sum::<f64>() + 2.0 * block(model.plain_s()) + BLOCK_S)
    }
}

/// How many exchanges a block has, where one and the steps that belong to it take so long.
pub(super) fn exchanges(each_s: f64) -> u32 {
    (BLOCK_S / each_s).ceil().clamp(EXCHANGES_MIN, 10_000.0) as u32
}

/// `a + b x`, the time of a message of x bytes each way at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Line {
    pub(super) a_s: f64,
    pub(super) b_s_per_byte: f64,
}

impl Line {
    /// The line with the least squares of relative errors through times by bytes; none of its costs is below 0.
    pub(super) fn fit(times: &[(f64, f64)]) -> Self {
        let sum =
            |of: fn(f64) -> f64| -> f64 { times.iter().map(|(bytes, time_s)| of(*bytes) / (time_s * time_s)).sum() };
        let [one, x, xx] = [sum(|_| 1.0), sum(|bytes| bytes), sum(|bytes| bytes * bytes)];
        let [t, xt] = [0, 1].map(|power| times.iter().map(|(bytes, time_s)| bytes.powi(power) / time_s).sum::<f64>());
        let determinant = one * xx - x * x;
        if determinant <= 0.0 {
            return Line { a_s: t / one, b_s_per_byte: 0.0 };
        }
        let (a_s, b_s_per_byte) = ((t * xx - x * xt) / determinant, (one * xt - x * t) / determinant);
        match (a_s > 0.0, b_s_per_byte > 0.0) {
            (true, true) => Line { a_s, b_s_per_byte },
            (true, false) => Line { a_s: t / one, b_s_per_byte: 0.0 },
            _ => Line { a_s: 0.0, b_s_per_byte: xt / xx },
        }
    }

    pub(super) fn time_s(self, bytes: f64) -> f64 {
        self.a_s + self.b_s_per_byte * bytes
    }
}

/// What rank 0 reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) shape: Shape,
    pub(super) rounds: Vec<Round>,
}

/// One repetition; times are in seconds, of the slower node.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) sequence: u32,
    /// Calculation alone, per step: at the beginning and the end.
    #[serde(rename = "t_calc_s")]
    pub(super) t_calc: Vec<f64>,
    /// An exchange alone, of each of [`Plan::lengths`].
    #[serde(rename = "t_exchanges_s")]
    pub(super) exchanges: Vec<f64>,
    /// A step of version I.1 with one ghost column, in the order of `calculate, write, read`.
    #[serde(rename = "t_i1_s")]
    pub(super) t_i1: f64,
    /// The same again.
    #[serde(rename = "t_i1_again_s")]
    pub(super) t_i1_again: f64,
    /// For each of [`Plan::halos`]: a step with nothing hidden, and with the exchange hidden.
    #[serde(rename = "t_halos_s")]
    pub(super) t_halos: Vec<[f64; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_again() {
        let line = Line { a_s: 25e-3, b_s_per_byte: 160e-9 };
        let times = |line: Line| [4e3, 32e3, 90e3, 256e3].map(|bytes| (bytes, line.time_s(bytes)));
        let found = Line::fit(&times(line));
        assert!(
            (found.a_s / line.a_s - 1.0).abs() < 1e-9 && (found.b_s_per_byte / line.b_s_per_byte - 1.0).abs() < 1e-9
        );
        let flat = Line::fit(&[(1.0, 2.0), (10.0, 1.9)]);
        assert!(flat.b_s_per_byte == 0.0 && flat.a_s > 1.8 && flat.a_s < 2.0, "{flat:?}");
        let steep = Line::fit(&[(1.0, 1.0), (10.0, 12.0)]);
        assert!(steep.a_s == 0.0 && steep.b_s_per_byte > 1.0, "{steep:?}");
        assert_eq!(Line::fit(&[(8.0, 3.0), (8.0, 3.0)]), Line { a_s: 3.0, b_s_per_byte: 0.0 });
    }

    #[test]
    fn a_plan_has_lengths_and_an_estimate() {
        let plan = |halos: &[u32]| Plan {
            rows: 500,
            gamma: 0.1,
            halos: halos.to_vec(),
            repeats: 5,
            deadline_s: None,
            raw: None,
        };
        assert_eq!(plan(&[1, 2, 64]).lengths(), [1, 8, 22, 64]);
        assert_eq!(plan(&[1]).lengths(), [1, 4, 8, 17], "17 columns have 64 KiB");
        assert_eq!(plan(&[3]).bytes(3), 12_000.0);
        let [few, many] = [&[1, 2][..], &[1, 2, 32]].map(|halos| plan(halos).estimate_s(25e-3, 26e-3));
        assert!(few > 5.0 && many > few && many < 60.0, "{few} {many}");
        assert_eq!(exchanges(25e-3), 8);
        assert_eq!((exchanges(10.0), exchanges(1e-9)), (3, 10_000));
    }
}
