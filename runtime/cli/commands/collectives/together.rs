//! What all ranks begin at the same moment.

use lathide::collective::choose::Prices;
use lathide::collective::{Collective, Overrides};
use lathide::{Node, Rank};

use super::call;
use super::node::Result;
use super::plan;
use crate::commands::common::clock::CommonClock;

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

    /// Seconds from the moment that all begin to the end of this rank's part.
    pub(super) fn timed(&self, forced: &Overrides, (operation, bytes): (Collective, u64)) -> Result<f64> {
        let input = call::input(self.node, operation, bytes);
        self.block(|node| {
            node.override_algorithms(forced.clone());
            call::begin(node, (operation, Rank(0)), bytes, input)?.wait()?;
            node.override_algorithms(Overrides::none());
            Ok(())
        })
    }

    /// Seconds from the moment that all begin with `block` to its end on this rank.
    pub(super) fn block(&self, block: impl FnOnce(&Node) -> lathide::Result<()>) -> Result<f64> {
        let start_s = self.clock.meet(self.node, self.telling_s)?;
        block(self.node)?;
        Ok(self.clock.now_s() - start_s)
    }
}
