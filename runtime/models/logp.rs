//! The LogP model and its relation to the hyperbolic one (Stoica, Sultan, Keyes 1994, section 6).
//!
//! LogP describes a machine by the latency L, the overhead o of sending or receiving a small message, the gap g between
//! two of them, and the number of processors. n messages one after another are to the hyperbolic model one message of n
//! packets, of size `x = n - 1`: `a_W = b_W = o`, `a_C = 0`, `b_C = g`, `a_L = L`. The two never differ by more than a quarter.
//!
//! ```
//! use lathide_models::logp::LogP;
//! let machine = LogP::new(6e-6, 2e-6, 4e-6)?;
//! assert!((machine.time_s(4)? - 22e-6).abs() < 1e-12);
//! assert!((0.75..=1.0).contains(&machine.ratio(4)?));
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

use super::hyperbolic::{Block, Network};
use super::{BadParameter, at_least_zero, check};

/// The least that the hyperbolic model's time can be relative to LogP's, eqs. (18) and (19). The most is 1.
pub const RATIO_LEAST: f64 = 0.75;

/// A machine of the LogP model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogP {
    latency_s: f64,
    overhead_s: f64,
    gap_s: f64,
}

impl LogP {
    /// The machine with `latency_s` (L), `overhead_s` (o) and `gap_s` (g).
    ///
    /// # Errors
    /// If an argument is not a finite number of at least 0.
    pub fn new(latency_s: f64, overhead_s: f64, gap_s: f64) -> Result<Self, BadParameter> {
        Ok(Self {
            latency_s: at_least_zero("L", latency_s)?,
            overhead_s: at_least_zero("o", overhead_s)?,
            gap_s: at_least_zero("g", gap_s)?,
        })
    }

    /// The same machine in the hyperbolic model: `a_W = b_W = o`, `a_C = 0`, `b_C = g`, `a_L = L`. Its byte is a message.
    ///
    /// # Errors
    /// Never for a machine that [`LogP::new`] made.
    pub fn network(&self) -> Result<Network, BadParameter> {
        let workstation = Block::new(self.overhead_s, self.overhead_s)?;
        Network::new(workstation, Block::new(0.0, self.gap_s)?, self.latency_s)
    }

    /// The block of a message on [`LogP::network`]: `a = 2 o + L`, `b = max(g, o)`.
    ///
    /// # Errors
    /// If the sum is too large for a number.
    pub fn block(&self) -> Result<Block, BadParameter> {
        self.network()?.point_to_point()
    }

    /// LogP's time of `messages` from one processor to another: `(n - 1) max(g, o) + 2 o + L`, Fig. 21.
    ///
    /// # Errors
    /// If there are no messages, or the time is too large for a number. So for all that take messages.
    pub fn time_s(&self, messages: u64) -> Result<f64, BadParameter> {
        self.block()?.line_s(size(messages)?)
    }

    /// The hyperbolic model's time of `messages`: `T(n - 1; a, b)`.
    ///
    /// # Errors
    /// As [`LogP::time_s`].
    pub fn time_hyperbolic_s(&self, messages: u64) -> Result<f64, BadParameter> {
        self.block()?.time_s(size(messages)?)
    }

    /// The hyperbolic model's time relative to LogP's, eq. (18).
    ///
    /// # Errors
    /// As [`LogP::time_s`].
    pub fn ratio(&self, messages: u64) -> Result<f64, BadParameter> {
        ratio(self.block()?, messages)
    }

    /// LogP's sending time: `n o`.
    ///
    /// # Errors
    /// As [`LogP::time_s`].
    pub fn sending_s(&self, messages: u64) -> Result<f64, BadParameter> {
        at_least_zero("T_s", (size(messages)? + 1.0) * self.overhead_s)
    }

    /// The hyperbolic model's sending time, of a preemptive send: `T(n - 1; o, o) = o/n + (n - 1) o`.
    ///
    /// # Errors
    /// As [`LogP::time_s`].
    pub fn sending_hyperbolic_s(&self, messages: u64) -> Result<f64, BadParameter> {
        Block::new(self.overhead_s, self.overhead_s)?.time_s(size(messages)?)
    }
}

/// The hyperbolic model's time of `messages` through `block` relative to LogP's, eq. (18).
///
/// `(a^2 + a y + y^2) / (a + y)^2` with `y = (n - 1) b`; between 3/4, where `y = a`, and 1.
///
/// # Errors
/// If there are no messages, or y is too large for a number.
pub fn ratio(block: Block, messages: u64) -> Result<f64, BadParameter> {
    let y = at_least_zero("y = (n - 1) b", size(messages)? * block.b_s_per_byte())?;
    let (less, more) = (y.min(block.a_s()), y.max(block.a_s()));
    // 1 - a y / (a + y)^2, by the quotient of a and y, since the square may be too large for a number.
    let quotient = if more > 0.0 { less / more } else { 0.0 };
    Ok(1.0 - quotient / (1.0 + quotient) / (1.0 + quotient))
}

/// The hyperbolic model's sending time of `messages` relative to LogP's, eq. (19): `1 - (n - 1) / n^2`.
///
/// Between 3/4, where n = 2, and 1.
///
/// # Errors
/// If there are no messages.
pub fn sending_ratio(messages: u64) -> Result<f64, BadParameter> {
    let before = size(messages)?;
    Ok(1.0 - before / (before + 1.0) / (before + 1.0))
}

/// `x = n - 1`, the size of n messages as one.
fn size(messages: u64) -> Result<f64, BadParameter> {
    check("n", messages as f64, messages > 0, "at least 1 message")?;
    Ok((messages - 1) as f64)
}
