//! What all ranks begin at the same moment, and what they agree on.

use lathide::launcher::collective::Prices;
use lathide::{Collective, Node};

use super::plan;
use crate::commands::common::clock::CommonClock;
use crate::launch::failed::Result;

/// All ranks, and how long it takes to tell them a moment.
pub(super) struct Together<'a> {
    pub(super) node: &'a Node,
    clock: CommonClock,
    telling_s: f64,
}

impl<'a> Together<'a> {
    pub(super) fn new(node: &'a Node, prices: &mut Prices) -> Result<Self> {
        let telling = plan::call(Collective::Broadcast, node.size(), 8);
        let telling_s = 2.0 * prices.choose(&telling).best().seconds;
        Ok(Together { node, clock: CommonClock::set(node)?, telling_s })
    }

    /// Seconds from the moment that all begin with `block` to its end on this rank.
    pub(super) fn block(&self, block: impl FnOnce() -> lathide::Result<()>) -> Result<f64> {
        let start_s = self.clock.meet(self.node, self.telling_s)?;
        block()?;
        Ok(self.clock.now_s() - start_s)
    }
}

/// Of each time, that of the slowest rank.
pub(super) fn slowest(node: &Node, times: Vec<f64>) -> Result<Vec<f64>> {
    Ok(node.allreduce(&lathide::Operator::max(), times)?)
}

/// What rank 0 says.
pub(super) fn goes_on(node: &Node, wants: bool) -> Result<bool> {
    Ok(node.broadcast(0, vec![u8::from(wants)])? == [1])
}
