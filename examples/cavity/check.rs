//! Rank 0 checks the planes of the last group.

use super::grid::{Flow, Strip};
use super::options::{Check, Options, Until};
use super::time::{Sequential, Solver};
use super::{Outcome, ghia};

/// How far from published values a centre line may be, in parts of the lid's speed.
const NEAR: f64 = 0.02;
/// How many times the tolerance of residuals velocities and pressures may differ that have converged to it.
const ERROR: f64 = 10.0;

/// The flow in the whole cavity, from the strips of a plane.
pub(crate) fn whole(n: usize, strips: &[f64], px: usize) -> Flow {
    let mut flow = Flow::new(Strip::of(n, 0, 1));
    let fields: Vec<_> = strips.chunks_exact(n * n / px).collect();
    let in_order: Vec<_> = (0..3).flat_map(|field| (0..px).map(move |strip| 3 * strip + field)).collect();
    flow.set_own(&in_order.into_iter().map(|field| fields[field]).collect::<Vec<_>>().concat());
    flow
}

/// A number that depends on every bit of some flows (Fowler, Noll and Vo's hash): versions that agree have the same.
pub(crate) fn fingerprint(planes: &[Flow]) -> u64 {
    let values = planes.iter().flat_map(Flow::own);
    values
        .flat_map(|value| value.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What is wrong, or what has been found.
pub(crate) fn check(options: &Options, planes: &[Flow]) -> Outcome<String> {
    match options.check {
        Check::None => Ok("not checked".into()),
        Check::Ghia => {
            let last = planes.last().ok_or("no plane")?;
            match ghia::difference(last) {
                difference if difference <= NEAR => {
                    Ok(format!("at most {difference:.4} from the published centre lines: correct"))
                }
                difference => Err(format!("{difference:.4} from the published centre lines, more than {NEAR}").into()),
            }
        }
        Check::Sequential => {
            let [velocity, pressure] = differences(planes, &sequential(options)?);
            let Until::Tolerance(tolerance) = options.setting.until else { return Err("no tolerance".into()) };
            let found =
                format!("velocities differ by {velocity:.1e}, pressures by {pressure:.1e} from the sequential ones");
            if velocity <= ERROR * tolerance && pressure <= ERROR * tolerance {
                return Ok(format!("{found}: correct"));
            }
            Err(format!("{found}, more than {ERROR} times the tolerance").into())
        }
    }
}

/// The last planes, calculated one after another without strips.
fn sequential(options: &Options) -> Outcome<Vec<Flow>> {
    let strip = Strip::of(options.setting.n, 0, 1);
    let mut planes = Vec::new();
    Solver::new(options.setting, strip, Sequential).run(|plane| planes.push(plane.clone()))?;
    Ok(planes.split_off(options.setting.planes - options.pt))
}

/// The greatest differences of velocities, and of pressures, which are defined but for a constant.
fn differences(planes: &[Flow], others: &[Flow]) -> [f64; 2] {
    let mut greatest = [0.0f64; 2];
    for (plane, other) in planes.iter().zip(others) {
        let (strip, [a, b]) = (plane.strip, [plane, other].map(mean_pressure));
        strip.p_cells().each(|at| {
            let velocity = (plane.u[at] - other.u[at]).abs().max((plane.v[at] - other.v[at]).abs());
            let pressure = ((plane.p[at] - a) - (other.p[at] - b)).abs();
            greatest = [greatest[0].max(velocity), greatest[1].max(pressure)];
        });
    }
    greatest
}

fn mean_pressure(flow: &Flow) -> f64 {
    let mut sum = 0.0;
    flow.strip.p_cells().each(|at| sum += flow.p[at]);
    sum / (flow.strip.n * flow.strip.columns) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow with different values in all cells.
    fn flow(strip: Strip) -> Flow {
        let mut flow = Flow::new(strip);
        let values: Vec<f64> = (0..flow.own_len()).map(|at| ((at * 31 + strip.start) % 97) as f64).collect();
        flow.set_own(&values);
        flow
    }

    #[test]
    fn strips_make_a_whole() {
        let all = flow(Strip::of(8, 0, 1));
        for px in [1, 2, 4] {
            let strips = (0..px).flat_map(|number| {
                let mut part = Flow::new(Strip::of(8, number, px));
                for i in 1..=part.strip.columns {
                    part.set_edge(i, &all.edge(part.strip.start + i));
                }
                part.own()
            });
            assert_eq!(whole(8, &strips.collect::<Vec<_>>(), px), all, "{px} strips");
        }
    }

    #[test]
    fn differences_are_of_the_worst_cells_and_without_a_constant() {
        let strip = Strip::of(8, 0, 1);
        let (a, mut b) = ([flow(strip)], [flow(strip)]);
        b[0].p.iter_mut().for_each(|p| *p += 3.0);
        assert!(differences(&a, &b).iter().all(|difference| *difference < 1e-12));
        b[0].v[strip.at(3, 5)] += 0.25;
        b[0].p[strip.at(4, 4)] += 64.0;
        assert_eq!(differences(&a, &b), [0.25, 63.0]);
        assert_ne!(fingerprint(&a), fingerprint(&b));
    }
}
