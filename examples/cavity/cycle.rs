//! The V-cycle in space: full approximation storage, with the exchanges between strips (Stoica, Sultan and Keyes 1994, 5.2.1).
//!
//! Each exchange has some work that does not need what it brings. Whether this hides the exchange is the space's affair.

use std::ops::RangeInclusive;

use super::grid::Strip;
use super::momentum::Fluid;
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

/// Sweeps of the smoother before the coarse levels and after them: V(2, 2).
const BEFORE: usize = 2;
const AFTER: usize = 2;

/// Sweeps on the coarsest level, of `n` x `n` cells, that solve it well enough. Strips make it finer than necessary.
fn coarsest(n: usize) -> usize {
    (3 * n).max(16)
}

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
    let pressures = [None, Some(level.last_pressures())];
    let [pressures, _] = space.exchange(pressures, || level.correct(&(2..=columns)))?;
    pressures.iter().for_each(|pressures| level.set_left_pressures(pressures));
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
pub(crate) fn cycle(levels: &mut [Level], fluid: &Fluid, space: &impl Space) -> lathide::Result<()> {
    finish(&mut levels[0], space)?;
    let [finest, coarser @ ..] = levels else { return Ok(()) };
    if coarser.is_empty() {
        return (1..coarsest(finest.strip.n)).try_for_each(|_| sweep(finest, fluid, space));
    }
    (1..BEFORE).try_for_each(|_| sweep(finest, fluid, space))?;
    apply(finest, fluid, space)?;
    finest.subtract();
    down(finest, &mut coarser[0], fluid, space)?;
    coarser[0].subtract();
    coarser[0].change_u();
    cycle(coarser, fluid, space)?;
    up(&mut coarser[0], finest, fluid, space)?;
    (0..AFTER).try_for_each(|_| sweep(finest, fluid, space))
}

/// The iterate and the right side of the coarse level, and the left sides that its first sweep begins with.
fn down(fine: &mut Level, coarse: &mut Level, fluid: &Fluid, space: &impl Space) -> lathide::Result<()> {
    let strip = fine.strip;
    let edge = [None, Some(fine.r.u[strip.column(strip.columns)].to_vec())];
    let [edge, _] = space.exchange(edge, || transfer::inject(&fine.w, &mut coarse.w))?;
    edge.iter().for_each(|edge| fine.r.u[strip.column(0)].copy_from_slice(edge));
    apply(coarse, fluid, space)?;
    coarse.f.clone_from(&coarse.r);
    transfer::restrict(&fine.r, &(1..=coarse.strip.columns), &mut coarse.f);
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

    /// The residuals before each cycle, from rest.
    fn residuals(n: usize, reynolds: f64, rate: f64, cycles: usize) -> Vec<f64> {
        let fluid = Fluid { viscosity: 1.0 / reynolds, rate, lid: 1.0 };
        let mut levels = levels(Strip::of(n, 0, 1));
        let mut residuals = Vec::new();
        for _ in 0..cycles {
            let level = &mut levels[0];
            apply(level, &fluid, &Alone).unwrap();
            level.subtract();
            residuals.push(level.squares().sqrt() / n as f64);
            level.change_u();
            cycle(&mut levels, &fluid, &Alone).unwrap();
        }
        residuals
    }

    /// From creeping flow to Reynolds number 1000, and from steady flow to small time steps.
    #[test]
    fn a_cycle_reduces_the_residual_to_a_third_at_most() {
        for (reynolds, rate) in [(1.0, 0.0), (100.0, 0.0), (100.0, 1.0), (100.0, 20.0), (100.0, 1000.0), (1000.0, 20.0)]
        {
            for n in [8, 16, 32, 64] {
                let residuals = residuals(n, reynolds, rate, 9);
                for pair in residuals.windows(2) {
                    assert!(pair[1] < pair[0] / 3.0, "n = {n}, Re = {reynolds}, 1/dt = {rate}: {residuals:?}");
                }
            }
        }
    }

    #[test]
    fn every_strip_has_two_columns_and_the_cavity_four() {
        for (n, px, expected) in [(64, 1, 4), (64, 2, 4), (64, 4, 8), (64, 32, 64), (48, 3, 6), (8, 1, 4)] {
            let levels = levels(Strip::of(n, px - 1, px));
            let last = levels.last().unwrap().strip;
            assert_eq!((last.n, last.columns, last.is_last()), (expected, expected / px, true), "{n} in {px} strips");
        }
    }
}
