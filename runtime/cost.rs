//! The cost model by which the algorithms of collectives are chosen: a network of workstations (Stoica, Sultan and Keyes
//! 1994, section 3).

/// A communication block: what it costs per message and per byte.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Block {
    /// Seconds per message.
    pub fixed: f64,
    /// Seconds per byte.
    pub per_byte: f64,
}

/// The network of workstations of Stoica, Sultan and Keyes (3, Fig. 9).
///
/// A rank sends one message at a time. To send or to receive one takes `a_W` of its processor, which does one thing
/// at a time and receives in the order of arrival. A message's bytes occupy the sender's port and the receiver's,
/// each in its direction only, and the network; messages that share one of them share its bandwidth (rule 3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostModel {
    /// A workstation, `(a_W, b_W)`: processor time to send or receive a message, and time per byte of its port.
    pub node: Block,
    /// The network between, `(a_C, b_C)`.
    pub network: Block,
    /// Whether all messages under way share the network, as on the papers' Ethernet; else each has a path of its own.
    pub is_shared: bool,
    /// The delay `a_L`, in seconds.
    pub latency: f64,
    /// Seconds to combine a byte with another.
    pub combine: f64,
    /// The queue in front of a receiver, if it is short.
    pub queue: Option<Queue>,
}

/// The queue in front of a receiver's link (Tam and Wang 5.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Queue {
    /// The bytes it holds: `B_L` packets.
    pub bytes: f64,
    /// `g_s / g_r`: how much slower one sender is than the receiver's link.
    pub gap_ratio: f64,
    /// What an overflow costs, in seconds: a transport's timer, which for TCP is 0.2 s at least.
    pub timeout: f64,
}

impl CostModel {
    /// Workstations on a switched local network of 1 Gbit/s, as a guess before anything is measured.
    pub fn lan() -> Self {
        CostModel {
            node: Block { fixed: 10e-6, per_byte: 8e-9 },
            network: Block { fixed: 0.0, per_byte: 8e-9 },
            is_shared: false,
            latency: 50e-6,
            combine: 0.5e-9,
            queue: None,
        }
    }

    /// The paper's own: SparcStations on a shared Ethernet of 10 Mbit/s (section 4).
    pub fn ethernet_1994() -> Self {
        CostModel {
            node: Block { fixed: 859.52e-6, per_byte: 1.42e-6 },
            network: Block { fixed: 345.6e-6, per_byte: 0.92e-6 },
            is_shared: true,
            latency: 0.0,
            combine: 0.0,
            queue: None,
        }
    }

    /// The same with links of which one was measured, `a + b x` for a message one way.
    pub fn with_link(self, a: f64, b: f64) -> Self {
        let CostModel { combine, queue, .. } = self;
        CostModel { combine, queue, ..CostModel::of_link(a, b, self.node.fixed) }
    }

    /// The same where `overhead` seconds of a message are each side's processor's; what a message takes one way stays.
    pub fn with_overhead(self, overhead: f64) -> Self {
        let total = 2.0 * self.node.fixed + self.latency;
        let overhead = overhead.min(total / 2.0).max(0.0);
        CostModel { node: Block { fixed: overhead, ..self.node }, latency: total - 2.0 * overhead, ..self }
    }

    /// The machine of which one link was measured: `a + b x` for a message one way, of which each side's
    /// processor is busy for `overhead` seconds.
    pub fn of_link(a: f64, b: f64, overhead: f64) -> Self {
        CostModel {
            node: Block { fixed: 0.0, per_byte: b },
            network: Block { fixed: 0.0, per_byte: b },
            latency: a,
            ..CostModel::lan()
        }
        .with_overhead(overhead)
    }

    /// The time between a message's leaving and its arrival, `a_C + a_L`.
    pub fn flight(&self) -> f64 {
        self.network.fixed + self.latency
    }

    /// What an exchange of short messages costs: everybody sends one and receives one, `2 a_W + a_C + a_L`.
    pub fn exchange_fixed(&self) -> f64 {
        2.0 * self.node.fixed + self.flight()
    }

    /// Seconds per byte while `transfers` messages between different ranks are under way (rule 3):
    /// `max(n b_C, b_W)`.
    pub fn transfer(&self, transfers: usize) -> f64 {
        let sharing = if self.is_shared { transfers as f64 } else { 1.0 };
        (sharing * self.network.per_byte).max(self.node.per_byte)
    }

    /// The limit of short messages: bytes cost nothing.
    pub fn without_bytes(&self) -> Self {
        let block = |block: Block| Block { per_byte: 0.0, ..block };
        CostModel { node: block(self.node), network: block(self.network), combine: 0.0, ..*self }
    }

    /// The limit of long messages: only bytes cost.
    pub fn without_fixed(&self) -> Self {
        let block = |block: Block| Block { fixed: 0.0, ..block };
        CostModel { node: block(self.node), network: block(self.network), latency: 0.0, ..*self }
    }
}
