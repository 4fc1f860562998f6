//! The problem: a V-cycle on a square or a cube, and how much it calculates and sends.

use crate::{BadParameter, above_zero, at_least_one, at_least_zero, representable};

/// The dimensions of the problem's domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimensions {
    /// A square, cut into square subdomains.
    Two,
    /// A cube, cut into cubes that are mapped to a mesh of processors in the plane.
    Three,
}

impl Dimensions {
    /// 2 or 3.
    pub fn number(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// How much one V-cycle with two sweeps down and one up calculates and sends.
///
/// The paper prints none of these numbers. They were identified from its tables, which they reproduce to the printed
/// digit; see the manual, `lathide::manual::models::multigrid`. The tables are ratios, so a common factor is free.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counts {
    /// Floating point operations per point of the finest grid, all levels together.
    pub fine_flops: f64,
    /// Floating point operations on each level with at most one point per processor.
    pub coarse_flops: f64,
    /// Words that a processor exchanges for each point of an edge (or face) of its subdomain, all levels together.
    pub fine_words: f64,
    /// One-word messages on each level with at most one point per processor.
    pub coarse_messages: f64,
    /// Long messages that replace the `fine_words` of an edge (or face) that fits into one of them.
    pub long_messages: f64,
}

impl Counts {
    /// In two dimensions: 26 = 4/3 * 19.5 operations, 32 = 2 * 16 words.
    pub const TWO: Self =
        Self { fine_flops: 26.0, coarse_flops: 17.0, fine_words: 32.0, coarse_messages: 12.0, long_messages: 64.0 };
    /// In three dimensions: 8/7 * 34.5 operations, 56 = 4/3 * 42 words.
    pub const THREE: Self = Self {
        fine_flops: 8.0 / 7.0 * 34.5,
        coarse_flops: 34.0,
        fine_words: 56.0,
        coarse_messages: 28.0,
        long_messages: 56.0,
    };
}

/// A V-cycle on a grid of N points in each dimension.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Grid {
    /// Square or cube.
    pub dimensions: Dimensions,
    /// N, the points in each dimension; the paper has 1000.
    pub points_per_side: f64,
    /// The operations and messages of a cycle.
    pub counts: Counts,
}

impl Grid {
    /// The paper's V-cycle on N x N points.
    pub fn two_dimensional(points_per_side: f64) -> Self {
        Self { dimensions: Dimensions::Two, points_per_side, counts: Counts::TWO }
    }

    /// The paper's V-cycle on N x N x N points.
    pub fn three_dimensional(points_per_side: f64) -> Self {
        Self { dimensions: Dimensions::Three, points_per_side, counts: Counts::THREE }
    }

    /// How many points there are in all, if the grid is one.
    pub(super) fn points(&self) -> Result<f64, BadParameter> {
        let side = at_least_one("N", self.points_per_side)?;
        above_zero("fine flops", self.counts.fine_flops)?;
        at_least_zero("coarse flops", self.counts.coarse_flops)?;
        at_least_zero("fine words", self.counts.fine_words)?;
        at_least_zero("coarse messages", self.counts.coarse_messages)?;
        at_least_zero("long messages", self.counts.long_messages)?;
        representable("number of points", side.powi(self.dimensions.number() as i32))
    }
}
