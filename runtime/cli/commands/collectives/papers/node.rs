//! What each node does: messages in pairs, or every point in turn, again and again.

use std::time::Instant;

use lathide::launcher::collective::Prices;
use lathide::{CostModel, Node};

use super::pairs;
use super::pattern::Ready;
use super::plan::{Event, Message, Plan, Point, REPEATS_MIN};
use crate::commands::collectives::together::{Together, goes_on, slowest};
use crate::commands::common::nodes::{progress, report};
use crate::launch::failed::Result;

/// More would not change a median.
const REPEATS_MAX: u32 = 15;

/// A node of `lathide collectives --papers`.
pub(super) fn run(node: &Node, plan: &Plan) -> Result<()> {
    match plan {
        Plan::Pairs { pairs, bytes, seconds } => pairs::measure(node, pairs, bytes, *seconds),
        Plan::Patterns { points, message, seconds } => patterns(node, points, *message, *seconds),
    }
}

fn patterns(node: &Node, points: &[Point], message: Message, seconds: f64) -> Result<()> {
    let began = Instant::now();
    let Message { a_s, b_s_per_byte, overhead_s } = message;
    let model = CostModel::of_link(a_s, b_s_per_byte, overhead_s);
    node.set_cost_model(model);
    let together = Together::new(node, &mut Prices::new(model))?;
    for round in 0..=REPEATS_MAX {
        // No more than one round longer than the time.
        let spent_s = began.elapsed().as_secs_f64() * (1.0 + 1.0 / f64::from(round.max(1)));
        if !goes_on(node, round <= REPEATS_MIN || spent_s < seconds)? {
            break;
        }
        let of = REPEATS_MIN.max(round) + 1;
        progress(node.rank(), (round.into(), of.into()), format!("{} ranks, round {round}", node.size()))?;
        let mut times = vec![0.0; points.len()];
        for turn in 0..points.len() {
            let at = if round.is_multiple_of(2) { turn } else { points.len() - 1 - turn };
            let mut ready = Ready::new(node, &points[at])?;
            times[at] = together.block(|| ready.run(node))?;
        }
        // The first round warms up.
        for (at, time_s) in slowest(node, times)?.into_iter().enumerate().filter(|_| round > 0) {
            report(node.rank(), Event::Timed(at, time_s))?;
        }
    }
    Ok(())
}
