//! Where a thread is in a program's regions. Pure data.

/// The number of a region at its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RegionId(pub(super) u8);

/// Where a thread is in a program's regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The region that it has entered last.
    pub(crate) innermost: RegionId,
    /// That and those around it, a bit for each.
    pub(super) around: u128,
}

impl Place {
    pub(super) fn is_in(self, region: RegionId) -> bool {
        self.around >> region.0 & 1 == 1
    }

    /// All regions that it is in.
    pub(super) fn all(self) -> impl Iterator<Item = RegionId> {
        let mut left = self.around;
        std::iter::from_fn(move || {
            let region = (left != 0).then(|| RegionId(left.trailing_zeros() as u8))?;
            left &= left - 1;
            Some(region)
        })
    }
}

/// In seconds.
pub(super) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}
