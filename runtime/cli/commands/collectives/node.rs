//! What each node does: learns what its links can do, measures every point in turn, again and again, then overlap.

use std::time::Instant;

use lathide::launcher::collective::Prices;
use lathide::{Collective, CostModel, Node, Overrides};

use super::plan::{self, Event, Parameters, Plan, Point, REPEATS_MIN};
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
    if let Some(variant) = plan.variants.first() {
        report(node.rank(), Event::Parameters(parameters((variant.operation, node.size()), &machine, is_fitted)))?;
    }
    let mut prices = Prices::new(machine);
    let points = plan::grid(plan, node.size(), &mut prices);
    let together = Together::new(node, &mut prices)?;
    report(node.rank(), Event::Grid(points.clone()))?;
    let forced = points.iter().map(|point| Overrides::parse(&point.variant.forced()).map_err(Failed::new));
    let forced = forced.collect::<Result<Vec<Overrides>>>()?;
    let deadline_s = (LEARN_SHARE + GRID_SHARE) * plan.seconds;
    for round in 0..=REPEATS_MAX {
        if !goes_on(node, round <= REPEATS_MIN || began.elapsed().as_secs_f64() < deadline_s)? {
            break;
        }
        let times = measured(&together, &points, &forced, round)?;
        if round > 0 {
            report(node.rank(), Event::Round(times))?;
        }
    }
    overlap::run(&together, &points, || began.elapsed().as_secs_f64() < plan.seconds)
}

fn parameters((operation, ranks): (Collective, u32), machine: &CostModel, is_fitted: bool) -> Parameters {
    Parameters {
        operation,
        ranks,
        a_s: 2.0 * machine.node.fixed + machine.flight(),
        b_s_per_byte: machine.node.per_byte,
        overhead_s: machine.node.fixed,
        is_fitted,
    }
}

/// Every point once, in one order and in the other in turns: seconds of the slowest rank.
fn measured(together: &Together<'_>, points: &[Point], forced: &[Overrides], round: u32) -> Result<Vec<f64>> {
    let (node, mut times) = (together.node, vec![0.0; points.len()]);
    for turn in 0..points.len() {
        let at = if round.is_multiple_of(2) { turn } else { points.len() - 1 - turn };
        let Point { variant, bytes, .. } = &points[at];
        if turn % 16 == 0 {
            let what = format!("{} by {}, {bytes} bytes, round {round}", variant.operation, variant.algorithm);
            let (done, each) = (u64::from(round) * points.len() as u64 + turn as u64, points.len() as u64);
            progress(node.rank(), (done, (u64::from(REPEATS_MIN + 1) * each).max(done + 1)), what)?;
        }
        times[at] = together.timed(&forced[at], (variant.operation, *bytes))?;
    }
    slowest(node, times)
}
