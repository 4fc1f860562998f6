//! The three versions of the time step (Strumpen 1994, section 3.2), two over raw TCP (Fig. 23), its parts alone, and the
//! times of blocks of them.

use std::time::{Duration, Instant};

use lathide::{Node, Rank, Tag};

use crate::commands::common::clock::CommonClock;
use crate::commands::common::raw::{Raw, RawPlace};
use crate::commands::common::strip::{Side, Strip};
use crate::launch::failed::Result;

const HALO: Tag = Tag(1);
const TIMES: Tag = Tag(2);
const CHECKSUM: Tag = Tag(3);

/// What one step of a block does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Calculate boundary and interior, without communication.
    Calculation,
    /// Write, read, without calculation.
    Exchange,
    /// Version I.1: calculate, write, read.
    I1,
    /// Version I.1 once more, to compare it with itself.
    I1Again,
    /// Version I.2: boundary, blocking write, interior, read.
    I2,
    /// Version I.3: boundary, initread, initwrite, interior, wait, wait.
    I3,
    /// Raw TCP: calculate; one node writes, then reads, the other one reads, then writes.
    RawPingPong,
    /// Raw TCP: calculate, a message each way at once.
    RawExchange,
}

/// The steps that must give the same result.
pub(super) const VERSIONS: [Step; 5] = [Step::I1, Step::I2, Step::I3, Step::RawPingPong, Step::RawExchange];

/// Times of a block, of the slower node.
pub(super) struct Times {
    /// Seconds per step.
    pub(super) total_s: f64,
    /// Seconds per step, of a part of it: in a calculation the interior, in version I.1 the calculation, in I.3 posting and
    /// the interior while the transfer runs, elsewhere 0.
    pub(super) part_s: f64,
    /// The share of the time for which this thread could run but had no processor; 0 where that is unknown.
    pub(super) waited: f64,
}

/// This node and the other one.
pub(super) struct Pair<'a> {
    pub(super) node: &'a Node,
    pub(super) side: Side,
    other: Rank,
    clock: CommonClock,
    raw: Raw,
    /// Whether a raw connection that was idle sends slowly at first.
    warms: bool,
}

impl<'a> Pair<'a> {
    /// Both nodes, their clocks set, and the raw connection between them.
    pub(super) fn new(node: &'a Node, place: Option<RawPlace>) -> Result<Self> {
        let (other, side) = if node.rank() == 0 { (Rank(1), Side::Left) } else { (Rank(0), Side::Right) };
        let clock = CommonClock::set(node)?;
        let raw = Raw::connect(node, place, true)?;
        // The connections to and from an emulated link have no way on which packets could be many.
        let warms = place.is_none_or(|place| place.listen == place.connect);
        Ok(Pair { node, side, other, clock, raw, warms })
    }

    /// A block of steps, begun by both nodes at the same time.
    pub(super) fn block(&mut self, step: Step, strip: &mut Strip, steps: u32) -> Result<Times> {
        // Of the block, then of each step.
        let mut times = vec![0.0; 2];
        self.prepare(step, strip)?;
        self.clock.meet(self.node, 0.0)?;
        let waited_s = waited_for_processor();
        let began = Instant::now();
        for _ in 0..steps {
            let start = Instant::now();
            let part = self.step(step, strip)?;
            times.extend([start.elapsed(), part].map(|time| time.as_secs_f64()));
        }
        times[0] = began.elapsed().as_secs_f64();
        times[1] = (waited_for_processor() - waited_s) / times[0].max(f64::MIN_POSITIVE);
        let slower = self.slower(times)?;
        let mean = |column: usize| slower[2 + column..].iter().step_by(2).sum::<f64>() / f64::from(steps);
        // Steps that communicate wait for the slower node; of those that do not, the slower node's counts.
        let total_s = if step == Step::Calculation { mean(0) } else { slower[0] / f64::from(steps) };
        Ok(Times { total_s, part_s: mean(1), waited: slower[1] })
    }

    /// A block of anything else that both nodes do with each other, begun at the same time: the slower node's seconds.
    pub(super) fn timed(&mut self, block: impl FnOnce(&Node, Rank) -> Result<()>) -> Result<f64> {
        self.clock.meet(self.node, 0.0)?;
        let began = Instant::now();
        block(self.node, self.other)?;
        Ok(self.slower(vec![began.elapsed().as_secs_f64()])?[0])
    }

    /// Has the raw connection ready for a step over it. TCP begins slowly after a pause; lathide's connection had none, since
    /// it carried all between the blocks.
    fn prepare(&mut self, step: Step, strip: &mut Strip) -> Result<()> {
        if !matches!(step, Step::RawPingPong | Step::RawExchange) {
            return Ok(());
        }
        self.raw.poll(true)?;
        if self.warms {
            let (out, into) = strip.halo();
            self.raw.exchange(out, &mut vec![0; into.len()])?;
        }
        Ok(self.raw.poll(step == Step::RawExchange)?)
    }

    /// Whether both strips are as expected: checksums of the left and the right one. Both nodes learn it.
    pub(super) fn checksums(&self, strip: &Strip) -> Result<[u64; 2]> {
        let mine = strip.checksum();
        let theirs = self.node.initread(self.other, CHECKSUM, vec![0_u64])?;
        self.node.initwrite(self.other, CHECKSUM, vec![mine])?.wait()?;
        let theirs = theirs.wait()?[0];
        Ok(if self.side == Side::Left { [mine, theirs] } else { [theirs, mine] })
    }

    /// Element by element the greater of both nodes' values. Both nodes get it.
    pub(super) fn slower(&self, mine: Vec<f64>) -> Result<Vec<f64>> {
        let theirs = self.node.initread(self.other, TIMES, vec![0.0_f64; mine.len()])?;
        let mine = self.node.initwrite(self.other, TIMES, mine)?.wait()?;
        Ok(theirs.wait()?.into_iter().zip(mine).map(|(a, b)| a.max(b)).collect())
    }

    /// Returns the time of its part.
    fn step(&mut self, step: Step, strip: &mut Strip) -> Result<Duration> {
        let mut start = Instant::now();
        let mut part = Duration::ZERO;
        match step {
            Step::Calculation => {
                strip.calculate(strip.boundary());
                start = Instant::now();
                strip.calculate(strip.interior());
                part = start.elapsed();
            }
            Step::Exchange => {
                self.write(strip)?;
                self.read(strip)?;
            }
            Step::I1 | Step::I1Again => {
                strip.calculate(strip.all());
                part = start.elapsed();
                self.write(strip)?;
                self.read(strip)?;
            }
            Step::I2 => {
                strip.calculate(strip.boundary());
                self.write(strip)?;
                strip.calculate(strip.interior());
                self.read(strip)?;
            }
            Step::I3 => {
                strip.calculate(strip.boundary());
                start = Instant::now();
                let ghost = self.node.initread(self.other, HALO, strip.take_ghost())?;
                let boundary = self.node.initwrite(self.other, HALO, strip.take_boundary())?;
                strip.calculate(strip.interior());
                part = start.elapsed();
                strip.put_boundary(boundary.wait()?);
                strip.put_ghost(ghost.wait()?);
            }
            Step::RawPingPong => {
                strip.calculate(strip.all());
                let (out, into) = strip.halo();
                if self.side == Side::Left {
                    self.raw.write(out)?;
                    self.raw.read(into)?;
                } else {
                    self.raw.read(into)?;
                    self.raw.write(out)?;
                }
            }
            Step::RawExchange => {
                strip.calculate(strip.all());
                let (out, into) = strip.halo();
                self.raw.exchange(out, into)?;
            }
        }
        strip.advance();
        Ok(part)
    }

    fn write(&self, strip: &mut Strip) -> Result<()> {
        let boundary = self.node.initwrite(self.other, HALO, strip.take_boundary())?.wait()?;
        strip.put_boundary(boundary);
        Ok(())
    }

    fn read(&self, strip: &mut Strip) -> Result<()> {
        let ghost = self.node.initread(self.other, HALO, strip.take_ghost())?.wait()?;
        strip.put_ghost(ghost);
        Ok(())
    }
}

/// Seconds for which this thread could run but had no processor, since it started; 0 where the system does not say.
fn waited_for_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited_ns: Option<u64> = text.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    waited_ns.unwrap_or(0) as f64 * 1e-9
}
