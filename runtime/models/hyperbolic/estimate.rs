//! The parameters of a network from measurements (section 4, eqs. 16 and 17).

use super::Block;
use crate::{BadParameter, at_least_zero, check};

/// What two measurements of simultaneous pairs tell about workstations and network.
///
/// From times, of more numbers of pairs, and where the network may be no bottleneck:
/// [`contention`](crate::fit::contention).
///
/// ```
/// use lathide_models::hyperbolic::{Estimate, Network};
/// let truth = Network::SPARCSTATION;
/// let found = Estimate::of_pairs(truth.pairs(1)?, 8, truth.pairs(8)?)?;
/// assert!((found.workstation_a_s - 859.52e-6).abs() < 1e-12);
/// assert!((found.network.b_s_per_byte() - 0.92e-6).abs() < 1e-15);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// `(a_c, b_c)`, the network's parameters.
    pub network: Block,
    /// a, the workstation's fixed service time; half of any delay of the network is in it.
    pub workstation_a_s: f64,
    /// `max(b, b_c)`: the workstation's service time per byte, unless the network's hides it.
    pub slower_s_per_byte: f64,
}

impl Estimate {
    /// Eq. (17) with two measurements: `one` is `(a', b')` of one pair, `many` of `pairs` pairs at once.
    ///
    /// `a_c = (a'(n) - a'(1)) / (n - 1)`, `b_c = b'(n) / n`, `a = (a'(1) - a_c) / 2`, `max(b, b_c) = b'(1)`. There must be
    /// so many pairs that the network is the bottleneck.
    ///
    /// # Errors
    /// If `pairs` is below 2; if `b'(n)` is 0, since it drowned in noise; if it is not above `b'(1)`, so that the network
    /// was not the bottleneck; if it is above `n b'(1)`, so that `b_c` would be above `max(b, b_c)`; or if `a_c` or `a` would be negative.
    pub fn of_pairs(one: Block, pairs: u32, many: Block) -> Result<Self, BadParameter> {
        let n = f64::from(pairs);
        check("n", n, pairs >= 2, "at least 2 pairs, beside the measurement of one")?;
        let slower_s_per_byte = one.b_s_per_byte;
        let is_seen = many.b_s_per_byte > 0.0;
        check(
            "b'(n)",
            many.b_s_per_byte,
            is_seen,
            "above 0; what a byte takes drowned in noise: measure for longer, or on a quieter machine",
        )?;
        let network_bound = many.b_s_per_byte > slower_s_per_byte;
        check(
            "b'(n)",
            many.b_s_per_byte,
            network_bound,
            "above b'(1); take more pairs, the network was not the bottleneck",
        )?;
        let b_s_per_byte = many.b_s_per_byte / n;
        // A part in a thousand million is rounding: with a free workstation b'(n) is n b'(1).
        let consistent = b_s_per_byte <= slower_s_per_byte * (1.0 + 1e-9);
        check(
            "b'(n)",
            many.b_s_per_byte,
            consistent,
            "at most n b'(1); the pairs took longer than one after another would",
        )?;
        let a_s = at_least_zero("a_c = (a'(n) - a'(1)) / (n - 1)", (many.a_s - one.a_s) / (n - 1.0))?;
        let workstation_a_s = at_least_zero("a = (a'(1) - a_c) / 2", (one.a_s - a_s) / 2.0)?;
        Ok(Self { network: Block { a_s, b_s_per_byte }, workstation_a_s, slower_s_per_byte })
    }

    /// b, the workstation's service time per byte; `None` if it cannot be seen because the network's is not smaller.
    #[must_use]
    pub fn workstation_b_s_per_byte(&self) -> Option<f64> {
        let visible = self.slower_s_per_byte > self.network.b_s_per_byte * (1.0 + 1e-9);
        visible.then_some(self.slower_s_per_byte)
    }
}
