//! Planes in time: groups of `pt` of them are solved at once, one group after another (Stoica, Sultan and Keyes 1994, 5.2.1).
//!
//! A plane's right side is the velocity of the plane before. It takes the iterate that this one has had after its last V-cycle, or
//! `lag` cycles earlier: at convergence that is the sequential solution. What passes the iterates on is a [`Planes`].

use super::Outcome;
use super::cycle::{self, Space};
use super::grid::{Flow, Strip};
use super::momentum::Fluid;
use super::options::{Lid, Until};
use super::simple::Level;

/// More cycles than a group needs that converges.
const MOST: usize = 200;

/// The flow to be calculated, and how far.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Setting {
    /// Cells per side.
    pub(crate) n: usize,
    pub(crate) reynolds: f64,
    /// The time from plane to plane. If it is infinite, each plane is the steady flow.
    pub(crate) dt: f64,
    /// In all groups.
    pub(crate) planes: usize,
    pub(crate) lid: Lid,
    /// Cycles by which an iterate is older than necessary when the next plane takes it, and the residual that decides on the end.
    pub(crate) lag: usize,
    pub(crate) until: Until,
}

/// The planes that are solved at once, this one and the others.
pub(crate) trait Planes {
    type Strips: Space;
    /// Lasts as long as a cycle.
    type Visit;

    /// The neighbours in space.
    fn space(&self) -> &Self::Strips;

    /// How many there are, and the number of this one.
    fn number(&self) -> (usize, usize);

    /// The strip of the last plane of the group before.
    fn last(&self, own: Vec<f64>) -> lathide::Result<Vec<f64>>;

    /// A cycle begins. At its end an iterate of this length will come.
    fn begin(&mut self, length: usize) -> lathide::Result<Self::Visit>;

    /// A cycle has ended with this iterate.
    fn send(&mut self, own: Vec<f64>) -> lathide::Result<()>;

    /// What the plane before has sent `lag` cycles ago, if it did.
    fn receive(&mut self, lag: usize) -> lathide::Result<Option<Vec<f64>>>;

    /// Sums over all ranks of all planes, with some work meanwhile; returns the sum of `lag` cycles ago, if there is one.
    fn sum(&mut self, parts: Vec<f64>, lag: usize, work: impl FnOnce()) -> lathide::Result<Option<Vec<f64>>>;

    /// A group has ended. Returns the last sum, if it has not been returned yet.
    fn end(&mut self) -> lathide::Result<Option<Vec<f64>>>;
}

/// What came of all groups.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) cycles: usize,
    pub(crate) seconds: f64,
    /// The greatest residual of a plane when its group was done.
    pub(crate) residual: f64,
}

/// A strip of a plane.
pub(crate) struct Solver<P> {
    setting: Setting,
    planes: P,
    levels: Vec<Level>,
    fluid: Fluid,
    /// The plane before, as far as it is known.
    old: Flow,
}

impl<P: Planes> Solver<P> {
    pub(crate) fn new(setting: Setting, strip: Strip, planes: P) -> Self {
        let fluid = Fluid { viscosity: 1.0 / setting.reynolds, rate: 1.0 / setting.dt, lid: 0.0 };
        Solver { setting, planes, levels: cycle::levels(strip), fluid, old: Flow::new(strip) }
    }

    /// Solves all groups; `each` sees the plane of each group.
    pub(crate) fn run(&mut self, mut each: impl FnMut(&Flow)) -> Outcome<Summary> {
        let (pt, number) = self.planes.number();
        let mut summary = Summary::default();
        for first in (0..self.setting.planes).step_by(pt) {
            // The iterate of each plane begins as the last known plane, at first the fluid at rest.
            if first > 0 {
                let last = self.planes.last(self.levels[0].w.own())?;
                self.levels[0].w.set_own(&last);
            }
            self.old.clone_from(&self.levels[0].w);
            self.fluid.lid = self.setting.lid.speed((first + number + 1) as f64 * self.setting.dt);
            let residual = self.group(first, &mut summary)?;
            summary.residual = summary.residual.max(residual);
            each(&self.levels[0].w);
        }
        Ok(summary)
    }

    fn group(&mut self, first: usize, summary: &mut Summary) -> Outcome<f64> {
        cycle::apply(&mut self.levels[0], &self.fluid, self.planes.space())?;
        let mut residual = self.residual(0)?.unwrap_or(f64::INFINITY);
        let (mut cycles, mut converged) = (0, 0);
        let start = std::time::Instant::now();
        loop {
            // Late iterates of the plane before have converged, too, if it had converged so often.
            let is_done = match self.setting.until {
                Until::Cycles(all) => cycles == all,
                Until::Tolerance(_) => converged > self.setting.lag,
            };
            if is_done {
                break;
            }
            if cycles == MOST || residual.is_nan() {
                let (from, to) = (first + 1, first + self.planes.number().0);
                return Err(format!(
                    "planes {from} to {to}: the residual is {residual:.2e} after {cycles} V-cycles; shorter time steps, a lower \
                     Reynolds number, or a larger tolerance converge"
                )
                .into());
            }
            let known = self.cycle()?;
            cycles += 1;
            residual = known.unwrap_or(residual);
            let is_small = matches!(self.setting.until, Until::Tolerance(tolerance) if residual <= tolerance);
            converged = if is_small { converged + 1 } else { 0 };
        }
        let last = self.planes.end()?;
        summary.seconds += start.elapsed().as_secs_f64();
        summary.cycles += cycles;
        Ok(last.map_or(residual, |squares| greatest(&squares, self.setting.n)))
    }

    /// A V-cycle, and as much of the next one as is known before its first exchange.
    fn cycle(&mut self) -> lathide::Result<Option<f64>> {
        let Solver { planes, levels, fluid, old, .. } = self;
        let _visit = planes.begin(levels[0].w.own_len())?;
        cycle::cycle(levels, fluid, planes.space())?;
        planes.send(levels[0].w.own())?;
        cycle::apply(&mut levels[0], fluid, planes.space())?;
        if let Some(come) = planes.receive(self.setting.lag)? {
            old.set_own(&come);
        }
        self.residual(self.setting.lag)
    }

    /// The greatest residual of a plane `lag` cycles ago, if it is known. Each plane's is made of the left sides of its equations.
    /// Meanwhile the first sweep of the next cycle begins.
    fn residual(&mut self, lag: usize) -> lathide::Result<Option<f64>> {
        let Solver { planes, levels, fluid, old, setting } = self;
        let level = &mut levels[0];
        for (f, old) in [(&mut level.f.u, &old.u), (&mut level.f.v, &old.v)] {
            f.iter_mut().zip(old).for_each(|(f, old)| *f = fluid.rate * old);
        }
        level.subtract();
        let (pt, number) = planes.number();
        let mut parts = vec![0.0; pt];
        parts[number] = level.squares();
        let squares = planes.sum(parts, lag, || level.change_u())?;
        Ok(squares.map(|squares| greatest(&squares, setting.n)))
    }
}

/// The greatest residual of a plane of `n` x `n` cells, from the sums of squares: the root of the mean in a cell.
fn greatest(squares: &[f64], n: usize) -> f64 {
    // Not `f64::max`, which ignores what is not a number.
    let greatest = squares.iter().fold(0.0, |all: f64, one| if *one <= all { all } else { *one });
    greatest.sqrt() / n as f64
}

/// One plane after another, on one rank.
pub(crate) struct Sequential;

impl Planes for Sequential {
    type Strips = cycle::Alone;
    type Visit = ();

    fn space(&self) -> &cycle::Alone {
        &cycle::Alone
    }

    fn number(&self) -> (usize, usize) {
        (1, 0)
    }

    fn last(&self, own: Vec<f64>) -> lathide::Result<Vec<f64>> {
        Ok(own)
    }

    fn begin(&mut self, _: usize) -> lathide::Result<()> {
        Ok(())
    }

    fn send(&mut self, _: Vec<f64>) -> lathide::Result<()> {
        Ok(())
    }

    fn receive(&mut self, _: usize) -> lathide::Result<Option<Vec<f64>>> {
        Ok(None)
    }

    fn sum(&mut self, parts: Vec<f64>, _: usize, work: impl FnOnce()) -> lathide::Result<Option<Vec<f64>>> {
        work();
        Ok(Some(parts))
    }

    fn end(&mut self) -> lathide::Result<Option<Vec<f64>>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ghia;
    use super::*;

    fn last(setting: Setting) -> Outcome<Flow> {
        let mut flow = None;
        Solver::new(setting, Strip::of(setting.n, 0, 1), Sequential).run(|plane| flow = Some(plane.clone()))?;
        flow.ok_or("no plane".into())
    }

    fn steady(n: usize, dt: f64, planes: usize) -> Setting {
        Setting { n, reynolds: 100.0, dt, planes, lid: Lid::Steady, lag: 0, until: Until::Tolerance(1e-8) }
    }

    fn distance(a: &Flow, b: &Flow) -> f64 {
        a.own().iter().zip(b.own()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_steady_flow_is_the_published_one() {
        let flow = last(steady(32, f64::INFINITY, 1)).unwrap();
        assert!(ghia::difference(&flow) < 0.01);
        let mut turned = flow.clone();
        turned.v.iter_mut().for_each(|v| *v = -*v);
        assert!(ghia::difference(&turned) > 0.3);
    }

    #[test]
    fn time_steps_lead_to_the_steady_flow() {
        let steady_flow = last(steady(16, f64::INFINITY, 1)).unwrap();
        let [early, late] = [3, 30].map(|planes| last(steady(16, 2.0, planes)).unwrap());
        let [early, late] = [early, late].map(|flow| {
            let velocities = |flow: &Flow| Flow { p: flow.strip.zeros(), ..flow.clone() };
            distance(&velocities(&flow), &velocities(&steady_flow))
        });
        assert!(early > 1e-3 && late < 1e-6, "{early} {late}");
    }

    /// Backward Euler is of first order: half the step, half the error.
    #[test]
    fn shorter_steps_are_more_accurate() {
        let flow = |planes: usize| {
            let setting = Setting { lid: Lid::Oscillating, ..steady(16, 1.0 / planes as f64, planes) };
            let flow = last(setting).unwrap();
            Flow { p: flow.strip.zeros(), ..flow }
        };
        let [a, b, c] = [8, 16, 32].map(flow);
        let ratio = distance(&a, &b) / distance(&b, &c);
        assert!((1.7..2.3).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_does_not_converge_is_an_error() {
        let error = last(Setting { until: Until::Tolerance(1e-300), ..steady(8, 0.1, 1) }).unwrap_err().to_string();
        assert!(error.contains("planes 1 to 1: the residual is") && error.contains("after 200 V-cycles"), "{error}");
    }
}
