//! What each node does: messages to several others at once, whose sending times its own report tells.

use std::time::Instant;

use lathide::{Node, Operator, Tag};

use super::plan::{Case, Plan, REPEATS_MIN, Sent, count};
use crate::commands::common::clock::CommonClock;
use crate::commands::common::nodes::progress;
use crate::launch::failed::Result;

const DATA: Tag = Tag(310);
/// Measures; rank 0 has the result, in the order of the cases.
pub(in crate::commands::link) fn run(node: &Node, plan: &Plan) -> Result<Option<Vec<Sent>>> {
    let clock = CommonClock::set(node)?;
    let (began, mut sent) = (Instant::now(), Vec::new());
    let points: Vec<(Case, usize)> = plan.points().collect();
    for repeat in 0..=plan.repeats {
        let has_time = began.elapsed().as_secs_f64() < plan.seconds || repeat <= REPEATS_MIN;
        if node.broadcast(0, vec![u8::from(has_time)])? != [1] {
            break;
        }
        for (at, &(case, bytes)) in points.iter().enumerate() {
            let done = u64::from(repeat) * points.len() as u64 + at as u64;
            let what = format!("{} senders, {bytes} bytes until they have left", case.senders);
            progress(node.rank(), (done, points.len() as u64 * u64::from(plan.repeats + 1)), what)?;
            let time_s = block(node, plan, &clock, (case, bytes))?;
            if repeat > 0 && time_s.is_finite() {
                sent.push(Sent { case, bytes, time_s });
            }
        }
    }
    sent.sort_by_key(|one| one.case);
    Ok((node.rank() == 0).then_some(sent))
}

/// The first ranks send: the mean sending time of their messages; not a number if none was timed.
fn block(node: &Node, plan: &Plan, clock: &CommonClock, (case, bytes): (Case, usize)) -> Result<f64> {
    let Case { senders, receivers } = case;
    let region = format!("{senders} {receivers} {bytes}");
    let before = timed(node, &region);
    let (size, own) = (node.size(), node.rank());
    for _ in 0..count(bytes) {
        let from = (1..=receivers).map(|back| own.on_ring(-i64::from(back), size)).filter(|rank| rank.0 < senders);
        let reads =
            from.map(|rank| node.initread(rank, DATA, vec![0_u8; bytes])).collect::<lathide::Result<Vec<_>>>()?;
        let buffers: Vec<_> = (0..receivers).map(|_| vec![1_u8; bytes]).collect();
        clock.meet(node, plan.telling_s())?;
        if own.0 < senders {
            let _sending = node.region(&region);
            let to = (1..=receivers).map(|ahead| own.on_ring(i64::from(ahead), size));
            let writes = to.zip(buffers).map(|(rank, buffer)| node.initwrite(rank, DATA, buffer));
            lathide::wait_all(writes.collect::<lathide::Result<Vec<_>>>()?)?;
        }
        // What has come has left.
        lathide::wait_all(reads)?;
    }
    node.barrier()?;
    let after = timed(node, &region);
    let sums = node.allreduce(&Operator::sum(), vec![after[0] - before[0], after[1] - before[1]])?;
    Ok(sums[0] / sums[1])
}

/// The sending times of a region so far, and of how many messages.
fn timed(node: &Node, region: &str) -> [f64; 2] {
    let report = node.report();
    let sent = report.regions.iter().find(|found| found.name == region).map(|found| &found.sent);
    let sums = sent.into_iter().flatten().map(|sized| [sized.time_s.unwrap_or_default(), sized.timed as f64]);
    sums.fold([0.0; 2], |[time_s, count], [more_s, more]| [time_s + more_s, count + more])
}
