//! Barriers, of empty messages. Dissemination: in round k everybody signals the rank 2^k further on; `ceil(log2 ranks)` messages one
//! after the other, and as many of each rank. Binomial: up the tree and down again; twice as many one after the other, but only
//! `2 (ranks - 1)` in all. Serial: as many, by way of rank 0, and two one after the other: for ranks that share cores. Simple: all to
//! all, of which none waits for another: for links with a long delay.

use super::schedule::{Builder, Schedule};
use super::tree::{Family, halving, star};
use crate::ids::Rank;

/// The binomial barrier of `rank`.
pub(crate) fn binomial(rank: Rank, ranks: u32) -> Schedule {
    up_and_down(&halving(rank, ranks, Rank(0)))
}

/// The serial barrier of `rank`: everybody signals rank 0, which answers everybody.
pub(crate) fn serial(rank: Rank, ranks: u32) -> Schedule {
    up_and_down(&star(rank, ranks))
}

/// The simple barrier of `rank`: everybody signals everybody.
pub(crate) fn simple(rank: Rank, ranks: u32) -> Schedule {
    let mut builder = Builder::new();
    for by in 1..i64::from(ranks) {
        builder.await_signal(rank.on_ring(-by, ranks), &[]);
    }
    for by in 1..i64::from(ranks) {
        builder.signal(rank.on_ring(by, ranks), &[]);
    }
    builder.finish()
}

fn up_and_down(family: &Family) -> Schedule {
    let mut builder = Builder::new();
    let below = family.smallest_first().into_iter();
    let mut heard: Vec<_> = below.map(|child| builder.await_signal(child.rank, &[])).collect();
    if let Some(parent) = family.parent {
        builder.signal(parent, &heard);
        heard = vec![builder.await_signal(parent, &[])];
    }
    family.children.iter().for_each(|child| _ = builder.signal(child.rank, &heard));
    builder.finish()
}

/// The dissemination barrier of `rank`: each round begins when the signals of all rounds before have come. They may come in any
/// order, and early ones are taken early.
pub(crate) fn dissemination(rank: Rank, ranks: u32) -> Schedule {
    let mut builder = Builder::new();
    let mut heard = Vec::new();
    for Step { to, from } in steps(rank, ranks) {
        builder.signal(to, &heard);
        heard.push(builder.await_signal(from, &[]));
    }
    builder.finish()
}

/// What a rank does in one round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// Whom it signals.
    to: Rank,
    /// Whose signal it waits for.
    from: Rank,
}

/// The rounds of `rank`, in order.
fn steps(rank: Rank, ranks: u32) -> impl Iterator<Item = Step> {
    let distances = std::iter::successors(Some(1i64), |distance| Some(distance * 2));
    distances
        .take_while(move |&distance| distance < i64::from(ranks))
        .map(move |distance| Step { to: rank.on_ring(distance, ranks), from: rank.on_ring(-distance, ranks) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After the last round every rank has heard, directly or through others, of every rank's arrival.
    #[test]
    fn everybody_hears_of_everybody() {
        for ranks in 1..=70u32 {
            let rounds = steps(Rank(0), ranks).count();
            assert_eq!(rounds as u32, ranks.next_power_of_two().trailing_zeros());
            let mut heard: Vec<u128> = (0..ranks).map(|rank| 1 << rank).collect();
            for round in 0..rounds {
                let before = heard.clone();
                for rank in 0..ranks {
                    let step = steps(Rank(rank), ranks).nth(round).unwrap();
                    let back = steps(step.to, ranks).nth(round).unwrap();
                    assert_eq!(back.from, Rank(rank), "who is signalled expects it");
                    heard[rank as usize] |= before[step.from.index()];
                }
            }
            assert!(heard.iter().all(|&set| set == (1 << ranks) - 1), "{ranks} ranks");
        }
    }
}
