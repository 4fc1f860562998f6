//! Collectives behind a calculation, beside messages point to point behind one.

use std::collections::BTreeSet;

use lathide::{Collective, Node, Rank, Tag};

use super::call::Data;
use super::plan::{Hidden, Point, Times};
use super::together::{Together, goes_on, slowest};
use crate::commands::common::blocks::{self, BLOCK_S, CALCULATION, Messages, WORK_MAX};
use crate::commands::common::calculation::Calculation;
use crate::commands::common::nodes::progress;
use crate::launch::failed::Result;

/// What is hidden.
const OPERATIONS: [Collective; 3] = [Collective::Broadcast, Collective::Allreduce, Collective::Allgather];
/// The sizes worth hiding.
const BYTES: std::ops::RangeInclusive<u64> = (64 << 10)..=(1 << 20);
const MESSAGES: Tag = Tag(4);
/// So many sizes are measured however long they take.
const SIZES_MIN: usize = 3;
/// More repetitions would not change a median.
const REPEATS_MAX: u32 = 15;
/// To find how many steps make a block, the next look may have so many times those of the one before: after a pause, a few
/// may pass at once.
const GROWTH: u32 = 4;

/// Measures the overlap in the grid's sizes, by the library's choice of algorithm, `repeats` times at least: where it `is_whole`, the
/// first ones in any case, further ones while there is time.
pub(super) fn measure(
    together: &Together<'_>,
    operation: Collective,
    points: &[Point],
    (repeats, is_whole): (u32, bool),
    has_time: impl Fn() -> bool,
) -> Result<Vec<Hidden>> {
    let (node, sizes, mut all) = (together.node, sizes(operation, points), Vec::new());
    for (done, &bytes) in sizes.iter().enumerate() {
        if !goes_on(node, (is_whole && done < SIZES_MIN) || has_time())? {
            break;
        }
        let what = format!("overlap of {operation} of {bytes} bytes");
        progress(node.rank(), (done as u64, sizes.len() as u64), what)?;
        all.push(hidden(together, operation, bytes, (repeats, &has_time))?);
    }
    Ok(all)
}

/// Of the grid's sizes those worth hiding, or the longest if none is.
pub(super) fn sizes(operation: Collective, points: &[Point]) -> Vec<u64> {
    let all = || points.iter().filter(|_| OPERATIONS.contains(&operation)).map(|point| point.bytes);
    let mut sizes: BTreeSet<u64> = all().filter(|bytes| BYTES.contains(bytes)).collect();
    sizes.extend(all().max().filter(|_| sizes.is_empty()));
    sizes.into_iter().collect()
}

/// The collective, and messages of as many bytes: one from the root to the next rank where it has a root, else one from
/// every rank to the next. Roots change from step to step, so that none runs ahead of the others, and each direction is
/// used.
fn hidden(
    together: &Together<'_>,
    operation: Collective,
    bytes: u64,
    (repeats, has_time): (u32, impl Fn() -> bool),
) -> Result<Hidden> {
    let (node, root) = (together.node, |step| Rank(step % together.node.size()));
    let mut data = Data::new(node, operation, bytes);
    let mut collective = |step, meanwhile: &mut dyn FnMut()| data.call(node, (operation, root(step)), bytes, meanwhile);
    let mut messages = Messages::new(bytes as usize);
    let [left, right] = [-1, 1].map(|by| node.rank().on_ring(by, node.size()));
    let mut messages = |step, meanwhile: &mut dyn FnMut()| {
        let is_sender = |sender| operation != Collective::Broadcast || sender == root(step);
        let peers = [is_sender(left).then_some(left), is_sender(node.rank()).then_some(right)];
        messages.step(node, MESSAGES, peers, meanwhile)
    };
    let mut subjects = [Subject::new(together, &mut collective)?, Subject::new(together, &mut messages)?];
    for repeat in 0..REPEATS_MAX {
        if !goes_on(node, repeat < repeats || has_time())? {
            break;
        }
        let order = if repeat.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        order.into_iter().try_for_each(|at| subjects[at].measure())?;
    }
    let [collective, messages] = subjects.map(|subject| subject.times);
    Ok(Hidden { bytes, collective, messages })
}

/// What is done in a step of this number, with something to do meanwhile.
type Moves<'a> = &'a mut dyn FnMut(u32, &mut dyn FnMut()) -> lathide::Result<()>;

/// What is measured: blocks of steps, and the calculation behind which each step is hidden.
struct Subject<'a> {
    together: &'a Together<'a>,
    moves: Moves<'a>,
    steps: u32,
    calculation: Calculation,
    work: u32,
    times: Vec<Times>,
}

impl<'a> Subject<'a> {
    /// Finds how many steps make a block, and how long the calculation is to be.
    fn new(together: &'a Together<'a>, moves: Moves<'a>) -> Result<Self> {
        let node = together.node;
        let calculation = Calculation::new();
        let mut subject = Subject { together, moves, steps: 1, calculation, work: 1, times: Vec::new() };
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
    fn measure(&mut self) -> Result<()> {
        self.calculation.prepare(self.work);
        let com_s = self.block(false)?;
        let before_s = self.alone()?;
        let total_s = self.block(true)?;
        let calc_s = (before_s + self.alone()?) / 2.0;
        self.work = blocks::corrected(self.work, calc_s, com_s);
        self.times.push(Times { calc_s, com_s, total_s });
        Ok(())
    }

    /// Seconds of the slowest rank for each step of a block.
    fn block(&mut self, calculates: bool) -> Result<f64> {
        let Subject { together, moves, steps, calculation, .. } = self;
        let mut meanwhile = || {
            if calculates {
                calculation.run();
            }
        };
        let took_s = together.block(|| (0..*steps).try_for_each(|step| moves(step, &mut meanwhile)))?;
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

/// The slowest rank's time.
fn slowest_one(node: &Node, time_s: f64) -> Result<f64> {
    Ok(slowest(node, vec![time_s])?[0])
}
