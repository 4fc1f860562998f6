//! The records of a world's connections, if they have checksums or are encrypted.

use crate::chance::Chance;
use crate::wire::cipher::tests::repeatable_pair;
use crate::wire::records::Records;

/// Lanes that a link may have, the first among them.
pub(in crate::engine::sim) const LANES: usize = 4;

pub(in crate::engine::sim) fn no_records(size: usize) -> Vec<Option<Records>> {
    (0..size * size * LANES).map(|_| None).collect()
}

/// What records are for.
#[derive(Clone, Copy)]
pub(in crate::engine::sim) enum Kind {
    Checked,
    Encrypted,
}

impl Kind {
    pub(super) fn any(rng: &mut Chance) -> Kind {
        rng.pick(&[Kind::Checked, Kind::Encrypted])
    }

    /// Each end of each link's records, from row to column. They end where chance will.
    pub(in crate::engine::sim) fn all(self, size: usize, rng: &mut Chance) -> Vec<Option<Records>> {
        let mut records = no_records(size);
        for (one, other) in (0..size).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let (lower, higher) = self.pair(rng);
            (records[other * size + one], records[one * size + other]) = (Some(lower), Some(higher));
        }
        records
    }

    /// Those of a connection's ends.
    pub(in crate::engine::sim) fn pair(self, rng: &mut Chance) -> (Records, Records) {
        let mut pair = match self {
            Kind::Checked => (Records::checked(), Records::checked()),
            Kind::Encrypted => repeatable_pair(),
        };
        pair.0.of_at_most(rng.pick(&RECORD_BYTES));
        pair.1.of_at_most(rng.pick(&RECORD_BYTES));
        let records = 1 + rng.below(50) as u64;
        pair.0.change_keys_after(records);
        pair.1.change_keys_after(records);
        pair
    }

    /// What these are.
    pub(in crate::engine::sim) fn of(records: &Records) -> Kind {
        if records.are_encrypted() { Kind::Encrypted } else { Kind::Checked }
    }
}

/// The longest records.
const RECORD_BYTES: [usize; 8] = [1, 7, 15, 17, 33, 100, 500, 32 << 10];
