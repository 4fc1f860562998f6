//! The unit square cut into square subdomains: their neighbours, their ranks, and who owns which points.
//!
//! The grid has `side * n` cells per side, a subdomain `n`. Subdomain `(i, j)` owns the points `i n + 1 ..= i n + n` of each
//! row and `j n + 1 ..= j n + n` of each column: its interior, its east edge, its north edge, and the crosspoint where these
//! meet. Where it borders on the boundary of the square, there is no edge; the points there are no unknowns and stay 0.

use std::ops::Range;

/// A side of a subdomain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    West,
    South,
    East,
    North,
}

pub(super) const SIDES: [Side; 4] = [Side::West, Side::South, Side::East, Side::North];

impl Side {
    pub(super) fn opposite(self) -> Self {
        SIDES[(self as usize + 2) % 4]
    }
}

/// Square subdomains, numbered row by row from the south-west, and the ranks that carry them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Subdomains per side of the square.
    pub(super) side: usize,
    /// Cells per side of a subdomain.
    pub(super) n: usize,
    /// Of the job, at most one per subdomain.
    pub(super) ranks: usize,
}

impl Layout {
    pub(super) fn subdomains(&self) -> usize {
        self.side * self.side
    }

    /// Cells per side of the square.
    pub(super) fn cells(&self) -> usize {
        self.side * self.n
    }

    /// The subdomains of a rank: consecutive ones, and as many as of any other rank, or one more or less.
    pub(super) fn of_rank(&self, rank: usize) -> Range<usize> {
        let start = |rank: usize| (rank * self.subdomains()).div_ceil(self.ranks);
        start(rank)..start(rank + 1)
    }

    /// Which rank a subdomain is on.
    pub(super) fn rank_of(&self, subdomain: usize) -> usize {
        subdomain * self.ranks / self.subdomains()
    }

    /// A subdomain's column and row.
    pub(super) fn place(&self, subdomain: usize) -> (usize, usize) {
        (subdomain % self.side, subdomain / self.side)
    }

    /// The subdomain on the other side of an edge; `None` at the boundary of the square.
    pub(super) fn neighbour(&self, subdomain: usize, side: Side) -> Option<usize> {
        let (i, j) = self.place(subdomain);
        match side {
            Side::West => (i > 0).then(|| subdomain - 1),
            Side::South => (j > 0).then(|| subdomain - self.side),
            Side::East => (i + 1 < self.side).then_some(subdomain + 1),
            Side::North => (j + 1 < self.side).then_some(subdomain + self.side),
        }
    }

    pub(super) fn crosspoints(&self) -> usize {
        (self.side - 1) * (self.side - 1)
    }

    /// The number of the crosspoint `(i, j)`, counted in subdomains from the south-west; `None` on the boundary of the square.
    pub(super) fn crosspoint(&self, (i, j): (usize, usize)) -> Option<usize> {
        let inner = 1..self.side;
        (inner.contains(&i) && inner.contains(&j)).then(|| (j - 1) * (self.side - 1) + i - 1)
    }

    /// The crosspoint that a subdomain owns, at its north-east corner.
    pub(super) fn own_crosspoint(&self, subdomain: usize) -> Option<usize> {
        let (i, j) = self.place(subdomain);
        self.crosspoint((i + 1, j + 1))
    }

    /// Which subdomain owns a crosspoint.
    pub(super) fn owner(&self, crosspoint: usize) -> usize {
        let (i, j) = (crosspoint % (self.side - 1), crosspoint / (self.side - 1));
        j * self.side + i
    }

    /// The crosspoints at the two ends of a side of a subdomain, in the direction of growing coordinates.
    pub(super) fn ends(&self, subdomain: usize, side: Side) -> [Option<usize>; 2] {
        let (i, j) = self.place(subdomain);
        let ends = match side {
            Side::West => [(i, j), (i, j + 1)],
            Side::South => [(i, j), (i + 1, j)],
            Side::East => [(i + 1, j), (i + 1, j + 1)],
            Side::North => [(i, j + 1), (i + 1, j + 1)],
        };
        ends.map(|end| self.crosspoint(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_all_subdomains() {
        for side in 1..=5 {
            for ranks in 1..=side * side {
                let layout = Layout { side, n: 2, ranks };
                let of_ranks: Vec<Vec<usize>> = (0..ranks).map(|rank| layout.of_rank(rank).collect()).collect();
                assert_eq!(of_ranks.concat(), (0..side * side).collect::<Vec<_>>());
                let [least, most] = [of_ranks.iter().map(Vec::len).min(), of_ranks.iter().map(Vec::len).max()];
                assert!(least > Some(0) && most <= least.map(|least| least + 1), "{of_ranks:?}");
                for (rank, subdomains) in of_ranks.iter().enumerate() {
                    assert!(subdomains.iter().all(|s| layout.rank_of(*s) == rank), "{layout:?}: {of_ranks:?}");
                }
            }
        }
    }

    #[test]
    fn neighbours_are_mutual() {
        let layout = Layout { side: 4, n: 2, ranks: 1 };
        let mut edges = 0;
        for s in 0..16 {
            for side in SIDES {
                let Some(neighbour) = layout.neighbour(s, side) else { continue };
                edges += 1;
                assert_eq!(layout.neighbour(neighbour, side.opposite()), Some(s));
                assert_eq!(layout.ends(s, side), layout.ends(neighbour, side.opposite()));
            }
        }
        assert_eq!(edges, 2 * 24);
    }

    #[test]
    fn every_crosspoint_has_one_owner() {
        let layout = Layout { side: 4, n: 2, ranks: 1 };
        let owned: Vec<usize> = (0..16).filter_map(|s| layout.own_crosspoint(s)).collect();
        assert_eq!(owned, (0..9).collect::<Vec<_>>());
        assert!(owned.iter().all(|c| layout.own_crosspoint(layout.owner(*c)) == Some(*c)));
    }
}
