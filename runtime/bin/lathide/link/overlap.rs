//! Messages both ways at once, behind a calculation, and short ones beside a long one.

use std::hint::black_box;
use std::time::Instant;

use lathide::{Handle, Tag};

use super::node::Result;
use super::pair::{Pair, thread_s};
use super::plan::{Exchanged, Hidden, Own, SIGNAL_BYTES, Way};
use crate::common::strip::{Shape, Side, Strip};

const EXCHANGE: Tag = Tag(4);
const BULK: Tag = Tag(5);

/// Something to calculate: a column of `lathide gain`'s stencil that stays in the first-level cache, so that nothing but
/// the processor is shared with the transfer.
pub(super) struct Calculation {
    strip: Strip,
}

const ROWS: usize = 512;

impl Calculation {
    pub(super) fn new() -> Self {
        Calculation { strip: Strip::new(Shape { rows: ROWS, columns: 1, work: 1 }, Side::Left) }
    }

    /// Seconds for one unit of work. The least of some counts: whatever disturbs, prolongs.
    pub(super) fn unit_s(&mut self) -> f64 {
        const UNITS: u32 = 5000;
        self.prepare(UNITS);
        let least = (0..5).map(|_| self.run()).fold(f64::MAX, f64::min);
        (least / f64::from(UNITS)).max(1e-12)
    }

    fn prepare(&mut self, work: u32) {
        self.strip.restart(work);
    }

    /// Calculates; returns the seconds it took.
    fn run(&mut self) -> f64 {
        let began = Instant::now();
        self.strip.calculate(self.strip.all());
        black_box(&mut self.strip);
        began.elapsed().as_secs_f64()
    }
}

/// The two buffers of an exchange.
struct Buffers {
    out: Vec<u8>,
    into: Vec<u8>,
}

impl Buffers {
    fn new(bytes: usize) -> Self {
        Buffers { out: vec![1; bytes], into: vec![1; bytes] }
    }
}

impl Pair<'_> {
    /// A message to and fro, and both at once.
    pub(super) fn exchange(&mut self, bytes: usize, count: u32) -> Result<Own> {
        let each = f64::from(count);
        let pingpong_s = self.one_way(Way::Lathide, bytes, count)?.wall_s / each;
        let mut buffers = Buffers::new(bytes);
        let simultaneous_s = self.simultaneous(&mut buffers, count)? / each;
        let Buffers { out, mut into } = buffers;
        self.begin_together(Way::RawPolled)?;
        let raw = self.timed(|pair| (0..count).try_for_each(|_| Ok(pair.raw()?.exchange(&out, &mut into)?)))?;
        Ok(Own::Exchange(Exchanged { pingpong_s, simultaneous_s, raw_simultaneous_s: raw.wall_s / each }))
    }

    /// Seconds for exchanges with nothing behind which to hide.
    fn simultaneous(&mut self, buffers: &mut Buffers, count: u32) -> Result<f64> {
        self.begin_together(Way::Lathide)?;
        let cost = self.timed(|pair| (0..count).try_for_each(|_| pair.step(buffers, || ())))?;
        Ok(cost.wall_s)
    }

    /// Exchanges behind a calculation, and each alone, around them.
    pub(super) fn overlap(
        &mut self,
        calculation: &mut Calculation,
        bytes: usize,
        steps: u32,
        work: u32,
    ) -> Result<Hidden> {
        let (mut buffers, each) = (Buffers::new(bytes), f64::from(steps));
        calculation.prepare(work);
        let alone = |pair: &mut Self, calculation: &mut Calculation| -> Result<f64> {
            pair.begin_together(Way::Lathide)?;
            Ok((0..steps).map(|_| calculation.run()).sum::<f64>() / each)
        };
        let before_s = alone(self, calculation)?;
        let com_s = self.simultaneous(&mut buffers, steps)? / each;
        self.begin_together(Way::Lathide)?;
        let (mut busy_s, thread_before_s) = (0.0, thread_s());
        let cost =
            self.timed(|pair| (0..steps).try_for_each(|_| pair.step(&mut buffers, || busy_s += calculation.run())))?;
        let own_cpu_s = (cost.cpu_s - (thread_s() - thread_before_s)).max(0.0);
        let calc_s = (before_s + alone(self, calculation)?) / 2.0;
        Ok(Hidden { calc_s, com_s, total_s: cost.wall_s / each, busy_s: busy_s / each, own_cpu_s: own_cpu_s / each })
    }

    /// A message each way at once, and something to do meanwhile.
    fn step(&mut self, buffers: &mut Buffers, mut meanwhile: impl FnMut()) -> Result<()> {
        let read = self.node.initread(self.other, EXCHANGE, std::mem::take(&mut buffers.into))?;
        let write = self.node.initwrite(self.other, EXCHANGE, std::mem::take(&mut buffers.out))?;
        meanwhile();
        buffers.out = write.wait()?;
        buffers.into = read.wait()?;
        Ok(())
    }

    /// Short messages to and fro, first alone, then until a long message from rank 0 has left.
    pub(super) fn loaded(&mut self, bytes: usize, idle: u32) -> Result<Own> {
        let buffer = vec![1_u8; bytes];
        self.begin(Way::Lathide)?;
        let mut left = idle;
        let idle_s = self.pings(|| {
            left = left.saturating_sub(1);
            left == 0
        })?;
        let bulk: Handle<Vec<u8>> = match self.leads() {
            true => self.node.initwrite(self.other, BULK, buffer)?,
            false => self.node.initread(self.other, BULK, buffer)?,
        };
        let loaded_s = self.pings(|| bulk.is_complete())?;
        bulk.wait()?;
        Ok(Own::Loaded { idle_s, loaded_s })
    }

    /// Round trips until rank 0 finds that this is the last; half of each.
    fn pings(&mut self, mut is_last: impl FnMut() -> bool) -> Result<Vec<f64>> {
        let (mut times, mut ping) = (Vec::new(), vec![0_u8; SIGNAL_BYTES]);
        while ping[0] == 0 {
            if !self.leads() {
                ping = self.receive(Way::Lathide, ping)?;
                ping = self.send(Way::Lathide, ping)?;
                continue;
            }
            ping[0] = u8::from(is_last());
            let began = Instant::now();
            ping = self.send(Way::Lathide, ping)?;
            ping = self.receive(Way::Lathide, ping)?;
            times.push(began.elapsed().as_secs_f64() / 2.0);
        }
        Ok(times)
    }
}
