//! Costs as functions of the message size.

use crate::{BadParameter, above_zero, at_least_zero, check, representable};

/// A straight line, the form of most of the paper's costs: `startup + per_byte m`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Line {
    /// The cost at 0 bytes (kappa, g_1), in s; a fitted line that holds for larger sizes only may have it below 0.
    pub startup_s: f64,
    /// The slope (tau), in s/byte.
    pub per_byte_s: f64,
}

impl Line {
    /// A line from its two numbers.
    pub const fn new(startup_s: f64, per_byte_s: f64) -> Self {
        Self { startup_s, per_byte_s }
    }

    fn at(self, bytes: f64) -> f64 {
        self.startup_s + self.per_byte_s * bytes
    }
}

/// One of the model's parameters: seconds as a function of bytes (section 3.2).
///
/// The paper insists that parameters are functions, not constants. They may be straight lines, lines in pieces (as in
/// its Table 1, where 40 bytes divide them), or a table of measurements.
///
/// ```
/// use lathide_models::cluster::{Cost, Line};
/// let send_gap = Cost::pieces(&[(40.0, Line::new(6.73e-6, 0.0))], Line::new(3.027e-6, 0.0796e-6))?;
/// assert!(send_gap.at(41.0)? < send_gap.at(40.0)?); // as in the paper: it need not rise everywhere
/// let measured = Cost::measured(&[(1.0, 5e-6), (1001.0, 15e-6)])?;
/// assert!((measured.at(501.0)? - 10e-6).abs() < 1e-15);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    form: Form,
}

#[derive(Clone, PartialEq, Debug)]
enum Form {
    /// Each line holds up to and with its size, the last one without end.
    Lines { pieces: Vec<(f64, Line)>, last: Line },
    /// Sizes in rising order, and their times.
    Points(Vec<(f64, f64)>),
}

impl Cost {
    /// The same cost for every size.
    ///
    /// # Errors
    /// If `seconds` is not a finite number of at least 0.
    pub fn constant(seconds: f64) -> Result<Self, BadParameter> {
        Self::linear(Line::new(seconds, 0.0))
    }

    /// One line for every size.
    ///
    /// # Errors
    /// If its startup or its slope is not a finite number of at least 0.
    pub fn linear(line: Line) -> Result<Self, BadParameter> {
        Self::pieces(&[], line)
    }

    /// Lines in pieces: each pair is a line and the largest size it holds for; `last` is for all larger sizes.
    ///
    /// # Errors
    /// If the sizes do not rise, a number is not finite, or a line is below 0 somewhere in its piece.
    pub fn pieces(pieces: &[(f64, Line)], last: Line) -> Result<Self, BadParameter> {
        let mut start = 0.0;
        for &(end, line) in pieces {
            at_least_zero("largest size of a piece", end)?;
            check("largest size of a piece", end, end > start, "above that of the piece before it, and above 0")?;
            at_least_zero("cost at the start of a piece", line.at(start))?;
            at_least_zero("cost at the end of a piece", line.at(end))?;
            start = end;
        }
        at_least_zero("slope of the last piece", last.per_byte_s)?;
        at_least_zero("cost at the start of the last piece", last.at(start))?;
        Ok(Self { form: Form::Lines { pieces: pieces.to_vec(), last } })
    }

    /// Measured (bytes, seconds), by rising size. Between two sizes the cost is interpolated; below the first it is the
    /// first's; above the last it goes on as between the last two, or stays where that falls.
    ///
    /// # Errors
    /// If there is no measurement, the sizes do not rise, or a number is not finite and at least 0.
    pub fn measured(points: &[(f64, f64)]) -> Result<Self, BadParameter> {
        above_zero("number of measurements", points.len() as f64)?;
        let mut before = None;
        for &(bytes, seconds) in points {
            at_least_zero("measured size", bytes)?;
            at_least_zero("measured time", seconds)?;
            check("measured size", bytes, before.is_none_or(|before| bytes > before), "above the one before it")?;
            before = Some(bytes);
        }
        Ok(Self { form: Form::Points(points.to_vec()) })
    }

    /// The cost of `bytes`, in s.
    ///
    /// # Errors
    /// If `bytes` is not a finite number of at least 0, or so large that the cost is no number.
    pub fn at(&self, bytes: f64) -> Result<f64, BadParameter> {
        let bytes = at_least_zero("m", bytes)?;
        let seconds = match &self.form {
            Form::Lines { pieces, last } => {
                let piece = pieces.partition_point(|(end, _)| *end < bytes);
                // A line that passes through 0 at the end of its piece may be below it by rounding.
                pieces.get(piece).map_or(last, |(_, line)| line).at(bytes).max(0.0)
            }
            Form::Points(points) => interpolated(points, bytes),
        };
        representable("cost of m bytes", seconds)
    }
}

fn interpolated(points: &[(f64, f64)], bytes: f64) -> f64 {
    let next = points.partition_point(|(size, _)| *size < bytes);
    let Some(&(left, low)) = next.checked_sub(1).and_then(|before| points.get(before)) else { return points[0].1 };
    if let Some(&(right, high)) = points.get(next) {
        return low + (high - low) * ((bytes - left) / (right - left));
    }
    // Beyond the last measurement.
    let Some(&(earlier, lower)) = next.checked_sub(2).and_then(|before| points.get(before)) else { return low };
    low + ((low - lower) / (left - earlier)).max(0.0) * (bytes - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_holds_up_to_and_with_its_size() {
        let cost = Cost::pieces(&[(10.0, Line::new(1.0, 0.0)), (20.0, Line::new(2.0, 0.0))], Line::new(3.0, 0.0));
        let cost = cost.unwrap();
        for (bytes, seconds) in [(0.0, 1.0), (10.0, 1.0), (10.5, 2.0), (20.0, 2.0), (20.5, 3.0), (1e9, 3.0)] {
            assert_eq!(cost.at(bytes).unwrap(), seconds, "{bytes} bytes");
        }
    }

    #[test]
    fn measurements_are_interpolated_and_go_on() {
        let cost = Cost::measured(&[(10.0, 1.0), (20.0, 3.0), (30.0, 4.0)]).unwrap();
        for (bytes, seconds) in [(0.0, 1.0), (10.0, 1.0), (15.0, 2.0), (20.0, 3.0), (30.0, 4.0), (50.0, 6.0)] {
            assert_eq!(cost.at(bytes).unwrap(), seconds, "{bytes} bytes");
        }
        assert_eq!(Cost::measured(&[(10.0, 1.0)]).unwrap().at(99.0).unwrap(), 1.0);
        assert_eq!(
            Cost::measured(&[(10.0, 2.0), (20.0, 1.0)]).unwrap().at(99.0).unwrap(),
            1.0,
            "no cost falls below 0"
        );
    }

    #[test]
    fn bad_costs_are_refused() {
        let name = |cost: Result<Cost, BadParameter>| cost.unwrap_err().name;
        assert_eq!(name(Cost::constant(-1.0)), "cost at the start of the last piece");
        assert_eq!(name(Cost::linear(Line::new(1.0, -1.0))), "slope of the last piece");
        assert_eq!(name(Cost::linear(Line::new(1.0, f64::NAN))), "slope of the last piece");
        assert_eq!(name(Cost::linear(Line::new(1.0, f64::INFINITY))), "slope of the last piece");
        let line = Line::new(1.0, -0.1);
        assert_eq!(name(Cost::pieces(&[(20.0, line)], Line::default())), "cost at the end of a piece");
        assert_eq!(name(Cost::pieces(&[(5.0, line), (5.0, line)], Line::default())), "largest size of a piece");
        assert_eq!(name(Cost::pieces(&[(0.0, line)], Line::default())), "largest size of a piece");
        assert_eq!(name(Cost::measured(&[])), "number of measurements");
        assert_eq!(name(Cost::measured(&[(1.0, 1.0), (1.0, 2.0)])), "measured size");
        assert_eq!(name(Cost::measured(&[(-1.0, 1.0)])), "measured size");
        assert_eq!(name(Cost::measured(&[(1.0, f64::NAN)])), "measured time");
        let falls = Cost::pieces(&[(5.0, Line::new(1.0, -0.2))], Line::new(-5.0, 1.0)).unwrap();
        assert_eq!((falls.at(5.0).unwrap(), falls.at(6.0).unwrap()), (0.0, 1.0));
        assert_eq!(falls.at(-1.0).unwrap_err().to_string(), "m is -1, but must be a finite number of at least 0");
        assert!(Cost::linear(Line::new(0.0, f64::MAX)).unwrap().at(2.0).is_err(), "too large");
    }
}
