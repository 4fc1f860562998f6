//! The three versions of the time step (Strumpen 1994, section 3.2), and blocks of them with their times.

use std::time::Instant;

use lathide::{Node, Rank, Result, Tag};

use crate::commands::common::clock::CommonClock;
use crate::commands::common::strip::Strip;

const HALO: Tag = Tag(1);
const TIMES: Tag = Tag(2);
const CHECKSUM: Tag = Tag(3);

/// A version of the time step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    /// Calculate, write, read.
    I1,
    /// Boundary, blocking write, interior, read.
    I2,
    /// Boundary, initread, initwrite, interior, wait, wait.
    I3,
}

/// Times of a block of steps, of the slower node.
pub(super) struct Timed {
    /// Per step.
    pub(super) total_s: f64,
    /// Per step: a part of it.
    pub(super) part_s: f64,
}

/// Times of a block that only calculates.
pub(super) struct Calculation {
    /// Per step.
    pub(super) total_s: f64,
    /// Per step: the interior's part.
    pub(super) interior_s: f64,
    /// The share of the time for which other programs kept this one off its processor; 0 where that is unknown.
    pub(super) disturbed: f64,
}

/// This node and the other one.
pub(super) struct Pair<'a> {
    pub(super) node: &'a Node,
    pub(super) other: Rank,
    pub(super) clock: CommonClock,
}

impl<'a> Pair<'a> {
    /// This node and `other`, their clocks set.
    pub(super) fn new(node: &'a Node, other: Rank) -> Result<Self> {
        Ok(Pair { node, other, clock: CommonClock::set(node)? })
    }

    /// A block of one version: seconds per step of the slower node.
    pub(super) fn version(&self, version: Version, strip: &mut Strip, steps: u32) -> Result<f64> {
        match version {
            Version::I1 => Ok(self.plain(strip, steps)?.total_s),
            Version::I2 => Ok(self.timed(steps, || self.step_i2(strip).map(|()| 0.0))?.total_s),
            Version::I3 => Ok(self.hidden(strip, steps)?.total_s),
        }
    }

    /// A block of version I.1; the part is the calculation, while nothing is transferred.
    pub(super) fn plain(&self, strip: &mut Strip, steps: u32) -> Result<Timed> {
        self.timed(steps, || self.step_i1(strip))
    }

    /// A block of version I.3; the part is posting, and the interior while the transfer runs.
    pub(super) fn hidden(&self, strip: &mut Strip, steps: u32) -> Result<Timed> {
        self.timed(steps, || self.step_i3(strip))
    }

    /// A block without communication, both nodes at the same time.
    pub(super) fn calculation(&self, strip: &mut Strip, steps: u32) -> Result<Calculation> {
        let mut times = Vec::new();
        self.clock.meet(self.node, 0.0)?;
        let waited_s = waited_for_processor();
        for _ in 0..steps {
            let start = Instant::now();
            strip.calculate(strip.boundary());
            let interior = Instant::now();
            strip.calculate(strip.interior());
            let end = Instant::now();
            strip.advance();
            times.push([(end - start).as_secs_f64(), (end - interior).as_secs_f64()]);
        }
        // Nothing of lathide's own runs meanwhile, so who else had the processor is another program.
        let waited_s = waited_for_processor() - waited_s;
        let all_s: f64 = times.iter().map(|[total_s, _]| total_s).sum();
        let mut times = times.concat();
        times.push(waited_s / all_s.max(f64::MIN_POSITIVE));
        let slower = self.slower(times)?;
        let (times, disturbed) = slower.as_chunks();
        let mean = |column: usize| mean(times.iter().map(|time: &[f64; 2]| time[column]));
        Ok(Calculation { total_s: mean(0), interior_s: mean(1), disturbed: disturbed[0] })
    }

    /// A block without calculation: the exchange as version I.1 has it.
    pub(super) fn exchange(&self, strip: &mut Strip, steps: u32) -> Result<f64> {
        let exchange = || {
            self.write(strip)?;
            self.read(strip)?;
            Ok(0.0)
        };
        Ok(self.timed(steps, exchange)?.total_s)
    }

    /// Whether both strips are as expected: checksums of the left and the right one. Both nodes learn it.
    pub(super) fn checksums(&self, strip: &Strip) -> Result<[u64; 2]> {
        let mine = strip.checksum();
        let theirs = self.node.initread(self.other, CHECKSUM, vec![0_u64])?;
        self.node.initwrite(self.other, CHECKSUM, vec![mine])?.wait()?;
        let theirs = theirs.wait()?[0];
        Ok(if self.node.rank() == 0 { [mine, theirs] } else { [theirs, mine] })
    }

    /// Element by element the greater of both nodes' values. Both nodes get it.
    pub(super) fn slower(&self, mine: Vec<f64>) -> Result<Vec<f64>> {
        let theirs = self.node.initread(self.other, TIMES, vec![0.0_f64; mine.len()])?;
        let mine = self.node.initwrite(self.other, TIMES, mine)?.wait()?;
        Ok(theirs.wait()?.into_iter().zip(mine).map(|(a, b)| a.max(b)).collect())
    }

    /// A block of steps, each of which returns the seconds of its part.
    fn timed(&self, steps: u32, mut step: impl FnMut() -> Result<f64>) -> Result<Timed> {
        let mut times = Vec::with_capacity(steps as usize + 1);
        self.clock.meet(self.node, 0.0)?;
        let start = Instant::now();
        for _ in 0..steps {
            times.push(step()?);
        }
        times.push(start.elapsed().as_secs_f64());
        let mut parts = self.slower(times)?;
        let total_s = parts.pop().unwrap_or_default();
        Ok(Timed { total_s: total_s / f64::from(steps), part_s: mean(parts.into_iter()) })
    }

    /// Returns the seconds of the calculation.
    fn step_i1(&self, strip: &mut Strip) -> Result<f64> {
        let start = Instant::now();
        strip.calculate(strip.all());
        let calculation = start.elapsed().as_secs_f64();
        self.write(strip)?;
        self.read(strip)?;
        strip.advance();
        Ok(calculation)
    }

    fn step_i2(&self, strip: &mut Strip) -> Result<()> {
        strip.calculate(strip.boundary());
        self.write(strip)?;
        strip.calculate(strip.interior());
        self.read(strip)?;
        strip.advance();
        Ok(())
    }

    /// Returns the seconds of posting and of the interior.
    fn step_i3(&self, strip: &mut Strip) -> Result<f64> {
        strip.calculate(strip.boundary());
        let start = Instant::now();
        let ghost = self.node.initread(self.other, HALO, strip.take_ghost())?;
        let boundary = self.node.initwrite(self.other, HALO, strip.take_boundary())?;
        strip.calculate(strip.interior());
        let busy = start.elapsed().as_secs_f64();
        strip.put_boundary(boundary.wait()?);
        strip.put_ghost(ghost.wait()?);
        strip.advance();
        Ok(busy)
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

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}
