//! Time, speed-up and efficiency of a V-cycle on a machine.

use super::smooth::Smooth;
use super::{BadParameter, Grid, MachineModel, Messages, above_zero, at_least_zero, check, representable, snapped};

/// What a model says about one V-cycle, in cycles of a processor. Absolute times are known up to a common factor only.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    serial_cycles: f64,
    computation_cycles: f64,
    messages: f64,
    fixed_cycles: f64,
    variable_cycles: f64,
    spool_cycles: f64,
}

/// The time of a V-cycle on P processors of a machine.
///
/// P need not be a power of four or eight, nor whole. One processor sends nothing; the formulas are for P well above
/// that, and are continued down to it.
///
/// ```
/// use lathide_models::multigrid::{Grid, MachineModel, Messages, Network, predict};
/// let network = Network::Log { fixed_cycles: 2500.0, variable_cycles: 200.0 };
/// let one_word = predict(&Grid::two_dimensional(1000.0), &MachineModel::new(network, Messages::OneWord), 1024.0)?;
/// assert_eq!(format!("{:.1}", one_word.speedup()), "55.1"); // Table 2
/// let long = MachineModel::new(network, Messages::UP_TO_1000_WORDS);
/// let long = predict(&Grid::two_dimensional(1000.0), &long, 1024.0)?;
/// assert_eq!(format!("{:.1}", long.speedup()), "314.0"); // Table 8
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If P is not between 1 and the number of points, a number of the grid or of the machine is outside its domain, or
/// a time is too large.
pub fn predict(grid: &Grid, machine: &MachineModel, processors: f64) -> Result<Prediction, BadParameter> {
    let points = grid.points()?;
    machine.check()?;
    let alone = processors == 1.0;
    check("P", processors, (1.0..=points).contains(&processors), "between 1 and the number of points")?;
    let parts = Parts::of(grid, machine, processors);
    let sends = |name, part: f64| if alone { Ok(0.0) } else { at_least_zero(name, part) };
    let prediction = Prediction {
        serial_cycles: above_zero("serial time", machine.cycles_per_flop * grid.counts.fine_flops * points)?,
        computation_cycles: above_zero("computation time", parts.computation.value)?,
        messages: sends("number of messages", parts.messages.value)?,
        fixed_cycles: sends("fixed cost of all messages", parts.fixed.value)?,
        variable_cycles: sends("variable cost of all messages", parts.variable.value)?,
        spool_cycles: sends("spooling cost of all messages", parts.spool.value)?,
    };
    representable("total time", prediction.total_cycles())?;
    representable("speed-up", prediction.speedup())?;
    Ok(prediction)
}

impl Prediction {
    /// The time of the cycle on one processor.
    pub fn serial_cycles(&self) -> f64 {
        self.serial_cycles
    }

    /// The time that each processor calculates.
    pub fn computation_cycles(&self) -> f64 {
        self.computation_cycles
    }

    /// n_f, the messages that each processor sends and receives.
    pub fn messages(&self) -> f64 {
        self.messages
    }

    /// The time for starting and receiving them.
    pub fn fixed_cycles(&self) -> f64 {
        self.fixed_cycles
    }

    /// The time for the distances they travel.
    pub fn variable_cycles(&self) -> f64 {
        self.variable_cycles
    }

    /// The time for spooling the words of long messages.
    pub fn spool_cycles(&self) -> f64 {
        self.spool_cycles
    }

    /// All of the time for communication.
    pub fn communication_cycles(&self) -> f64 {
        self.fixed_cycles + self.variable_cycles + self.spool_cycles
    }

    /// Computation and communication, one after the other.
    pub fn total_cycles(&self) -> f64 {
        self.computation_cycles + self.communication_cycles()
    }

    /// S = serial / (computation + communication).
    pub fn speedup(&self) -> f64 {
        self.serial_cycles / self.total_cycles()
    }

    /// E = computation / (computation + communication), between 0 and 1.
    ///
    /// The paper's definition; it is a little more than S/P, since coarse grids keep few processors busy.
    pub fn efficiency(&self) -> f64 {
        self.computation_cycles / self.total_cycles()
    }

    /// How much longer this takes than `other`, as a part of `other`'s time (Table 10); below 0 if it is shorter.
    ///
    /// # Errors
    /// If the ratio is too large.
    pub fn total_increase_over(&self, other: &Self) -> Result<f64, BadParameter> {
        representable("increase of the total time", self.total_cycles() / other.total_cycles() - 1.0)
    }

    /// How much longer this communicates than `other`, as a part of `other`'s communication time (Table 11).
    ///
    /// # Errors
    /// If `other` does not communicate, or the ratio is too large.
    pub fn communication_increase_over(&self, other: &Self) -> Result<f64, BadParameter> {
        let reference = above_zero("communication time of the other", other.communication_cycles())?;
        representable("increase of the communication time", self.communication_cycles() / reference - 1.0)
    }
}

/// The parts of a cycle's time, with their slopes.
pub(super) struct Parts {
    pub(super) computation: Smooth,
    pub(super) messages: Smooth,
    pub(super) fixed: Smooth,
    pub(super) variable: Smooth,
    pub(super) spool: Smooth,
}

impl Parts {
    /// The formulas, for arguments that have been checked.
    pub(super) fn of(grid: &Grid, machine: &MachineModel, processors: f64) -> Self {
        let (counts, dimensions) = (&grid.counts, f64::from(grid.dimensions.number()));
        let p = Smooth::processors(processors);
        let points = grid.points_per_side.powf(dimensions);
        // K, how many levels have at most one point per processor.
        let levels = p.log2() * (1.0 / dimensions);
        let flops = p.power(-1.0) * (counts.fine_flops * points) + levels * counts.coarse_flops;
        let surface = surface(grid, p);
        let (fine_messages, spool) = match machine.messages {
            Messages::OneWord => (surface * counts.fine_words, Smooth::constant(0.0)),
            Messages::Long { spool_cycles_per_word, .. } => {
                let each = long_messages_per_side(grid, machine, processors);
                (Smooth::constant(each * counts.long_messages), surface * (counts.fine_words * spool_cycles_per_word))
            }
        };
        let coarse_messages = levels * counts.coarse_messages;
        let messages = fine_messages + coarse_messages;
        let (fine_distance, coarse_distances) = machine.network.distances(grid.dimensions, p, levels);
        let (fixed_cost, variable_cost) = machine.network.costs();
        let distances = fine_messages * fine_distance + coarse_distances * counts.coarse_messages;
        Self {
            computation: flops * machine.cycles_per_flop,
            messages,
            fixed: messages * fixed_cost,
            variable: distances * variable_cost,
            spool,
        }
    }

    pub(super) fn total(&self) -> Smooth {
        self.computation + self.fixed + self.variable + self.spool
    }
}

/// The points on an edge of a square subdomain, or on a face of a cube: `s^(d - 1)` with `s = N / P^(1/d)`.
fn surface(grid: &Grid, processors: Smooth) -> Smooth {
    let dimensions = f64::from(grid.dimensions.number());
    processors.power((1.0 - dimensions) / dimensions) * grid.points_per_side.powf(dimensions - 1.0)
}

/// How many long messages an edge or face needs; 0 where every word travels by itself.
///
/// It jumps where a message is just full, so it has no slope.
pub(super) fn long_messages_per_side(grid: &Grid, machine: &MachineModel, processors: f64) -> f64 {
    match machine.messages {
        Messages::OneWord => 0.0,
        Messages::Long { words_max, .. } => {
            snapped(surface(grid, Smooth::processors(processors)).value / words_max).ceil()
        }
    }
}
