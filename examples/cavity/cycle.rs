//! The V-cycle in space: full approximation storage, with the exchanges between strips (Stoica, Sultan and Keyes 1994, 5.2.1).
//!
//! Each exchange has some work that does not need what it brings. Whether this hides the exchange is the space's affair.

use std::ops::RangeInclusive;

use super::grid::Strip;
use super::momentum::{self, Fluid};
use super::simple::Level;
use super::transfer;

/// Something for the left neighbour and for the right one, or from them.
pub(crate) type Edges = [Option<Vec<f64>>; 2];

/// The strips of a plane, this one and its neighbours.
pub(crate) trait Space {
    /// Sends edges, does some work, and returns what has come: where this strip sends to the left it gets as much from the right.
    fn exchange(&self, edges: Edges, work: impl FnOnce()) -> lathide::Result<Edges>;
}

/// A strip without neighbours.
pub(crate) struct Alone;

impl Space for Alone {
    fn exchange(&self, _: Edges, work: impl FnOnce()) -> lathide::Result<Edges> {
        work();
        Ok([None, None])
    }
}

/// How often the smoother sweeps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sweeps {
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) coarsest: usize,
}

pub(crate) const SWEEPS: Sweeps = Sweeps { before: 2, after: 2, coarsest: 20 };

/// The levels of a strip, the finest first: as many as leave it two columns and the cavity four.
pub(crate) fn levels(strip: Strip) -> Vec<Level> {
    let coarser =
        |strip: &Strip| (strip.columns.is_multiple_of(2) && strip.columns >= 4 && strip.n >= 8).then(|| strip.coarse());
    std::iter::successors(Some(strip), coarser).map(Level::new).collect()
}

/// Gets the ghost cells, and meanwhile begins with the left sides of the equations and their matrices.
pub(crate) fn apply(level: &mut Level, fluid: &Fluid, space: &impl Space) -> lathide::Result<()> {
    let outer = level.outer();
    ghosts(level, fluid, space, |level| level.apply(fluid, &level.inner()))?;
    outer.iter().for_each(|columns| level.apply(fluid, columns));
    Ok(())
}

/// Gets the ghost cells of the iterate during some work.
fn ghosts(level: &mut Level, fluid: &Fluid, space: &impl Space, work: impl FnOnce(&mut Level)) -> lathide::Result<()> {
    let columns = level.strip.columns;
    level.w.walls(fluid.lid);
    let edges = [1, columns].map(|i| Some(level.w.edge(i)));
    let come = space.exchange(edges, || work(level))?;
    for (i, edge) in [0, columns + 1].into_iter().zip(come) {
        edge.iter().for_each(|edge| level.w.set_edge(i, edge));
    }
    level.w.walls(fluid.lid);
    Ok(())
}

/// The second part of a sweep, after [`apply`], the residual and the change of u.
pub(crate) fn finish(level: &mut Level, space: &impl Space) -> lathide::Result<()> {
    let columns = level.strip.columns;
    let faces = [Some(level.left_faces()), None];
    let [_, faces] = space.exchange(faces, || level.change_v())?;
    faces.iter().for_each(|faces| level.set_right_faces(faces));
    level.predict();
    level.pressure();
    let edges = [1, columns].map(|i| Some(level.change_of_pressure(i)));
    let come = space.exchange(edges, || {})?;
    for (i, edge) in [0, columns + 1].into_iter().zip(come) {
        edge.iter().for_each(|edge| level.set_change_of_pressure(i, edge));
    }
    level.improve();
    let edge = [None, Some(level.change_of_pressure(columns))];
    let [edge, _] = space.exchange(edge, || level.correct(&(2..=columns)))?;
    edge.iter().for_each(|edge| level.set_change_of_pressure(0, edge));
    level.correct(&(1..=1));
    Ok(())
}

fn sweep(level: &mut Level, fluid: &Fluid, space: &impl Space) -> lathide::Result<()> {
    apply(level, fluid, space)?;
    level.subtract();
    level.change_u();
    finish(level, space)
}

/// A V-cycle, of which the first sweep has come as far as [`finish`].
pub(crate) fn cycle(levels: &mut [Level], fluid: &Fluid, space: &impl Space, sweeps: Sweeps) -> lathide::Result<()> {
    finish(&mut levels[0], space)?;
    let [finest, coarser @ ..] = levels else { return Ok(()) };
    if coarser.is_empty() {
        return (1..sweeps.coarsest).try_for_each(|_| sweep(finest, fluid, space));
    }
    (1..sweeps.before).try_for_each(|_| sweep(finest, fluid, space))?;
    apply(finest, fluid, space)?;
    finest.subtract();
    down(finest, &mut coarser[0], fluid, space)?;
    apply(&mut coarser[0], fluid, space)?;
    coarser[0].subtract();
    coarser[0].change_u();
    cycle(coarser, fluid, space, sweeps)?;
    up(&mut coarser[0], finest, fluid, space)?;
    (0..sweeps.after).try_for_each(|_| sweep(finest, fluid, space))
}

/// The iterate and the right side of the coarse level.
fn down(fine: &Level, coarse: &mut Level, fluid: &Fluid, space: &impl Space) -> lathide::Result<()> {
    let strip = fine.strip;
    let mut r = fine.r.clone();
    let edge = [None, Some(r.u[strip.column(strip.columns)].to_vec())];
    let [edge, _] = space.exchange(edge, || transfer::inject(&fine.w, &mut coarse.w))?;
    edge.iter().for_each(|edge| r.u[strip.column(0)].copy_from_slice(edge));
    ghosts(coarse, fluid, space, |coarse| momentum::apply(fluid, &coarse.w, &coarse.inner(), &mut coarse.f))?;
    coarse.outer().iter().for_each(|columns| momentum::apply(fluid, &coarse.w, columns, &mut coarse.f));
    transfer::restrict(&r, &(1..=coarse.strip.columns), &mut coarse.f);
    coarse.begun.clone_from(&coarse.w);
    Ok(())
}

/// The correction of the fine level.
fn up(coarse: &mut Level, fine: &mut Level, fluid: &Fluid, space: &impl Space) -> lathide::Result<()> {
    let inner: RangeInclusive<usize> = 3..=fine.strip.columns - 2;
    let columns = fine.strip.columns;
    ghosts(coarse, fluid, space, |coarse| transfer::prolong(&coarse.correction(), &inner, &mut fine.w))?;
    let correction = coarse.correction();
    // The two outermost columns on each side are made with ghost cells.
    transfer::prolong(&correction, &(1..=2), &mut fine.w);
    transfer::prolong(&correction, &(columns - 1..=columns), &mut fine.w);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rms(level: &Level) -> f64 {
        level.squares().iter().sum::<f64>().sqrt() / level.strip.n as f64
    }

    fn run(n: usize, reynolds: f64, rate: f64, cycles: usize) -> Vec<f64> {
        let fluid = Fluid { viscosity: 1.0 / reynolds, rate, lid: 1.0 };
        let mut levels = levels(Strip::of(n, 0, 1));
        let mut norms = Vec::new();
        for _ in 0..=cycles {
            let level = &mut levels[0];
            apply(level, &fluid, &Alone).unwrap();
            level.subtract();
            norms.push(rms(level));
            level.change_u();
            cycle(&mut levels, &fluid, &Alone, SWEEPS).unwrap();
        }
        norms
    }

    #[test]
    fn converges() {
        for (n, reynolds, rate) in [
            (16, 1., 0.),
            (32, 1., 0.),
            (64, 1.0, 0.),
            (16, 100., 0.),
            (32, 100., 0.),
            (64, 100., 0.),
            (128, 100., 0.),
            (64, 100., 1.),
            (64, 100., 20.),
            (64, 100., 1000.),
            (64, 1000., 20.),
        ] {
            let norms = run(n, reynolds, rate, 14);
            print!("{n} {reynolds} {rate}:");
            for pair in norms.windows(2) {
                print!(" {:.2}", pair[1] / pair[0]);
            }
            println!("  {:.2e} -> {:.2e}", norms[0], norms[14]);
        }
    }
}
