//! Messages both ways at once, behind a calculation, and short ones beside a long one.

use std::time::Instant;

use lathide::Tag;

use super::pair::{Pair, thread_s};
use super::plan::{Cost, SIGNAL_BYTES, Variant};
use crate::commands::common::blocks::Messages;
use crate::commands::common::calculation::Calculation;
use crate::launch::failed::Result;

const EXCHANGE: Tag = Tag(4);
const BULK: Tag = Tag(5);

impl Pair<'_> {
    /// A message to and fro, both at once, and both at once over the raw connection: seconds for an exchange, of each.
    pub(super) fn exchange(&mut self, bytes: usize, count: u32) -> Result<Vec<f64>> {
        let pingpong = self.one_way(Variant::Lathide, bytes, count)?;
        let mut messages = Messages::new(bytes);
        let simultaneous = self.steps(true, &mut messages, count, || ())?;
        let Messages { out, mut into } = messages;
        self.begin_together(Variant::RawPolled)?;
        let raw = self.timed(|pair| (0..count).try_for_each(|_| Ok(pair.raw()?.exchange(&out, &mut into)?)))?;
        Ok([pingpong, simultaneous, raw].map(|cost| cost.wall_s / f64::from(count)).into())
    }

    /// Transfers of so many bytes, one way or both ways, behind a calculation, and each alone, around them. Numbers as
    /// [`Kind::Overlap`](super::plan::Kind::Overlap) has them.
    pub(super) fn overlap(
        &mut self,
        calculation: &mut Calculation,
        both_ways: bool,
        bytes: usize,
        steps: u32,
    ) -> Result<Vec<f64>> {
        let mut messages = Messages::new(bytes);
        let alone = |pair: &mut Self, calculation: &mut Calculation| -> Result<f64> {
            pair.begin_together(Variant::Lathide)?;
            Ok((0..steps).map(|_| calculation.run()).sum())
        };
        let before_s = alone(self, calculation)?;
        let com_s = self.steps(both_ways, &mut messages, steps, || ())?.wall_s;
        let (mut busy_s, thread_before_s) = (0.0, thread_s());
        let total = self.steps(both_ways, &mut messages, steps, || busy_s += calculation.run())?;
        let own_cpu_s = (total.cpu_s - (thread_s() - thread_before_s)).max(0.0);
        let mut spare_s = 0.0;
        for is_mine in [self.leads(), !self.leads()] {
            self.steps(both_ways, &mut messages, steps, || {
                if is_mine {
                    spare_s += calculation.run();
                }
            })?;
        }
        let calc_s = f64::midpoint(before_s, alone(self, calculation)?);
        Ok([calc_s, com_s, total.wall_s, busy_s, own_cpu_s, spare_s].map(|sum_s| sum_s / f64::from(steps)).into())
    }

    /// So many steps, begun by both nodes together, and something to do in each.
    fn steps(
        &mut self,
        both_ways: bool,
        messages: &mut Messages,
        steps: u32,
        mut meanwhile: impl FnMut(),
    ) -> Result<Cost> {
        self.begin_together(Variant::Lathide)?;
        self.timed(|pair| {
            (0..steps).try_for_each(|step| {
                let is_writer = step.is_multiple_of(2) == pair.leads();
                let peers = [!is_writer, is_writer].map(|moves| (both_ways || moves).then_some(pair.other));
                Ok(messages.step(pair.node, EXCHANGE, peers, &mut meanwhile)?)
            })
        })
    }

    /// Short messages to and fro, first alone, then until a long message from rank 0 has left.
    pub(super) fn loaded(&mut self, bytes: usize, idle: u32) -> Result<Vec<f64>> {
        let buffer = vec![1_u8; bytes];
        self.begin(Variant::Lathide)?;
        let mut left = idle;
        let mut times = self.pings(|| {
            left = left.saturating_sub(1);
            left == 0
        })?;
        let bulk = self.post(BULK, self.leads(), buffer)?;
        times.extend(self.pings(|| bulk.is_complete())?);
        bulk.wait()?;
        Ok(times)
    }

    /// Round trips until rank 0 finds that this is the last; at rank 0, half of each.
    fn pings(&mut self, mut is_last: impl FnMut() -> bool) -> Result<Vec<f64>> {
        let (mut times, mut ping) = (Vec::new(), vec![0_u8; SIGNAL_BYTES]);
        while ping[0] == 0 {
            if self.leads() {
                ping[0] = u8::from(is_last());
            }
            let began = Instant::now();
            ping = self.round_trip(Variant::Lathide, ping)?;
            times.push(began.elapsed().as_secs_f64() / 2.0);
        }
        Ok(if self.leads() { times } else { Vec::new() })
    }
}
