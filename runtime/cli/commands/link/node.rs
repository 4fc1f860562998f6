//! What each of the two nodes does: rank 0 looks at the link, makes a schedule and says what is next; both do it.

use std::time::Instant;

use lathide::{Node, Rank, Tag};

use super::budget;
use super::pair::Pair;
use super::plan::{Call, Cost, Event, Options, Order, Own, Plan, Probe, RawPlace, Variant};
use super::raw::Raw;
use super::trial;
use crate::commands::common::calculation::Calculation;
use crate::commands::common::nodes::{progress, report};
use crate::launch::failed::{Failed, Result};

const ORDER: Tag = Tag(100);
const REPLY: Tag = Tag(101);
/// More than an order or a reply has as JSON.
const ORDER_BYTES: usize = 1 << 10;

/// The first look at the link: how often, and about how long each.
const LOOKS: u32 = 5;
const LOOK_S: f64 = 0.02;
/// Less would be beyond 1 TB/s.
const LEAST_BYTE_S: f64 = 1e-12;

/// A node of `lathide link`.
pub(super) fn run(node: &Node, plan: &Plan) -> Result<()> {
    if node.size() != plan.nodes() {
        return Err(Failed::new(format!("{} nodes; the measurement takes {}", node.size(), plan.nodes())));
    }
    match plan {
        Plan::Link { raw, options } => link(node, *raw, options),
        Plan::Fragments { bytes, round_trips, repeats } => fragments(node, *bytes, *round_trips, *repeats),
        Plan::Cluster { trials, repeats, .. } => trial::run(node, trials, *repeats),
    }
}

fn link(node: &Node, place: Option<RawPlace>, options: &Options) -> Result<()> {
    let raw = Raw::connect(node, place, options.yields)?;
    let raw = raw.map_err(|error| Failed::new(format!("the raw TCP connection between the nodes failed: {error}")))?;
    let mut session = Session { pair: Pair::new(node, Some(raw)), calculation: Calculation::new() };
    if node.rank() == 0 { session.lead(options) } else { session.heed() }
}

/// One-way times with the fragments as they are set.
fn fragments(node: &Node, bytes: usize, round_trips: u32, repeats: u32) -> Result<()> {
    let mut pair = Pair::new(node, None);
    for repeat in 0..=repeats {
        let cost = pair.one_way(Variant::Lathide, bytes, round_trips)?;
        if repeat > 0 {
            let one_way_s = cost.wall_s / f64::from(2 * round_trips);
            report(node.rank(), Event::Fragments(one_way_s))?;
        }
    }
    Ok(())
}

struct Session<'a> {
    pair: Pair<'a>,
    calculation: Calculation,
}

impl Session<'_> {
    /// Rank 0: everything once to warm up, then as often as planned; if the machine is so busy that the time is over
    /// before, the least number of repetitions must do.
    fn lead(&mut self, options: &Options) -> Result<()> {
        let start = Instant::now();
        progress(Rank(0), (0, 1), "looking at the link")?;
        let probe = self.probe()?;
        report(Rank(0), Event::Probed(probe))?;
        let mut schedule = budget::schedule(options, &probe, self.calculation.unit_s());
        let of = schedule.len() as u64 * u64::from(options.repeats + 1);
        let mut done = 0;
        for round in 0..=options.repeats {
            if round > options.repeats_min && start.elapsed().as_secs_f64() > budget::deadline_s(options) {
                break;
            }
            for order in &mut schedule {
                let when = if round == 0 { "warming up".to_owned() } else { format!("repetition {round}") };
                progress(Rank(0), (done, of), format!("{}, {when}", order.in_words()))?;
                let (mine, theirs) = self.order(*order, round % 2 == 1)?;
                let next = budget::correct(*order, &mine, &theirs);
                if round > 0 {
                    report(Rank(0), Event::Measured(*order, mine, theirs))?;
                }
                *order = next;
                done += 1;
            }
        }
        self.send(&Call { order: Order::End, is_reversed: false, travel_s: 0.0 }, ORDER)
    }

    /// Rank 1: does as it is told.
    fn heed(&mut self) -> Result<()> {
        loop {
            let call: Call = self.hear(ORDER)?;
            if call.order == Order::End {
                return Ok(());
            }
            let own = self.perform(&call)?;
            self.send(&own, REPLY)?;
        }
    }

    /// Rank 0: both nodes do something. What each has found out.
    fn order(&mut self, order: Order, is_reversed: bool) -> Result<(Own, Own)> {
        let call = Call { order, is_reversed, travel_s: self.pair.travel_s };
        self.send(&call, ORDER)?;
        let mine = self.perform(&call)?;
        Ok((mine, self.hear(REPLY)?))
    }

    fn perform(&mut self, call: &Call) -> Result<Own> {
        self.pair.travel_s = call.travel_s;
        match call.order {
            Order::OneWay { bytes, round_trips } => {
                self.variants(call, |pair, variant| pair.one_way(variant, bytes, round_trips))
            }
            Order::Alone { bytes, round_trips } => {
                Ok(Own::Alone(self.pair.one_way(Variant::Lathide, bytes, round_trips)?))
            }
            Order::Stream { bytes, messages } => {
                self.variants(call, |pair, variant| pair.stream(variant, bytes, messages))
            }
            Order::Rate { messages } => self.variants(call, |pair, variant| pair.rate(variant, messages)),
            Order::Exchange { bytes, count } => self.pair.exchange(bytes, count),
            Order::Overlap { direction, bytes, steps, work } => {
                Ok(Own::Overlap(self.pair.overlap(&mut self.calculation, (direction, bytes), steps, work)?))
            }
            Order::Loaded { bytes, idle } => self.pair.loaded(bytes, idle),
            Order::End => Ok(Own::Nothing),
        }
    }

    /// All variants in turn.
    fn variants(&mut self, call: &Call, block: impl Fn(&mut Pair<'_>, Variant) -> Result<Cost>) -> Result<Own> {
        let mut costs = [Cost::default(); Variant::ALL.len()];
        let mut order: Vec<usize> = (0..costs.len()).collect();
        if call.is_reversed {
            order.reverse();
        }
        for variant in order {
            costs[variant] = block(&mut self.pair, Variant::ALL[variant])?;
        }
        Ok(Own::Variants(costs))
    }

    /// The first look at the link.
    fn probe(&mut self) -> Result<Probe> {
        let start_s = self.look(8)?;
        self.pair.travel_s = start_s;
        let mut byte_s = f64::MAX;
        // The longer the better, but a slow link shows itself with a short one.
        for bytes in [16 << 10, 128 << 10, 1 << 20] {
            if byte_s == f64::MAX || byte_s * (bytes as f64) < LOOK_S {
                byte_s = ((self.look(bytes)? - start_s) / bytes as f64).max(LEAST_BYTE_S);
            }
        }
        Ok(Probe { start_s, byte_s })
    }

    /// Seconds one way for a message, by the slowest variant. What is quick is looked at again and the quickest look
    /// counts, since other programs may disturb one.
    fn look(&mut self, bytes: usize) -> Result<f64> {
        let (mut least_s, mut round_trips) = (f64::MAX, 1);
        for _ in 0..LOOKS {
            let (mine, _) = self.order(Order::OneWay { bytes, round_trips }, false)?;
            let Own::Variants(costs) = mine else { break };
            let one_way_s = costs.map(|cost| cost.wall_s / f64::from(2 * round_trips)).into_iter().fold(0.0, f64::max);
            least_s = least_s.min(one_way_s);
            if least_s > LOOK_S {
                break;
            }
            round_trips = (LOOK_S / (2.0 * least_s)).clamp(1.0, 100.0) as u32;
        }
        Ok(least_s)
    }

    fn send(&self, message: &impl serde::Serialize, tag: Tag) -> Result<()> {
        self.pair.node.initwrite(self.pair.other, tag, serde_json::to_vec(message)?)?.wait()?;
        Ok(())
    }

    fn hear<T: serde::de::DeserializeOwned>(&self, tag: Tag) -> Result<T> {
        let message = self.pair.node.initread(self.pair.other, tag, vec![0_u8; ORDER_BYTES])?.wait()?;
        serde_json::from_slice(&message)
            .map_err(|error| Failed::new(format!("an order or its reply cannot be read: {error}")))
    }
}
