//! The ranks of a group, and by which number each of them knows it.
//!
//! Every rank numbers its groups itself. What is sent to a rank carries that rank's number, so that it finds its group
//! whatever numbers others use. A number is free again when nothing can come any more that carries it.

use std::fmt;

use crate::ids::Rank;
use crate::wire::frame::{Context, GROUP_BITS, MatchKey};

/// So many ranks of a group are named in words.
const NAMED_MAX: usize = 8;

/// The members of a group, by group rank.
#[derive(Debug)]
pub(crate) struct Members {
    /// This rank's place among them.
    own: Rank,
    ranks: Vec<Rank>,
    numbers: Vec<u32>,
    /// The same on every member, and another for every group of a job: of its members and their numbers. 0 for all ranks.
    identity: u64,
}

impl Members {
    /// All ranks of a job.
    pub(crate) fn of_job(rank: Rank, size: u32) -> Self {
        Members { own: rank, ranks: (0..size).map(Rank).collect(), numbers: vec![0; size as usize], identity: 0 }
    }

    /// The group of `ranks`, which know it by `numbers`, made of a group with the identity `parent`. The rank of this node
    /// is number `own` of them.
    pub(crate) fn new(own: Rank, ranks: Vec<Rank>, numbers: Vec<u32>, parent: u64) -> Self {
        debug_assert!(ranks.len() == numbers.len() && own.index() < ranks.len());
        let identity = identity(parent, ranks.iter().map(|rank| rank.0).chain(numbers.iter().copied()));
        Members { own, ranks, numbers, identity }
    }

    /// `ranks` that are about to found a group, made of one with the identity `parent`: what they send to each other until they
    /// know their numbers is matched by the key that is returned, too.
    pub(crate) fn founding(own: Rank, ranks: Vec<Rank>, parent: u64) -> (Self, MatchKey) {
        let digest = identity(parent, ranks.iter().map(|rank| rank.0));
        let (group, tag) = (digest as u32 & ((1 << GROUP_BITS) - 1), (digest >> 32) as u32);
        let numbers = vec![group; ranks.len()];
        let key = MatchKey::new(Context::Founding, tag.into()).in_group(group);
        (Members { own, ranks, numbers, identity: digest }, key)
    }

    /// Whether these are all ranks of the job, each by its own number.
    pub(crate) fn is_job(&self) -> bool {
        self.identity == 0
    }

    /// This rank's place in the group.
    pub(crate) fn own(&self) -> Rank {
        self.own
    }

    /// How many ranks there are.
    pub(crate) fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The ranks in the job, by group rank.
    pub(crate) fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The rank in the job of `member`, which exists.
    pub(crate) fn rank(&self, member: Rank) -> Rank {
        self.ranks[member.index()]
    }

    /// The number by which `member`, which exists, knows the group.
    pub(crate) fn number(&self, member: Rank) -> u32 {
        self.numbers[member.index()]
    }

    /// Which member a rank of the job is.
    pub(crate) fn find(&self, rank: Rank) -> Option<Rank> {
        // Of a whole job, each is itself.
        let at = match self.ranks.get(rank.index()) {
            Some(same) if *same == rank => Some(rank.index()),
            _ => self.ranks.iter().position(|other| *other == rank),
        };
        at.map(|at| Rank(at as u32))
    }

    /// The members but this one: rank in the job, and number.
    pub(super) fn others(&self) -> impl Iterator<Item = (Rank, u32)> + '_ {
        let all = self.ranks.iter().copied().zip(self.numbers.iter().copied()).enumerate();
        all.filter(|(at, _)| *at != self.own.index()).map(|(_, other)| other)
    }
}

/// As errors name the group.
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.ranks.iter().take(NAMED_MAX).map(Rank::to_string).collect();
        write!(f, "the group of rank{} {}", if self.ranks.len() == 1 { "" } else { "s" }, named.join(", "))?;
        match self.ranks.len() - named.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// 64 bits that differ, in all likelihood, when the words do.
fn identity(parent: u64, words: impl Iterator<Item = u32>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&parent.to_le_bytes());
    words.for_each(|word| _ = hasher.update(&word.to_le_bytes()));
    let [first, second, third, fourth, fifth, sixth, seventh, eighth, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([first, second, third, fourth, fifth, sixth, seventh, eighth])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_members_are_found() {
        let ranks: Vec<Rank> = [4, 1, 7, 3].map(Rank).into();
        let members = Members::new(Rank(2), ranks.clone(), vec![10, 11, 12, 13], 0);
        for (at, rank) in (0..).map(Rank).zip(ranks) {
            assert_eq!((members.rank(at), members.find(rank), members.number(at)), (rank, Some(at), 10 + at.0));
        }
        assert_eq!(members.find(Rank(2)), None);
        let others: Vec<_> = members.others().collect();
        assert_eq!(others, [(Rank(4), 10), (Rank(1), 11), (Rank(3), 13)]);
        let all = Members::of_job(Rank(2), 4);
        assert_eq!((all.find(Rank(3)), all.find(Rank(4)), all.rank(Rank(1))), (Some(Rank(3)), None, Rank(1)));
    }

    /// Whatever differs gives another key: the members, their order, the group they come from.
    #[test]
    fn foundings_differ() {
        let key =
            |ranks: &[u32], parent| Members::founding(Rank(0), ranks.iter().copied().map(Rank).collect(), parent).1;
        let keys = [key(&[0, 1], 0), key(&[1, 0], 0), key(&[0, 1, 2], 0), key(&[0, 1], 1)];
        for (at, one) in keys.iter().enumerate() {
            assert!(keys[..at].iter().all(|other| other != one), "{keys:?}");
        }
        assert_eq!(key(&[0, 1], 0), keys[0]);
    }
}
