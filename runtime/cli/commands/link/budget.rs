//! How much is measured: what fits into the time, on a link as the first look shows it. Pure.

use super::plan::{Block, Kind, Options, Order, Probe, SIGNAL_BYTES, Trial, Variant};
use crate::commands::common::blocks::{self, CALCULATION, WORK_MAX};

/// Shares of the time. What is left is for starting, and for what takes longer than thought.
const ONE_WAY: f64 = 0.29;
const RATE: f64 = 0.02;
const LOADED: f64 = 0.05;
const FRAGMENTS: f64 = 0.09;
const CLUSTER: f64 = 0.08;
/// What is measured with long messages, its share, and their sizes; of these as many as fit, and at least one.
const LONG: [(Kind, f64, &[usize]); 4] = [
    (Kind::Stream, 0.16, &[64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]),
    (Kind::Exchange, 0.10, &[64 << 10, 256 << 10, 1 << 20, 4 << 20]),
    (Kind::Overlap, 0.10, &[64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20]),
    (Kind::ExchangeOverlap, 0.10, &[64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20]),
];
/// What must do where none of those fits.
const SHORTER: [usize; 3] = [16 << 10, 4 << 10, LONG_MIN];

/// Message sizes of one-way times.
const ONE_WAY_MIN: usize = 8;
const ONE_WAY_MAX: usize = 16 << 20;
/// Shorter messages all take the same time.
const BETWEEN_MIN: usize = 64;
/// Of sizes that the person has chosen, shorter ones are for one-way times only.
const LONG_MIN: usize = 1 << 10;
/// The long message beside which short ones are sent.
const LOADED_MIN: usize = 4 << 10;
const LOADED_MAX: usize = 64 << 20;

/// A block takes at least so long, if the time allows it: a wake-up more or less then says little.
const BLOCK_S: f64 = 0.012;
const ALONE_S: f64 = 0.006;
/// Of the sizes that models are fitted to, in a round.
const PASSES_MAX: usize = 4;
const STREAM_S: f64 = 0.06;
const RATE_S: f64 = 0.03;
/// How often something is done in a block.
const COUNTS: [f64; 2] = [1.0, 4000.0];
/// The first message of a stream does not count, so there must be some more.
const STREAM_COUNTS: [f64; 2] = [4.0, 4000.0];
const RATE_COUNTS: [f64; 2] = [100.0, 20_000.0];
const LOADED_COUNTS: [f64; 2] = [3.0, 500.0];
/// What a short message takes at least, in seconds and, with its header, in bytes.
const MESSAGE_S: f64 = 2e-6;
const MESSAGE_BYTES: f64 = 40.0;

/// What is measured in each round. `unit_s`: what a unit of work takes.
pub(super) fn schedule(options: &Options, probe: &Probe, unit_s: f64) -> Vec<Order> {
    Budget { options, probe, unit_s }.schedule().into_iter().map(|(order, _)| order).collect()
}

/// When the repetitions end, in seconds since the start, if the least number of them is done.
pub(super) fn deadline_s(options: &Options) -> f64 {
    options.seconds * (1.0 - FRAGMENTS - CLUSTER)
}

/// The ends of a firm time's parts, in seconds: of everything but the sweep, of the sweep, of the cluster model's parameters.
/// What is left is for starting and ending.
pub(super) fn ends_s(seconds: f64) -> [f64; 3] {
    let whole_s = (0.97 * seconds - 0.2).max(0.0);
    [1.0 - FRAGMENTS - CLUSTER, 1.0 - CLUSTER, 1.0].map(|share| share * whole_s)
}

/// The sweep over fragment sizes: a job for each of them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sweep {
    /// The jobs in turn, there and back.
    pub(super) fragment_bytes: Vec<usize>,
    pub(super) order: Order,
    pub(super) repeats: u32,
}

/// The sweep that fits into the time, if to start and end a job takes `job_s`.
pub(super) fn sweep(options: &Options, probe: &Probe, job_s: f64) -> Sweep {
    let budget = Budget { options, probe, unit_s: 1.0 };
    let of = |powers: &[u32], bytes: usize| {
        let fragment_bytes = powers.iter().map(|power| 1 << power).collect();
        let order = Order { kind: Kind::Alone, ..budget.order(Kind::OneWay, bytes).0 };
        Sweep { fragment_bytes, order, repeats: options.repeats }
    };
    let fits = |sweep: &Sweep| {
        let repeat_s = f64::from(2 * sweep.order.count) * probe.one_way_s(sweep.order.bytes);
        let all_s = sweep.fragment_bytes.len() as f64 * (job_s + f64::from(sweep.repeats + 1) * repeat_s);
        all_s <= FRAGMENTS * options.seconds
    };
    let mut choices = SWEEPS.iter().flat_map(|powers| SWEEP_SIZES.map(|bytes| of(powers, bytes)));
    let least = of(&SWEEP_LEAST, SWEEP_SIZES[SWEEP_SIZES.len() - 1]);
    choices.find(fits).unwrap_or(Sweep { repeats: options.repeats.min(options.repeats_min), ..least })
}

/// Fragments of powers of two, in turn; what shows more comes first.
const SWEEPS: [&[u32]; 3] = [
    &[9, 10, 11, 12, 13, 14, 15, 16, 16, 15, 14, 13, 12, 11, 10, 9],
    &[9, 10, 11, 12, 13, 14, 15, 16],
    &[10, 12, 14, 16],
];
const SWEEP_LEAST: [u32; 3] = [10, 12, 14];
const SWEEP_SIZES: [usize; 3] = [1 << 20, 256 << 10, 64 << 10];

/// The sizes whose one-way times are measured where nothing else is, as they fit into so many seconds with so many repetitions: the
/// longest ones go first.
pub(super) fn sizes_in(seconds: f64, repeats: u32, probe: &Probe) -> Vec<Order> {
    let order = |bytes: usize| {
        let count = (ALONE_S / (2.0 * probe.one_way_s(bytes))).ceil().clamp(COUNTS[0], COUNTS[1]) as u32;
        Order { kind: Kind::Alone, bytes, count, work: 0 }
    };
    let cost_s = |order: &Order| f64::from(2 * order.count * (repeats + 1)) * probe.one_way_s(order.bytes);
    let mut left_s = seconds;
    let mut orders: Vec<Order> = Vec::new();
    for order in PLAIN_SIZES.map(order) {
        left_s -= cost_s(&order);
        if left_s < 0.0 && orders.len() >= TRIAL_LEAST {
            break;
        }
        orders.push(order);
    }
    orders
}

const PLAIN_SIZES: [usize; 9] = [8, 256, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20];

/// The sizes of the cluster model's trials, and how often each, as they fit into the time: the longest ones go first.
pub(super) fn trials(options: &Options, probe: &Probe) -> (Vec<Trial>, u32) {
    trials_in(CLUSTER * options.seconds, [options.repeats, options.repeats_min], probe)
}

/// The same in so many seconds, with so many repetitions if they fit, else with so many.
pub(super) fn trials_in(seconds: f64, repeats: [u32; 2], probe: &Probe) -> (Vec<Trial>, u32) {
    let gap_s = |bytes: usize| MESSAGE_S.max((bytes as f64 + MESSAGE_BYTES) * probe.byte_s);
    let trials = TRIAL_SIZES.map(|bytes| Trial {
        bytes,
        round_trips: ((TRIAL_S / (2.0 * probe.one_way_s(bytes))) as u32).clamp(2, 100),
        packets: ((TRIAL_S / gap_s(bytes)) as u32).clamp(PACKETS_MIN, 500),
    });
    let cost_s = |trial: &Trial| {
        // Streams of 1, 3 and 2 times 2 senders, then 1 behind a calculation, which is also done without.
        let packets = f64::from(trial.packets) * gap_s(trial.bytes);
        2.0 * f64::from(trial.round_trips + 1) * probe.one_way_s(trial.bytes) + 15.0 * packets + 16.0 * probe.start_s
    };
    let fits = |(sizes, repeats): &(usize, u32)| {
        trials[..*sizes].iter().map(cost_s).sum::<f64>() * f64::from(repeats + 1) <= seconds
    };
    let sizes = (TRIAL_LEAST..=TRIAL_SIZES.len()).rev();
    let mut choices = sizes.flat_map(|sizes| repeats.map(|repeats| (sizes, repeats)));
    let (sizes, repeats) = choices.find(fits).unwrap_or((TRIAL_LEAST, repeats[1]));
    (trials[..sizes].to_vec(), repeats)
}

/// A stream or a block of round trips takes about so long, if the link lets it.
const TRIAL_S: f64 = 0.004;
const TRIAL_SIZES: [usize; 7] = [8, 128, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10];
/// So few sizes must do.
const TRIAL_LEAST: usize = 4;
/// Of each stream; and two lengths must differ.
const PACKETS_MIN: u32 = 8;

/// The order for the next round: the calculation as long as it should be, as this one has shown.
pub(super) fn correct(block: &Block) -> Order {
    let order = block.order;
    let ([calc_s], [_, com_s]) = (block.both(f64::midpoint), block.both(f64::max));
    match order.kind {
        Kind::Overlap | Kind::ExchangeOverlap => Order { work: blocks::corrected(order.work, calc_s, com_s), ..order },
        _ => order,
    }
}

struct Budget<'a> {
    options: &'a Options,
    probe: &'a Probe,
    unit_s: f64,
}

/// An order, and about how many seconds it takes.
type Costed = (Order, f64);

fn sum_s(orders: &[Costed]) -> f64 {
    orders.iter().map(|(_, cost_s)| cost_s).sum()
}

/// What something takes: so often, in a block of so many seconds.
struct Price {
    counts: [f64; 2],
    block_s: f64,
    /// To do it once.
    once_s: f64,
    /// All that is done for each time.
    each_s: f64,
    /// Beside that: signals before and after each of the block's parts.
    beside_s: f64,
}

impl Budget<'_> {
    fn schedule(&self) -> Vec<Costed> {
        let mut orders = self.one_way();
        for (kind, share, sizes) in LONG {
            orders.extend(self.long(kind, share, sizes));
        }
        let loaded_bytes = (0.7 * self.round_s(LOADED) / self.probe.byte_s) as usize;
        orders.push(self.order(Kind::Rate, SIGNAL_BYTES));
        orders.push(self.order(Kind::Twice, orders[0].0.bytes));
        orders.push(self.order(Kind::Loaded, loaded_bytes.clamp(LOADED_MIN, LOADED_MAX)));
        // What only models are fitted to comes last: the time may be over before.
        orders.sort_by_key(|(order, _)| order.kind == Kind::Alone);
        orders
    }

    /// Seconds per round for something with this share of the time.
    fn round_s(&self, share: f64) -> f64 {
        share * self.options.seconds / f64::from(self.options.repeats + 1)
    }

    fn order(&self, kind: Kind, bytes: usize) -> Costed {
        let Price { counts: [least, most], block_s, once_s, each_s, beside_s } = self.price(kind, bytes);
        let mut count = (block_s / once_s).ceil().clamp(least, most) as u32;
        let mut work = 0;
        if matches!(kind, Kind::Overlap | Kind::ExchangeOverlap) {
            // Each node writes as often as the other.
            count = count.next_multiple_of(2);
            work = (CALCULATION * once_s / self.unit_s).clamp(1.0, WORK_MAX) as u32;
        }
        (Order { kind, bytes, count, work }, f64::from(count) * each_s + beside_s)
    }

    fn price(&self, kind: Kind, bytes: usize) -> Price {
        let Probe { start_s, byte_s } = *self.probe;
        let (variants, transfer_s) = (Variant::ALL.len() as f64, byte_s * bytes as f64);
        let one_way_s = start_s + transfer_s;
        // A message each way at once.
        let exchange_s = start_s + if self.options.shared { 2.0 } else { 1.0 } * transfer_s;
        let message_s = MESSAGE_S.max(MESSAGE_BYTES * byte_s);
        let price = |block_s: f64, once_s: f64, times: f64, starts: f64| Price {
            counts: COUNTS,
            block_s,
            once_s,
            each_s: times * once_s,
            beside_s: starts * start_s,
        };
        // Of a signal before and one after each part, and the first message's way.
        match kind {
            Kind::OneWay => price(BLOCK_S, 2.0 * one_way_s, variants, 1.0),
            Kind::Twice => price(ALONE_S, 2.0 * one_way_s, 2.0, 2.0),
            Kind::Alone => price(ALONE_S, 2.0 * one_way_s, 1.0, 1.0),
            Kind::Stream => Price { counts: STREAM_COUNTS, ..price(STREAM_S, transfer_s, variants, 13.0) },
            Kind::Rate => {
                let block_s = RATE_S.min(self.round_s(RATE));
                Price { counts: RATE_COUNTS, ..price(block_s, message_s, variants, 13.0) }
            }
            Kind::Exchange => Price { each_s: 2.0 * (one_way_s + exchange_s), ..price(BLOCK_S, exchange_s, 1.0, 10.0) },
            // Twice the calculation, the transfer, and both at once, three times.
            Kind::Overlap => price(blocks::BLOCK_S, one_way_s, 5.0 * CALCULATION + 1.6, 19.0),
            Kind::ExchangeOverlap => price(blocks::BLOCK_S, exchange_s, 5.0 * CALCULATION + 1.6, 19.0),
            Kind::Loaded => {
                let idle = price(0.2 * self.round_s(LOADED), 2.0 * start_s, 1.0, 7.0);
                Price { counts: LOADED_COUNTS, beside_s: 1.2 * transfer_s + idle.beside_s, ..idle }
            }
        }
    }

    fn one_way(&self) -> Vec<Costed> {
        let order = |bytes| self.order(Kind::OneWay, bytes);
        if let Some(bytes) = &self.options.bytes {
            return bytes.iter().copied().map(order).collect();
        }
        let round_s = self.round_s(ONE_WAY);
        // The longest message takes at most a good part of the time, the others share the rest.
        let fits = |bytes: &usize| order(*bytes).1 <= 0.4 * round_s;
        let longest = every(1, ONE_WAY_MAX).take_while(fits).last().unwrap_or(ONE_WAY_MIN);
        let powers: Vec<usize> = every(1, longest).collect();
        let mut orders = Vec::new();
        for step in [1, 2, 3, 4, 6] {
            orders = every(step, longest).map(order).collect();
            if sum_s(&orders) <= round_s {
                break;
            }
        }
        if orders.len() == powers.len() {
            orders.extend(self.alone(&powers, round_s - sum_s(&orders)));
        }
        orders
    }

    /// What the models are fitted to: sizes between those of the powers of two, as many as fit, since a model that has to
    /// predict one that is left out needs near ones to know. Where there is time, the powers too, and all of them several
    /// times a round: a median over many short blocks is disturbed less than one over few long ones.
    fn alone(&self, powers: &[usize], rest_s: f64) -> Vec<Costed> {
        let order = |bytes| self.order(Kind::Alone, bytes);
        let below = &powers[..powers.len() - 1];
        let mut choices = [&[1, 2, 3][..], &[2]].into_iter().flat_map(|quarters| {
            let each = |bytes: &usize| {
                let bytes = *bytes as f64;
                quarters.iter().map(move |quarter| (bytes * 2f64.powf(f64::from(*quarter) / 4.0)).round() as usize)
            };
            let between = below.iter().filter(|bytes| **bytes >= BETWEEN_MIN).flat_map(each).map(order);
            let between: Vec<Costed> = between.collect();
            let whole: Vec<Costed> = between.iter().copied().chain(powers.iter().copied().map(order)).collect();
            (1..=PASSES_MAX).rev().map(move |passes| whole.repeat(passes)).chain([between])
        });
        choices.find(|orders| sum_s(orders) <= rest_s).unwrap_or_default()
    }

    /// As many of the sizes as fit into the share; at least one, if need be shorter than them all. The person's own
    /// sizes fit always.
    fn long(&self, kind: Kind, share: f64, sizes: &[usize]) -> Vec<Costed> {
        let order = |bytes: &usize| self.order(kind, *bytes);
        if let Some(bytes) = &self.options.bytes {
            return bytes.iter().filter(|bytes| **bytes >= LONG_MIN).map(order).collect();
        }
        let round_s = self.round_s(share);
        let mut orders: Vec<Costed> = sizes.iter().map(order).collect();
        while sum_s(&orders) > round_s {
            orders.pop();
        }
        if orders.is_empty() {
            let is_least = |(order, cost_s): &Costed| *cost_s <= round_s || order.bytes == LONG_MIN;
            orders.extend(SHORTER.iter().map(order).find(is_least));
        }
        orders
    }
}

/// The least size, and every `step`-th power of two below `longest`, and that one; ascending.
fn every(step: u32, longest: usize) -> impl Iterator<Item = usize> {
    let top = longest.ilog2();
    let least = ONE_WAY_MIN.ilog2();
    let powers = (least..=top).filter(move |power| (top - power).is_multiple_of(step) || *power == least);
    powers.map(|power| 1 << power)
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
