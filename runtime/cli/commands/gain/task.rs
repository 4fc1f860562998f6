//! What the command tells its nodes: which of the measurements.

use serde::{Deserialize, Serialize};

use super::halo::plan::Plan as Halo;
use super::plan::Plan as Sweep;

/// What the nodes shall do.
#[derive(Serialize, Deserialize)]
pub(super) enum Task {
    /// The sweep over gamma.
    Sweep(Sweep),
    /// Deep halos.
    Halo(Halo),
}
