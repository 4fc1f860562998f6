//! Collectives behind a calculation, beside messages point to point behind one.

use lathide::Collective;
use lathide::{Node, Rank, Tag};

use super::call::{self, Input};
use super::plan::{Event, Hidden, Point, REPEATS_MIN, Times};
use super::together::{Together, goes_on, slowest};
use crate::commands::common::blocks::{self, BLOCK_S, CALCULATION, Messages, WORK_MAX};
use crate::commands::common::calculation::Calculation;
use crate::commands::common::nodes::{progress, report};
use crate::launch::failed::Result;

/// What is hidden.
const OPERATIONS: [Collective; 3] = [Collective::Broadcast, Collective::Allreduce, Collective::Allgather];
/// The sizes worth hiding.
const BYTES: std::ops::RangeInclusive<u64> = (64 << 10)..=(1 << 20);
const MESSAGES: Tag = Tag(4);
/// More repetitions would not change a median.
const REPEATS_MAX: u32 = 15;
/// To find how many steps make a block, the next look may have so many times those of the one before: after a pause, a few
/// may pass at once.
const GROWTH: u32 = 4;

/// Measures the overlap of what is in the grid, by the library's choice of algorithm, the first sizes as often as all
/// is measured, further ones while there is time.
pub(super) fn run(together: &Together<'_>, points: &[Point], has_time: impl Fn() -> bool) -> Result<()> {
    let (node, cases) = (together.node, cases(points));
    let of = cases.len() as u64;
    for (done, (operation, bytes)) in cases.into_iter().enumerate() {
        if !goes_on(node, done < OPERATIONS.len() || has_time())? {
            return Ok(());
        }
        progress(node.rank(), (done as u64, of), format!("overlap of {operation} of {bytes} bytes"))?;
        measure(together, (operation, bytes), &has_time)?;
    }
    Ok(())
}

/// What to hide, by size: of the grid's sizes those worth it, or the longest if none is.
pub(super) fn cases(points: &[Point]) -> Vec<(Collective, u64)> {
    let mut cases = Vec::new();
    for operation in OPERATIONS {
        let bytes = || points.iter().filter(|point| point.variant.operation == operation).map(|point| point.bytes);
        let mut sizes: Vec<u64> = bytes().filter(|bytes| BYTES.contains(bytes)).collect();
        sizes.extend(bytes().max().filter(|_| sizes.is_empty()));
        sizes.sort_unstable();
        sizes.dedup();
        cases.extend(sizes.into_iter().map(|bytes| (operation, bytes)));
    }
    cases.sort_by_key(|(_, bytes)| *bytes);
    cases
}

fn measure(together: &Together<'_>, (operation, bytes): (Collective, u64), has_time: impl Fn() -> bool) -> Result<()> {
    let node = together.node;
    let own = call::input(node, operation, bytes);
    let mut collective = Subject::new(together, Moves::Collective { operation, bytes, input: own })?;
    let messages = Messages::new(bytes as usize);
    let mut messages = Subject::new(together, Moves::Messages { like: operation, messages })?;
    for repeat in 0..REPEATS_MAX {
        if !goes_on(node, repeat < REPEATS_MIN || has_time())? {
            break;
        }
        let (collective, messages) = if repeat.is_multiple_of(2) {
            let first = collective.times()?;
            (first, messages.times()?)
        } else {
            let first = messages.times()?;
            (collective.times()?, first)
        };
        report(node.rank(), Event::Hidden(Hidden { operation, bytes, collective, messages }))?;
    }
    Ok(())
}

/// What is measured: blocks of steps, and the calculation behind which each step is hidden.
struct Subject<'a> {
    together: &'a Together<'a>,
    moves: Moves,
    steps: u32,
    calculation: Calculation,
    work: u32,
}

impl<'a> Subject<'a> {
    /// Finds how many steps make a block, and how long the calculation is to be.
    fn new(together: &'a Together<'a>, moves: Moves) -> Result<Self> {
        let node = together.node;
        let mut subject = Subject { together, moves, steps: 1, calculation: Calculation::new(), work: 1 };
        let com_s = loop {
            let com_s = subject.block(false)?;
            let wanted = blocks::count(BLOCK_S, com_s);
            if wanted <= 2 * subject.steps {
                break com_s;
            }
            subject.steps = wanted.min(GROWTH * subject.steps);
        };
        // Each rank is the root as often as any other, where there are so many steps.
        if subject.steps > node.size() {
            subject.steps = subject.steps.next_multiple_of(node.size());
        }
        node.barrier()?;
        let unit_s = slowest_one(node, subject.calculation.unit_s())?;
        subject.work = (CALCULATION * com_s / unit_s).clamp(1.0, WORK_MAX) as u32;
        // Where ranks share processors, all at once take longer than each takes alone.
        subject.calculation.prepare(subject.work);
        let calc_s = subject.alone()?;
        subject.work = blocks::corrected(subject.work, calc_s, com_s);
        Ok(subject)
    }

    /// Everything once; and the next time the calculation is as long as it should have been.
    fn times(&mut self) -> Result<Times> {
        self.calculation.prepare(self.work);
        let com_s = self.block(false)?;
        let before_s = self.alone()?;
        let total_s = self.block(true)?;
        let calc_s = (before_s + self.alone()?) / 2.0;
        self.work = blocks::corrected(self.work, calc_s, com_s);
        Ok(Times { calc_s, com_s, total_s })
    }

    /// Seconds of the slowest rank for each step of a block.
    fn block(&mut self, calculates: bool) -> Result<f64> {
        let Subject { together, moves, steps, calculation, .. } = self;
        let took_s = together.block(|node| {
            (0..*steps).try_for_each(|step| {
                moves.step(node, step, || {
                    if calculates {
                        calculation.run();
                    }
                })
            })
        })?;
        slowest_one(together.node, took_s / f64::from(*steps))
    }

    /// Seconds of the slowest rank for each of a block's calculations, on all ranks at once.
    fn alone(&mut self) -> Result<f64> {
        let node = self.together.node;
        node.barrier()?;
        let sum_s: f64 = (0..self.steps).map(|_| self.calculation.run()).sum();
        slowest_one(node, sum_s / f64::from(self.steps))
    }
}

/// What moves in each step. Roots change from step to step, so that none runs ahead of the others, and each direction is
/// used.
enum Moves {
    Collective {
        operation: Collective,
        bytes: u64,
        input: Input,
    },
    /// As many bytes in one message: from the root to the next rank where the collective has a root, else from
    /// every rank to the next.
    Messages {
        like: Collective,
        messages: Messages,
    },
}

impl Moves {
    fn step(&mut self, node: &Node, step: u32, meanwhile: impl FnOnce()) -> lathide::Result<()> {
        let (rank, size, root) = (node.rank(), node.size(), Rank(step % node.size()));
        match self {
            Moves::Collective { operation, bytes, input } => {
                let own = std::mem::replace(input, Input::Nothing);
                let count = own.len();
                let pending = call::begin(node, (*operation, root), *bytes, own)?;
                meanwhile();
                *input = pending.wait()?.cut(count);
                Ok(())
            }
            Moves::Messages { like, messages } => {
                let [left, right] = [-1, 1].map(|by| rank.on_ring(by, size));
                let is_sender = |sender| *like != Collective::Broadcast || sender == root;
                let peers = [is_sender(left).then_some(left), is_sender(rank).then_some(right)];
                messages.step(node, MESSAGES, peers, meanwhile)
            }
        }
    }
}

/// The slowest rank's time.
fn slowest_one(node: &Node, time_s: f64) -> Result<f64> {
    Ok(slowest(node, vec![time_s])?[0])
}
