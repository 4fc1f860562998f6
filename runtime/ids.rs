//! Ranks and tags.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a node in its job, `0..size`.
///
/// Calls that take a rank accept `impl Into<Rank>`, so plain integers work too: `u32`, `usize` and `i32`, and so literals.
/// A number that no rank can have, negative or too large, becomes a rank that no job has: the call that it is given to
/// returns [`Misuse::NoSuchRank`](crate::Misuse::NoSuchRank).
///
/// ```
/// let node = lathide::init()?;
/// let error = node.initread(-1, 1, vec![0u8]).unwrap_err();
/// assert!(error.to_string().contains("given as -1"));
/// let (row, column, columns) = (0usize, 0usize, 4usize);
/// node.initwrite(row * columns + column, 1, vec![0u8])?.wait()?;
/// assert_eq!(node.rank(), 0);
/// # node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rank(pub u32);

impl Rank {
    /// The rank as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The rank `by` places further in a ring of `size` ranks; `by` may be negative.
    ///
    /// ```
    /// use lathide::Rank;
    /// assert_eq!(Rank(3).on_ring(1, 4), Rank(0));
    /// assert_eq!(Rank(0).on_ring(-1, 4), Rank(3));
    /// ```
    pub fn on_ring(self, by: i64, size: u32) -> Rank {
        Rank((i64::from(self.0) + by).rem_euclid(i64::from(size.max(1))) as u32)
    }

    /// The rank below, or `None` for rank 0.
    pub fn below(self) -> Option<Rank> {
        self.0.checked_sub(1).map(Rank)
    }

    /// The rank above, or `None` for the last of `size` ranks.
    pub fn above(self, size: u32) -> Option<Rank> {
        let above = self.0.checked_add(1)?;
        (above < size).then_some(Rank(above))
    }
}

/// One of the connections of a link. A link has lane 0 from its beginning: it carries all that is short, and what the two ends
/// say to each other. Others are opened for long messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Path {
    pub(crate) peer: Rank,
    pub(crate) lane: u8,
}

impl Path {
    /// Whether it is the one that a link always has.
    pub(crate) fn is_first(self) -> bool {
        self.lane == 0
    }
}

impl From<Rank> for Path {
    fn from(peer: Rank) -> Self {
        Path { peer, lane: 0 }
    }
}

impl From<u32> for Rank {
    fn from(rank: u32) -> Self {
        Rank(rank)
    }
}

impl From<usize> for Rank {
    /// A number beyond `u32` becomes the last rank, which no job has.
    fn from(rank: usize) -> Self {
        Rank(u32::try_from(rank).unwrap_or(u32::MAX))
    }
}

impl From<i32> for Rank {
    /// A negative number becomes one of the upper half, which no job has; an error shows it as it was.
    fn from(rank: i32) -> Self {
        Rank(rank.cast_unsigned())
    }
}

impl PartialEq<u32> for Rank {
    fn eq(&self, other: &u32) -> bool {
        self.0 == *other
    }
}

impl PartialEq<usize> for Rank {
    fn eq(&self, other: &usize) -> bool {
        self.index() == *other
    }
}

impl PartialEq<i32> for Rank {
    fn eq(&self, other: &i32) -> bool {
        u32::try_from(*other) == Ok(self.0)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The tag of a message. Messages are ordered per (peer, tag); those of different tags may overtake each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tag(pub u32);

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Tag(tag)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_type_are_ranks_or_none() {
        assert_eq!([Rank::from(7u32), Rank::from(7usize), Rank::from(7)], [Rank(7); 3]);
        assert!(Rank(7) == 7u32 && Rank(7) == 7usize && Rank(7) == 7);
        // None comes round to a rank that a job may have: those have at most 65536.
        for none in [Rank::from(-1), Rank::from(i32::MIN), Rank::from(usize::MAX), Rank::from((1usize << 32) + 3)] {
            assert!(none.0 >= 1 << 31, "{none:?}");
        }
        assert!(Rank::from(-1) != -1 && Rank(u32::MAX) != usize::MAX);
    }
}
