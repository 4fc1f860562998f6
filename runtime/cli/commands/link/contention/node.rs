//! What each node does: messages between so many pairs at once, in turns, then floods of rank 0.

use std::collections::BTreeMap;
use std::time::Instant;

use lathide::{Node, Operator, Rank, Tag};
use lathide_models::fit::contention::{Load, Observed, Processor};
use lathide_models::fit::flood::Flood;

use super::places::{pairing, per_port};
use super::plan::{ANSWER_BYTES, FLOOD_REPEATS, Measured, Plan, Point, count};
use super::resent::resent_segments;
use crate::commands::common::background::{TICKS_PER_S, busy_ticks};
use crate::commands::common::clock::{CommonClock, boot, seconds};
use crate::commands::common::nodes::progress;
use crate::launch::failed::Result;
use crate::report::summary::Summary;
use rustix::time::ClockId;

const DATA: Tag = Tag(300);
const ANSWER: Tag = Tag(301);
const FLOOD: Tag = Tag(302);
/// What a TCP segment carries over Ethernet.
const SEGMENT_BYTES: u64 = 1448;

/// Measures; rank 0 has the result.
pub(in crate::commands::link) fn run(node: &Node, plan: &Plan) -> Result<Option<Measured>> {
    let began = Instant::now();
    let clock = CommonClock::set(node)?;
    let pairs = pairing(&plan.hosts);
    let mut ranks = Ranks { node, plan, clock, pairs, used: BTreeMap::new() };
    let (mut points, mut turns) = (plan.points(), Turns::new());
    let of = points.len() as u64 * u64::from(plan.repeats[0] + 1);
    for repeat in 0..=plan.repeats[0] {
        let has_time = began.elapsed().as_secs_f64() < 0.8 * plan.seconds || repeat <= plan.repeats[1];
        if node.broadcast(0, vec![u8::from(has_time)])? != [1] {
            break;
        }
        let done = u64::from(repeat) * points.len() as u64;
        let times_s = ranks.round(&points, repeat, (done, of))?;
        for (point, time_s) in points.iter_mut().zip(times_s) {
            let turn_s = time_s / f64::from(point.count);
            if repeat > 0 {
                turns.push((repeat, *point, turn_s));
            }
            // The same on all ranks, since the times are.
            point.count = count(turn_s);
        }
    }
    let loads = ranks.loads()?;
    progress(node.rank(), (of, of), "flooding one host from the others")?;
    let (floods, flooding) = ranks.floods()?;
    Ok((node.rank() == 0).then(|| Measured { observed: one_way(&turns), loads, floods, flooding }))
}

/// Seconds of a message with its answer, by repetition.
type Turns = Vec<(u32, Point, f64)>;

/// One-way times: the answer takes as long as a message of as many bytes, at the median.
fn one_way(turns: &Turns) -> Vec<Observed> {
    let mut answers_s: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (_, point, turn_s) in turns.iter().filter(|(_, point, _)| point.bytes == ANSWER_BYTES) {
        answers_s.entry(point.pairs).or_default().push(turn_s / 2.0);
    }
    let answer_s = |pairs: u32| Summary::of(answers_s.get(&pairs)?.iter().copied());
    let one_way = |(repeat, point, turn_s): &(u32, Point, f64)| {
        let answer_s = answer_s(point.pairs).map_or(0.0, |times| times.median);
        // However disturbed the answers were: the message has the greater part.
        let time_s = (turn_s - answer_s).max(turn_s / 2.0);
        Observed { repeat: *repeat, pairs: point.pairs, bytes: point.bytes as u64, time_s }
    };
    turns.iter().map(one_way).collect()
}

struct Ranks<'a> {
    node: &'a Node,
    plan: &'a Plan,
    clock: CommonClock,
    pairs: Vec<[u32; 2]>,
    /// By number of pairs, with long messages: seconds, this process's processor time, and what all processors did.
    used: BTreeMap<u32, [f64; 3]>,
}

impl Ranks<'_> {
    /// Every point once, in one order and in the other in turns: seconds until the last pair is done.
    fn round(&mut self, points: &[Point], repeat: u32, (done, of): (u64, u64)) -> Result<Vec<f64>> {
        let mut times_s = vec![0.0; points.len()];
        for turn in 0..points.len() {
            let at = if repeat.is_multiple_of(2) { turn } else { points.len() - 1 - turn };
            let point = &points[at];
            let what = format!("{} pairs at once, {} bytes, repetition {repeat}", point.pairs, point.bytes);
            progress(self.node.rank(), (done + turn as u64, of), what)?;
            let block = self.block(point)?;
            times_s[at] = block[0];
            if repeat > 0 && 2 * point.bytes >= self.plan.bytes[self.plan.bytes.len() - 1] {
                let used = self.used.entry(point.pairs).or_default();
                used.iter_mut().zip(block).for_each(|(used, more)| *used += more);
            }
        }
        Ok(self.node.allreduce(&Operator::max(), times_s)?)
    }

    /// So many pairs at once, after a message to warm up: this rank's seconds, its process's processor time, and that of all
    /// processors. Nothing if it is in none of them.
    fn block(&self, point: &Point) -> Result<[f64; 3]> {
        let Point { pairs, bytes, count } = *point;
        let (node, rank) = (self.node, self.node.rank());
        let begin = || -> Result<[f64; 3]> {
            let moment_s = self.clock.meet(node, self.plan.telling_s())?;
            Ok([moment_s, process_s(), busy_s()])
        };
        let Some([from, to]) = self.pairs[..pairs as usize].iter().find(|pair| pair.contains(&rank.0)).copied() else {
            begin()?;
            return Ok([0.0; 3]);
        };
        let (mut began, mut buffer) = ([0.0; 3], vec![1_u8; bytes]);
        let mut reading = None;
        if rank == to {
            reading = Some(node.initread(from, DATA, std::mem::take(&mut buffer))?);
        }
        for turn in 0..=count {
            if turn == 1 {
                began = begin()?;
            }
            if let Some(message) = reading.take() {
                buffer = message.wait()?;
                // Posted before the next message comes: the answer asks for it.
                if turn < count {
                    reading = Some(node.initread(from, DATA, std::mem::take(&mut buffer))?);
                }
                node.initwrite(from, ANSWER, vec![1_u8; ANSWER_BYTES])?.wait()?;
            } else {
                let answer = node.initread(to, ANSWER, vec![0_u8; ANSWER_BYTES])?;
                buffer = node.initwrite(to, DATA, buffer)?.wait()?;
                answer.wait()?;
            }
        }
        let ended = [self.clock.now_s(), process_s(), busy_s()];
        Ok(std::array::from_fn(|at| ended[at] - began[at]))
    }

    /// What each number of pairs used together.
    fn loads(&self) -> Result<Vec<Load>> {
        let numbers = |pairs: &u32| self.used.get(pairs).copied().unwrap_or_default();
        let mut own = vec![boot(), std::thread::available_parallelism().map_or(1, usize::from) as f64];
        own.extend(self.plan.pairs.iter().flat_map(numbers));
        let (each, all) = (own.len(), self.node.allgather(own)?);
        let load = |(at, &pairs): (usize, &u32)| {
            let here = |row: &[f64]| [row[0], row[1], row[2 + 3 * at], row[3 + 3 * at], row[4 + 3 * at]];
            let rows: Vec<[f64; 5]> = all.chunks(each).map(here).filter(|row| row[2] > 0.0).collect();
            let processor = |row: &[f64; 5]| {
                let same = rows.iter().filter(|other| other[0] == row[0]);
                let own_s: f64 = same.map(|other| other[3]).sum();
                let all_s = row[1] * row[2];
                Processor { own: (own_s / all_s).min(1.0), busy: (row[4] / all_s).min(1.0) }
            };
            Load {
                pairs,
                per_port: per_port(&self.pairs[..pairs as usize], &self.plan.hosts),
                processor: rows.iter().map(processor).max_by(|one, other| one.own.total_cmp(&other.own)),
            }
        };
        Ok(self.plan.pairs.iter().enumerate().map(load).collect())
    }

    /// Every rank of another host sends to rank 0 at once, more and more; and how many hosts that are. Nothing where
    /// fewer than two hosts could converge.
    fn floods(&self) -> Result<(Vec<Flood>, u32)> {
        let Plan { hosts, floods, .. } = self.plan;
        let senders: Vec<u32> = (0..).zip(hosts).filter(|(_, host)| **host != hosts[0]).map(|(rank, _)| rank).collect();
        let mut flooding: Vec<u32> = senders.iter().map(|rank| hosts[*rank as usize]).collect();
        flooding.dedup();
        let mut found = Vec::new();
        // Where a host's system does not say what it resends, a loss could not be told.
        let counts = all_count(self.node)?;
        if flooding.len() < 2 || !counts {
            return Ok((found, flooding.len() as u32));
        }
        for _ in 0..FLOOD_REPEATS {
            for &bytes in floods {
                found.push(self.flood(&senders, bytes)?);
            }
        }
        Ok((found, flooding.len() as u32))
    }

    fn flood(&self, senders: &[u32], bytes: usize) -> Result<Flood> {
        let (node, rank) = (self.node, self.node.rank());
        let reads: Vec<_> = if rank == 0 {
            let read = |sender: &u32| node.initread(*sender, FLOOD, vec![0_u8; bytes]);
            senders.iter().map(read).collect::<lathide::Result<_>>()?
        } else {
            Vec::new()
        };
        let buffer = vec![1_u8; bytes];
        let before = resent_segments();
        let moment_s = self.clock.meet(node, self.plan.telling_s())?;
        if senders.contains(&rank.0) {
            node.initwrite(Rank(0), FLOOD, buffer)?.wait()?;
        }
        lathide::wait_all(reads)?;
        let time_s = self.clock.now_s() - moment_s;
        node.barrier()?;
        let resent = resent_segments().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
        // Of each host once.
        let is_first = self.plan.hosts[..rank.index()].iter().all(|host| *host != self.plan.hosts[rank.index()]);
        let resent = vec![if is_first { resent as f64 } else { 0.0 }];
        let resent = node.allreduce(&Operator::sum(), resent)?[0] as u64;
        let time_s = node.broadcast(0, vec![time_s])?[0];
        Ok(Flood { bytes: (senders.len() * bytes) as u64, resent_bytes: resent * SEGMENT_BYTES, time_s })
    }
}

/// Whether all ranks' systems count what TCP sends again.
fn all_count(node: &Node) -> Result<bool> {
    let own = vec![f64::from(u8::from(resent_segments().is_some()))];
    Ok(node.allreduce(&Operator::min(), own)? == [1.0])
}

/// Processor time of this process.
fn process_s() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// Processor time of all that runs on this machine; 0 where the system does not say.
fn busy_s() -> f64 {
    busy_ticks().unwrap_or_default() as f64 / TICKS_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_takes_as_long_as_a_short_message() {
        let point = |pairs, bytes| Point { pairs, bytes, count: 7 };
        let turns: Turns = vec![
            (1, point(1, 8), 2.0),
            (2, point(1, 8), 90.0),
            (3, point(1, 8), 2.0),
            (1, point(1, 1000), 5.0),
            (2, point(1, 1000), 1.5),
            (1, point(2, 8), 4.0),
            (1, point(2, 1000), 9.0),
        ];
        let times: Vec<(u32, u64, f64)> =
            one_way(&turns).iter().map(|one| (one.pairs, one.bytes, one.time_s)).collect();
        let expected =
            [(1, 8, 1.0), (1, 8, 89.0), (1, 8, 1.0), (1, 1000, 4.0), (1, 1000, 0.75), (2, 8, 2.0), (2, 1000, 7.0)];
        assert_eq!(times, expected);
    }
}
