//! The cost model that selects the algorithms of collectives: a network of workstations (Stoica, Sultan and Keyes 1994,
//! section 3).

/// A communication block: its cost per message and per byte.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Block {
    /// Seconds per message.
    pub fixed: f64,
    /// Seconds per byte.
    pub per_byte: f64,
}

/// The network of workstations of Stoica, Sultan and Keyes (3, Fig. 9).
///
/// A rank sends one message at a time. Sending or receiving a message takes `a_W` of processor time. The processor does
/// one thing at a time, and receives in the order of arrival. The bytes of a message occupy the sender's port, the
/// receiver's port (each in its direction only), and the network. Messages that share one of these share its bandwidth
/// (rule 3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostModel {
    /// A workstation, `(a_W, b_W)`: processor time to send or receive a message, and time per byte of its port.
    pub node: Block,
    /// The network between workstations, `(a_C, b_C)`.
    pub network: Block,
    /// Whether all messages in flight share the network, as on the Ethernet of the papers. Otherwise each has its own
    /// path.
    pub is_shared: bool,
    /// The delay `a_L`, in seconds.
    pub latency: f64,
    /// Seconds to combine one byte with another.
    pub combine: f64,
    /// The queue in front of a receiver, if it limits the senders.
    pub queue: Option<Queue>,
    /// How many ranks share a core, at least 1. Where several do, what all ranks' processors do adds up.
    pub ranks_per_core: f64,
    /// Hosts with several ranks each, which share the host's port; `None` if each rank has a port of its own.
    pub hosts: Option<Hosts>,
}

/// Hosts with several ranks each: the first ones on the first host, and so on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hosts {
    /// The ranks of each host. The last host may have fewer.
    pub ranks: u32,
    /// A message between two ranks of a host: its delay, and seconds per byte.
    pub local: Block,
}

impl Hosts {
    /// Hosts with so many ranks each, whose messages to each other go over loopback: a guess.
    pub fn of(ranks: u32) -> Self {
        Hosts { ranks: ranks.max(1), local: Block { fixed: 10e-6, per_byte: 0.5e-9 } }
    }

    /// The host of a rank, counted from 0.
    pub fn host(&self, rank: u32) -> u32 {
        rank / self.ranks.max(1)
    }
}

/// Numbers that a cost model is told in.
pub(crate) const COST_WORDS: usize = 15;

/// Seconds of a core to send or receive a byte.
const PROCESSOR_PER_BYTE: f64 = 0.3e-9;

/// The queue in front of a receiver's link (Tam and Wang 5.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Queue {
    /// The bytes it holds: `B_L` packets.
    pub bytes: f64,
    /// `g_s / g_r`: how much slower one sender is than the receiver's link.
    pub gap_ratio: f64,
    /// The cost of an overflow, in seconds: the retransmission timeout, at least 0.2 s for TCP.
    pub timeout: f64,
}

impl CostModel {
    /// A switched local network of 1 Gbit/s: a guess before anything is measured.
    pub fn lan() -> Self {
        CostModel {
            node: Block { fixed: 10e-6, per_byte: 8e-9 },
            network: Block { fixed: 0.0, per_byte: 8e-9 },
            is_shared: false,
            latency: 50e-6,
            // Adding numbers takes half of it or less; other operators take longer.
            combine: 0.1e-9,
            queue: None,
            ranks_per_core: 1.0,
            hosts: None,
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
            ranks_per_core: 1.0,
            hosts: None,
        }
    }

    /// The same with the measured line of a link: `a + b x` for a message one way.
    pub fn with_link(self, a: f64, b: f64) -> Self {
        let CostModel { is_shared, combine, queue, ranks_per_core, hosts, .. } = self;
        let line = CostModel::of_link(a, b, self.node.fixed);
        CostModel { is_shared, combine, queue, ranks_per_core, hosts, ..line }
    }

    /// The same with `overhead` seconds of processor time per message on each side. The one-way time of a message does
    /// not change.
    pub fn with_overhead(self, overhead: f64) -> Self {
        let total = 2.0 * self.node.fixed + self.latency;
        let overhead = overhead.min(total / 2.0).max(0.0);
        CostModel { node: Block { fixed: overhead, ..self.node }, latency: total - 2.0 * overhead, ..self }
    }

    /// The model for a measured link: `a + b x` for a message one way, with `overhead` seconds of processor time on
    /// each side.
    pub fn of_link(a: f64, b: f64, overhead: f64) -> Self {
        CostModel {
            node: Block { fixed: 0.0, per_byte: b },
            network: Block { fixed: 0.0, per_byte: b },
            latency: a,
            ..CostModel::lan()
        }
        .with_overhead(overhead)
    }

    /// The time between the departure of a message and its arrival, `a_C + a_L`.
    pub fn flight(&self) -> f64 {
        self.network.fixed + self.latency
    }

    /// The cost of an exchange of short messages, in which every rank sends one and receives one: `2 a_W + a_C + a_L`.
    pub fn exchange_fixed(&self) -> f64 {
        2.0 * self.node.fixed + self.flight()
    }

    /// Seconds per byte while `transfers` messages between different ranks are in flight (rule 3): `max(n b_C, b_W)`.
    pub fn transfer(&self, transfers: usize) -> f64 {
        let sharing = if self.is_shared { transfers as f64 } else { 1.0 };
        (sharing * self.network.per_byte).max(self.node.per_byte)
    }

    /// The limit of short messages: bytes cost nothing.
    pub fn without_bytes(&self) -> Self {
        let block = |block: Block| Block { per_byte: 0.0, ..block };
        let hosts = self.hosts.map(|hosts| Hosts { local: block(hosts.local), ..hosts });
        CostModel { node: block(self.node), network: block(self.network), combine: 0.0, hosts, ..*self }
    }

    /// The limit of short messages on machines whose processors take no time, so that a message takes as long, and any number at once:
    /// what is left of a call are its messages that wait for each other.
    pub(crate) fn of_waits(&self) -> Self {
        let both_ends = 2.0 * self.node.fixed;
        let model = self.without_bytes().with_overhead(0.0);
        let further = |local: Block| Block { fixed: local.fixed + both_ends, ..local };
        let hosts = model.hosts.map(|hosts| Hosts { local: further(hosts.local), ..hosts });
        CostModel { hosts, ..model }
    }

    /// The limit of long messages: only bytes cost.
    pub fn without_fixed(&self) -> Self {
        let block = |block: Block| Block { fixed: 0.0, ..block };
        let hosts = self.hosts.map(|hosts| Hosts { local: block(hosts.local), ..hosts });
        CostModel { node: block(self.node), network: block(self.network), latency: 0.0, hosts, ..*self }
    }

    /// Whether several ranks share a core.
    pub(crate) fn shares_cores(&self) -> bool {
        self.ranks_per_core > 1.0
    }

    /// The least time in which the cores send and receive so many messages with so many bytes and combine so many bytes, all ranks
    /// together, if cores are shared; else 0, since other costs are greater.
    pub fn processor_time(&self, ranks: u32, messages: f64, bytes: f64, combined: f64) -> f64 {
        if !self.shares_cores() {
            return 0.0;
        }
        let all = 2.0 * (messages * self.node.fixed + bytes * PROCESSOR_PER_BYTE) + combined * self.combine;
        all * self.ranks_per_core / f64::from(ranks.max(1))
    }

    /// The model as numbers, to tell it to other ranks.
    pub(crate) fn to_words(self) -> [f64; COST_WORDS] {
        let CostModel { node, network, is_shared, latency, combine, queue, ranks_per_core, hosts } = self;
        // Of what there is not, the first is 0.
        let [held, ratio, timeout] = queue.map_or([0.0; 3], |queue| [queue.bytes, queue.gap_ratio, queue.timeout]);
        let [each, fixed, per_byte] =
            hosts.map_or([0.0; 3], |hosts| [f64::from(hosts.ranks.max(1)), hosts.local.fixed, hosts.local.per_byte]);
        let has_queue = f64::from(u8::from(queue.is_some()));
        let is_shared = f64::from(u8::from(is_shared));
        let [one, two, three, four] = [node.fixed, node.per_byte, network.fixed, network.per_byte];
        [
            one,
            two,
            three,
            four,
            is_shared,
            latency,
            combine,
            ranks_per_core,
            has_queue,
            held,
            ratio,
            timeout,
            each,
            fixed,
            per_byte,
        ]
    }

    /// The model of [`CostModel::to_words`].
    pub(crate) fn from_words(words: [f64; COST_WORDS]) -> Self {
        let [
            one,
            two,
            three,
            four,
            is_shared,
            latency,
            combine,
            ranks_per_core,
            has_queue,
            bytes,
            gap_ratio,
            timeout,
            each,
            fixed,
            per_byte,
        ] = words;
        CostModel {
            node: Block { fixed: one, per_byte: two },
            network: Block { fixed: three, per_byte: four },
            is_shared: is_shared != 0.0,
            latency,
            combine,
            queue: (has_queue != 0.0).then_some(Queue { bytes, gap_ratio, timeout }),
            ranks_per_core,
            hosts: (each != 0.0).then_some(Hosts { ranks: each as u32, local: Block { fixed, per_byte } }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let queue = Queue { bytes: 65_536.0, gap_ratio: 1.5, timeout: 0.2 };
        let full = CostModel { queue: Some(queue), hosts: Some(Hosts::of(4)), ranks_per_core: 2.5, ..CostModel::lan() };
        for model in [CostModel::lan(), CostModel::ethernet_1994(), full] {
            assert_eq!(CostModel::from_words(model.to_words()), model);
        }
    }
}
