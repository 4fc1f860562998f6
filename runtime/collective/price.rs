//! What a schedule costs on a machine of the hyperbolic model (Stoica, Sultan and Keyes 1994).
//!
//! The price is reduced as the paper reduces any communication graph (rule 4): in the limit of short messages,
//! where only what a message costs counts, and in that of long ones, where only bytes do. [`line()`] takes both limits
//! from the schedules themselves, by running them; where the paper gives a formula, the algorithm's own `price`
//! states it, and they are equal.
//!
//! ```
//! use lathide::collective::price::{self, Machine};
//! use lathide::collective::broadcast::binary;
//! use lathide::Rank;
//! // The paper's broadcast to 11 workstations costs a = 8 a_W + 3 a_C + 3 a_L.
//! let machine = Machine::ethernet_1994();
//! let schedules = (0..11).map(|rank| binary::schedule(Rank(rank), 11, Rank(0), 1, 0));
//! let line = price::line(schedules.collect(), 1.0, 1.0, &machine).expect("a broadcast ends");
//! assert!((line.fixed - (8.0 * 859.52e-6 + 3.0 * 345.6e-6)).abs() < 1e-9);
//! ```

use super::schedule::Schedule;
use super::simulate;

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

/// What something costs in the two limits: short messages and long ones.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Line {
    /// `a`: seconds when messages are short.
    pub fixed: f64,
    /// `b`: seconds per byte when they are long.
    pub per_byte: f64,
}

impl Line {
    /// The time for `bytes` bytes.
    pub fn seconds(&self, bytes: f64) -> f64 {
        service_time(self.fixed, self.per_byte * bytes)
    }
}

/// The median of links' `a`, in seconds, and that of their `b`, in seconds per byte; `None` if no link is known. What
/// makes no sense counts as unknown.
pub fn typical(links: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let is_known = |(a, b): &(f64, f64)| a.is_finite() && b.is_finite() && *a > 0.0 && *b > 0.0;
    let (mut all_a, mut all_b): (Vec<f64>, Vec<f64>) = links.filter(is_known).unzip();
    all_a.sort_by(f64::total_cmp);
    all_b.sort_by(f64::total_cmp);
    let middle = all_a.len() / 2;
    Some((*all_a.get(middle)?, *all_b.get(middle)?))
}

/// The service time between both limits, `T(x; a, b)`: here their sum, the upper end of what the hyperbola of the
/// paper's equation 3 can be.
fn service_time(fixed: f64, of_bytes: f64) -> f64 {
    fixed + of_bytes
}

impl Machine {
    /// Workstations on a switched local network of 1 Gbit/s, as a guess before anything is measured.
    pub fn lan() -> Self {
        Machine {
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
        Machine {
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
        let Machine { combine, queue, .. } = self;
        Machine { combine, queue, ..Machine::of_link(a, b, self.node.fixed) }
    }

    /// The same where `overhead` seconds of a message are each side's processor's; what a message takes one way stays.
    pub fn with_overhead(self, overhead: f64) -> Self {
        let total = 2.0 * self.node.fixed + self.latency;
        let overhead = overhead.min(total / 2.0).max(0.0);
        Machine { node: Block { fixed: overhead, ..self.node }, latency: total - 2.0 * overhead, ..self }
    }

    /// The machine of which one link was measured: `a + b x` for a message one way, of which each side's
    /// processor is busy for `overhead` seconds.
    pub fn of_link(a: f64, b: f64, overhead: f64) -> Self {
        Machine {
            node: Block { fixed: 0.0, per_byte: b },
            network: Block { fixed: 0.0, per_byte: b },
            latency: a,
            ..Machine::lan()
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
        Machine { node: block(self.node), network: block(self.network), combine: 0.0, ..*self }
    }

    /// The limit of long messages: only bytes cost.
    pub fn without_fixed(&self) -> Self {
        let block = |block: Block| Block { fixed: 0.0, ..block };
        Machine { node: block(self.node), network: block(self.network), latency: 0.0, ..*self }
    }
}

/// The price of the schedules of all ranks, per byte of something of which they move `bytes`; an element has
/// `element_bytes`. `None` if the schedules do not fit together: they would never end.
pub fn line(schedules: Vec<Schedule>, element_bytes: f64, bytes: f64, machine: &Machine) -> Option<Line> {
    let fixed = simulate::makespan(schedules.clone(), element_bytes, &machine.without_bytes())?;
    let of_bytes = simulate::makespan(schedules, element_bytes, &machine.without_fixed())?;
    Some(Line { fixed, per_byte: of_bytes / bytes })
}

/// The time from the first step to the last when all ranks begin at once, in seconds; an element has
/// `element_bytes`. `None` if the schedules do not fit together: they would never end.
pub fn makespan(schedules: Vec<Schedule>, element_bytes: f64, machine: &Machine) -> Option<f64> {
    simulate::makespan(schedules, element_bytes, machine)
}
