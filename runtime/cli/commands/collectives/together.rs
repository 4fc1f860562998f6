//! Collectives that all ranks begin at the same moment.

use lathide::Node;
use lathide::collective::choose::Prices;
use lathide::collective::{Collective, Overrides};

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

    /// Seconds from the moment that all begin to the end of this rank's part, with something done `meanwhile`.
    pub(super) fn timed(
        &self,
        forced: &Overrides,
        (operation, bytes): (Collective, u64),
        meanwhile: impl FnOnce(),
    ) -> Result<f64> {
        let node = self.node;
        let input = call::input(node, operation, bytes);
        let start_s = self.clock.meet(node, self.telling_s)?;
        node.force(forced.clone());
        let pending = call::begin(node, operation, bytes, input)?;
        meanwhile();
        pending.wait()?;
        let took_s = self.clock.now_s() - start_s;
        node.force(Overrides::none());
        Ok(took_s)
    }
}
