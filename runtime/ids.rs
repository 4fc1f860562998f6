//! Ranks and tags.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a node in its job, `0..size`.
///
/// Calls that take a rank accept `impl Into<Rank>`, so a plain `u32` works too.
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

impl From<u32> for Rank {
    fn from(rank: u32) -> Self {
        Rank(rank)
    }
}

impl PartialEq<u32> for Rank {
    fn eq(&self, other: &u32) -> bool {
        self.0 == *other
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
