//! The hyperbolic communication model (Stoica, Sultan, Keyes 1994).
//!
//! What a message passes on its way (a protocol layer, an adapter, a network) is a *communication block* of two
//! parameters: `a`, its service time for the smallest message, and `b`, its service time per byte for the largest.
//! In between `T(x; a, b) = a^2 / (a + b x) + b x` (eq. 3). Blocks joined to a graph reduce to one block, whose `a` and
//! `b` follow from theirs by four rules.
//!
//! | what | where | place in the paper |
//! | --- | --- | --- |
//! | service time; packets, wormhole routing | [`Block`]; [`Packets`], [`Wormhole`] | 2, eqs. 1 to 4 |
//! | rules 1 to 4 | [`serial`], [`parallel`], [`concurrent`], [`general`] | 2.1 to 2.4, eqs. 5 to 15 |
//! | communication graphs | [`Graph`] | 2, Figs. 1 and 7 |
//! | T_c, T_s, T_r | [`Path`] | 2.5, Fig. 8 |
//! | broadcast, global operation, neighbour exchange | [`Network`] | 3.1 to 3.3 |
//! | an inventory of messages with n senders: T_s, T_r, T_c | [`Prices`] | 2.5, 5.2.2 |
//! | the parameters from measurements | [`Estimate`] | 4, eqs. 16 and 17 |
//! | LogP | [`logp`](super::logp) | 6, eqs. 18 and 19 |
//!
//! Times are in seconds and sizes in bytes. The equations hold for any units; the paper's are microseconds.
//!
//! ```
//! use lathide_models::hyperbolic::{Block, Network};
//! let ethernet = Network::SPARCSTATION; // of 1994
//! let one = ethernet.point_to_point()?;
//! assert!((one.time_s(1024.0)? - 2.6655e-3).abs() < 1e-7);
//! // Three pairs at once: now the network is the bottleneck.
//! assert!(ethernet.pairs(3)?.b_s_per_byte() > one.b_s_per_byte());
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

mod broadcast;
mod estimate;
#[cfg(test)]
mod golden_tests;
mod graph;
#[cfg(test)]
mod graph_tests;
mod inventory;
mod network;
mod packet;
mod path;
#[cfg(test)]
mod property_tests;
mod reduction;
mod rules;

pub use broadcast::{Broadcast, broadcast_tree_rounds};
pub use estimate::Estimate;
pub use graph::{BlockId, Graph, GraphError, MessageId, Processor, Stage};
pub use inventory::{Messages, Price, Prices, Sending};
pub use network::Network;
pub use packet::{Packets, Wormhole};
pub use path::{Path, Primitive, Receiving};
pub use rules::{Dependence, concurrent, general, parallel, serial, workstation};

use super::{BadParameter, at_least_zero, check};

/// A communication block `CB(a, b)`, section 2.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Block {
    a_s: f64,
    b_s_per_byte: f64,
}

impl Block {
    /// The block that takes no time.
    pub const FREE: Self = Self { a_s: 0.0, b_s_per_byte: 0.0 };

    /// The block with service time `a_s` for the smallest message, and `b_s_per_byte` for each byte of the largest.
    ///
    /// # Errors
    /// If a parameter is not a finite number of at least 0.
    pub fn new(a_s: f64, b_s_per_byte: f64) -> Result<Self, BadParameter> {
        Ok(Self { a_s: at_least_zero("a", a_s)?, b_s_per_byte: at_least_zero("b", b_s_per_byte)? })
    }

    /// A block that only delays, `CB(a, 0)`, as the network's latency (section 3) or a handshake (section 2.5) does.
    ///
    /// # Errors
    /// If `a_s` is not a finite number of at least 0.
    pub fn delay(a_s: f64) -> Result<Self, BadParameter> {
        Self::new(a_s, 0.0)
    }

    /// `a`, the service time of the smallest message.
    #[must_use]
    pub fn a_s(&self) -> f64 {
        self.a_s
    }

    /// `b`, the service time per byte of the largest message.
    #[must_use]
    pub fn b_s_per_byte(&self) -> f64 {
        self.b_s_per_byte
    }

    /// From where on a message has half of the full rate: `T(x) = 2 b x`, that is where b x is the golden ratio's part of a.
    /// `None` where longer messages take no more.
    pub fn half_rate_bytes(&self) -> Option<f64> {
        let bytes = self.a_s / self.b_s_per_byte * (5f64.sqrt() - 1.0) / 2.0;
        (bytes.is_finite() && (1.0 / self.b_s_per_byte).is_finite()).then_some(bytes)
    }

    /// The service time `T(x; a, b) = a^2 / (a + b x) + b x` of a message of `bytes`, eqs. (3) and (15).
    ///
    /// It is `a` at 0 bytes, grows with them, and lies between 3/4 and 1 of [`Block::line_s`].
    ///
    /// # Errors
    /// If `bytes` is not a finite number of at least 0, or the time too large for a number.
    pub fn time_s(&self, bytes: f64) -> Result<f64, BadParameter> {
        let growing_s = self.b_s_per_byte * at_least_zero("x", bytes)?;
        // Divided by a, so that neither a^2 nor a + b x can leave the range of numbers; a = 0 leaves b x.
        let fixed_s = if self.a_s > 0.0 { self.a_s / (1.0 + growing_s / self.a_s) } else { 0.0 };
        at_least_zero("T(x; a, b)", fixed_s + growing_s)
    }

    /// The straight line `a + b x`, eq. (4): latency and reciprocal transfer rate, for comparison.
    ///
    /// # Errors
    /// As [`Block::time_s`].
    pub fn line_s(&self, bytes: f64) -> Result<f64, BadParameter> {
        at_least_zero("a + b x", self.a_s + self.b_s_per_byte * at_least_zero("x", bytes)?)
    }
}

fn some_blocks(blocks: &[Block]) -> Result<(), BadParameter> {
    check("number of blocks", blocks.len() as f64, !blocks.is_empty(), "at least 1").map(drop)
}
