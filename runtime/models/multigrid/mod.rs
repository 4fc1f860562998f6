//! Multigrid on massively parallel computers (Matheson, Tarjan 1993): the GAP, LOG and Single Stage models.
//!
//! A V-cycle on N^d points is cut into P square or cubic subdomains, one per processor of a mesh. On fine grids each
//! processor exchanges the edges of its subdomain with its neighbours; on the K coarsest grids, with at most one point per
//! processor, it sends single words over distances that double from level to level. Computation and communication do
//! not overlap. A message costs a fixed number of cycles, a variable number per unit of distance, and, where it may be
//! long, spooling per word.
//!
//! | machine | distance |
//! | --- | --- |
//! | [GAP](Network::Gap) | none |
//! | [LOG](Network::Log) | logarithm of the Manhattan distance |
//! | [Single Stage](Network::SingleStage) | Manhattan distance |
//!
//! The paper prints results but no operation counts; [`Counts`] says where ours come from, and the manual which printed
//! results are wrong: `lathide::manual::models::multigrid`.
//!
//! ```
//! use lathide_models::multigrid::{Grid, MachineModel, Messages, Network, predict};
//! // What a multi-stage network is worth: a billion points, 4096 processors, long messages.
//! let (fixed_cycles, variable_cycles) = (2500.0, 200.0);
//! let time = |network| {
//!     let machine = MachineModel::new(network, Messages::UP_TO_1000_WORDS);
//!     predict(&Grid::three_dimensional(1000.0), &machine, 4096.0)
//! };
//! let log = time(Network::Log { fixed_cycles, variable_cycles })?;
//! let single_stage = time(Network::SingleStage { fixed_cycles, variable_cycles })?;
//! assert!((single_stage.total_increase_over(&log)? - 0.0119).abs() < 5e-5); // Table 10: 1.19 percent
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

mod grid;
mod machine;
mod optimum;
mod prediction;
mod smooth;

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod property_tests;

pub use grid::{Counts, Dimensions, Grid};
pub use machine::{MachineModel, Messages, Network, cycles_to_s};
pub use optimum::best_processors;
pub use prediction::{Prediction, predict};

use super::{BadParameter, above_zero, at_least_zero, check, representable, snapped};
