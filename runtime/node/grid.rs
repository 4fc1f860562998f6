//! Cartesian grids of ranks.

use std::fmt;

use super::group::Group;
use crate::buffer::Element;
use crate::collective::Shift;
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::Handle;
use crate::ids::Rank;

/// The ranks of a group, arranged in a grid of `D` dimensions, each of which may be periodic. Ranks follow each other along the
/// last dimension first (row-major).
///
/// A grid costs no message. Its lines and planes are [groups](Group) of their own.
///
/// ```
/// use lathide::{Grid, Operator};
/// let node = lathide::init()?;
/// let grid = Grid::new(&node, Grid::balanced(node.size() as usize), [false, true])?;
/// let [row, column] = grid.coordinates();
/// assert_eq!(grid.rank_at([row, column]), Some(node.rank()));
/// let along_the_row = grid.line(1)?;                                   // the ranks of this row
/// assert_eq!(along_the_row.allreduce(&Operator::sum(), vec![1])?, [grid.dims()[1] as i32]);
/// let ghosts = grid.exchange([2, 1], vec![0.5f64; grid.edges([2, 1])])?;
/// assert_eq!(ghosts.len(), grid.edges([2, 1]));
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
#[derive(Clone)]
pub struct Grid<const D: usize> {
    group: Group,
    dims: [usize; D],
    periodic: [bool; D],
}

impl<const D: usize> Grid<D> {
    /// Arranges the ranks of `group`, such as a [`Node`](crate::Node), in a grid with `dims[d]` ranks along dimension `d`. A
    /// periodic dimension is a ring. Not a collective, but all ranks of the group should give the same.
    ///
    /// # Errors
    /// [`Misuse::Group`] if the product of `dims` is not the size of the group.
    pub fn new(group: &Group, dims: [usize; D], periodic: [bool; D]) -> Result<Self> {
        let product = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
        if product != Some(group.size() as usize) {
            let (rank, sides) = (group.job_rank(), dims.map(|dim| dim.to_string()).join(" x "));
            let why =
                format!("a grid of {sides} does not have as many places as its group has ranks, {}", group.size());
            return group.noting(Err(Misuse::Group { rank, why }.into()));
        }
        Ok(Grid { group: group.clone(), dims, periodic })
    }

    /// Dimensions for `size` ranks whose lengths differ as little as possible, the longest first.
    ///
    /// ```
    /// assert_eq!(lathide::Grid::balanced(12), [4, 3]);
    /// assert_eq!(lathide::Grid::balanced(12), [3, 2, 2]);
    /// assert_eq!(lathide::Grid::balanced(7), [7, 1]);
    /// ```
    pub fn balanced(size: usize) -> [usize; D] {
        let mut best = None;
        let mut dims = [1; D];
        factorize(size.max(1), usize::MAX, &mut dims, 0, &mut best);
        best.map_or(dims, |(_, dims)| dims)
    }

    /// The ranks that are arranged.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// How many ranks there are along each dimension.
    pub fn dims(&self) -> [usize; D] {
        self.dims
    }

    /// Where this rank is.
    pub fn coordinates(&self) -> [usize; D] {
        self.place(self.group.rank())
    }

    /// Where a rank of the group is; `None` if the group has no such rank.
    pub fn coordinates_of(&self, rank: impl Into<Rank>) -> Option<[usize; D]> {
        let rank = rank.into();
        (rank.0 < self.group.size()).then(|| self.place(rank))
    }

    /// The rank of the group at these coordinates; `None` outside the grid. Those of a periodic dimension go round.
    pub fn rank_at(&self, coordinates: [usize; D]) -> Option<Rank> {
        let mut rank = 0;
        for ((at, dim), periodic) in coordinates.into_iter().zip(self.dims).zip(self.periodic) {
            let at = if periodic { at % dim } else { at };
            if at >= dim {
                return None;
            }
            rank = rank * dim + at;
        }
        Some(Rank(rank as u32))
    }

    /// Where a shift by `steps` along a dimension comes from and goes to, for this rank: the rank `steps` before it and the rank
    /// `steps` behind it. `None` beyond the edge of a dimension that is not periodic. Ranks are those of the group.
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn shift(&self, dimension: usize, steps: i64) -> (Option<Rank>, Option<Rank>) {
        let at = |steps: i128| {
            let (mut place, dim) = (self.coordinates(), self.dims[dimension] as i128);
            let moved = place[dimension] as i128 + steps;
            let moved = if self.periodic[dimension] { moved.rem_euclid(dim) } else { moved };
            place[dimension] = usize::try_from(moved).ok()?;
            self.rank_at(place)
        };
        (at(-i128::from(steps)), at(i128::from(steps)))
    }

    /// The group of the ranks on this rank's line along a dimension: those that differ from it in this coordinate only, ordered by
    /// it. In a grid of rows and columns, `line(1)` is the row. A blocking collective of the grid's group.
    ///
    /// # Errors
    /// As all collectives; [`Misuse::Group`] if there is no such dimension.
    pub fn line(&self, dimension: usize) -> Result<Group> {
        self.check(dimension)?;
        let mut place = self.coordinates();
        let key = std::mem::take(&mut place[dimension]);
        let start = self.rank_at(place).unwrap_or(Rank(0));
        self.group.split(start.0, key as u32)
    }

    /// The group of the ranks that have this rank's coordinate in a dimension, ordered as in the grid. In a grid of three
    /// dimensions it is a plane, in one of two a line. A blocking collective of the grid's group.
    ///
    /// # Errors
    /// As all collectives; [`Misuse::Group`] if there is no such dimension.
    pub fn plane(&self, dimension: usize) -> Result<Group> {
        self.check(dimension)?;
        self.group.split(self.coordinates()[dimension] as u32, self.group.rank().0)
    }

    /// The shifts of an exchange of edges with the neighbours in all dimensions, `counts[d]` elements with each of dimension
    /// `d`: in the order of dimensions, first to the neighbour before this rank, then to the one behind it. Of each, the
    /// opposite neighbour's comes in. At an edge of the grid the side without a neighbour is missing.
    pub fn shifts(&self, counts: [usize; D]) -> Vec<Shift> {
        let with = |rank: Option<Rank>, count: usize| rank.map(|rank| (rank, count));
        let of = |(dimension, count): (usize, usize)| {
            let (before, behind) = self.shift(dimension, 1);
            let down = Shift { to: with(before, count), from: with(behind, count) };
            [down, Shift { to: with(behind, count), from: with(before, count) }]
        };
        counts.into_iter().enumerate().flat_map(of).collect()
    }

    /// How many elements this rank sends in an exchange of edges; it receives as many.
    pub fn edges(&self, counts: [usize; D]) -> usize {
        self.shifts(counts).iter().filter_map(|shift| shift.to).map(|(_, count)| count).sum()
    }

    /// Exchanges edges with the neighbours in all dimensions ([`Group::exchange`] of [`Grid::shifts`]): `edges` holds what is
    /// sent, in that order, one after the other. The result holds what comes from the neighbours: for each dimension first
    /// from the one behind this rank, then from the one before it.
    ///
    /// # Errors
    /// As [`Group::exchange`].
    pub fn exchange<T: Element>(&self, counts: [usize; D], edges: Vec<T>) -> Result<Vec<T>> {
        self.group.exchange(&self.shifts(counts), edges)
    }

    /// [`Grid::exchange`] without waiting.
    ///
    /// # Errors
    /// As [`Group::exchange`].
    pub fn initexchange<T: Element>(&self, counts: [usize; D], edges: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.group.initexchange(&self.shifts(counts), edges)
    }

    fn place(&self, rank: Rank) -> [usize; D] {
        let (mut place, mut rest) = ([0; D], rank.index());
        for (at, dim) in place.iter_mut().zip(self.dims).rev() {
            *at = rest % dim;
            rest /= dim;
        }
        place
    }

    fn check(&self, dimension: usize) -> Result<()> {
        if dimension < D {
            return Ok(());
        }
        let why = format!("dimension {dimension} does not exist; this grid has {D}, counted from 0");
        self.group.noting(Err(Misuse::Group { rank: self.group.job_rank(), why }.into()))
    }
}

impl<const D: usize> fmt::Debug for Grid<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = self.dims.map(|dim| dim.to_string()).join(" x ");
        write!(f, "Grid({:?} of {sides})", self.coordinates())
    }
}

/// Tries all lengths of the dimensions from `at` on whose product is `rest`, none longer than `most`. `best` is the least sum so far,
/// of all dimensions.
fn factorize<const D: usize>(
    rest: usize,
    most: usize,
    dims: &mut [usize; D],
    at: usize,
    best: &mut Option<(usize, [usize; D])>,
) {
    if at == D {
        let sum = dims.iter().sum();
        if rest == 1 && best.is_none_or(|(least, _)| sum < least) {
            *best = Some((sum, *dims));
        }
        return;
    }
    for length in (1..=rest.min(most)).filter(|length| rest.is_multiple_of(*length)) {
        dims[at] = length;
        factorize(rest / length, length, dims, at + 1, best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_balanced() {
        for size in 1..=200usize {
            let two: [usize; 2] = Grid::balanced(size);
            assert!(two[0] * two[1] == size && two[0] >= two[1], "{size}: {two:?}");
            let root = (1..=size).rev().find(|side| side * side <= size && size % side == 0).expect("1 is one");
            assert_eq!(two[1], root, "{size}");
            let three: [usize; 3] = Grid::balanced(size);
            assert!(three.iter().product::<usize>() == size && three.is_sorted_by(|one, next| one >= next));
        }
        assert_eq!(Grid::balanced(64), [4, 4, 4]);
        assert_eq!(Grid::balanced(100), [10, 10]);
        assert_eq!(Grid::balanced(24), [4, 3, 2]);
        assert_eq!(Grid::balanced(5), [5]);
    }
}
