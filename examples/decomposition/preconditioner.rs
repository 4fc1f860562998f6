//! The wire-basket preconditioner (Bramble, Pasciak and Schatz; Stoica, Sultan and Keyes 1994, section 5.1.1).
//!
//! 1. The interiors are solved, with 0 on the wire basket.
//! 2. What remains on the edges, and the sums of it along the four edges that meet at each crosspoint, are the right sides of edges
//!    and crosspoints. Edges are solved by their owners, crosspoints by every rank.
//! 3. Their solution is continued into the interiors, which are solved again for that, and the two are added.
//!
//! While messages travel, the solution of step 1 is transformed back.

use std::ops::Range;

use super::interior::Interior;
use super::layout::{Layout, SIDES, Side};
use super::messages::{Arrived, Kind, Messages, Pending};
use super::wires::{Crosspoints, Edges};

pub(super) struct Preconditioner {
    interior: Interior,
    edges: Edges,
    crosspoints: Crosspoints,
    /// Of each subdomain of this rank.
    work: Vec<Work>,
}

/// What a subdomain needs for one application.
struct Work {
    subdomain: usize,
    /// The interior: a spectrum, then its solution.
    inner: Vec<f64>,
    /// The same of what is continued from the wire basket.
    continued: Vec<f64>,
    /// Next to the sides west, south, east, north: the interior's solution, then the values on these sides.
    sides: [Vec<f64>; 4],
    /// The right side at the own crosspoint, if there is one.
    crosspoint: Option<(usize, f64)>,
}

impl Work {
    fn side(&self, side: Side) -> Vec<f64> {
        self.sides[side as usize].clone()
    }
}

impl Preconditioner {
    pub(super) fn new(layout: &Layout, own: Range<usize>) -> Self {
        let points = (layout.n - 1) * (layout.n - 1);
        let work = |subdomain| Work {
            subdomain,
            inner: vec![0.0; points],
            continued: vec![0.0; points],
            sides: Default::default(),
            crosspoint: None,
        };
        Preconditioner {
            interior: Interior::new(layout.n),
            edges: Edges::new(layout.n),
            crosspoints: Crosspoints::new(layout),
            work: own.map(work).collect(),
        }
    }

    /// Applies it to a vector of all subdomains of this rank. All ranks call it together.
    ///
    /// Edges travel without the crosspoints' share of their values: every rank can add that, and need not wait for it.
    pub(super) fn apply(&mut self, messages: &Messages, r: &[Vec<f64>], z: &mut [Vec<f64>]) -> lathide::Result<()> {
        let n = messages.layout.n;
        for (work, r) in self.work.iter_mut().zip(r) {
            self.interior.spectrum(r, &mut work.inner);
            work.sides = self.interior.next_to_sides(&work.inner);
        }
        let contributions = messages.start(Kind::B, |s, side| of(&self.work, s).side(side))?;
        self.work.iter_mut().for_each(|work| self.interior.back(&mut work.inner));
        let contributions = contributions.finish()?;
        self.edge_residuals(&messages.layout, r, contributions);

        let arms = self.arms(messages)?;
        self.work.iter_mut().flat_map(|work| &mut work.sides[2..]).for_each(|edge| self.edges.solve(edge));
        let solutions = messages.start(Kind::C, |s, side| of(&self.work, s).side(side))?;
        self.back_rows(0..n / 2);
        for (s, _, arm) in arms.finish()? {
            of_mut(&mut self.work, s).crosspoint.iter_mut().for_each(|(_, sum)| *sum += arm[0]);
        }
        let own: Vec<(usize, f64)> = self.work.iter().filter_map(|work| work.crosspoint).collect();
        let values = messages.start_crosspoints(&own)?;
        self.back_rows(n / 2..n - 1);

        for (s, side, solution) in solutions.finish()? {
            of_mut(&mut self.work, s).sides[side as usize] = solution;
        }
        let mut values = values.finish()?;
        self.crosspoints.solve(&mut values);
        for (at, z) in z.iter_mut().enumerate() {
            self.continue_into(&messages.layout, at, &values, z);
        }
        Ok(())
    }

    /// The right sides of the own edges, east and north, and what the own crosspoint's has from that point; 0 on other sides.
    fn edge_residuals(&mut self, layout: &Layout, r: &[Vec<f64>], contributions: Vec<Arrived>) {
        let n = layout.n;
        for (work, r) in self.work.iter_mut().zip(r) {
            for side in [Side::West, Side::South] {
                work.sides[side as usize] = vec![0.0; n - 1];
            }
            for side in [Side::East, Side::North] {
                let edge = &mut work.sides[side as usize];
                if layout.neighbour(work.subdomain, side).is_none() {
                    edge.fill(0.0);
                    continue;
                }
                let (first, step) = if side == Side::East { (n - 1, n) } else { (n * (n - 1), 1) };
                edge.iter_mut().zip(r[first..].iter().step_by(step)).for_each(|(edge, r)| *edge += r);
            }
            work.crosspoint = layout.own_crosspoint(work.subdomain).map(|crosspoint| (crosspoint, r[n * n - 1]));
        }
        for (s, side, contribution) in contributions {
            let edge = &mut of_mut(&mut self.work, s).sides[side as usize];
            edge.iter_mut().zip(contribution).for_each(|(edge, more)| *edge += more);
        }
    }

    /// Sums along the own edges: towards their north and east ends for the own crosspoint, towards the others for the neighbours'.
    fn arms(&mut self, messages: &Messages) -> lathide::Result<Pending<Vec<Arrived>>> {
        for work in &mut self.work {
            if let Some((_, sum)) = &mut work.crosspoint {
                *sum += self.edges.arms(&work.sides[Side::East as usize])[1];
                *sum += self.edges.arms(&work.sides[Side::North as usize])[1];
            }
        }
        messages.start(Kind::Arm, |s, towards| {
            let edge = if towards == Side::South { Side::East } else { Side::North };
            vec![self.edges.arms(&of(&self.work, s).sides[edge as usize])[0]]
        })
    }

    fn back_rows(&mut self, rows: Range<usize>) {
        self.work.iter_mut().for_each(|work| self.interior.back_rows(&mut work.inner, rows.clone()));
    }

    /// The result on one of this rank's subdomains, when all values on its sides are known but for the crosspoints' share.
    fn continue_into(&mut self, layout: &Layout, at: usize, crosspoints: &[f64], z: &mut [f64]) {
        let (n, work) = (layout.n, &mut self.work[at]);
        for side in SIDES {
            if layout.neighbour(work.subdomain, side).is_some() {
                let ends = layout.ends(work.subdomain, side).map(|end| end.map_or(0.0, |end| crosspoints[end]));
                self.edges.add_linear(&mut work.sides[side as usize], ends);
            }
        }
        let [_, _, east, north] = &work.sides;
        z[n - 1..].iter_mut().step_by(n).zip(east).for_each(|(z, east)| *z = *east);
        z[n * (n - 1)..].iter_mut().zip(north).for_each(|(z, north)| *z = *north);
        z[n * n - 1] = layout.own_crosspoint(work.subdomain).map_or(0.0, |own| crosspoints[own]);

        self.interior.spectrum_of_sides(&mut work.sides, &mut work.continued);
        self.interior.back(&mut work.continued);
        self.interior.back_rows(&mut work.continued, 0..n - 1);
        let rows = work.inner.chunks_exact(n - 1).zip(work.continued.chunks_exact(n - 1));
        for (z, (inner, continued)) in z.chunks_exact_mut(n).zip(rows) {
            z.iter_mut().zip(inner.iter().zip(continued)).for_each(|(z, (inner, continued))| *z = inner + continued);
        }
    }
}

/// The work of a subdomain of this rank. They are consecutive.
fn of(work: &[Work], subdomain: usize) -> &Work {
    &work[subdomain - work[0].subdomain]
}

fn of_mut(work: &mut [Work], subdomain: usize) -> &mut Work {
    let first = work[0].subdomain;
    &mut work[subdomain - first]
}
