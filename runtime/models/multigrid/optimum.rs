//! The number of processors with the least time.

use super::prediction::{Parts, long_messages_per_side};
use super::{BadParameter, Grid, MachineModel, representable};

/// Into how many steps of equal ratio the range of P is cut to look for the least time.
const STEPS: u32 = 4096;

/// The number of processors on which a V-cycle takes the least time, between 1 and the number of points.
///
/// More processors calculate faster but have more coarse levels to communicate on. The result is real, not whole. It is
/// exact where the number of long messages per edge does not change nearby; next to a change it is within a step of
/// 1/4096 of the range of ln P.
///
/// ```
/// use lathide_models::multigrid::{Grid, MachineModel, Messages, Network, best_processors};
/// let network = Network::Log { fixed_cycles: 2500.0, variable_cycles: 200.0 };
/// let machine = MachineModel::new(network, Messages::UP_TO_1000_WORDS);
/// let best = best_processors(&Grid::two_dimensional(1000.0), &machine)?;
/// assert_eq!(best.round(), 4963.0); // "approximately 4900"
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If a number of the grid or of the machine is outside its domain, or a time within the range of P is too large.
pub fn best_processors(grid: &Grid, machine: &MachineModel) -> Result<f64, BadParameter> {
    let points = grid.points()?;
    machine.check()?;
    let search = Search { grid, machine, points };
    let at_step = |step: u32| f64::from(step) / f64::from(STEPS) * points.ln();
    let mut best = (f64::INFINITY, 0);
    for step in 0..=STEPS {
        let time = representable("total time", search.total(at_step(step)))?;
        if time < best.0 {
            best = (time, step);
        }
    }
    let around = [best.1.saturating_sub(1), best.1, (best.1 + 1).min(STEPS)].map(at_step);
    let x = search.refined(around);
    // A single processor does not communicate at all, which the formulas, continued down to it, do not know.
    let alone = representable("serial time", machine.cycles_per_flop * grid.counts.fine_flops * points)?;
    Ok(if alone <= search.total(x) { 1.0 } else { search.processors(x) })
}

struct Search<'a> {
    grid: &'a Grid,
    machine: &'a MachineModel,
    points: f64,
}

impl Search<'_> {
    /// P at `x = ln P`, kept inside its range against rounding.
    fn processors(&self, x: f64) -> f64 {
        x.exp().clamp(1.0, self.points)
    }

    fn total(&self, x: f64) -> f64 {
        Parts::of(self.grid, self.machine, self.processors(x)).total().value
    }

    fn falls(&self, x: f64) -> bool {
        Parts::of(self.grid, self.machine, self.processors(x)).total().slope < 0.0
    }

    fn long_messages(&self, x: f64) -> f64 {
        long_messages_per_side(self.grid, self.machine, self.processors(x))
    }

    /// Where the slope changes its sign next to the middle one of three points, of which it has the least time.
    fn refined(&self, [left, middle, right]: [f64; 3]) -> f64 {
        let messages = self.long_messages(middle);
        let same = |x: f64| self.long_messages(x) == messages;
        let left = if same(left) { left } else { last(middle, left, same) };
        let right = if same(right) { right } else { last(middle, right, same) };
        if !self.falls(left) {
            return left;
        }
        last(left, right, |x| self.falls(x))
    }
}

/// The last x from `from` towards `to` for which `holds`, by halving; it holds at `from`.
fn last(from: f64, to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut inside, mut outside) = (from, to);
    // As many halvings as a number has digits.
    for _ in 0..64 {
        let middle = inside + (outside - inside) / 2.0;
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}
