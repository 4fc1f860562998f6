//! Messages both ways at once, behind a calculation, and short ones beside a long one.

use std::time::Instant;

use lathide::{Handle, Tag};

use super::pair::{Pair, thread_s};
use super::plan::{Cost, Direction, Exchanged, Hidden, Own, SIGNAL_BYTES, Variant};
use crate::commands::common::blocks::Messages;
use crate::commands::common::calculation::Calculation;
use crate::launch::failed::Result;

const EXCHANGE: Tag = Tag(4);
const BULK: Tag = Tag(5);

impl Pair<'_> {
    /// A message to and fro, and both at once.
    pub(super) fn exchange(&mut self, bytes: usize, count: u32) -> Result<Own> {
        let each = f64::from(count);
        let pingpong_s = self.one_way(Variant::Lathide, bytes, count)?.wall_s / each;
        let mut messages = Messages::new(bytes);
        let simultaneous_s = self.simultaneous(&mut messages, count)? / each;
        let Messages { out, mut into } = messages;
        self.begin_together(Variant::RawPolled)?;
        let raw = self.timed(|pair| (0..count).try_for_each(|_| Ok(pair.raw()?.exchange(&out, &mut into)?)))?;
        Ok(Own::Exchange(Exchanged { pingpong_s, simultaneous_s, raw_simultaneous_s: raw.wall_s / each }))
    }

    /// Seconds for exchanges with nothing behind which to hide.
    fn simultaneous(&mut self, messages: &mut Messages, count: u32) -> Result<f64> {
        self.begin_together(Variant::Lathide)?;
        let cost = self.timed(|pair| (0..count).try_for_each(|_| pair.step(messages, [true; 2], || ())))?;
        Ok(cost.wall_s)
    }

    /// Transfers of so many bytes behind a calculation, and each alone, around them.
    pub(super) fn overlap(
        &mut self,
        calculation: &mut Calculation,
        (direction, bytes): (Direction, usize),
        steps: u32,
        work: u32,
    ) -> Result<Hidden> {
        let (mut messages, each) = (Messages::new(bytes), f64::from(steps));
        calculation.prepare(work);
        let alone = |pair: &mut Self, calculation: &mut Calculation| -> Result<f64> {
            pair.begin_together(Variant::Lathide)?;
            Ok((0..steps).map(|_| calculation.run()).sum::<f64>() / each)
        };
        let before_s = alone(self, calculation)?;
        let com_s = self.steps(direction, &mut messages, steps, || ())?.wall_s / each;
        let (mut busy_s, thread_before_s) = (0.0, thread_s());
        let cost = self.steps(direction, &mut messages, steps, || busy_s += calculation.run())?;
        let own_cpu_s = (cost.cpu_s - (thread_s() - thread_before_s)).max(0.0);
        let mut spare_s = 0.0;
        for is_mine in [self.leads(), !self.leads()] {
            self.steps(direction, &mut messages, steps, || {
                if is_mine {
                    spare_s += calculation.run();
                }
            })?;
        }
        let calc_s = (before_s + alone(self, calculation)?) / 2.0;
        let [total_s, busy_s, own_cpu_s, spare_s] = [cost.wall_s, busy_s, own_cpu_s, spare_s].map(|sum| sum / each);
        Ok(Hidden { calc_s, com_s, total_s, busy_s, own_cpu_s, spare_s })
    }

    /// So many steps, begun by both nodes together.
    fn steps(
        &mut self,
        direction: Direction,
        messages: &mut Messages,
        steps: u32,
        mut meanwhile: impl FnMut(),
    ) -> Result<Cost> {
        self.begin_together(Variant::Lathide)?;
        self.timed(|pair| {
            (0..steps).try_for_each(|step| {
                let is_writer = step.is_multiple_of(2) == pair.leads();
                let moves = match direction {
                    Direction::OneWay => [!is_writer, is_writer],
                    Direction::BothWays => [true; 2],
                };
                pair.step(messages, moves, &mut meanwhile)
            })
        })
    }

    /// A message in one or both directions, and something to do meanwhile.
    fn step(&self, messages: &mut Messages, [reads, writes]: [bool; 2], meanwhile: impl FnOnce()) -> Result<()> {
        let peers = [reads, writes].map(|moves| moves.then_some(self.other));
        Ok(messages.step(self.node, EXCHANGE, peers, meanwhile)?)
    }

    /// Short messages to and fro, first alone, then until a long message from rank 0 has left.
    pub(super) fn loaded(&mut self, bytes: usize, idle: u32) -> Result<Own> {
        let buffer = vec![1_u8; bytes];
        self.begin(Variant::Lathide)?;
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
                ping = self.receive(Variant::Lathide, ping)?;
                ping = self.send(Variant::Lathide, ping)?;
                continue;
            }
            ping[0] = u8::from(is_last());
            let began = Instant::now();
            ping = self.send(Variant::Lathide, ping)?;
            ping = self.receive(Variant::Lathide, ping)?;
            times.push(began.elapsed().as_secs_f64() / 2.0);
        }
        Ok(times)
    }
}
