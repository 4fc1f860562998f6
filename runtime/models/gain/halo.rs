//! Deep halos: beyond eq. (1).
//!
//! A strip of columns has `k` ghost columns on each side, and calculates `k` steps for each exchange of `k` columns. So `k` steps
//! pay for one start-up, and the exchange can hide behind the calculation of `k` steps, not of one. Near its edges a rank
//! calculates what its neighbour calculates too: `k - j` ghost columns in step `j`, `k (k - 1) / 2` in all on each side.
//!
//! Of the strip's own columns those do not need the exchange in step `j` that are more than `j` from an edge: the
//! *interior*, `c - j s` columns where `s` sides have neighbours. It is calculated while the exchange is under way, the rest after it.
//!
//! ```
//! use lathide_models::gain::DeepHalo;
//! // 25 ms one way and 50 Mbit/s, 500 rows of doubles, 64 columns that take 2.5 ms.
//! let strip = DeepHalo::new(64, 2, 2.5e-3, 25e-3, 500.0 * 8.0 * 160e-9)?;
//! let best = strip.best()?;
//! assert!(strip.gain(best)? > 5.0 && strip.gain(best)? < strip.bound());
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

use crate::{BadParameter, above_zero, at_least_zero};

/// A strip of columns between others, and the link to them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DeepHalo {
    columns: u32,
    sides: u32,
    calculation_s: f64,
    startup_s: f64,
    column_s: f64,
}

impl DeepHalo {
    /// A strip of `columns` columns of which `sides` sides have neighbours (1 or 2); `calculation_s` (t_calc) for one step of it;
    /// `startup_s + k column_s` (`a + b x`) one way for `k` columns.
    ///
    /// # Errors
    /// If there are no columns, no sides or more than 2, or a time is not a finite number above 0 (`column_s`: of at least 0).
    pub fn new(
        columns: u32,
        sides: u32,
        calculation_s: f64,
        startup_s: f64,
        column_s: f64,
    ) -> Result<Self, BadParameter> {
        above_zero("columns", f64::from(columns))?;
        if !(1..=2).contains(&sides) {
            return Err(BadParameter { name: "sides", value: f64::from(sides), domain: "1 or 2" });
        }
        Ok(DeepHalo {
            columns,
            sides,
            calculation_s: above_zero("t_calc", calculation_s)?,
            startup_s: above_zero("a", startup_s)?,
            column_s: at_least_zero("b x", column_s)?,
        })
    }

    /// t_com, the exchange of `halo` columns, both sides and directions at once: `a + b x`.
    pub fn exchange_s(&self, halo: u32) -> f64 {
        self.startup_s + f64::from(halo) * self.column_s
    }

    /// `gamma = t_calc / t_com`, with an exchange of one column in each step.
    pub fn gamma(&self) -> f64 {
        self.calculation_s / self.exchange_s(1)
    }

    /// `1 + 1/gamma`: a step that communicates for nothing.
    pub fn bound(&self) -> f64 {
        1.0 + 1.0 / self.gamma()
    }

    /// A step of version I.1: calculation, then the exchange of one column.
    pub fn plain_s(&self) -> f64 {
        self.calculation_s + self.exchange_s(1)
    }

    /// The calculation of ghost columns in `halo` steps, relative to that of the strip's own.
    ///
    /// # Errors
    /// If `halo` is 0, or above the number of columns: a neighbour has no more. So for the other methods.
    pub fn redundancy(&self, halo: u32) -> Result<f64, BadParameter> {
        let k = self.checked(halo)?;
        Ok(f64::from(self.sides) * (k - 1.0) / 2.0 / f64::from(self.columns))
    }

    /// A step with `halo` ghost columns and nothing hidden, in the mean: `t_calc (1 + redundancy) + t_com / k`.
    ///
    /// # Errors
    /// As [`DeepHalo::redundancy`].
    pub fn step_s(&self, halo: u32) -> Result<f64, BadParameter> {
        Ok(self.calculation_s * (1.0 + self.redundancy(halo)?) + self.exchange_s(halo) / f64::from(halo))
    }

    /// The same, with the exchange hidden behind the interior of all its steps.
    ///
    /// # Errors
    /// As [`DeepHalo::redundancy`].
    pub fn hidden_step_s(&self, halo: u32) -> Result<f64, BadParameter> {
        let k = self.checked(halo)?;
        let each_s = self.calculation_s / f64::from(self.columns);
        let interior = (1..=halo).map(|step| f64::from(self.columns.saturating_sub(step.saturating_mul(self.sides))));
        let interior_s = interior.sum::<f64>() * each_s;
        let all_s = k * self.calculation_s * (1.0 + self.redundancy(halo)?);
        Ok((interior_s.max(self.exchange_s(halo)) + (all_s - interior_s)) / k)
    }

    /// What `halo` ghost columns gain over one, with nothing hidden.
    ///
    /// # Errors
    /// As [`DeepHalo::redundancy`].
    pub fn gain_of_halo(&self, halo: u32) -> Result<f64, BadParameter> {
        Ok(self.plain_s() / self.step_s(halo)?)
    }

    /// What hiding gains with `halo` ghost columns: the G of eq. (4), at the granularity that they leave.
    ///
    /// # Errors
    /// As [`DeepHalo::redundancy`].
    pub fn gain_of_hiding(&self, halo: u32) -> Result<f64, BadParameter> {
        Ok(self.step_s(halo)? / self.hidden_step_s(halo)?)
    }

    /// What both gain over version I.1: their product.
    ///
    /// # Errors
    /// As [`DeepHalo::redundancy`].
    pub fn gain(&self, halo: u32) -> Result<f64, BadParameter> {
        Ok(self.plain_s() / self.hidden_step_s(halo)?)
    }

    /// The number of ghost columns with the greatest gain, up to the strip's width.
    ///
    /// # Errors
    /// As [`DeepHalo::redundancy`]; of none of them.
    pub fn best(&self) -> Result<u32, BadParameter> {
        let (mut best, mut most) = (1, self.gain(1)?);
        for halo in 2..=self.columns.min(SEARCHED_MAX) {
            let gain = self.gain(halo)?;
            if gain > most {
                (best, most) = (halo, gain);
            }
        }
        Ok(best)
    }

    fn checked(&self, halo: u32) -> Result<f64, BadParameter> {
        let fits = (1..=self.columns).contains(&halo);
        let domain = "at least 1, and at most the strip's width: a neighbour has no more columns";
        if fits { Ok(f64::from(halo)) } else { Err(BadParameter { name: "halo", value: f64::from(halo), domain }) }
    }
}

/// Ghost columns beyond this are not looked at: redundancy has won long before.
const SEARCHED_MAX: u32 = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The schedule, column by column: what is calculated while the exchange is under way, and after it.
    fn by_hand(columns: u32, sides: u32, halo: u32) -> (u32, u32) {
        let (mut before, mut after) = (0, 0);
        let right = sides == 2;
        for step in 1..=halo {
            let (low, high) = (-i64::from(halo - step), i64::from(columns) + i64::from(halo - step) * i64::from(right));
            for column in low..high {
                let from_left = column >= i64::from(step);
                let from_right = !right || column < i64::from(columns) - i64::from(step);
                if from_left && from_right { before += 1 } else { after += 1 }
            }
        }
        (before, after)
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn it_is_what_the_schedule_takes(
            columns in 1u32..60, sides in 1u32..=2, part in 0.0f64..1.0,
            calculation_s in 1e-6f64..1.0, startup_s in 1e-6f64..1.0, column_s in 0.0f64..0.1,
        ) {
            let strip = DeepHalo::new(columns, sides, calculation_s, startup_s, column_s).unwrap();
            let halo = 1 + (part * f64::from(columns - 1)) as u32;
            let (before, after) = by_hand(columns, sides, halo);
            let each_s = calculation_s / f64::from(columns);
            let hidden_s = (f64::from(before) * each_s).max(strip.exchange_s(halo)) + f64::from(after) * each_s;
            let close = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
            prop_assert!(close(strip.hidden_step_s(halo).unwrap() * f64::from(halo), hidden_s));
            let plain_s = f64::from(before + after) * each_s + strip.exchange_s(halo);
            prop_assert!(close(strip.step_s(halo).unwrap() * f64::from(halo), plain_s));
            let (gain, both) = (strip.gain(halo).unwrap(), strip.gain_of_halo(halo).unwrap() * strip.gain_of_hiding(halo).unwrap());
            prop_assert!(close(gain, both));
            prop_assert!(gain <= strip.bound() * (1.0 + 1e-12) && strip.gain_of_hiding(halo).unwrap() >= 1.0 - 1e-12);
            let best = strip.best().unwrap();
            prop_assert!(strip.gain(best).unwrap() >= gain);
        }
    }

    #[test]
    fn one_ghost_column_is_version_i3() {
        let strip = DeepHalo::new(100, 2, 10e-3, 8e-3, 1e-3).unwrap();
        // f = 98/100 of the calculation hides, and t_com is 9 ms.
        let eq_4 = super::super::partial(10.0 / 9.0, 0.98).unwrap();
        assert!((strip.gain(1).unwrap() / eq_4 - 1.0).abs() < 1e-12);
        assert_eq!(strip.redundancy(1), Ok(0.0));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let strip = DeepHalo::new(8, 2, 1e-3, 25e-3, 0.0).unwrap();
        for halo in [0, 9, u32::MAX] {
            assert_eq!(strip.gain(halo).unwrap_err().name, "halo");
        }
        assert_eq!(DeepHalo::new(0, 2, 1.0, 1.0, 1.0).unwrap_err().name, "columns");
        assert_eq!(DeepHalo::new(1, 3, 1.0, 1.0, 1.0).unwrap_err().name, "sides");
        assert_eq!(DeepHalo::new(1, 1, 0.0, 1.0, 1.0).unwrap_err().name, "t_calc");
        assert_eq!(DeepHalo::new(1, 1, 1.0, f64::NAN, 1.0).unwrap_err().name, "a");
    }
}
