//! Collectives behind a calculation.

use lathide::Node;
use lathide::collective::{Collective, Overrides};

use super::node::{Result, goes_on, slowest, tell};
use super::plan::{Event, Hidden, Point, REPEATS_MIN};
use super::together::Together;
use crate::commands::common::calculation::Calculation;
use crate::commands::common::nodes::report;

/// What is hidden.
const OPERATIONS: [Collective; 3] = [Collective::Broadcast, Collective::Allreduce, Collective::Allgather];
/// The calculation takes so many times what the collective takes.
const LONGER: f64 = 1.1;
/// The sizes worth hiding.
const BYTES: std::ops::RangeInclusive<u64> = (64 << 10)..=(1 << 20);
/// How often a collective is measured before its calculation is made.
const LOOKS: u32 = 3;
/// So much longer or shorter the calculation may be than it should, and how often it is made anew otherwise.
const NEAR: f64 = 0.05;
const TRIES: u32 = 2;

/// Measures the overlap of what is in the grid, by the library's choice of algorithm, the first sizes as often as all
/// is measured, further ones while there is time.
pub(super) fn run(together: &Together<'_>, points: &[Point], has_time: impl Fn() -> bool) -> Result<()> {
    let (node, cases) = (together.node, cases(points));
    let of = cases.len() as u64;
    for (done, (operation, bytes)) in cases.into_iter().enumerate() {
        if !goes_on(node, done < OPERATIONS.len() || has_time())? {
            return Ok(());
        }
        tell(node, (done as u64, of), format!("overlap of {operation} of {bytes} bytes"))?;
        measure(together, (operation, bytes))?;
    }
    Ok(())
}

/// What to hide, by size: of the grid's sizes those worth it, or the longest if none is.
pub(super) fn cases(points: &[Point]) -> Vec<(Collective, u64)> {
    let mut cases = Vec::new();
    for operation in OPERATIONS {
        let bytes = || points.iter().filter(|point| point.way.operation == operation).map(|point| point.bytes);
        let mut sizes: Vec<u64> = bytes().filter(|bytes| BYTES.contains(bytes)).collect();
        sizes.extend(bytes().max().filter(|_| sizes.is_empty()));
        sizes.sort_unstable();
        sizes.dedup();
        cases.extend(sizes.into_iter().map(|bytes| (operation, bytes)));
    }
    cases.sort_by_key(|(_, bytes)| *bytes);
    cases
}

fn measure(together: &Together<'_>, what: (Collective, u64)) -> Result<()> {
    let (node, choice, (operation, bytes)) = (together.node, Overrides::none(), what);
    let mut calculation = Calculation::new();
    node.barrier()?;
    let unit_s = slowest_one(node, calculation.unit_s())?;
    let mut com_s = (0..LOOKS).map(|_| together.timed(&choice, what, || ())).collect::<Result<Vec<f64>>>()?;
    com_s.sort_by(f64::total_cmp);
    let mut work = LONGER * slowest_one(node, com_s[com_s.len() / 2])? / unit_s;
    calculation.prepare(units(work));
    for _ in 0..REPEATS_MIN {
        let com_s = slowest_one(node, together.timed(&choice, what, || ())?)?;
        let mut before_s = slowest_one(node, alone(node, &mut calculation)?)?;
        // Where ranks share processors, all at once take longer than each takes alone; and a processor's speed changes.
        for _ in 0..TRIES {
            let right = LONGER * com_s / before_s;
            if (right - 1.0).abs() <= NEAR {
                break;
            }
            work *= right;
            calculation.prepare(units(work));
            before_s = slowest_one(node, alone(node, &mut calculation)?)?;
        }
        let total_s = slowest_one(node, together.timed(&choice, what, || _ = calculation.run())?)?;
        let after_s = slowest_one(node, alone(node, &mut calculation)?)?;
        let calc_s = (before_s + after_s) / 2.0;
        report(node.rank(), &Event::Hidden(Hidden { operation, bytes, calc_s, com_s, total_s }))?;
    }
    Ok(())
}

/// The slowest rank's time.
fn slowest_one(node: &Node, time_s: f64) -> Result<f64> {
    Ok(slowest(node, vec![time_s])?[0])
}

fn units(work: f64) -> u32 {
    work.clamp(1.0, f64::from(u32::MAX)) as u32
}

/// The calculation, on all ranks at once.
fn alone(node: &Node, calculation: &mut Calculation) -> Result<f64> {
    node.barrier()?;
    Ok(calculation.run())
}
