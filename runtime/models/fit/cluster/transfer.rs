//! `L(m, p)` from round trips (Tam, Wang, section 3.2 and Table 1).

use serde::{Deserialize, Serialize};

use super::Cost;
use crate::fit::linear::{COLUMNS, Equation, solve};
use crate::fit::robust::{golden_section, scale};
use crate::fit::series::{Row, Series};
use crate::fit::{BadParameter, FitError, Fitted, Sample, TIME_S, checked_count};
use crate::{above_zero, at_least_zero, representable};

/// Round trips between pairs that run at the same time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The size of the message each way.
    pub bytes: u64,
    /// p: how many processors take part, two for each pair.
    pub processors: u32,
    /// There and back, in seconds.
    pub time_s: f64,
}

/// The network's part of a message's way.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// What every message costs, in seconds.
    pub startup_s: f64,
    /// What every processor that takes part adds, in seconds.
    pub per_processor_s: f64,
    /// What each byte costs, in seconds, while the network is not saturated.
    pub s_per_byte: f64,
    /// Where the network saturates; `None` if no sample shows it.
    pub saturation: Option<Saturation>,
}

/// The network as a whole passes so much and no more (Table 1: 90 bytes/us).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Saturation {
    /// The aggregate rate from which bytes take longer.
    pub bytes_per_s: f64,
    /// The send gap `g_s(m)`, which says what processors can offer: `p m / g_s(m)`.
    pub send_gap: Cost,
}

impl Transfer {
    /// `L(m, p) = startup + per_processor p + slope m max(1, p m / (saturation g_s(m)))`, as in Table 1.
    ///
    /// # Errors
    /// If p is 0, a field is not a finite number of at least 0 (the saturation above 0), or the result is too large for a
    /// number.
    pub fn time_s(&self, bytes: u64, processors: u32) -> Result<f64, BadParameter> {
        above_zero("p", processors.into())?;
        at_least_zero("startup_s", self.startup_s)?;
        at_least_zero("per_processor_s", self.per_processor_s)?;
        at_least_zero("s_per_byte", self.s_per_byte)?;
        if let Some(Saturation { bytes_per_s, send_gap }) = &self.saturation {
            above_zero("saturation", *bytes_per_s)?;
            send_gap.time_s(bytes)?;
        }
        representable("L", self.seconds(bytes, processors))
    }

    /// The same where all fields are known to be numbers.
    pub(crate) fn seconds(&self, bytes: u64, processors: u32) -> f64 {
        let factor = self.saturation.map_or(1.0, |saturation| {
            (offered(&saturation.send_gap, bytes, processors) / saturation.bytes_per_s).max(1.0)
        });
        self.startup_s + self.per_processor_s * f64::from(processors) + self.s_per_byte * bytes as f64 * factor
    }
}

/// What the processors can offer, in bytes per second; 0 if the send gap is nothing.
fn offered(send_gap: &Cost, bytes: u64, processors: u32) -> f64 {
    let gap_s = send_gap.seconds(bytes);
    if gap_s > 0.0 { f64::from(processors) * bytes as f64 / gap_s } else { 0.0 }
}

/// `L(m, p)` from round trips of 2 (O_s + L + O_r + U_r): half of each, less `overhead`, which is the sum
/// `O_s + O_r + U_r`.
///
/// The error that is minimised, and the quality, is that of the whole one-way time, since L itself may be next to
/// nothing. What saturates the network is looked for if the send gap is given and several numbers of processors were
/// measured.
///
/// # Errors
/// If there are fewer round trips than parameters, all of one size, one takes no time or no finite one or has fewer
/// than two processors, or `overhead` or the send gap is at some size neither 0 nor between 1e-15 and 1e15 s.
pub fn transfer(
    round_trips: &[RoundTrip],
    overhead: Cost,
    send_gap: Option<Cost>,
) -> Result<Fitted<Transfer>, FitError> {
    let sizes = || round_trips.iter().map(|trip| trip.bytes);
    check("overhead O_s + O_r + U_r", &overhead, sizes())?;
    if let Some(gap) = &send_gap {
        check("send gap g_s", gap, sizes())?;
    }
    let mut processors = std::collections::BTreeSet::new();
    for (index, trip) in round_trips.iter().enumerate() {
        processors.insert(checked_count(index, "processors", trip.processors, 2)?);
    }
    let one_way: Vec<Sample> =
        round_trips.iter().map(|trip| Sample { bytes: trip.bytes, time_s: trip.time_s / 2.0 }).collect();
    let parameters = 2 + usize::from(processors.len() > 1) * (1 + usize::from(send_gap.is_some()));
    let tags = |index: usize| round_trips[index].processors;
    let series = Series::tagged(&one_way, tags, parameters)?;
    let send_gap = send_gap.filter(|_| processors.len() > 1);
    let fit = |series: &Series| fit_series(series, &overhead, send_gap, processors.len() > 1);
    Ok(series.fit_tagged(fit, |model, bytes, p| overhead.seconds(bytes) + model.seconds(bytes, p)))
}

/// A cost that is given must be one that can be computed with at every size.
fn check(name: &'static str, cost: &Cost, sizes: impl Iterator<Item = u64>) -> Result<(), FitError> {
    let bad = |cause| FitError::BadCost { cause };
    for bytes in std::iter::once(0).chain(sizes) {
        let time_s = cost.time_s(bytes).map_err(bad)?;
        let fits = time_s == 0.0 || TIME_S.contains(&time_s);
        crate::check(name, time_s, fits, "0 or between 1e-15 and 1e15 seconds at every size").map_err(bad)?;
    }
    Ok(())
}

fn fit_series(series: &Series, overhead: &Cost, send_gap: Option<Cost>, several: bool) -> Transfer {
    let unsaturated = with_saturation(series, overhead, None, several);
    let Some(send_gap) = send_gap else { return unsaturated };
    let loads = || series.rows().iter().map(|row| offered(&send_gap, row.bytes, row.tag)).filter(|load| *load > 0.0);
    let (least, most) = loads().fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), load| (l.min(load), m.max(load)));
    if least >= most {
        return unsaturated;
    }
    let residual = |model: &Transfer, row: &Row| {
        (overhead.seconds(row.bytes) + model.seconds(row.bytes, row.tag)) / row.time_s - 1.0
    };
    // Outliers must not hide what the other samples say.
    let cap = 3.0 * scale(series.rows().iter().map(|row| (residual(&unsaturated, row), row.weight)));
    let loss = |model: &Transfer| {
        let errors = series.rows().iter().map(|row| row.weight * residual(model, row).abs().min(cap));
        errors.sum::<f64>() / series.rows().iter().map(|row| row.weight).sum::<f64>()
    };
    let at = |place: f64| {
        let saturation = Saturation { bytes_per_s: place.exp(), send_gap };
        with_saturation(series, overhead, Some(saturation), several)
    };
    let (low, high) = (least.ln(), most.ln());
    let width = (high - low) / CELLS;
    let places = (0..CELLS as u32).map(|cell| low + width * f64::from(cell));
    let coarse = places.map(|place| (place, loss(&at(place)))).min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((coarse, coarse_loss)) = coarse else { return unsaturated };
    let (fine, fine_loss) = golden_section((coarse - width).max(low), coarse + width, 40, |place| loss(&at(place)));
    let (best, best_loss) = if fine_loss < coarse_loss { (fine, fine_loss) } else { (coarse, coarse_loss) };
    // One more parameter has to pay for itself.
    let worth = best_loss + NEGLIGIBLE < PAYS * loss(&unsaturated);
    if worth { at(best) } else { unsaturated }
}

fn with_saturation(series: &Series, overhead: &Cost, saturation: Option<Saturation>, several: bool) -> Transfer {
    let shape = Transfer { startup_s: 0.0, per_processor_s: 0.0, s_per_byte: 1.0, saturation };
    let equation = |row: &Row| {
        let mut columns = [0.0; COLUMNS];
        columns[0] = 1.0;
        columns[1] = shape.seconds(row.bytes, row.tag);
        columns[2] = if several { row.tag.into() } else { 0.0 };
        Equation { columns, fixed_s: overhead.seconds(row.bytes), time_s: row.time_s, weight: row.weight }
    };
    let [startup_s, s_per_byte, per_processor_s, ..] = solve(&series.rows().iter().map(equation).collect::<Vec<_>>());
    Transfer { startup_s, per_processor_s, s_per_byte, saturation }
}

/// In how many steps the rate of saturation is first looked for.
const CELLS: f64 = 30.0;
/// By how much saturation must lower the error to be believed.
const PAYS: f64 = 0.85;
/// An error that is small enough not to be explained.
const NEGLIGIBLE: f64 = 1e-4;
