//! What each of the two nodes does: rank 0 looks at the link, makes a schedule and says what is next; both do it.

use std::time::Instant;

use lathide::{Node, Rank, Tag};
use lathide_models::stats;

use super::budget;
use super::contention;
use super::pair::Pair;
use super::plan::{Block, Call, Event, Kind, Options, Order, Plan, Probe, SIGNAL_BYTES, Variant};
use super::sending;
use super::trial;
use crate::commands::common::calculation::Calculation;
use crate::commands::common::nodes::{progress, report};
use crate::commands::common::raw::Raw;
use crate::launch::failed::{Failed, Result};

const ORDER: Tag = Tag(100);
const REPLY: Tag = Tag(101);
/// More than an order has as JSON.
const ORDER_BYTES: usize = 1 << 10;
/// More numbers than a node has to tell of a block.
const NUMBERS: usize = 24;

/// The median, the 99th percentile and the greatest.
const QUANTILES: [f64; 3] = [0.5, 0.99, 1.0];
/// Warming up ends after this part of a firm time, and is short of what only models are fitted to after that part.
const WARM: f64 = 0.3;
const WARM_SHORT: f64 = 0.15;

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
        Plan::Link { raw, options } => {
            let raw = Raw::connect(node, *raw, options.yields)?;
            let mut session = Session { pair: Pair::new(node, Some(raw)), calculation: Calculation::new() };
            if node.rank() == 0 { session.lead(options) } else { session.heed() }
        }
        Plan::Fragments { order, repeats } => {
            let mut pair = Pair::new(node, None);
            for repeat in 0..=*repeats {
                let mine = vec![pair.one_way(Variant::Lathide, order.bytes, order.count)?.wall_s];
                if repeat > 0 {
                    report(node.rank(), Event::Measured(Block { order: *order, mine, theirs: Vec::new() }))?;
                }
            }
            Ok(())
        }
        Plan::Cluster { trials, repeats, deadline_s, .. } => trial::run(node, trials, *repeats, *deadline_s),
        Plan::Contention(plan) => match contention::node::run(node, plan)? {
            Some(measured) => report(node.rank(), Event::Contention(measured)),
            None => Ok(()),
        },
        Plan::Sending(plan) => match sending::node::run(node, plan)? {
            Some(sent) => report(node.rank(), Event::Sending(sent)),
            None => Ok(()),
        },
    }
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
        let (mut done, mut measured) = (0, 0);
        let elapsed_s = || start.elapsed().as_secs_f64();
        let is_over = |share: f64| options.deadline_s.is_some_and(|deadline_s| elapsed_s() > share * deadline_s);
        for round in 0..=options.repeats {
            let is_late = options.deadline_s.is_none() && elapsed_s() > budget::deadline_s(options);
            if round > options.repeats_min && is_late {
                break;
            }
            let when = if round == 0 { "warming up".to_owned() } else { format!("repetition {round}") };
            for order in &mut schedule {
                if round == 0 && (is_over(WARM) || order.kind == Kind::Alone && is_over(WARM_SHORT)) {
                    continue;
                }
                // Something is measured in any case.
                if is_over(1.0) && measured > 0 {
                    break;
                }
                progress(Rank(0), (done, of), format!("{} {} bytes, {when}", order.kind.in_words(), order.bytes))?;
                let block = self.order(*order, round % 2 == 1)?;
                *order = budget::correct(&block);
                if round > 0 {
                    report(Rank(0), Event::Measured(block))?;
                    measured += 1;
                }
                done += 1;
            }
        }
        self.tell(None)
    }

    /// Rank 1: does as it is told, until that was all.
    fn heed(&mut self) -> Result<()> {
        let Pair { node, other, .. } = self.pair;
        loop {
            let call = node.initread(other, ORDER, vec![0_u8; ORDER_BYTES])?.wait()?;
            let Some(call) = serde_json::from_slice(&call)? else { return Ok(()) };
            let own = self.perform(&call)?;
            node.initwrite(other, REPLY, own)?.wait()?;
        }
    }

    /// Rank 0: both nodes do something.
    fn order(&mut self, order: Order, is_reversed: bool) -> Result<Block> {
        let call = Call { order, is_reversed, travel_s: self.pair.travel_s };
        self.tell(Some(call))?;
        let mine = self.perform(&call)?;
        let theirs = self.pair.node.initread(self.pair.other, REPLY, vec![0.0_f64; NUMBERS])?.wait()?;
        Ok(Block { order, mine, theirs })
    }

    fn tell(&self, call: Option<Call>) -> Result<()> {
        self.pair.node.initwrite(self.pair.other, ORDER, serde_json::to_vec(&call)?)?.wait()?;
        Ok(())
    }

    /// What this node has found out, as [`Kind`] has it.
    fn perform(&mut self, call: &Call) -> Result<Vec<f64>> {
        let Session { pair, calculation } = self;
        pair.travel_s = call.travel_s;
        let Order { kind, bytes, count, work } = call.order;
        match kind {
            Kind::Twice => {
                let both: Result<Vec<f64>> =
                    (0..2).map(|_| Ok(pair.one_way(Variant::Lathide, bytes, count)?.wall_s)).collect();
                both
            }
            Kind::Alone => Ok(vec![pair.one_way(Variant::Lathide, bytes, count)?.wall_s]),
            Kind::OneWay | Kind::Stream | Kind::Rate => {
                let mut variants = Variant::ALL;
                let mut costs = vec![0.0; if kind == Kind::OneWay { 5 } else { 2 } * variants.len()];
                if call.is_reversed {
                    variants.reverse();
                }
                for variant in variants {
                    let cost = match kind {
                        Kind::OneWay => {
                            let (cost, ways_s) = pair.each_way(variant, bytes, count)?;
                            for (at, share) in QUANTILES.into_iter().enumerate() {
                                costs[6 + 3 * variant as usize + at] = stats::quantile(&ways_s, share).unwrap_or(0.0);
                            }
                            cost
                        }
                        _ => pair.stream(variant, bytes, count)?,
                    };
                    costs[variant as usize] = cost.wall_s;
                    costs[variants.len() + variant as usize] = cost.cpu_s;
                }
                Ok(costs)
            }
            Kind::Exchange => pair.exchange(bytes, count),
            Kind::Overlap | Kind::ExchangeOverlap => {
                calculation.prepare(work);
                pair.overlap(calculation, kind == Kind::ExchangeOverlap, bytes, count)
            }
            Kind::Loaded => pair.loaded(bytes, count),
        }
    }

    /// The first look at the link.
    fn probe(&mut self) -> Result<Probe> {
        let start_s = self.look(SIGNAL_BYTES)?;
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
        let (mut least_s, mut count) = (f64::MAX, 1);
        for _ in 0..LOOKS {
            let block = self.order(Order { kind: Kind::OneWay, bytes, count, work: 0 }, false)?;
            let times: [f64; Variant::ALL.len()] = block.both(|mine, _| mine);
            least_s = least_s.min(times.into_iter().fold(0.0, f64::max) / f64::from(2 * count));
            if least_s > LOOK_S {
                break;
            }
            count = (LOOK_S / (2.0 * least_s)).clamp(1.0, 100.0) as u32;
        }
        Ok(least_s)
    }
}
