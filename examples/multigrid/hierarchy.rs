//! The levels of a multigrid cycle on one rank, and which edges it exchanges with whom (Matheson and Tarjan 1993, multigrid
//! algorithms). Pure.
//!
//! The finest level has `n` points per side, cut into squares or cubes, one for each rank of a grid of `q` ranks per side. Points
//! are counted 1 to `n`; point `n` is on the boundary, as is 0. Each level has every second point of the one before, on the same
//! ranks: so on the K = log2 q coarsest levels, with q, q/2, ... 2 points, a rank has one point or none, and neighbours are 1, 2,
//! 4 ... ranks apart.

use std::array::from_fn;
use std::ops::Range;
use std::rc::Rc;

use super::cube::{Block, Cube};

/// Where a rank is in the grid of ranks; ranks follow each other along the last dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place<const D: usize> {
    pub(crate) at: [usize; D],
    /// Ranks per side.
    pub(crate) of: usize,
}

impl<const D: usize> Place<D> {
    pub(crate) fn of_rank(rank: usize, of: usize) -> Self {
        Place { at: from_fn(|d| rank / of.pow((D - 1 - d) as u32) % of), of }
    }

    fn rank(self) -> u32 {
        self.at.iter().fold(0, |rank, x| rank * self.of + x) as u32
    }

    /// The one so many ranks away, if there is one.
    fn shifted(self, direction: Direction<D>, distance: usize) -> Option<Self> {
        let mut place = self;
        for (at, step) in place.at.iter_mut().zip(direction) {
            *at = at.checked_add_signed(step * distance as isize).filter(|at| *at < self.of)?;
        }
        Some(place)
    }
}

/// -1, 0 or 1 in each dimension.
type Direction<const D: usize> = [isize; D];

/// One message, or as many as its length takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge<const D: usize> {
    pub(crate) rank: u32,
    pub(crate) points: Block<D>,
}

/// The edges that a rank exchanges at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Exchange<const D: usize> {
    pub(crate) sends: Vec<Edge<D>>,
    pub(crate) receives: Vec<Edge<D>>,
    /// The own points that do not depend on what is received.
    pub(crate) interior: Block<D>,
}

/// What an exchange is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A sweep or a residual: the nearest layer of `u`, on all sides.
    Stencil,
    /// Full weighting: what of `r` belongs to others, corners too.
    Restriction,
    /// Interpolation: coarse points that belong to others.
    Interpolation,
}

/// One grid.
pub(crate) struct Level<const D: usize> {
    pub(crate) shape: Shape<D>,
    /// Of [`Purpose`], in its order.
    pub(crate) exchanges: [Rc<Exchange<D>>; 3],
    pub(crate) u: Vec<f64>,
    /// The right side times h².
    pub(crate) b: Vec<f64>,
    /// The residual times h²; going up, the correction at the points of the coarser grid.
    pub(crate) r: Vec<f64>,
    /// Where sweeps put their result.
    pub(crate) new: Vec<f64>,
}

impl<const D: usize> Level<D> {
    fn new(shape: Shape<D>) -> Self {
        let array = || vec![0.0; shape.cube.len()];
        let exchanges = [shape.stencil(), shape.restriction(), shape.interpolation()];
        let exchanges = exchanges.map(Rc::new);
        Level { shape, exchanges, u: array(), b: array(), r: array(), new: array() }
    }

    /// The array of which edges are exchanged.
    pub(crate) fn array(&mut self, purpose: Purpose) -> &mut Vec<f64> {
        if purpose == Purpose::Stencil { &mut self.u } else { &mut self.r }
    }
}

/// All levels, the finest first, down to 2 points per side, of which one is not on the boundary.
pub(crate) fn levels<const D: usize>(points: usize, place: Place<D>) -> Vec<Level<D>> {
    let sizes = std::iter::successors(Some(points), |points| (*points > 2).then(|| points / 2));
    sizes.map(|points| Level::new(Shape::new(points, place))).collect()
}

/// Which points of a grid a rank has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape<const D: usize> {
    pub(crate) place: Place<D>,
    /// Points of the whole grid per side.
    pub(crate) points: usize,
    pub(crate) cube: Cube<D>,
    /// The number of its first point in the whole grid, less 1.
    pub(crate) origin: [usize; D],
    /// Its points without those on the boundary; none, if it is idle.
    pub(crate) own: Block<D>,
    /// How many ranks neighbours are apart.
    distance: usize,
}

impl<const D: usize> Shape<D> {
    pub(crate) fn new(points: usize, place: Place<D>) -> Self {
        let (side, distance) = ((points / place.of).max(1), (place.of / points).max(1));
        let ranges = place.at.map(|at| range(points, place.of, at));
        let is_idle = ranges.iter().any(|range| range.is_empty());
        let origin = from_fn(|d| ranges[d].start - 1);
        let own = Block::of(from_fn(|d| if is_idle { 0 } else { ranges[d].len() }));
        Shape { place, points, cube: Cube { side }, origin, own, distance }
    }

    /// Whether a rank has more than one point per side.
    pub(crate) fn is_fine(&self) -> bool {
        self.cube.side > 1
    }

    /// The own points that the next coarser grid has too.
    pub(crate) fn even(&self) -> Block<D> {
        self.own.of_parity(self.origin, [0; D])
    }

    /// Where such a point is in the coarser grid's cube on the same rank.
    pub(crate) fn in_coarser(&self, coarser: &Self, point: [usize; D]) -> [usize; D] {
        from_fn(|d| (self.origin[d] + point[d]) / 2 - coarser.origin[d])
    }

    /// A rank in this direction, if there is one that has points.
    fn neighbour(&self, direction: Direction<D>) -> Option<u32> {
        let place = self.place.shifted(direction, self.distance)?;
        let has_points = place.at.iter().all(|at| !range(self.points, place.of, *at).is_empty());
        (self.own.len() > 0 && has_points).then(|| place.rank())
    }

    /// Own points next to the neighbour in this direction, and where its points stand: across, those of `block`.
    fn edges(&self, direction: Direction<D>, block: &Block<D>) -> [Block<D>; 2] {
        let layers = |low: usize, high: usize| {
            let layer = |d: usize| if direction[d] < 0 { low } else { high };
            let first = from_fn(|d| if direction[d] == 0 { block.first[d] } else { layer(d) });
            let count = from_fn(|d| if direction[d] == 0 { block.count[d] } else { 1 });
            Block { first, count, step: block.step }
        };
        [layers(1, self.cube.side), layers(0, self.cube.side + 1)]
    }

    /// The exchange in which edges go to `to` and come from `from`.
    fn exchange(
        &self,
        block: &Block<D>,
        to: impl Fn(&Direction<D>) -> bool,
        from: impl Fn(&Direction<D>) -> bool,
    ) -> Exchange<D> {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        let (mut low, mut high) = ([false; D], [false; D]);
        for direction in directions() {
            let Some(rank) = self.neighbour(direction) else { continue };
            let [own, ghosts] = self.edges(direction, block);
            if to(&direction) && own.len() > 0 {
                sends.push(Edge { rank, points: own });
            }
            if from(&direction) && ghosts.len() > 0 {
                receives.push(Edge { rank, points: ghosts });
                low.iter_mut().zip(direction).for_each(|(low, step)| *low |= step < 0);
                high.iter_mut().zip(direction).for_each(|(high, step)| *high |= step > 0);
            }
        }
        Exchange { sends, receives, interior: self.own.without(low, high) }
    }

    fn stencil(&self) -> Exchange<D> {
        let is_side = |direction: &Direction<D>| direction.iter().filter(|step| **step != 0).count() == 1;
        self.exchange(&self.own, is_side, is_side)
    }

    /// A rank with more than one point per side needs residuals of those behind it only, since its first point is odd, and its
    /// last one even. Of single points, the even ones need those of all around.
    fn restriction(&self) -> Exchange<D> {
        if self.is_fine() {
            let even = self.even();
            let across = Block::of(from_fn(|d| if even.count[d] > 0 { self.own.count[d] } else { 0 }));
            let before = |direction: &Direction<D>| direction.iter().all(|step| *step <= 0);
            let behind = |direction: &Direction<D>| direction.iter().all(|step| *step >= 0);
            return self.exchange(&across, before, behind);
        }
        self.exchange(&self.own, |to| self.leads_to_even(to), |_| self.even().len() > 0)
    }

    fn interpolation(&self) -> Exchange<D> {
        if self.is_fine() {
            let before = |direction: &Direction<D>| direction.iter().all(|step| *step <= 0);
            let behind = |direction: &Direction<D>| direction.iter().all(|step| *step >= 0);
            return self.exchange(&self.even(), behind, before);
        }
        self.exchange(&self.own, |_| self.even().len() > 0, |from| self.leads_to_even(from))
    }

    /// For a single point: whether the nearest even points are in this direction, among others.
    fn leads_to_even(&self, direction: &Direction<D>) -> bool {
        (0..D).all(|d| (self.origin[d] + 1) % 2 == usize::from(direction[d] != 0))
    }
}

/// The points of a rank in one dimension, without that on the boundary; none, if it has none.
fn range(points: usize, ranks: usize, at: usize) -> Range<usize> {
    let all = if points >= ranks {
        let side = points / ranks;
        at * side + 1..(at + 1) * side + 1
    } else {
        let distance = ranks / points;
        let point = (at + 1) / distance;
        point.max(1)..if (at + 1).is_multiple_of(distance) { point + 1 } else { point.max(1) }
    };
    all.start..all.end.min(points).max(all.start)
}

/// All but none.
fn directions<const D: usize>() -> impl Iterator<Item = Direction<D>> {
    let all = (0..3usize.pow(D as u32)).map(|number| from_fn(|d| (number / 3usize.pow(d as u32) % 3) as isize - 1));
    all.filter(|direction: &Direction<D>| direction.iter().any(|step| *step != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_all<const D: usize>(points: usize, per_side: usize) -> Vec<Vec<Level<D>>> {
        let ranks = per_side.pow(D as u32);
        (0..ranks).map(|rank| levels(points, Place::of_rank(rank, per_side))).collect()
    }

    /// Edges that one rank sends are those that the other one receives: as many, as long, of the same points of the whole grid.
    fn matches<const D: usize>(points: usize, per_side: usize) {
        let ranks = of_all::<D>(points, per_side);
        for (from, to) in (0..ranks.len()).flat_map(|from| (0..ranks.len()).map(move |to| (from, to))) {
            for (level, (sender, receiver)) in ranks[from].iter().zip(&ranks[to]).enumerate() {
                for purpose in 0..3 {
                    let of = |edges: &[Edge<D>], rank: usize, shape: &Shape<D>| -> Vec<Block<D>> {
                        let edges = edges.iter().filter(|edge| edge.rank == rank as u32);
                        let whole = |mut points: Block<D>| {
                            points.first.iter_mut().zip(shape.origin).for_each(|(first, origin)| *first += origin);
                            points
                        };
                        edges.map(|edge| whole(edge.points)).collect()
                    };
                    let sent = of(&sender.exchanges[purpose].sends, to, &sender.shape);
                    let received = of(&receiver.exchanges[purpose].receives, from, &receiver.shape);
                    assert_eq!(sent, received, "{points} points, level {level}, {purpose}: from {from} to {to}");
                    assert!(sent.len() <= 1, "the order of messages tells edges apart only if there is one");
                }
            }
        }
    }

    #[test]
    fn what_is_sent_is_what_is_received() {
        for (points, per_side) in [(4, 4), (8, 2), (16, 4), (8, 8)] {
            matches::<2>(points, per_side);
        }
        for (points, per_side) in [(4, 2), (8, 4)] {
            matches::<3>(points, per_side);
        }
    }

    #[test]
    fn every_point_has_one_rank() {
        for (points, per_side) in [(16, 4), (4, 4), (8, 1)] {
            for level in 0..of_all::<2>(points, 1)[0].len() {
                let ranks = of_all::<2>(points, per_side);
                let owned: usize = ranks.iter().map(|levels| levels[level].shape.own.len()).sum();
                assert_eq!(owned, ((points >> level) - 1).pow(2), "level {level}");
            }
        }
    }

    /// On the K levels with at most one point per rank, neighbours are 1, 2, 4 ... ranks apart.
    #[test]
    fn distances_double_on_coarse_levels() {
        let levels = levels::<2>(32, Place { at: [3, 3], of: 8 });
        let distances: Vec<usize> = levels.iter().map(|level| level.shape.distance).collect();
        assert_eq!(distances, [1, 1, 1, 2, 4]);
        let fine: Vec<bool> = levels.iter().map(|level| level.shape.is_fine()).collect();
        assert_eq!(fine, [true, true, false, false, false], "K = log2 8 coarse levels");
        let mut neighbours: Vec<u32> = levels[3].exchanges[0].receives.iter().map(|edge| edge.rank).collect();
        neighbours.sort_unstable();
        assert_eq!(neighbours, [8 + 3, 24 + 1, 24 + 5, 40 + 3], "two ranks away");
    }

    /// The words of an inner rank's exchanges for a point of an edge, as the module `model` says.
    #[test]
    fn words_of_an_inner_rank() {
        let words = |level: &Level<2>| {
            let sides = level.shape.cube.side as f64;
            level
                .exchanges
                .clone()
                .map(|exchange| exchange.receives.iter().map(|edge| edge.points.len()).sum::<usize>() as f64 / sides)
        };
        let levels = levels::<2>(1 << 12, Place { at: [1, 2], of: 4 });
        let [stencil, restriction, interpolation] = words(&levels[0]);
        assert_eq!(stencil, 4.0);
        assert!((restriction - 2.0).abs() < 2e-3 && (interpolation - 1.0).abs() < 2e-3);
        let inner: f64 =
            levels.iter().filter(|level| level.shape.is_fine()).enumerate().fold(0.0, |sum, (at, level)| {
                let [stencil, restriction, interpolation] = words(level);
                let exchanges = if at == 0 { 4.0 } else { 3.0 };
                sum + (exchanges * stencil + restriction + interpolation) * level.shape.cube.side as f64
            });
        assert!((inner / 1024.0 - 34.0).abs() < 0.1, "{inner}");
    }

    #[test]
    fn ranks_without_points_are_idle() {
        let levels = levels::<2>(8, Place { at: [0, 1], of: 4 });
        let [_, one, none] = &levels[..] else { panic!("three levels") };
        assert_eq!((one.shape.own.len(), none.shape.own.len()), (1, 0));
        assert!(none.exchanges.iter().all(|exchange| exchange.sends.is_empty() && exchange.receives.is_empty()));
        assert_eq!(
            one.exchanges[Purpose::Restriction as usize].sends.len(),
            1,
            "to the even point behind it, since the other one is on the boundary"
        );
    }
}
