//! What each of the two nodes does: calibrate, measure in turns, check the results.

use std::time::Instant;

use lathide::{Node, Rank};

use super::analysis::Costs;
use super::plan::{Measured, Plan, Round};
use super::versions::{Calculation, Pair, Version};
use crate::commands::common::nodes::{progress, report};
use crate::commands::common::strip::{Shape, Side, Strip, sequential};
use crate::launch::failed::Failed;

type Result<T> = std::result::Result<T, Failed>;

/// A node of `lathide gain`.
pub(super) fn run(node: &Node, plan: &Plan) -> Result<()> {
    if node.size() != 2 {
        return Err(Failed::new(format!("{} nodes; the measurement takes 2", node.size())));
    }
    Session::new(node, plan)?.run()
}

struct Session<'a> {
    pair: Pair<'a>,
    plan: &'a Plan,
    side: Side,
    start: Instant,
    /// Rounds of the plan that are done.
    done: u64,
}

/// One granularity under measurement.
struct Point {
    gamma: f64,
    /// What a step's calculation shall take, in seconds.
    wanted_s: f64,
    /// What it costs by what was seen last, and what is calculated therefore.
    costs: Costs,
    shape: Shape,
    steps: u32,
    rounds: Vec<Round>,
}

impl Point {
    /// How many repetitions other programs left alone.
    fn calm(&self) -> usize {
        self.rounds.iter().filter(|round| round.disturbed < CALM).count()
    }
}

/// Work of the two calibration runs; steps of the check against the sequential calculation.
const WORK_FEW: u32 = 1;
const WORK_MANY: u32 = 33;
const CHECK_STEPS: u32 = 3;
/// A repetition is calm if other programs had less than this share of the calculation's time, and if the same
/// calculation took the same time within it but for this share.
const CALM: f64 = 0.05;

impl<'a> Session<'a> {
    fn new(node: &'a Node, plan: &'a Plan) -> Result<Self> {
        let (other, side) = if node.rank() == 0 { (Rank(1), Side::Left) } else { (Rank(0), Side::Right) };
        Ok(Session { pair: Pair::new(node, other)?, plan, side, start: Instant::now(), done: 0 })
    }

    fn run(&mut self) -> Result<()> {
        self.progress("checking the three versions against the sequential calculation".to_owned())?;
        self.check()?;
        self.progress("calibrating".to_owned())?;
        let shape = Shape { rows: self.plan.rows, columns: self.plan.columns_max, work: WORK_FEW };
        let mut strip = Strip::new(shape, self.side);
        let (costs, t_com) = self.calibrate(&mut strip)?;
        let point = |&gamma: &f64| {
            let (wanted_s, steps) = (gamma * t_com, self.plan.steps(gamma, t_com));
            let shape = costs.choose(self.plan.rows, self.plan.columns_max, wanted_s);
            Point { gamma, wanted_s, costs, shape, steps, rounds: Vec::new() }
        };
        let mut points: Vec<Point> = self.plan.gammas.iter().map(point).collect();
        self.repeat(&mut strip, &mut points)?;
        for Point { gamma, shape, steps, rounds, .. } in points {
            let measured = Measured { gamma_wanted: gamma, shape, steps, rounds };
            report(self.pair.node.rank(), measured)?;
        }
        Ok(())
    }

    /// Goes round all points as often as planned, so that what disturbs for a while disturbs each of them a little
    /// and none altogether; then, while there is time, repeats what was disturbed. If the machine is so busy that
    /// the time is over before, the least number of repetitions must do.
    fn repeat(&mut self, strip: &mut Strip, points: &mut [Point]) -> Result<()> {
        let Plan { repeats, repeats_min, deadline_s, .. } = *self.plan;
        let mut elapsed_s = 0.0;
        for repeat in 0..repeats {
            if repeat >= repeats_min && elapsed_s > deadline_s {
                return Ok(());
            }
            for point in points.iter_mut() {
                elapsed_s = self.measure(strip, point)?;
                self.done += 1;
            }
        }
        let repeats = repeats as usize;
        while elapsed_s < deadline_s {
            let unsettled = |point: &&mut Point| point.calm() < repeats && point.rounds.len() < 2 * repeats;
            let Some(point) = points.iter_mut().filter(unsettled).min_by_key(|point| point.rounds.len()) else { break };
            elapsed_s = self.measure(strip, point)?;
        }
        Ok(())
    }

    /// One more repetition at a point. Returns the seconds since the start, on which the nodes agree, since they
    /// decide by them whether to go on.
    fn measure(&self, strip: &mut Strip, point: &mut Point) -> Result<f64> {
        self.progress(format!("gamma = {}, repetition {}", point.gamma, point.rounds.len() + 1))?;
        if strip.shape().columns != point.shape.columns {
            *strip = Strip::new(point.shape, self.side);
        }
        let round = self.round(strip, point)?;
        point.rounds.push(round);
        Ok(self.pair.slower(vec![self.start.elapsed().as_secs_f64()])?[0])
    }

    /// All versions must give the sequential result.
    fn check(&self) -> Result<()> {
        let shape = Shape { rows: self.plan.rows, columns: 3, work: 2 };
        let expected = sequential(shape, CHECK_STEPS);
        for version in [Version::I1, Version::I2, Version::I3] {
            let mut strip = Strip::new(shape, self.side);
            self.pair.version(version, &mut strip, CHECK_STEPS)?;
            agree(version, shape, CHECK_STEPS, self.pair.checksums(&strip)?, expected)?;
        }
        Ok(())
    }

    /// What a calculation costs, and how many seconds an exchange takes. Both nodes come to the same result, since they
    /// see the same times. The least times count: whatever disturbs, prolongs.
    fn calibrate(&self, strip: &mut Strip) -> Result<(Costs, f64)> {
        let t_com = least_of_three(|| Ok(self.pair.exchange(strip, 1)?))?;
        let mut cost = |work| -> Result<(Shape, f64)> {
            strip.restart(work);
            Ok((strip.shape(), least_of_three(|| Ok(self.pair.calculation(strip, 1)?.total_s))?))
        };
        Ok((Costs::fit(cost(WORK_FEW)?, cost(WORK_MANY)?), t_com))
    }

    /// Sets the work by what the calculation takes now, since the machine's speed changes. Returns what it will take
    /// then, in seconds per step.
    fn adjust(&self, strip: &mut Strip, point: &mut Point) -> Result<f64> {
        strip.restart(point.shape.work);
        let now_s = self.pair.calculation(strip, Plan::steps_before(point.steps))?.total_s;
        point.costs = point.costs.seen(point.shape, now_s);
        point.shape = point.costs.set_work(point.shape, point.wanted_s);
        Ok(point.costs.time_s(point.shape))
    }

    /// One repetition: all versions, and calculation and exchange alone, forwards and backwards in turns.
    fn round(&self, strip: &mut Strip, point: &mut Point) -> Result<Round> {
        // The same calculation at four moments, with nothing beside it: how steady the processor is. What G is made of
        // lies between them.
        let mut calculations = vec![self.adjust(strip, point)?];
        let Point { shape, steps, .. } = *point;
        let mut round = Round { work: shape.work, ..Round::default() };
        let mut expected = None;
        let mut order = [Block::Exchange, Block::I2, Block::Calculation, Block::I1, Block::I3, Block::Calculation];
        if point.rounds.len() % 2 == 1 {
            order.reverse();
        }
        for block in order {
            strip.restart(shape.work);
            let version = match block {
                Block::Calculation => {
                    // Two blocks per round: their mean counts.
                    let Calculation { total_s, interior_s, disturbed } = self.pair.calculation(strip, steps)?;
                    round.t_calc += total_s / 2.0;
                    round.interior += interior_s / 2.0;
                    round.disturbed += disturbed / 2.0;
                    calculations.push(total_s);
                    continue;
                }
                Block::Exchange => {
                    round.t_com = self.pair.exchange(strip, steps)?;
                    continue;
                }
                Block::I1 => {
                    let plain = self.pair.plain(strip, steps)?;
                    round.t_i1 = plain.total_s;
                    calculations.push(plain.part_s);
                    Version::I1
                }
                Block::I2 => {
                    round.t_i2 = self.pair.version(Version::I2, strip, steps)?;
                    Version::I2
                }
                Block::I3 => {
                    let hidden = self.pair.hidden(strip, steps)?;
                    (round.t_i3, round.busy) = (hidden.total_s, hidden.part_s);
                    Version::I3
                }
            };
            let got = self.pair.checksums(strip)?;
            agree(version, shape, steps, got, *expected.get_or_insert(got))?;
        }
        round.disturbed = round.disturbed.max(spread(&calculations));
        Ok(round)
    }

    fn progress(&self, now: String) -> Result<()> {
        let of = self.plan.gammas.len() as u64 * u64::from(self.plan.repeats);
        progress(self.pair.node.rank(), (self.done, of), now)
    }
}

#[derive(Clone, Copy)]
enum Block {
    Calculation,
    Exchange,
    I1,
    I2,
    I3,
}

fn agree(version: Version, shape: Shape, steps: u32, got: [u64; 2], expected: [u64; 2]) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Failed::new(format!(
        "version {version:?} with {shape:?}, {steps} steps: checksums {got:x?} instead of {expected:x?}; the versions must \
         agree to the bit"
    )))
}

/// The difference between the longest and the shortest time, relative to their mean.
fn spread(times: &[f64]) -> f64 {
    let (least, most) =
        times.iter().fold((f64::MAX, 0.0_f64), |(least, most), &time| (least.min(time), most.max(time)));
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    if mean > 0.0 { (most - least) / mean } else { 0.0 }
}

fn least_of_three(mut measure: impl FnMut() -> Result<f64>) -> Result<f64> {
    Ok(measure()?.min(measure()?).min(measure()?))
}
