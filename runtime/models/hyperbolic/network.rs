//! Patterns of communication on equal workstations joined by one network (section 3, Fig. 9).

use super::broadcast::{Broadcast, children, deepest, rounds};
use super::{Block, Path};
use crate::{BadParameter, above_zero, at_least_zero, check};

/// Equal workstations joined by one network: the machine model of section 3.
///
/// A message passes the sender's workstation `CB_W`, the network `CB_C`, a delay `CB_L(L, 0)` and the receiver's
/// workstation. Sending and receiving are not preemptive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Network {
    pub(super) workstation: Block,
    pub(super) network: Block,
    pub(super) delay_s: f64,
}

impl Network {
    /// Up to 16 SparcstationELC with SunOS 4.1.3 and p4 1.3 on an Ethernet (end of section 4).
    ///
    /// The paper has 859.52 us, 1.42 us/byte, 345.60 us and 0.92 us/byte, and no a_L.
    pub const SPARCSTATION: Self = Self {
        workstation: Block { a_s: 859.52e-6, b_s_per_byte: 1.42e-6 },
        network: Block { a_s: 345.60e-6, b_s_per_byte: 0.92e-6 },
        delay_s: 0.0,
    };

    /// `workstation` is `(a_W, b_W)`, `network` is `(a_C, b_C)`, `delay_s` is a_L.
    ///
    /// # Errors
    /// If `delay_s` is not a finite number of at least 0.
    pub fn new(workstation: Block, network: Block, delay_s: f64) -> Result<Self, BadParameter> {
        Ok(Self { workstation, network, delay_s: at_least_zero("a_L", delay_s)? })
    }

    /// The blocks of one message alone, Fig. 9; for T_c, T_s and T_r.
    ///
    /// # Errors
    /// Never for a network that [`Network::new`] made.
    pub fn path(&self) -> Result<Path, BadParameter> {
        Path::new(&[self.workstation, self.network, Block::delay(self.delay_s)?, self.workstation])
    }

    /// One message alone, Fig. 9: `a = 2 a_W + a_C + a_L`, `b = max(b_W, b_C)`.
    ///
    /// # Errors
    /// If a sum is too large for a number. So for every pattern.
    pub fn point_to_point(&self) -> Result<Block, BadParameter> {
        self.pairs(1)
    }

    /// `pairs` disjoint pairs, each sending one message of the same size at once, section 4, eq. (16):
    /// `a' = 2 a_W + n a_C + a_L`, `b' = max(b_W, n b_C)`.
    ///
    /// # Errors
    /// If there are no pairs, or a sum is too large for a number.
    pub fn pairs(&self, pairs: u32) -> Result<Block, BadParameter> {
        let n = above_zero("n", f64::from(pairs))?;
        let a_s = 2.0 * self.workstation.a_s + n * self.network.a_s + self.delay_s;
        Block::new(a_s, self.round_s_per_byte(n))
    }

    /// Broadcast to `processes` (the root included) down a binary tree, section 3.1, Fig. 10.
    ///
    /// Process i sends to 2 i + 1 and then to 2 i + 2. Small messages: `t(0) = 0`, `t(2i + s) = t(i) + s a_W + a_C + a_L +
    /// a_W` for the s-th child, and `a` is the greatest t. Large messages go in rounds, `n_k` of them at once
    /// ([`broadcast_tree_rounds`](super::broadcast_tree_rounds)): `b = sum_k max(n_k b_C, b_W)`.
    ///
    /// # Errors
    /// If there are no processes, or a sum is too large for a number.
    pub fn broadcast_tree(&self, processes: u32) -> Result<Block, BadParameter> {
        let step_s = 2.0 * self.workstation.a_s + self.network.a_s + self.delay_s;
        let reached_s = |(edges, second_children): (u32, u32)| {
            f64::from(edges) * step_s + f64::from(second_children) * self.workstation.a_s
        };
        let a_s = deepest(processes)?.into_iter().map(reached_s).fold(0.0, f64::max);
        let b_s_per_byte = rounds(processes)?.map(|at_once| self.round_s_per_byte(at_once as f64)).sum();
        Block::new(a_s, b_s_per_byte)
    }

    /// Broadcast to `processes` (the root included), the root sending to one after another, section 3.1.
    ///
    /// To N others `a = (N + 1) a_W + a_C + a_L`, `b = N max(b_C, b_W)`. One process alone has nothing to do. Where
    /// `b_C >= b_W` no broadcast has a smaller b.
    ///
    /// # Errors
    /// If there are no processes, or a sum is too large for a number.
    pub fn broadcast_serial(&self, processes: u32) -> Result<Block, BadParameter> {
        let others = above_zero("p", f64::from(processes))? - 1.0;
        if others == 0.0 {
            return Ok(Block::FREE);
        }
        Block::new(self.distribution_s(others), others * self.round_s_per_byte(1.0))
    }

    /// The cheaper broadcast of `bytes` to `processes`.
    ///
    /// # Errors
    /// If there are no processes, `bytes` is not a finite number of at least 0, or a result too large for a number.
    pub fn cheaper_broadcast(&self, processes: u32, bytes: f64) -> Result<Broadcast, BadParameter> {
        let tree_s = self.broadcast_tree(processes)?.time_s(bytes)?;
        let serial_s = self.broadcast_serial(processes)?.time_s(bytes)?;
        // Both are sums, taken in different orders.
        Ok(match tree_s - serial_s {
            difference if difference.abs() <= 1e-12 * serial_s => Broadcast::Equal,
            difference if difference < 0.0 => Broadcast::Tree,
            _ => Broadcast::Serial,
        })
    }

    /// The size between two at which another broadcast becomes the cheaper one, by halving.
    ///
    /// # Errors
    /// As [`Network::cheaper_broadcast`].
    pub fn broadcast_changes_at(&self, processes: u32, below: f64, above: f64) -> Result<f64, BadParameter> {
        let before = self.cheaper_broadcast(processes, below)?;
        let (mut below, mut above) = (below, above);
        for _ in 0..60 {
            let middle = f64::midpoint(below, above);
            if self.cheaper_broadcast(processes, middle)? == before { below = middle } else { above = middle }
        }
        Ok(above)
    }

    /// The first phase of the global operation, section 3.2: all results at the root of the broadcast's tree.
    ///
    /// A process takes its children's messages, `a_W` each, in the order in which they arrive, and then sends its own.
    /// (The order is part of the model: left before right, whatever arrives first, would be more.)
    ///
    /// # Errors
    /// If there are no processes, or the result is too large for a number.
    pub fn collection_s(&self, processes: u32) -> Result<f64, BadParameter> {
        above_zero("p", f64::from(processes))?;
        let mut full = [0.0; u32::BITS as usize];
        for height in 1..full.len() {
            full[height] = self.joined_s(full[height - 1], Some(full[height - 1]));
        }
        at_least_zero("D(0)", self.collected_s(u64::from(processes), &full))
    }

    /// Synchronisation or a global operation of `processes` on a few bytes, section 3.2, Fig. 13: collection, then the
    /// root sends the result to one after another: `D(0) + (N + 1) a_W + a_C + a_L`. One process alone takes no time.
    ///
    /// # Errors
    /// As [`Network::collection_s`].
    pub fn global_operation_s(&self, processes: u32) -> Result<f64, BadParameter> {
        let collection_s = self.collection_s(processes)?;
        let others = f64::from(processes) - 1.0;
        let distribution_s = if others > 0.0 { self.distribution_s(others) } else { 0.0 };
        at_least_zero("T", collection_s + distribution_s)
    }

    /// Each of `processes` sends a message of the same size to each of its `neighbours` at once, section 3.3, as printed:
    /// `a = 2 K a_W + K N a_C + a_L`, `b = max(K N b_C, b_W)`.
    ///
    /// Without neighbours there is nothing to do.
    ///
    /// # Errors
    /// If there are no processes, `neighbours` is not below `processes`, or a sum is too large for a number.
    pub fn neighbours(&self, processes: u32, neighbours: u32) -> Result<Block, BadParameter> {
        self.exchange(processes, neighbours, 1.0)
    }

    /// [`Network::neighbours`] with rule 3 applied to the workstation too, as it is for a:
    /// `b = max(K N b_C, K b_W)`. It differs where `N b_C < b_W`.
    ///
    /// # Errors
    /// As [`Network::neighbours`].
    pub fn neighbours_by_rule_3(&self, processes: u32, neighbours: u32) -> Result<Block, BadParameter> {
        self.exchange(processes, neighbours, f64::from(neighbours))
    }

    /// From how many simultaneous senders on the network is the bottleneck for large messages, section 5.2.2: the least n
    /// with `n b_C > b_W`. `None` if there is none up to `u32::MAX`.
    #[must_use]
    pub fn network_bound_from(&self) -> Option<u32> {
        let senders = (self.workstation.b_s_per_byte / self.network.b_s_per_byte).floor() + 1.0;
        (senders <= f64::from(u32::MAX)).then_some(senders as u32)
    }

    /// One round of `at_once` simultaneous transfers of large messages.
    fn round_s_per_byte(&self, at_once: f64) -> f64 {
        (at_once * self.network.b_s_per_byte).max(self.workstation.b_s_per_byte)
    }

    /// From the root to `others`, one after another, small messages.
    fn distribution_s(&self, others: f64) -> f64 {
        (others + 1.0) * self.workstation.a_s + self.network.a_s + self.delay_s
    }

    fn exchange(&self, processes: u32, neighbours: u32, messages: f64) -> Result<Block, BadParameter> {
        let n = above_zero("N", f64::from(processes))?;
        let k = f64::from(neighbours);
        check("K", k, neighbours < processes, "below N, the number of processes")?;
        if neighbours == 0 {
            return Ok(Block::FREE);
        }
        let a_s = 2.0 * k * self.workstation.a_s + k * n * self.network.a_s + self.delay_s;
        Block::new(a_s, (k * n * self.network.b_s_per_byte).max(messages * self.workstation.b_s_per_byte))
    }

    /// When the root of a tree of `nodes` has all their results; `full[h]` is when that of a full one of height h has.
    fn collected_s(&self, nodes: u64, full: &[f64]) -> f64 {
        // One of two subtrees is always full, so this goes down one way only.
        if (nodes + 1).is_power_of_two() {
            return full[nodes.ilog2() as usize];
        }
        let (left, right) = children(nodes);
        let other_s = (right > 0).then(|| self.collected_s(right, full));
        self.joined_s(self.collected_s(left, full), other_s)
    }

    /// When a process has the results of children that were ready then.
    fn joined_s(&self, child_s: f64, other_child_s: Option<f64>) -> f64 {
        let workstation_s = self.workstation.a_s;
        let arrival_s = |ready_s: f64| ready_s + workstation_s + self.network.a_s + self.delay_s;
        let Some(other_child_s) = other_child_s else { return arrival_s(child_s) + workstation_s };
        let (first_s, second_s) = (child_s.min(other_child_s), child_s.max(other_child_s));
        (arrival_s(first_s) + workstation_s).max(arrival_s(second_s)) + workstation_s
    }
}
