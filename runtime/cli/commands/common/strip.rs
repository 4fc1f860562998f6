//! One of the two strips of the heat equation's domain (Strumpen 1994, section 2 and Fig. 1), with ghost column.
//!
//! Column 0 is the boundary to the other strip, the last column lies at the edge of the domain: one strip is the
//! other's mirror image, and both run the same code. Beyond the domain the temperature is 0.
//!
//! To reach any ratio of calculation to communication with few columns, every point carries `work`: besides
//! diffusing, the plate loses heat to its surroundings, and this linear cooling is integrated in `work` explicit
//! substeps per time step (operator splitting: first the stencil, then the cooling of each point for itself).
//!
//! A strip may have `k` ghost columns instead of one. They stand before its own and are calculated with them, as far as
//! they are known: one less in each step. So one exchange of `k` columns is enough for `k` steps.

use std::mem::{swap, take};
use std::ops::Range;

use lathide::bytemuck::{cast_slice, cast_slice_mut};

/// r_x and r_y of section 2; the explicit scheme is stable while their sum is at most 1/2.
const RX: f64 = 0.2;
const RY: f64 = 0.15;
/// The temperature around the plate, and the share of the difference to it that is lost in one time step.
const SURROUNDINGS: f64 = 20.0;
const LOSS: f64 = 0.01;
/// Rows that are taken through both parts of a step while they are in the first-level cache.
const BLOCK: usize = 1024;
/// Points that are cooled together in vector registers.
const LANES: usize = 16;

/// Which half of the domain a strip is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The size of a strip and what a point costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Shape {
    /// Points per column: the length of a message in elements.
    pub(crate) rows: usize,
    /// Columns per strip, at least 1.
    pub(crate) columns: usize,
    /// Substeps of cooling per point and time step.
    pub(crate) work: u32,
}

/// The points of one strip at two consecutive time steps.
pub(crate) struct Strip {
    shape: Shape,
    side: Side,
    /// How many ghost columns `old` and `new` begin with.
    ghosts: usize,
    old: Vec<Vec<f64>>,
    new: Vec<Vec<f64>>,
    /// The other strip's column before all these at the older time step: its boundary column, if there are no ghost columns.
    ghost: Vec<f64>,
    /// What is beyond the last column.
    outside: Vec<f64>,
}

impl Strip {
    /// A strip at time step 0.
    pub(crate) fn new(shape: Shape, side: Side) -> Self {
        Self::with_ghosts(shape, side, 0)
    }

    /// The same with so many ghost columns before its own, at most as many as these.
    pub(crate) fn with_ghosts(shape: Shape, side: Side, ghosts: usize) -> Self {
        let columns = || vec![vec![0.0; shape.rows]; ghosts + shape.columns];
        let mut strip = Strip {
            shape,
            side,
            ghosts,
            old: columns(),
            new: columns(),
            ghost: vec![0.0; shape.rows],
            outside: vec![0.0; shape.rows],
        };
        strip.restart(shape.work);
        // Touched here, so that no measurement pays for the first use of the memory.
        for column in strip.new.iter_mut().chain([&mut strip.outside]) {
            column.fill(0.0);
        }
        strip
    }

    /// Back to time step 0, which both sides know: nothing is sent for it.
    pub(crate) fn restart(&mut self, work: u32) {
        self.shape.work = work;
        let other = if self.side == Side::Left { Side::Right } else { Side::Left };
        for (at, column) in self.old.iter_mut().enumerate() {
            match at.checked_sub(self.ghosts) {
                Some(distance) => start(column, self.side, distance),
                None => start(column, other, self.ghosts - 1 - at),
            }
        }
        start(&mut self.ghost, other, self.ghosts);
    }

    /// Its size and work.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// All columns of the strip.
    pub(crate) fn all(&self) -> Range<usize> {
        0..self.shape.columns
    }

    /// The columns whose new values do not depend on the ghost column and are not sent.
    pub(crate) fn interior(&self) -> Range<usize> {
        1..self.shape.columns
    }

    /// The column that is sent.
    pub(crate) fn boundary(&self) -> Range<usize> {
        0..1
    }

    /// With ghost columns, in a step after their exchange: the columns that do not depend on it.
    pub(crate) fn independent(&self, step: usize) -> Range<usize> {
        (self.ghosts + step).min(self.old.len())..self.old.len()
    }

    /// The rest of those that can be known then, ghost columns among them.
    pub(crate) fn dependent(&self, step: usize) -> Range<usize> {
        step..self.independent(step).start
    }

    /// Copies the columns that are the other strip's ghost columns, the boundary first.
    pub(crate) fn copy_edge(&self, edge: &mut [f64]) {
        let own = &self.old[self.ghosts..2 * self.ghosts];
        edge.chunks_exact_mut(self.shape.rows).zip(own).for_each(|(copy, column)| copy.copy_from_slice(column));
    }

    /// Copies what the other strip's edge is to the ghost columns.
    pub(crate) fn copy_to_ghosts(&mut self, edge: &[f64]) {
        let ghosts = self.old[..self.ghosts].iter_mut().rev();
        edge.chunks_exact(self.shape.rows).zip(ghosts).for_each(|(copy, column)| column.copy_from_slice(copy));
    }

    /// Calculates the new values of some columns. Every version of the program calls this one function, so that
    /// the compiler cannot favour one of them.
    #[inline(never)]
    pub(crate) fn calculate(&mut self, columns: Range<usize>) {
        let cooling = LOSS / f64::from(self.shape.work.max(1));
        for c in columns {
            let towards = if c == 0 { &self.ghost } else { &self.old[c - 1] };
            let away = self.old.get(c + 1).unwrap_or(&self.outside);
            let new = &mut self.new[c];
            for first in (0..self.shape.rows).step_by(BLOCK) {
                let rows = first..(first + BLOCK).min(self.shape.rows);
                diffuse(new, towards, &self.old[c], away, rows.clone());
                cool(&mut new[rows], cooling, self.shape.work);
            }
        }
    }

    /// Takes the new boundary column out, to be sent; [`put_boundary`](Self::put_boundary) brings it back.
    pub(crate) fn take_boundary(&mut self) -> Vec<f64> {
        take(&mut self.new[0])
    }

    /// Puts the sent column back into its place.
    pub(crate) fn put_boundary(&mut self, column: Vec<f64>) {
        self.new[0] = column;
    }

    /// Takes the ghost column's buffer out, to be filled.
    pub(crate) fn take_ghost(&mut self) -> Vec<f64> {
        take(&mut self.ghost)
    }

    /// Puts the filled ghost column back.
    pub(crate) fn put_ghost(&mut self, column: Vec<f64>) {
        self.ghost = column;
    }

    /// What is sent, and where to put what is received, as bytes.
    pub(crate) fn halo(&mut self) -> (&[u8], &mut [u8]) {
        (cast_slice(&self.new[0]), cast_slice_mut(&mut self.ghost))
    }

    /// The new time step becomes the older one.
    pub(crate) fn advance(&mut self) {
        swap(&mut self.old, &mut self.new);
    }

    /// A number that differs if any bit of any point differs in value or place.
    pub(crate) fn checksum(&self) -> u64 {
        let mut sum = 0_u64;
        for column in &self.old[self.ghosts..] {
            for value in column {
                sum = (sum.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
        sum
    }
}

/// Both strips calculated by one process, without any message: what every version must reproduce to the bit.
/// Returns the checksums of the left and the right strip.
pub(crate) fn sequential(shape: Shape, steps: u32) -> [u64; 2] {
    let mut strips = [Strip::new(shape, Side::Left), Strip::new(shape, Side::Right)];
    for _ in 0..steps {
        for strip in &mut strips {
            strip.calculate(strip.all());
        }
        for strip in &mut strips {
            strip.advance();
        }
        let [left, right] = &mut strips;
        left.ghost.copy_from_slice(&right.old[0]);
        right.ghost.copy_from_slice(&left.old[0]);
    }
    strips.map(|strip| strip.checksum())
}

/// Time step 0 of the column at this distance from the middle of the domain.
fn start(column: &mut [f64], side: Side, distance: usize) {
    let phase = 2 * distance + side as usize;
    for (row, value) in column.iter_mut().enumerate() {
        *value = ((row * 31 + phase * 17) % 101) as f64;
    }
}

/// The five-point stencil on some rows of a column.
fn diffuse(new: &mut [f64], towards: &[f64], here: &[f64], away: &[f64], rows: Range<usize>) {
    let stencil = |towards: f64, away: f64, above: f64, here: f64, below: f64| {
        RX * (towards + away) + (1.0 - 2.0 * RX - 2.0 * RY) * here + RY * (above + below)
    };
    let last = here.len() - 1;
    let inner = rows.start.max(1)..rows.end.min(last);
    for row in [0, last] {
        if rows.contains(&row) {
            let above = if row == 0 { 0.0 } else { here[row - 1] };
            let below = if row == last { 0.0 } else { here[row + 1] };
            new[row] = stencil(towards[row], away[row], above, here[row], below);
        }
    }
    if inner.is_empty() {
        return;
    }
    let above = &here[inner.start - 1..inner.end - 1];
    let below = &here[inner.start + 1..inner.end + 1];
    let sides = towards[inner.clone()].iter().zip(&away[inner.clone()]);
    let line = above.iter().zip(&here[inner.clone()]).zip(below);
    for ((new, (towards, away)), ((above, here), below)) in new[inner].iter_mut().zip(sides).zip(line) {
        *new = stencil(*towards, *away, *above, *here, *below);
    }
}

/// `work` substeps of linear cooling at every point.
fn cool(points: &mut [f64], cooling: f64, work: u32) {
    let (groups, rest) = points.as_chunks_mut::<LANES>();
    for group in groups {
        // A copy, so that it stays in registers over all substeps.
        let mut values = *group;
        for _ in 0..work {
            for value in &mut values {
                *value += cooling * (SURROUNDINGS - *value);
            }
        }
        *group = values;
    }
    for value in rest {
        for _ in 0..work {
            *value += cooling * (SURROUNDINGS - *value);
        }
    }
}

#[cfg(test)]
#[path = "strip_tests.rs"]
mod tests;
