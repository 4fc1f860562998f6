//! What each node does: learns what its links can do, measures every point in turn, again and again, then overlap.

use std::time::Instant;

use lathide::launcher::collective::Prices;
use lathide::{Node, Overrides, Rank};

use super::call::Data;
use super::plan::{self, Measured, Parameters, Plan, Point, REPEATS_MIN};
use super::together::{Together, goes_on, slowest};
use super::{learn, overlap};
use crate::commands::common::nodes::{progress, report};
use crate::launch::failed::{Failed, Result};

/// More would not change a median.
const REPEATS_MAX: u32 = 30;
/// The part of the time for learning, and that for the grid.
const LEARN_SHARE: f64 = 0.15;
const GRID_SHARE: f64 = 0.65;

/// A node of `lathide collectives`.
pub(super) fn run(node: &Node, plan: &Plan) -> Result<()> {
    let began = Instant::now();
    progress(node.rank(), (0, 1), "learning the link")?;
    let (machine, is_fitted) = learn::machine(node, LEARN_SHARE * plan.seconds)?;
    let parameters = Parameters {
        operation: plan.operation,
        ranks: node.size(),
        a_s: 2.0 * machine.node.fixed + machine.flight(),
        b_s_per_byte: machine.node.per_byte,
        overhead_s: machine.node.fixed,
        is_shared: machine.is_shared,
        is_fitted,
    };
    let mut prices = Prices::new(machine);
    let mut points = plan::grid(plan, node.size(), &mut prices);
    let together = Together::new(node, &mut prices)?;
    let has_time = |share: f64| began.elapsed().as_secs_f64() < share * plan.seconds;
    let has_turn = || has_time(LEARN_SHARE + GRID_SHARE);
    let repeats = plan.repeats_min.unwrap_or(0);
    for round in 0..=REPEATS_MAX {
        if !goes_on(node, round <= repeats || has_turn())? {
            break;
        }
        let times_s = measured(&together, plan, &points, round, has_turn)?;
        // The first round warms up; if there was time for no other, it must do.
        for (point, time_s) in points.iter_mut().zip(times_s).filter(|(_, time_s)| *time_s > 0.0) {
            if round == 1 {
                point.times_s.clear();
            }
            point.times_s.push(time_s);
        }
    }
    points.retain(|point| !point.times_s.is_empty());
    let least = (repeats.max(1), plan.repeats_min.is_some());
    let hidden = overlap::measure(&together, plan.operation, &points, least, || has_time(1.0))?;
    report(node.rank(), Measured { parameters, points, hidden })
}

/// Every point once, in one order and in the other in turns: seconds of the slowest rank; 0 for those that rank 0 leaves out.
fn measured(
    together: &Together<'_>,
    plan: &Plan,
    points: &[Point],
    round: u32,
    has_turn: impl Fn() -> bool,
) -> Result<Vec<f64>> {
    let (node, operation, mut times) = (together.node, plan.operation, vec![0.0; points.len()]);
    for turn in 0..points.len() {
        let at = if round.is_multiple_of(2) { turn } else { points.len() - 1 - turn };
        let Point { algorithm, bytes, .. } = &points[at];
        if plan.repeats_min.is_none() && turn > 0 && !goes_on(node, has_turn())? {
            break;
        }
        if turn % 16 == 0 {
            let what = format!("{operation} by {algorithm}, {bytes} bytes, round {round}");
            let (done, each) = (u64::from(round) * points.len() as u64 + turn as u64, points.len() as u64);
            progress(node.rank(), (done, (u64::from(REPEATS_MIN + 1) * each).max(done + 1)), what)?;
        }
        let forced = Overrides::parse(&plan::forced(operation, algorithm)).map_err(Failed::new)?;
        let mut data = Data::new(node, operation, *bytes);
        times[at] = together.block(|| {
            node.override_algorithms(forced);
            data.call(node, (operation, Rank(0)), *bytes, || ())?;
            node.override_algorithms(Overrides::none());
            Ok(())
        })?;
    }
    slowest(node, times)
}
