//! What a schedule costs.

/// A communication block: what it costs per message and per byte.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Block {
    /// Seconds per message.
    pub fixed: f64,
    /// Seconds per byte.
    pub per_byte: f64,
}

/// The network of workstations of Stoica, Sultan and Keyes (3, Fig. 9).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
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
}

/// What something costs in the two limits: short messages and long ones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Line {
    /// `a`: seconds when messages are short.
    pub fixed: f64,
    /// `b`: seconds per byte when they are long.
    pub per_byte: f64,
}

impl Machine {
    /// The time between a message's leaving and its arrival, `a_C + a_L`.
    pub fn flight(&self) -> f64 {
        self.network.fixed + self.latency
    }

    /// What an exchange of short messages costs: everybody sends one and receives one, `2 a_W + a_C + a_L`.
    pub fn exchange_fixed(&self) -> f64 {
        2.0 * self.node.fixed + self.flight()
    }

    /// Seconds per byte while `transfers` messages between different ranks are under way (rule 3): `max(n b_C, b_W)`.
    pub fn transfer(&self, transfers: usize) -> f64 {
        let sharing = if self.is_shared { transfers as f64 } else { 1.0 };
        (sharing * self.network.per_byte).max(self.node.per_byte)
    }
}
