//! Trees of ranks: who is above and below a rank. Each costs a rank O(log ranks) to look up.

use std::ops::Range;

use super::schedule::Side;
use crate::ids::Rank;

/// A rank's neighbours in a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Family {
    /// The rank above; `None` for the root.
    pub(super) parent: Option<Rank>,
    /// The ranks of the subtree below this rank, itself included; all ranks between those ends.
    pub(super) own: Range<u32>,
    /// The ranks below, in the order in which they are sent to.
    pub(super) children: Vec<Child>,
}

impl Family {
    /// The ranks below in the order in which their subtrees are complete: small ones first, and those that were sent to first.
    pub(super) fn smallest_first(&self) -> Vec<&Child> {
        let mut children: Vec<&Child> = self.children.iter().collect();
        children.sort_by_key(|child| child.ranks.len());
        children
    }
}

/// A subtree below a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Child {
    /// Its root.
    pub(super) rank: Rank,
    /// Its ranks; all ranks between those ends.
    pub(super) ranks: Range<u32>,
    /// Whether its ranks come before or after those combined so far, when children are combined from the last
    /// to the first.
    pub(super) side: Side,
}

/// The binomial tree over intervals of ranks: an interval is halved, the half without its head gets its lowest
/// rank for a head, and both go on. Its depth is `ceil(log2 ranks)`. With a power of two of ranks and root 0 it is
/// the usual binomial tree; for every other number and root it keeps each subtree an interval, so that operands
/// stay in the order of ranks and blocks side by side.
pub(super) fn halving(rank: Rank, ranks: u32, root: Rank) -> Family {
    let (mut interval, mut head) = (0..ranks, root);
    let mut family = Family { parent: None, own: interval.clone(), children: Vec::new() };
    while interval.len() > 1 {
        let middle = interval.start + interval.len().div_ceil(2) as u32;
        let (low, high) = (interval.start..middle, middle..interval.end);
        let (kept, other, side) = if head.0 < middle { (low, high, Side::Right) } else { (high, low, Side::Left) };
        let other_head = Rank(other.start);
        if other.contains(&rank.0) {
            if rank == other_head {
                family = Family { parent: Some(head), own: other.clone(), children: Vec::new() };
            }
            (interval, head) = (other, other_head);
        } else {
            if rank == head {
                family.children.push(Child { rank: other_head, ranks: other, side });
            }
            interval = kept;
        }
    }
    family
}

/// All others just below rank 0, which combines them from the first to the last.
pub(super) fn star(rank: Rank, ranks: u32) -> Family {
    let alone = |rank: u32| Child { rank: Rank(rank), ranks: rank..rank + 1, side: Side::Right };
    match rank {
        Rank(0) => Family { parent: None, own: 0..ranks, children: (1..ranks).map(alone).collect() },
        Rank(own) => Family { parent: Some(Rank(0)), own: own..own + 1, children: Vec::new() },
    }
}

/// The complete binary tree of Stoica, Sultan and Keyes 3.1 (Fig. 10): the children of `i` are `2i + 1` and
/// `2i + 2`, the left one first. Ranks count from the root around. Returns the parent and the children.
pub(super) fn heap(rank: Rank, ranks: u32, root: Rank) -> (Option<Rank>, Vec<Rank>) {
    let index = rank.on_ring(-i64::from(root.0), ranks).0;
    let named = |index: u32| root.on_ring(i64::from(index), ranks);
    let children = [u64::from(index) * 2 + 1, u64::from(index) * 2 + 2];
    let children = children.into_iter().filter(|&child| child < u64::from(ranks));
    let parent = index.checked_sub(1).map(|above| named(above / 2));
    (parent, children.map(|child| named(child as u32)).collect())
}

/// The same tree with its nodes numbered so that a node comes before its left subtree and that before the right
/// one: every subtree is an interval, and `node op left op right` is in the order of ranks. The root is rank 0.
/// Children stand right one first, so that they are combined left one first.
pub(super) fn heap_in_order(rank: Rank, ranks: u32) -> Family {
    let (mut index, mut start, mut parent) = (0u64, 0, None);
    loop {
        let (left, right) = (index * 2 + 1, index * 2 + 2);
        let [left_size, right_size] = [left, right].map(|child| heap_size(child, ranks));
        let (left_start, right_start) = (start + 1, start + 1 + left_size);
        if start == rank.0 {
            let child =
                |start: u32, size: u32| Child { rank: Rank(start), ranks: start..start + size, side: Side::Right };
            let children = [child(right_start, right_size), child(left_start, left_size)];
            let children = children.into_iter().filter(|child| !child.ranks.is_empty()).collect();
            return Family { parent, own: start..right_start + right_size, children };
        }
        parent = Some(Rank(start));
        (index, start) = if rank.0 < right_start { (left, left_start) } else { (right, right_start) };
    }
}

/// The nodes of the subtree below node `index` of a heap of `nodes`.
fn heap_size(index: u64, nodes: u32) -> u32 {
    let (mut first, mut last, mut size) = (index, index, 0);
    while first < u64::from(nodes) {
        size += last.min(u64::from(nodes) - 1) - first + 1;
        (first, last) = (first * 2 + 1, last * 2 + 2);
    }
    size as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that families fit together: intervals nest, every rank but the root is some rank's child.
    fn check(families: &[Family], root: Rank) {
        let ranks = families.len() as u32;
        assert_eq!((&families[root.index()].parent, &families[root.index()].own), (&None, &(0..ranks)));
        let mut is_child = vec![false; families.len()];
        for (rank, family) in (0..).zip(families) {
            let mut below = rank..rank + 1;
            for child in family.children.iter().rev() {
                assert_eq!(families[child.rank.index()].parent, Some(Rank(rank)));
                assert_eq!(families[child.rank.index()].own, child.ranks);
                assert!(!std::mem::replace(&mut is_child[child.rank.index()], true));
                // Combined from the last to the first, what is combined is an interval at each moment.
                below = match child.side {
                    Side::Left => {
                        assert_eq!(child.ranks.end, below.start);
                        child.ranks.start..below.end
                    }
                    Side::Right => {
                        assert_eq!(below.end, child.ranks.start);
                        below.start..child.ranks.end
                    }
                };
            }
            assert_eq!(below, family.own);
        }
        assert_eq!(is_child.iter().filter(|is_child| !**is_child).count(), 1);
    }

    #[test]
    fn every_rank_has_its_place_in_every_tree() {
        for ranks in 1..=70 {
            for root in (0..ranks).map(Rank) {
                let families: Vec<_> = (0..ranks).map(|rank| halving(Rank(rank), ranks, root)).collect();
                check(&families, root);
                let most = families.iter().map(|family| family.children.len()).max().unwrap();
                assert!(most <= ranks.next_power_of_two().trailing_zeros() as usize);
            }
            let families: Vec<_> = (0..ranks).map(|rank| heap_in_order(Rank(rank), ranks)).collect();
            check(&families, Rank(0));
        }
    }

    /// The numbering in order is the same tree: the subtrees below have the same sizes.
    #[test]
    fn the_heap_is_that_of_the_paper() {
        assert_eq!(heap(Rank(1), 11, Rank(0)), (Some(Rank(0)), vec![Rank(3), Rank(4)]));
        assert_eq!(heap(Rank(10), 11, Rank(0)), (Some(Rank(4)), vec![]));
        assert_eq!(heap(Rank(2), 11, Rank(8)), (Some(Rank(10)), vec![]), "5 of 11, counted from 8");
        let sizes = |ranks: u32| {
            let mut of_heap: Vec<u32> = (0..ranks).map(|index| heap_size(index.into(), ranks)).collect();
            let mut in_order: Vec<u32> =
                (0..ranks).map(|rank| heap_in_order(Rank(rank), ranks).own.len() as u32).collect();
            of_heap.sort_unstable();
            in_order.sort_unstable();
            (of_heap, in_order)
        };
        for ranks in 1..=64 {
            let (of_heap, in_order) = sizes(ranks);
            assert_eq!(of_heap, in_order);
        }
    }

    /// With a power of two of ranks and root 0, halving is the binomial tree: rank r's parent is r without its
    /// lowest bit.
    #[test]
    fn halving_is_binomial() {
        for rank in 1..64u32 {
            assert_eq!(halving(Rank(rank), 64, Rank(0)).parent, Some(Rank(rank & (rank - 1))));
        }
    }
}
