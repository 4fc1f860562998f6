//! What hiding costs a small message (Strumpen 1994, section 4.1, Tables 1 and 2, Fig. 19).
//!
//! In the paper's implementation a message costs four messages through a pipe (steps 2, 4, 5 and 6 of its Fig. 17)
//! beside its direct transfer. The penalty is the ratio of the time with the protocol to the direct one; `lathide link`
//! measures ours against raw TCP.
//!
//! ```
//! use lathide_models::gain::penalty::TABLE_2;
//! let [rs6000, ..] = TABLE_2;
//! assert!((rs6000.penalty()? - 1.64).abs() < 0.01);
//! assert!((rs6000.predicted_s()? - 0.796e-3).abs() < 1e-9);
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

use crate::{BadParameter, above_zero, at_least_zero};

/// A row of Table 1: what it takes two processes of one machine to synchronise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Synchronization {
    /// The machine's model.
    pub machine: &'static str,
    /// By System V semaphores.
    pub semaphore_s: f64,
    /// By an 8-byte message through a pipe.
    pub pipe_s: f64,
}

/// Table 1, as printed (there in milliseconds).
pub const TABLE_1: [Synchronization; 5] = [
    Synchronization { machine: "HP9000", semaphore_s: 0.09e-3, pipe_s: 0.18e-3 },
    Synchronization { machine: "IBM RS6000", semaphore_s: 0.053e-3, pipe_s: 0.050e-3 },
    Synchronization { machine: "SGI Crimson", semaphore_s: 0.222e-3, pipe_s: 0.222e-3 },
    Synchronization { machine: "Sun SPARCstation1+", semaphore_s: 0.5e-3, pipe_s: 0.38e-3 },
    Synchronization { machine: "Sun SPARCstation10", semaphore_s: 0.19e-3, pipe_s: 0.11e-3 },
];

/// A row of Table 2: 8 bytes between two machines of a model, over Ethernet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// The machines' model.
    pub machine: &'static str,
    /// Four pipe messages of Table 1.
    pub overhead_s: f64,
    /// Measured over a stream socket.
    pub direct_s: f64,
    /// Measured through the latency-hiding protocol.
    pub hidden_s: f64,
}

/// Table 2, as printed (there in milliseconds).
pub const TABLE_2: [Transfer; 3] = [
    Transfer { machine: "IBM RS6000/590", overhead_s: 0.2e-3, direct_s: 0.596e-3, hidden_s: 0.977e-3 },
    Transfer { machine: "Sun SPARCstation1+", overhead_s: 1.52e-3, direct_s: 0.962e-3, hidden_s: 2.489e-3 },
    Transfer { machine: "Sun SPARCstation10", overhead_s: 0.44e-3, direct_s: 0.442e-3, hidden_s: 0.996e-3 },
];

impl Transfer {
    /// What the overhead explains: the direct time and four pipe messages.
    ///
    /// # Errors
    /// As [`predicted_s`].
    pub fn predicted_s(&self) -> Result<f64, BadParameter> {
        predicted_s(self.direct_s, self.overhead_s)
    }

    /// The penalty factor of Fig. 19 at 8 bytes.
    ///
    /// # Errors
    /// As [`penalty`].
    pub fn penalty(&self) -> Result<f64, BadParameter> {
        penalty(self.direct_s, self.hidden_s)
    }
}

/// The overhead of a message: four pipe messages, section 4.1.
///
/// # Errors
/// If `pipe_s` is not a finite number of at least 0, or the result too large for a number.
pub fn pipe_overhead_s(pipe_s: f64) -> Result<f64, BadParameter> {
    at_least_zero("overhead", 4.0 * at_least_zero("pipe message", pipe_s)?)
}

/// The predicted time of a message through the protocol: direct and overhead, section 4.1.
///
/// # Errors
/// If an argument is not a finite number of at least 0, or the result too large for a number.
pub fn predicted_s(direct_s: f64, overhead_s: f64) -> Result<f64, BadParameter> {
    at_least_zero("time", at_least_zero("direct", direct_s)? + at_least_zero("overhead", overhead_s)?)
}

/// The penalty factor: time through the protocol over direct time, Fig. 19.
///
/// # Errors
/// If `direct_s` is not a finite number above 0, `hidden_s` not one of at least 0, or the result too large for a number.
pub fn penalty(direct_s: f64, hidden_s: f64) -> Result<f64, BadParameter> {
    at_least_zero("penalty", at_least_zero("hidden", hidden_s)? / above_zero("direct", direct_s)?)
}
