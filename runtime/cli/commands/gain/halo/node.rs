//! What each of the two nodes of `lathide gain --halo` does: calibrate, measure in turns, check the results.

use std::mem::take;
use std::time::Instant;

use lathide::{Node, Rank, Tag};

use super::super::costs::Costs;
use super::super::plan::COLUMNS_MAX;
use super::super::versions::{Pair, Step};
use super::plan::{Line, Measured, Plan, Round, exchanges};
use crate::commands::common::nodes::{progress, report};
use crate::commands::common::strip::{Shape, Strip, sequential};
use crate::launch::failed::{Failed, Result};

const DEEP: Tag = Tag(4);
/// Work of the two calibration runs, and of the check.
const WORK_FEW: u32 = 1;
const WORK_MANY: u32 = 33;
/// Exchanges of the check.
const CHECKED: usize = 3;

/// A node of `lathide gain --halo`.
pub(in crate::commands::gain) fn run(node: &Node, plan: &Plan) -> Result<()> {
    if node.size() != 2 {
        return Err(Failed::new(format!("{} nodes; the measurement takes 2", node.size())));
    }
    let start = Instant::now();
    let shape = Shape { rows: plan.rows, columns: COLUMNS_MAX, work: WORK_FEW };
    let mut session =
        Session { pair: Pair::new(node, plan.raw)?, plan, shape, line: Line { a_s: 0.0, b_s_per_byte: 0.0 } };
    session.check()?;
    session.calibrate()?;
    let mut rounds: Vec<(f64, Round)> = Vec::new();
    for number in 0..plan.repeats {
        // The nodes agree on the time, since they decide by it whether to go on.
        let begun_s = session.pair.slower(vec![start.elapsed().as_secs_f64()])?[0];
        let ends_s = rounds.last().map(|(last_s, _)| 2.0 * begun_s - last_s);
        if ends_s.zip(plan.deadline_s).is_some_and(|(ends_s, deadline_s)| ends_s > deadline_s) {
            break;
        }
        let say = format!("repetition {}", number + 1);
        progress(node.rank(), (u64::from(number), u64::from(plan.repeats)), say)?;
        rounds.push((begun_s, Round { sequence: number, ..session.round(number % 2 == 1)? }));
    }
    let rounds = rounds.into_iter().map(|(_, round)| round).collect();
    report(node.rank(), Measured { shape: session.shape, rounds })
}

struct Session<'a> {
    pair: Pair<'a>,
    plan: &'a Plan,
    shape: Shape,
    /// What the link takes, for the lengths of blocks only.
    line: Line,
}

/// What one block of a round is.
#[derive(Clone, Copy)]
enum Block {
    Calculation,
    Exchange(usize),
    Plain,
    PlainAgain,
    Halo(usize, bool),
}

impl Session<'_> {
    /// Every number of ghost columns must give the sequential result, hidden or not.
    fn check(&mut self) -> Result<()> {
        for halo in &self.plan.halos {
            let halo = *halo as usize;
            let expected = sequential(self.shape, (CHECKED * halo) as u32);
            for hides in [false, true] {
                let mut deep = Deep::new(self.shape, &self.pair, halo);
                self.pair.timed(|node, other| (0..CHECKED).try_for_each(|_| deep.steps(node, other, hides)))?;
                let got = self.pair.checksums(&deep.strip)?;
                if got != expected {
                    return Err(Failed::new(format!(
                        "{halo} ghost columns, hidden: {hides}: checksums {got:x?} instead of {expected:x?}; the result must be \
                         the sequential one to the bit"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Sets the work of a point by what calculation and exchange take; both nodes come to the same, since they see the same
    /// times. The least times count.
    fn calibrate(&mut self) -> Result<()> {
        let lengths = self.plan.lengths();
        let mut times = Vec::new();
        for columns in [lengths[0], lengths[lengths.len() - 1]] {
            let each: Result<Vec<f64>> = (0..3).map(|_| self.exchange(columns, 2)).collect();
            times.push((self.plan.bytes(columns), each?.into_iter().fold(f64::MAX, f64::min)));
        }
        self.line = Line::fit(&times);
        let wanted_s = self.plan.gamma * self.line.time_s(self.plan.bytes(1));
        let mut strip = Strip::new(self.shape, self.pair.side);
        let few = (WORK_FEW, self.least(&mut strip, WORK_FEW)?);
        let many = (WORK_MANY, self.least(&mut strip, WORK_MANY)?);
        let costs = Costs::fit(self.shape, few, many);
        self.shape = costs.set_work(self.shape, wanted_s);
        // What was extrapolated, corrected once.
        let now_s = self.least(&mut strip, self.shape.work)?;
        self.shape = costs.seen(self.shape, now_s).set_work(self.shape, wanted_s);
        Ok(())
    }

    /// The least seconds that a step's calculation takes with so much work.
    fn least(&mut self, strip: &mut Strip, work: u32) -> Result<f64> {
        strip.restart(work);
        let times: Result<Vec<f64>> = (0..5).map(|_| self.calculation(strip, 3)).collect();
        Ok(times?.into_iter().fold(f64::MAX, f64::min))
    }

    /// One repetition: all blocks, forwards or backwards, so that what drifts does not favour one of them.
    fn round(&mut self, backwards: bool) -> Result<Round> {
        let lengths = self.plan.lengths();
        let mut blocks = vec![Block::Calculation, Block::Plain, Block::PlainAgain];
        blocks.extend((0..lengths.len()).map(Block::Exchange));
        for (at, _) in self.plan.halos.iter().enumerate() {
            blocks.extend([Block::Halo(at, false), Block::Halo(at, true)]);
        }
        blocks.push(Block::Calculation);
        if backwards {
            blocks.reverse();
        }
        let mut round = Round {
            exchanges: vec![0.0; lengths.len()],
            t_halos: vec![[0.0; 2]; self.plan.halos.len()],
            ..Round::default()
        };
        let t_calc_s = self.plan.gamma * self.line.time_s(self.plan.bytes(1));
        let model =
            self.plan.model(t_calc_s, self.line).map_err(|error| Failed::new(format!("the measured {error}")))?;
        let mut strip = Strip::new(self.shape, self.pair.side);
        let mut found: Vec<Option<[u64; 2]>> = vec![None; self.plan.halos.len()];
        for block in blocks {
            strip.restart(self.shape.work);
            match block {
                Block::Calculation => {
                    round.t_calc.push(self.calculation(&mut strip, exchanges(t_calc_s))?);
                }
                Block::Plain | Block::PlainAgain => {
                    let steps = exchanges(model.plain_s());
                    let time_s = self.pair.block(Step::I1, &mut strip, steps)?.total_s;
                    if matches!(block, Block::Plain) { round.t_i1 = time_s } else { round.t_i1_again = time_s }
                }
                Block::Exchange(at) => {
                    let count = exchanges(model.exchange_s(lengths[at]));
                    round.exchanges[at] = self.exchange(lengths[at], count)?;
                }
                Block::Halo(at, hides) => {
                    let halo = self.plan.halos[at];
                    let step_s = model.step_s(halo).map_err(|error| Failed::new(error.to_string()))?;
                    let count = exchanges(f64::from(halo) * step_s);
                    let (time_s, checksums) = self.halo(halo as usize, hides, count)?;
                    round.t_halos[at][usize::from(hides)] = time_s;
                    if *found[at].get_or_insert(checksums) != checksums {
                        let why = format!(
                            "{halo} ghost columns: the hidden result is another one; they must agree to the bit"
                        );
                        return Err(Failed::new(why));
                    }
                }
            }
        }
        Ok(round)
    }

    /// Seconds per step of calculation alone.
    fn calculation(&mut self, strip: &mut Strip, steps: u32) -> Result<f64> {
        let total_s = self.pair.timed(|_, _| {
            for _ in 0..steps {
                strip.calculate(strip.all());
                strip.advance();
            }
            Ok(())
        })?;
        Ok(total_s / f64::from(steps))
    }

    /// Seconds per exchange of messages of so many columns, both ways at once.
    fn exchange(&mut self, columns: u32, count: u32) -> Result<f64> {
        let length = columns as usize * self.plan.rows;
        let (mut edge, mut ghosts) = (vec![1.0; length], vec![0.0; length]);
        let total_s = self.pair.timed(|node, other| {
            (0..count).try_for_each(|_| -> Result<()> {
                let read = node.initread(other, DEEP, take(&mut ghosts))?;
                edge = node.initwrite(other, DEEP, take(&mut edge))?.wait()?;
                ghosts = read.wait()?;
                Ok(())
            })
        })?;
        Ok(total_s / f64::from(count))
    }

    /// Seconds per step with so many ghost columns, over `count` exchanges, and the checksums of the result.
    fn halo(&mut self, halo: usize, hides: bool, count: u32) -> Result<(f64, [u64; 2])> {
        let mut deep = Deep::new(self.shape, &self.pair, halo);
        let total_s = self.pair.timed(|node, other| (0..count).try_for_each(|_| deep.steps(node, other, hides)))?;
        Ok((total_s / f64::from(count) / halo as f64, self.pair.checksums(&deep.strip)?))
    }
}

/// A strip with ghost columns, and the messages of their exchange.
struct Deep {
    strip: Strip,
    halo: usize,
    edge: Vec<f64>,
    ghosts: Vec<f64>,
}

impl Deep {
    fn new(shape: Shape, pair: &Pair, halo: usize) -> Self {
        let strip = Strip::with_ghosts(shape, pair.side, halo);
        Deep { strip, halo, edge: vec![0.0; halo * shape.rows], ghosts: vec![0.0; halo * shape.rows] }
    }

    /// An exchange and as many steps as there are ghost columns. Version I.3 calculates what does not depend on it meanwhile, I.1
    /// nothing: it writes, reads, and calculates.
    fn steps(&mut self, node: &Node, other: Rank, hides: bool) -> Result<()> {
        self.strip.copy_edge(&mut self.edge);
        if hides {
            let read = node.initread(other, DEEP, take(&mut self.ghosts))?;
            let write = node.initwrite(other, DEEP, take(&mut self.edge))?;
            self.calculate(Strip::independent);
            // Back to the time of the exchange; an even number of steps is there already.
            (0..self.halo % 2).for_each(|_| self.strip.advance());
            self.edge = write.wait()?;
            self.ghosts = read.wait()?;
            self.strip.copy_to_ghosts(&self.ghosts);
            self.calculate(Strip::dependent);
            return Ok(());
        }
        self.edge = node.initwrite(other, DEEP, take(&mut self.edge))?.wait()?;
        self.ghosts = node.initread(other, DEEP, take(&mut self.ghosts))?.wait()?;
        self.strip.copy_to_ghosts(&self.ghosts);
        self.calculate(|strip, step| strip.dependent(step).start..strip.independent(step).end);
        Ok(())
    }

    /// All steps, on some columns of each.
    fn calculate(&mut self, columns: impl Fn(&Strip, usize) -> std::ops::Range<usize>) {
        for step in 1..=self.halo {
            self.strip.calculate(columns(&self.strip, step));
            self.strip.advance();
        }
    }
}
