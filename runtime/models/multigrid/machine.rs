//! The three machines: what a message costs.

use super::smooth::Smooth;
use super::{BadParameter, Dimensions, above_zero, at_least_zero, representable};

/// How the network charges for a message. Costs are in processor cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Network {
    /// GAP: the same for every message, wherever it goes.
    Gap {
        /// Starting and receiving a message.
        fixed_cycles: f64,
    },
    /// LOG: a multi-stage network; the distance is the logarithm (base 2) of the Manhattan distance on a mesh.
    Log {
        /// Starting and receiving a message.
        fixed_cycles: f64,
        /// Each unit of distance.
        variable_cycles: f64,
    },
    /// Single Stage: the mesh's own connections; the distance is the Manhattan distance.
    SingleStage {
        /// Starting and receiving a message.
        fixed_cycles: f64,
        /// Each unit of distance.
        variable_cycles: f64,
    },
}

impl Network {
    /// Table 1: the pairs (fixed, variable) of the paper's tables, in their order. Those without a variable cost are GAP.
    pub const TABLE_1: [Self; 8] = [
        Self::Log { fixed_cycles: 2500.0, variable_cycles: 200.0 },
        Self::Log { fixed_cycles: 1000.0, variable_cycles: 200.0 },
        Self::Log { fixed_cycles: 500.0, variable_cycles: 200.0 },
        Self::Log { fixed_cycles: 500.0, variable_cycles: 100.0 },
        Self::Log { fixed_cycles: 100.0, variable_cycles: 50.0 },
        Self::Gap { fixed_cycles: 5000.0 },
        Self::Gap { fixed_cycles: 3600.0 },
        Self::Gap { fixed_cycles: 1000.0 },
    ];

    /// The fixed and the variable cost, in cycles.
    pub fn costs(self) -> (f64, f64) {
        match self {
            Self::Gap { fixed_cycles } => (fixed_cycles, 0.0),
            Self::Log { fixed_cycles, variable_cycles } | Self::SingleStage { fixed_cycles, variable_cycles } => {
                (fixed_cycles, variable_cycles)
            }
        }
    }

    /// The distance between neighbours on fine grids, and the sum of the distances on the coarse levels.
    ///
    /// `processors` is P, `levels` is K, how many levels have at most one point per processor. There the distance
    /// doubles from level to level. In three dimensions neighbours are P^(1/6) apart from the mapping.
    pub(super) fn distances(self, dimensions: Dimensions, processors: Smooth, levels: Smooth) -> (Smooth, Smooth) {
        let mesh_side = processors.power(1.0 / 2.0);
        match (self, dimensions) {
            (Self::Gap { .. }, _) => (Smooth::constant(0.0), Smooth::constant(0.0)),
            (Self::Log { .. }, Dimensions::Two) => (Smooth::constant(0.0), levels * levels * 0.5),
            // The tables need log2((2 P)^(1/6)), not log2(P^(1/6)).
            (Self::Log { .. }, Dimensions::Three) => {
                ((processors.log2() + Smooth::constant(1.0)) * (1.0 / 6.0), levels * levels)
            }
            (Self::SingleStage { .. }, Dimensions::Two) => (Smooth::constant(1.0), mesh_side * 2.0),
            (Self::SingleStage { .. }, Dimensions::Three) => (processors.power(1.0 / 6.0), mesh_side * 2.0),
        }
    }
}

/// How long a message may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Messages {
    /// Every word travels by itself ("fixed length").
    OneWord,
    /// Words travel together, and each costs the time to spool it ("variable length").
    Long {
        /// The longest message, in words.
        words_max: f64,
        /// Spooling a word, in cycles.
        spool_cycles_per_word: f64,
    },
}

impl Messages {
    /// The paper's long messages: up to 1000 words, 4 cycles per word.
    pub const UP_TO_1000_WORDS: Self = Self::Long { words_max: 1000.0, spool_cycles_per_word: 4.0 };
}

/// A machine of one of the three models.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MachineModel {
    /// GAP, LOG or Single Stage, and its costs.
    pub network: Network,
    /// One word or many to a message.
    pub messages: Messages,
    /// A floating point operation, in cycles.
    pub cycles_per_flop: f64,
}

impl MachineModel {
    /// A machine with the paper's processors: 6 cycles to a floating point operation.
    pub fn new(network: Network, messages: Messages) -> Self {
        Self { network, messages, cycles_per_flop: 6.0 }
    }

    /// Whether every number of the machine is in its domain.
    pub(super) fn check(&self) -> Result<(), BadParameter> {
        let (fixed, variable) = self.network.costs();
        at_least_zero("fixed cost", fixed)?;
        at_least_zero("variable cost", variable)?;
        above_zero("cycles per flop", self.cycles_per_flop)?;
        if let Messages::Long { words_max, spool_cycles_per_word } = self.messages {
            above_zero("words per message", words_max)?;
            at_least_zero("spooling cost per word", spool_cycles_per_word)?;
        }
        Ok(())
    }
}

/// How long so many cycles take, in s; the paper's clock has 33e6 Hz.
///
/// # Errors
/// If `cycles` is not a finite number of at least 0, `clock_hz` not one above 0, or the result is too large.
pub fn cycles_to_s(cycles: f64, clock_hz: f64) -> Result<f64, BadParameter> {
    representable("time", at_least_zero("cycles", cycles)? / above_zero("clock", clock_hz)?)
}
