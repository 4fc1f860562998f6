//! Collectives that all ranks begin at the same moment.
//!
//! Who leaves a barrier last may leave it a message's way later than the first, and finds what was sent meanwhile. So
//! ranks agree on a moment to come, by the clock that all processes of a host share.

use std::time::Duration;

use lathide::Node;
use lathide::collective::choose::Prices;
use lathide::collective::{Collective, Forced};
use rustix::time::{ClockId, clock_gettime};

use super::call;
use super::node::Result;
use super::plan;

/// The moment is so much later than all should have heard of it; and who sleeps wakes so much earlier.
const SPARE_S: f64 = 500e-6;
const WAKE_S: f64 = 200e-6;

/// All ranks, and how long it takes to tell them a moment.
pub(super) struct Together<'a> {
    pub(super) node: &'a Node,
    telling_s: f64,
}

impl<'a> Together<'a> {
    pub(super) fn new(node: &'a Node, prices: &mut Prices) -> Self {
        let telling = plan::call(Collective::Broadcast, node.size(), 8);
        let telling_s = 2.0 * prices.choose(&telling).best().seconds + SPARE_S;
        Together { node, telling_s }
    }

    /// Seconds from the moment that all begin to the end of this rank's part, with something done `meanwhile`.
    pub(super) fn timed(
        &self,
        forced: &Forced,
        (operation, bytes): (Collective, u64),
        meanwhile: impl FnOnce(),
    ) -> Result<f64> {
        let node = self.node;
        let input = call::input(node, operation, bytes);
        node.barrier()?;
        let start_s = node.broadcast(0, vec![now_s() + self.telling_s])?[0];
        node.force(forced.clone());
        wait_until(start_s);
        let pending = call::begin(node, operation, bytes, input)?;
        meanwhile();
        pending.wait()?;
        let took_s = now_s() - start_s;
        node.force(Forced::none());
        Ok(took_s)
    }
}

fn wait_until(start_s: f64) {
    loop {
        let left_s = start_s - now_s();
        if left_s <= 0.0 {
            return;
        }
        if left_s > WAKE_S {
            std::thread::sleep(Duration::from_secs_f64(left_s - WAKE_S));
        } else {
            std::thread::yield_now();
        }
    }
}

/// The same on all processes of this host.
fn now_s() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}
