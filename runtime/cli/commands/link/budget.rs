//! How much is measured: what fits into the time, on a link as the first look shows it. Pure.

use super::plan::{Direction, Options, Order, Own, Probe, Trial, Variant};
use crate::commands::common::blocks::{self, CALCULATION, WORK_MAX, count};

/// Shares of the time. What is left is for starting, and for what takes longer than thought.
const ONE_WAY: f64 = 0.29;
const STREAM: f64 = 0.16;
const RATE: f64 = 0.02;
const EXCHANGE: f64 = 0.10;
/// One way, and both ways.
const OVERLAP: f64 = 0.10;
const LOADED: f64 = 0.05;
const FRAGMENTS: f64 = 0.09;
const CLUSTER: f64 = 0.08;

/// Message sizes of one-way times.
const ONE_WAY_MIN: usize = 8;
const ONE_WAY_MAX: usize = 16 << 20;
/// Shorter messages all take the same time.
const BETWEEN_MIN: usize = 64;
const STREAM_SIZES: [usize; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
const EXCHANGE_SIZES: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
const OVERLAP_SIZES: [usize; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20];
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
/// The first message of a stream does not count, so there must be some more.
const STREAM_MIN: f64 = 4.0;
const STREAM_MAX: f64 = 4000.0;
const RATE_MIN: f64 = 100.0;
const RATE_MAX: f64 = 20_000.0;
/// What a short message takes at least, in seconds and, with its header, in bytes.
const MESSAGE_S: f64 = 2e-6;
const MESSAGE_BYTES: f64 = 40.0;

/// What is measured in each round. `unit_s`: what a unit of work takes.
pub(super) fn schedule(options: &Options, probe: &Probe, unit_s: f64) -> Vec<Order> {
    let budget = Budget { options, probe, unit_s };
    let mut orders = budget.one_way();
    orders.extend(budget.fitting(&STREAM_SIZES, STREAM, |bytes| budget.stream(bytes)));
    orders.push(budget.rate());
    orders.extend(budget.fitting(&EXCHANGE_SIZES, EXCHANGE, |bytes| budget.exchange(bytes)));
    for direction in Direction::ALL {
        orders.extend(budget.fitting(&OVERLAP_SIZES, OVERLAP, |bytes| budget.overlap(direction, bytes)));
    }
    orders.push(budget.loaded());
    orders
}

/// When the repetitions end, in seconds since the start, if the least number of them is done.
pub(super) fn deadline_s(options: &Options) -> f64 {
    options.seconds * (1.0 - FRAGMENTS - CLUSTER)
}

/// The sweep over fragment sizes: a job for each of them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sweep {
    /// The jobs in turn, there and back.
    pub(super) fragment_bytes: Vec<usize>,
    /// Of the message.
    pub(super) bytes: usize,
    pub(super) round_trips: u32,
    pub(super) repeats: u32,
}

/// The sweep that fits into the time, if to start and end a job takes `job_s`.
pub(super) fn sweep(options: &Options, probe: &Probe, job_s: f64) -> Sweep {
    let of = |powers: &[u32], passes: usize, bytes: usize| {
        let there = || powers.iter().map(|power| 1 << power);
        let mut fragment_bytes: Vec<usize> = there().collect();
        if passes > 1 {
            fragment_bytes.extend(there().rev());
        }
        let round_trips = count(BLOCK_S, 2.0 * probe.one_way_s(bytes));
        Sweep { fragment_bytes, bytes, round_trips, repeats: options.repeats }
    };
    let cost_s = |sweep: &Sweep| {
        let repeat_s = f64::from(sweep.round_trips) * 2.0 * probe.one_way_s(sweep.bytes);
        sweep.fragment_bytes.len() as f64 * (job_s + f64::from(sweep.repeats + 1) * repeat_s)
    };
    let choices = SWEEPS.iter().flat_map(|(powers, passes)| SWEEP_SIZES.map(|bytes| of(powers, *passes, bytes)));
    let mut least = of(&SWEEP_LEAST, 1, SWEEP_SIZES[SWEEP_SIZES.len() - 1]);
    for sweep in choices {
        if cost_s(&sweep) <= FRAGMENTS * options.seconds {
            return sweep;
        }
    }
    least.repeats = least.repeats.min(options.repeats_min);
    least
}

/// The sizes of the cluster model's trials, and how often each, as they fit into the time: the longest ones go first.
pub(super) fn trials(options: &Options, probe: &Probe) -> (Vec<Trial>, u32) {
    let gap_s = |bytes: usize| MESSAGE_S.max((bytes as f64 + MESSAGE_BYTES) * probe.byte_s);
    let trial = |bytes: usize| Trial {
        bytes,
        round_trips: ((TRIAL_S / (2.0 * probe.one_way_s(bytes))) as u32).clamp(2, 100),
        packets: ((TRIAL_S / gap_s(bytes)) as u32).clamp(PACKETS_MIN, 500),
    };
    let cost_s = |trial: &Trial| {
        // Streams of 1, 3 and 2 times 2 senders, then 1 behind a calculation, which is also done without.
        let packets = f64::from(trial.packets) * gap_s(trial.bytes);
        2.0 * f64::from(trial.round_trips + 1) * probe.one_way_s(trial.bytes) + 15.0 * packets + 16.0 * probe.start_s
    };
    let fits = |trials: &[Trial], repeats: u32| {
        trials.iter().map(cost_s).sum::<f64>() * f64::from(repeats + 1) <= CLUSTER * options.seconds
    };
    for count in (TRIAL_LEAST..=TRIAL_SIZES.len()).rev() {
        let trials: Vec<Trial> = TRIAL_SIZES[..count].iter().copied().map(trial).collect();
        for repeats in [options.repeats, options.repeats_min] {
            if fits(&trials, repeats) {
                return (trials, repeats);
            }
        }
    }
    (TRIAL_SIZES[..TRIAL_LEAST].iter().copied().map(trial).collect(), options.repeats_min)
}

/// A stream or a block of round trips takes about so long, if the link lets it.
const TRIAL_S: f64 = 0.004;
const TRIAL_SIZES: [usize; 7] = [8, 128, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10];
/// So few sizes must do.
const TRIAL_LEAST: usize = 4;
/// Of each stream; and two lengths must differ.
const PACKETS_MIN: u32 = 8;

/// Fragments of so many powers of two, and how often one after the other; what shows more comes first.
const SWEEPS: [(&[u32], usize); 3] =
    [(&[9, 10, 11, 12, 13, 14, 15, 16], 2), (&[9, 10, 11, 12, 13, 14, 15, 16], 1), (&[10, 12, 14, 16], 1)];
const SWEEP_LEAST: [u32; 3] = [10, 12, 14];
const SWEEP_SIZES: [usize; 3] = [1 << 20, 256 << 10, 64 << 10];

/// The order for the next round: the calculation as long as it should be, as this one has shown.
pub(super) fn correct(order: Order, mine: &Own, theirs: &Own) -> Order {
    let (Order::Overlap { direction, bytes, steps, work }, Own::Overlap(mine), Own::Overlap(theirs)) =
        (order, mine, theirs)
    else {
        return order;
    };
    let (calc_s, com_s) = ((mine.calc_s + theirs.calc_s) / 2.0, mine.com_s.max(theirs.com_s));
    Order::Overlap { direction, bytes, steps, work: blocks::corrected(work, calc_s, com_s) }
}

struct Budget<'a> {
    options: &'a Options,
    probe: &'a Probe,
    unit_s: f64,
}

impl Budget<'_> {
    /// Seconds per round for something with this share of the time.
    fn round_s(&self, share: f64) -> f64 {
        share * self.options.seconds / f64::from(self.options.repeats + 1)
    }

    /// Seconds for a message each way at once.
    fn exchange_s(&self, bytes: usize) -> f64 {
        let directions = if self.options.shared { 2.0 } else { 1.0 };
        self.probe.start_s + directions * self.probe.byte_s * bytes as f64
    }

    fn one_way(&self) -> Vec<Order> {
        let order = |bytes| Order::OneWay { bytes, round_trips: self.round_trips(bytes) };
        if let Some(bytes) = &self.options.bytes {
            return bytes.iter().map(|bytes| order(*bytes)).collect();
        }
        let (round_s, cost_s) = (self.round_s(ONE_WAY), |order: &Order| self.cost_s(order));
        // The longest message takes at most a good part of the time, the others share the rest.
        let powers = || (0..).map(|power| ONE_WAY_MIN << power).take_while(|bytes| *bytes <= ONE_WAY_MAX);
        let longest =
            powers().take_while(|bytes| cost_s(&order(*bytes)) <= 0.4 * round_s).last().unwrap_or(ONE_WAY_MIN);
        let mut orders = Vec::new();
        for step in [1, 2, 3, 4, 6] {
            orders = every(step, longest).map(order).collect();
            if orders.iter().map(cost_s).sum::<f64>() <= round_s {
                break;
            }
        }
        let rest_s = round_s - orders.iter().map(cost_s).sum::<f64>();
        let sizes: Vec<usize> = powers().take_while(|bytes| *bytes <= longest).collect();
        if orders.len() == sizes.len() {
            orders.extend(self.alone(&sizes, rest_s));
        }
        orders
    }

    /// What the models are fitted to: sizes between those of the powers of two, as many as fit, since a model that has to
    /// predict one that is left out needs near ones to know. Where there is time, the powers too, and all of them several
    /// times a round: a median over many short blocks is disturbed less than one over few long ones.
    fn alone(&self, sizes: &[usize], rest_s: f64) -> Vec<Order> {
        let round_trips = |bytes| count(ALONE_S, 2.0 * self.probe.one_way_s(bytes));
        let order = |bytes: usize| Order::Alone { bytes, round_trips: round_trips(bytes) };
        let cost_s = |orders: &[Order]| orders.iter().map(|order| self.cost_s(order)).sum::<f64>();
        for quarters in [&[1, 2, 3][..], &[2]] {
            let each = |bytes: &usize| {
                let bytes = *bytes as f64;
                quarters.iter().map(move |quarter| (bytes * 2f64.powf(f64::from(*quarter) / 4.0)).round() as usize)
            };
            let below = sizes.iter().take(sizes.len().saturating_sub(1)).filter(|bytes| **bytes >= BETWEEN_MIN);
            let orders: Vec<Order> = below.flat_map(each).map(order).collect();
            let whole = [orders.clone(), sizes.iter().copied().map(order).collect()].concat();
            let passes = (rest_s / cost_s(&whole)) as usize;
            if passes > 0 {
                return whole.repeat(passes.min(PASSES_MAX));
            }
            if cost_s(&orders) <= rest_s {
                return orders;
            }
        }
        Vec::new()
    }

    fn round_trips(&self, bytes: usize) -> u32 {
        count(BLOCK_S, 2.0 * self.probe.one_way_s(bytes))
    }

    fn stream(&self, bytes: usize) -> Order {
        let messages = (STREAM_S / (self.probe.byte_s * bytes as f64)).ceil().clamp(STREAM_MIN, STREAM_MAX);
        Order::Stream { bytes, messages: messages as u32 }
    }

    fn rate(&self) -> Order {
        let messages = (RATE_S.min(self.round_s(RATE)) / self.message_s()).clamp(RATE_MIN, RATE_MAX);
        Order::Rate { messages: messages as u32 }
    }

    fn message_s(&self) -> f64 {
        MESSAGE_S.max(MESSAGE_BYTES * self.probe.byte_s)
    }

    fn exchange(&self, bytes: usize) -> Order {
        Order::Exchange { bytes, count: count(BLOCK_S, self.exchange_s(bytes)) }
    }

    fn overlap(&self, direction: Direction, bytes: usize) -> Order {
        let transfer_s = self.transfer_s(direction, bytes);
        let work = (CALCULATION * transfer_s / self.unit_s).clamp(1.0, WORK_MAX);
        // Each node writes as often as the other.
        let steps = count(blocks::BLOCK_S, transfer_s).next_multiple_of(2);
        Order::Overlap { direction, bytes, steps, work: work as u32 }
    }

    fn transfer_s(&self, direction: Direction, bytes: usize) -> f64 {
        match direction {
            Direction::OneWay => self.probe.one_way_s(bytes),
            Direction::BothWays => self.exchange_s(bytes),
        }
    }

    fn loaded(&self) -> Order {
        let round_s = self.round_s(LOADED);
        let bytes = (0.7 * round_s / self.probe.byte_s) as usize;
        let idle = (0.2 * round_s / (2.0 * self.probe.start_s)).clamp(3.0, 500.0);
        Order::Loaded { bytes: bytes.clamp(LOADED_MIN, LOADED_MAX), idle: idle as u32 }
    }

    /// As many of the sizes as fit into the share; at least one, if need be shorter than them all. The person's own
    /// sizes fit always.
    fn fitting(&self, sizes: &[usize], share: f64, order: impl Fn(usize) -> Order) -> Vec<Order> {
        if let Some(bytes) = &self.options.bytes {
            return bytes.iter().filter(|bytes| **bytes >= LONG_MIN).map(|bytes| order(*bytes)).collect();
        }
        let round_s = self.round_s(share);
        let (mut orders, mut sum_s) = (Vec::new(), 0.0);
        for bytes in sizes {
            let next = order(*bytes);
            sum_s += self.cost_s(&next);
            if sum_s > round_s {
                break;
            }
            orders.push(next);
        }
        if orders.is_empty() {
            let mut bytes = sizes.first().map_or(LONG_MIN, |bytes| bytes / 4);
            while bytes > LONG_MIN && self.cost_s(&order(bytes)) > round_s {
                bytes /= 4;
            }
            orders.push(order(bytes.max(LONG_MIN)));
        }
        orders
    }

    /// About how many seconds an order takes.
    fn cost_s(&self, order: &Order) -> f64 {
        let Probe { start_s, byte_s } = *self.probe;
        let variants = Variant::ALL.len() as f64;
        let transfer_s = |bytes: usize| byte_s * bytes as f64;
        // Of a signal before and one after each block.
        let signals_s = |blocks: f64| (3.0 * blocks + 1.0) * start_s;
        match *order {
            Order::OneWay { bytes, round_trips } => {
                variants * f64::from(round_trips) * 2.0 * self.probe.one_way_s(bytes) + start_s
            }
            Order::Alone { bytes, round_trips } => f64::from(round_trips) * 2.0 * self.probe.one_way_s(bytes) + start_s,
            Order::Stream { bytes, messages } => {
                variants * (f64::from(messages) * transfer_s(bytes) + start_s) + signals_s(variants)
            }
            Order::Rate { messages } => {
                variants * (f64::from(messages) * self.message_s() + start_s) + signals_s(variants)
            }
            Order::Exchange { bytes, count } => {
                let pingpong_s = 2.0 * self.probe.one_way_s(bytes);
                f64::from(count) * (pingpong_s + 2.0 * self.exchange_s(bytes)) + signals_s(3.0)
            }
            Order::Overlap { direction, bytes, steps, .. } => {
                // Twice the calculation, the transfer, and both at once, three times.
                let step_s = (5.0 * CALCULATION + 1.6) * self.transfer_s(direction, bytes);
                f64::from(steps) * step_s + signals_s(6.0)
            }
            Order::Loaded { bytes, idle } => 2.0 * f64::from(idle) * start_s + 1.2 * transfer_s(bytes) + signals_s(2.0),
            Order::End => start_s,
        }
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
mod tests {
    use super::super::plan::Hidden;
    use super::*;

    /// A first look as it comes out on a link of so many seconds and bits per second.
    fn probe(start_s: f64, bits_per_s: f64) -> Probe {
        Probe { start_s, byte_s: 8.0 / bits_per_s }
    }

    fn options(bytes: Option<Vec<usize>>) -> Options {
        Options { seconds: 45.0, repeats: 5, repeats_min: 3, bytes, shared: false, yields: true }
    }

    fn total_s(options: &Options, probe: &Probe) -> f64 {
        let budget = Budget { options, probe, unit_s: 1e-7 };
        let round_s: f64 = schedule(options, probe, 1e-7).iter().map(|order| budget.cost_s(order)).sum();
        round_s * f64::from(options.repeats + 1)
    }

    #[test]
    fn every_link_fits_into_the_time() {
        let links = [(28e-6, 40e9), (170e-6, 1e9), (120e-6, 10e6), (25.2e-3, 50e6), (1e-3, 1e6), (5e-3, 256e3)];
        for (start_s, rate) in links {
            let probe = probe(start_s, rate);
            for shared in [false, true] {
                let total_s = total_s(&Options { shared, ..options(None) }, &probe);
                // With the sweep, and with 12 s for starting and ending, that is a minute.
                assert!(total_s + 45.0 * (FRAGMENTS + CLUSTER) <= 48.0, "{probe:?}: {total_s} s");
                assert!(total_s >= 2.0, "{probe:?}: {total_s} s, there is time for more");
            }
        }
    }

    #[test]
    fn a_fast_link_gets_all_sizes() {
        let orders = schedule(&options(None), &probe(28e-6, 40e9), 1e-7);
        let one_way = |order: &&Order| matches!(order, Order::OneWay { .. });
        assert_eq!(orders.iter().filter(one_way).count(), 22, "8 B to 16 MiB: {orders:?}");
        let between = |order: &&Order| matches!(order, Order::Alone { .. });
        let count = orders.iter().filter(between).count();
        assert!(count >= 76 && count.is_multiple_of(76), "three between each two from 64 B, and those: {orders:?}");
        let longest = |order: &Order| matches!(order, Order::Stream { bytes: 0x0100_0000, .. });
        assert!(orders.iter().any(longest), "{orders:?}");
        assert!(orders.iter().any(|order| matches!(order, Order::Loaded { bytes: LOADED_MAX, .. })), "{orders:?}");
    }

    #[test]
    fn chosen_sizes_are_all_measured() {
        let options = options(Some(vec![8, 3000, 1 << 26]));
        let orders = schedule(&options, &probe(1e-3, 1e6), 1e-7);
        let sizes = |which: fn(&Order) -> Option<usize>| orders.iter().filter_map(which).collect::<Vec<_>>();
        let one_way = |order: &Order| if let Order::OneWay { bytes, .. } = order { Some(*bytes) } else { None };
        let overlap = |order: &Order| if let Order::Overlap { bytes, .. } = order { Some(*bytes) } else { None };
        assert_eq!(sizes(one_way), [8, 3000, 1 << 26]);
        assert_eq!(sizes(overlap), [3000, 1 << 26, 3000, 1 << 26]);
    }

    #[test]
    fn sizes_thin_out_from_the_longest() {
        assert_eq!(every(1, 64).collect::<Vec<_>>(), [8, 16, 32, 64]);
        assert_eq!(every(2, 64).collect::<Vec<_>>(), [8, 16, 64]);
        assert_eq!(every(3, 64).collect::<Vec<_>>(), [8, 64]);
        assert_eq!(every(5, 8).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn the_sweep_fits_too() {
        let cheap = sweep(&options(None), &probe(28e-6, 40e9), 0.1);
        assert_eq!((cheap.fragment_bytes.len(), cheap.bytes), (16, 1 << 20), "{cheap:?}");
        assert_eq!(
            cheap.fragment_bytes[..8].iter().rev().collect::<Vec<_>>(),
            cheap.fragment_bytes[8..].iter().collect::<Vec<_>>()
        );
        let wide = sweep(&options(None), &probe(25e-3, 50e6), 0.5);
        assert!(wide.fragment_bytes.contains(&4096) && wide.fragment_bytes.len() >= 3, "{wide:?}");
        let slow = sweep(&options(None), &probe(1.0, 1e4), 1.0);
        assert_eq!((slow.fragment_bytes.len(), slow.repeats), (3, 3));
    }

    #[test]
    fn the_cluster_trials_fit_too() {
        let (fast, repeats) = trials(&options(None), &probe(28e-6, 40e9));
        assert_eq!((fast.len(), repeats), (TRIAL_SIZES.len(), 5), "{fast:?}");
        let (wide, _) = trials(&options(None), &probe(25e-3, 50e6));
        assert!(wide.len() >= TRIAL_LEAST, "{wide:?}");
        let (slow, repeats) = trials(&options(None), &probe(1.0, 1e4));
        assert_eq!((slow.len(), repeats), (TRIAL_LEAST, 3), "the least there is");
        assert!(slow.iter().all(|trial| trial.packets == PACKETS_MIN && trial.round_trips == 2), "{slow:?}");
    }

    #[test]
    fn the_calculation_follows_the_exchange() {
        let hidden = |calc_s, com_s| {
            Own::Overlap(Hidden { calc_s, com_s, total_s: 0.0, busy_s: 0.0, own_cpu_s: 0.0, spare_s: 0.0 })
        };
        let order = |work| Order::Overlap { direction: Direction::OneWay, bytes: 1, steps: 2, work };
        let next = |calc_s, com_s| correct(order(1000), &hidden(calc_s, com_s), &hidden(calc_s, com_s / 2.0));
        assert_eq!(next(1.0, 1.0), order(1100));
        assert_eq!(next(1.1, 1.0), order(1000));
        assert_eq!(next(1.0, 100.0), order(5000), "bounded");
        assert_eq!(next(0.0, 1.0), order(1000));
        assert_eq!(correct(Order::End, &Own::Nothing, &Own::Nothing), Order::End);
    }
}
