//! Dissemination barrier: in round k everybody signals the rank 2^k further on. Cost: `ceil(log2 ranks)` empty messages.

use super::schedule::{Builder, Schedule};
use crate::ids::Rank;

/// The barrier of `rank`: each round begins when the signals of all rounds before have come. They may come in any
/// order, and early ones are taken early.
pub(crate) fn schedule(rank: Rank, ranks: u32) -> Schedule {
    let mut builder = Builder::new();
    let mut heard = Vec::new();
    for Step { to, from } in barrier_dissemination(rank, ranks) {
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
fn barrier_dissemination(rank: Rank, ranks: u32) -> impl Iterator<Item = Step> {
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
            let rounds = barrier_dissemination(Rank(0), ranks).count();
            assert_eq!(rounds as u32, ranks.next_power_of_two().trailing_zeros());
            let mut heard: Vec<u128> = (0..ranks).map(|rank| 1 << rank).collect();
            for round in 0..rounds {
                let before = heard.clone();
                for rank in 0..ranks {
                    let step = barrier_dissemination(Rank(rank), ranks).nth(round).unwrap();
                    let back = barrier_dissemination(step.to, ranks).nth(round).unwrap();
                    assert_eq!(back.from, Rank(rank), "who is signalled expects it");
                    heard[rank as usize] |= before[step.from.index()];
                }
            }
            assert!(heard.iter().all(|&set| set == (1 << ranks) - 1), "{ranks} ranks");
        }
    }
}
