//! What each of the two nodes does: calibrate, measure in turns, check the results.

use std::time::Instant;

use lathide::Node;
use lathide_models::stats;

use super::costs::Costs;
use super::plan::{COLUMNS_MAX, Measured, Plan, Round, Seen};
use super::versions::{Pair, Step, Times, VERSIONS};
use crate::commands::common::load::Moment;
use crate::commands::common::nodes::{progress, report};
use crate::commands::common::strip::{Shape, Strip, sequential};
use crate::launch::failed::{Failed, Result};

/// A node of `lathide gain`.
pub(super) fn run(node: &Node, plan: &Plan) -> Result<()> {
    if node.size() != 2 {
        return Err(Failed::new(format!("{} nodes; the measurement takes 2", node.size())));
    }
    Session { pair: Pair::new(node, plan.raw)?, plan, start: Instant::now(), done: 0 }.run()
}

struct Session<'a> {
    pair: Pair<'a>,
    plan: &'a Plan,
    start: Instant,
    /// Repetitions that are done.
    done: u32,
}

/// One granularity under measurement.
struct Point {
    /// The index of the granularity in the plan.
    at: usize,
    measured: Measured,
    /// What a step's calculation shall take, in seconds.
    wanted_s: f64,
    /// What it costs by what was seen last.
    costs: Costs,
    /// What a repetition takes: as estimated, then as the last one took.
    round_s: f64,
}

/// Work of the two calibration runs; steps of the check against the sequential calculation.
const WORK_FEW: u32 = 1;
const WORK_MANY: u32 = 33;
const CHECK_STEPS: u32 = 3;
/// How often calibration looks; once if this part of a firm time is over by then.
const LOOKS: u32 = 3;
const SHORT: f64 = 0.15;
impl Session<'_> {
    fn run(&mut self) -> Result<()> {
        self.progress("checking all versions against the sequential calculation".to_owned())?;
        self.check()?;
        self.progress("calibrating".to_owned())?;
        let shape = Shape { rows: self.plan.rows, columns: COLUMNS_MAX, work: WORK_FEW };
        let mut strip = Strip::new(shape, self.pair.side);
        // Where the time is short, one look must do.
        let is_short = self.plan.is_firm && self.elapsed_s()? > SHORT * self.plan.deadline_s;
        let (costs, t_com_s) = self.calibrate(&mut strip, if is_short { 1 } else { LOOKS })?;
        let point = |at: usize| {
            let gamma = self.plan.gammas[at];
            let (wanted_s, steps) = (gamma * t_com_s, self.plan.steps(gamma, t_com_s));
            let shape = costs.choose(self.plan.rows, COLUMNS_MAX, wanted_s);
            let measured = Measured { gamma_wanted: gamma, shape, steps, rounds: Vec::new() };
            Point { at, measured, wanted_s, costs, round_s: self.plan.round_s(gamma, t_com_s) }
        };
        let mut points: Vec<Point> = self.plan.order().into_iter().map(point).collect();
        // Between hosts, nobody knew before how long an exchange takes.
        let patience_s = if self.plan.is_firm { 0.0 } else { self.plan.patience_s(t_com_s) };
        self.repeat(&mut strip, &mut points, self.plan.deadline_s.max(patience_s))
    }

    /// Goes round all points as often as planned, so that what disturbs for a while disturbs each of them a little
    /// and none altogether; then, while there is time, repeats what was disturbed. If the machine is so busy that
    /// the time is over before, the least number of repetitions must do; where the time is firm, what there is.
    fn repeat(&mut self, strip: &mut Strip, points: &mut [Point], deadline_s: f64) -> Result<()> {
        let Plan { repeats, repeats_min, is_firm, .. } = *self.plan;
        let mut elapsed_s = self.elapsed_s()?;
        for repeat in 0..repeats {
            if !is_firm && repeat >= repeats_min && elapsed_s > deadline_s {
                return Ok(());
            }
            for point in points.iter_mut() {
                if is_firm && self.done > 0 && elapsed_s + point.round_s > deadline_s {
                    return Ok(());
                }
                elapsed_s = self.measure(strip, point, elapsed_s)?;
            }
        }
        let repeats = repeats as usize;
        loop {
            let count = |point: &Point| point.measured.rounds.len();
            let calm = |point: &Point| point.measured.rounds.iter().filter(|round| round.is_calm()).count();
            let unsettled = |point: &&mut Point| calm(point) < repeats && count(point) < 2 * repeats;
            let Some(point) = points.iter_mut().filter(unsettled).min_by_key(|point| count(point)) else { break };
            if elapsed_s + if is_firm { point.round_s } else { 0.0 } >= deadline_s {
                break;
            }
            elapsed_s = self.measure(strip, point, elapsed_s)?;
        }
        Ok(())
    }

    /// One more repetition at a point, `elapsed_s` after the start. Returns the seconds since the start.
    fn measure(&mut self, strip: &mut Strip, point: &mut Point, elapsed_s: f64) -> Result<f64> {
        let Measured { gamma_wanted, shape, ref rounds, .. } = point.measured;
        self.progress(format!("gamma = {gamma_wanted}, repetition {}", rounds.len() + 1))?;
        if strip.shape().columns != shape.columns {
            *strip = Strip::new(shape, self.pair.side);
        }
        let begun = Moment::now();
        let mut round = self.round(strip, point)?;
        for (rank, shares) in begun.shares(self.pair.node)?.into_iter().enumerate().take(2) {
            (round.others[rank], round.stolen[rank]) = (shares.others, shares.stolen);
        }
        self.done += 1;
        let Measured { shape, steps, ref mut rounds, .. } = point.measured;
        rounds.push(round);
        report(self.pair.node.rank(), Seen { at: point.at, shape, steps, round })?;
        // An exchange may take longer or shorter than when it was looked at first.
        let exchanges: Vec<f64> = rounds.iter().map(|round| round.t_com).collect();
        point.wanted_s = stats::median(&exchanges).map_or(point.wanted_s, |t_com| gamma_wanted * t_com);
        let now_s = self.elapsed_s()?;
        point.round_s = now_s - elapsed_s;
        Ok(now_s)
    }

    /// The seconds since the start, on which the nodes agree, since they decide by them whether to go on.
    fn elapsed_s(&self) -> Result<f64> {
        Ok(self.pair.slower(vec![self.start.elapsed().as_secs_f64()])?[0])
    }

    /// All versions must give the sequential result.
    fn check(&mut self) -> Result<()> {
        let shape = Shape { rows: self.plan.rows, columns: 3, work: 2 };
        let mut expected = Some(sequential(shape, CHECK_STEPS));
        for version in VERSIONS {
            let mut strip = Strip::new(shape, self.pair.side);
            self.pair.block(version, &mut strip, CHECK_STEPS)?;
            self.agree(version, &strip, CHECK_STEPS, &mut expected)?;
        }
        Ok(())
    }

    /// The strips after some steps must be as expected; the first ones say what is.
    fn agree(&self, version: Step, strip: &Strip, steps: u32, expected: &mut Option<[u64; 2]>) -> Result<()> {
        let got = self.pair.checksums(strip)?;
        let expected = *expected.get_or_insert(got);
        if got == expected {
            return Ok(());
        }
        let shape = strip.shape();
        Err(Failed::new(format!(
            "version {version:?} with {shape:?}, {steps} steps: checksums {got:x?} instead of {expected:x?}; the versions \
             must agree to the bit"
        )))
    }

    /// What a calculation costs, and how many seconds an exchange takes. Both nodes come to the same result, since they
    /// see the same times. The least times count: whatever disturbs, prolongs.
    fn calibrate(&mut self, strip: &mut Strip, looks: u32) -> Result<(Costs, f64)> {
        let mut least = |step, work| -> Result<f64> {
            strip.restart(work);
            let times: Result<Vec<f64>> = (0..looks).map(|_| Ok(self.pair.block(step, strip, 1)?.total_s)).collect();
            Ok(times?.into_iter().fold(f64::MAX, f64::min))
        };
        let t_com_s = least(Step::Exchange, WORK_FEW)?;
        let few = (WORK_FEW, least(Step::Calculation, WORK_FEW)?);
        let many = (WORK_MANY, least(Step::Calculation, WORK_MANY)?);
        Ok((Costs::fit(strip.shape(), few, many), t_com_s))
    }

    /// Sets the work by what the calculation takes now, since the machine's speed changes. Returns what it will take
    /// then, in seconds per step.
    fn adjust(&mut self, strip: &mut Strip, point: &mut Point) -> Result<f64> {
        let Measured { shape, steps, .. } = &mut point.measured;
        strip.restart(shape.work);
        let now_s = self.pair.block(Step::Calculation, strip, Plan::steps_before(*steps))?.total_s;
        point.costs = point.costs.seen(*shape, now_s);
        *shape = point.costs.set_work(*shape, point.wanted_s);
        Ok(point.costs.time_s(*shape))
    }

    /// One repetition: all versions, and calculation and exchange alone, forwards and backwards in turns.
    fn round(&mut self, strip: &mut Strip, point: &mut Point) -> Result<Round> {
        // The same calculation at four moments, with nothing beside it: how steady the processor is. What G is made of
        // lies between them.
        let mut calculations = vec![self.adjust(strip, point)?];
        let Measured { gamma_wanted, shape, steps, ref rounds } = point.measured;
        let mut round = Round { sequence: self.done, work: shape.work, ..Round::default() };
        let mut expected = None;
        // What is compared most exactly is close together.
        let mut order = vec![Step::Exchange, Step::I2, Step::Calculation, Step::RawExchange, Step::I1, Step::I3];
        order.extend((self.plan.twice_at() == Some(gamma_wanted)).then_some(Step::I1Again));
        order.extend(self.plan.has_pingpong(rounds.len()).then_some(Step::RawPingPong));
        order.push(Step::Calculation);
        if rounds.len() % 2 == 1 {
            order.reverse();
        }
        for step in order {
            strip.restart(shape.work);
            let Times { total_s, part_s, waited } = self.pair.block(step, strip, steps)?;
            match step {
                Step::Calculation => {
                    // Two blocks per round: their mean counts. Nothing of lathide's own runs meanwhile, so who else had the
                    // processor is another program.
                    round.t_calc += total_s / 2.0;
                    round.interior += part_s / 2.0;
                    round.waited += waited / 2.0;
                    calculations.push(total_s);
                }
                Step::Exchange => round.t_com = total_s,
                Step::I1 => {
                    round.t_i1 = total_s;
                    calculations.push(part_s);
                }
                Step::I1Again => round.t_i1_again = Some(total_s),
                Step::I2 => round.t_i2 = total_s,
                Step::I3 => (round.t_i3, round.busy) = (total_s, part_s),
                Step::RawExchange => round.t_raw_exchange = total_s,
                Step::RawPingPong => round.t_raw_pingpong = Some(total_s),
            }
            if VERSIONS.contains(&step) {
                self.agree(step, strip, steps, &mut expected)?;
            }
        }
        round.drift = spread(&calculations);
        Ok(round)
    }

    fn progress(&self, now: String) -> Result<()> {
        let of = self.plan.gammas.len() as u64 * u64::from(self.plan.repeats);
        progress(self.pair.node.rank(), (u64::from(self.done).min(of), of), now)
    }
}

/// The difference between the longest and the shortest time, relative to their mean.
fn spread(times: &[f64]) -> f64 {
    let (least, most) =
        times.iter().fold((f64::MAX, 0.0_f64), |(least, most), &time| (least.min(time), most.max(time)));
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    if mean > 0.0 { (most - least) / mean } else { 0.0 }
}
