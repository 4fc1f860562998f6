//! Alltoalls in which a rank sends another number of elements than its peer expects.

use super::calls::{Exchange, Line};
use super::runs::{each_seed, finalize_all};
use super::world::{End, World};
use crate::collective::trial_tests::Chance;
use crate::collective::{Algorithm, Blocks, Call};
use crate::error::Error;
use crate::operation::Collective;

/// Nobody waits for ever, and nobody passes a collective behind it: what does not fit is an error, also where one side
/// sends or expects nothing.
#[test]
fn an_alltoall_that_does_not_fit_fails_on_every_rank() {
    each_seed("an_alltoall_that_does_not_fit_fails_on_every_rank", 4000, |seed| {
        let mut chance = Chance(seed);
        let ranks = 2 + chance.below(6);
        let right: Vec<u64> = (0..ranks * ranks).map(|_| chance.below(20usize).saturating_sub(8) as u64).collect();
        let (odd, by) = (chance.below(ranks), 1 + chance.below(ranks - 1));
        let (mut wrong, to) = (right.clone(), (odd + by) % ranks);
        let pair = &mut wrong[odd * ranks + to];
        *pair = if *pair > 0 && chance.below(2) == 0 { 0 } else { *pair + 1 + chance.below(5) as u64 };
        let algorithm = Algorithm::Pairwise { window: chance.below(3) as u32 };
        let alltoall = |lengths: &[u64]| {
            let nominal = Call::new(Collective::Alltoall, ranks as u32, 0, 8);
            let call = Call { blocks: Blocks::Each(lengths.into()), ..nominal };
            Line::Collective { group: None, call, algorithm, seed, exchange: Exchange::Nothing }
        };
        let barrier = Line::Collective {
            group: None,
            call: Call::new(Collective::Barrier, ranks as u32, 0, 1),
            algorithm: Algorithm::Dissemination,
            seed,
            exchange: Exchange::Nothing,
        };
        let program = |lengths| vec![alltoall(lengths), Line::Wait(0), barrier.clone(), Line::Wait(2)];
        let mut programs = vec![program(&right); ranks];
        programs[odd] = program(&wrong);
        let mut world = World::new(chance, programs);
        finalize_all(&mut world);
        for (rank, node) in world.nodes.iter().enumerate() {
            let End::Failed(error) = &node.ends[2] else {
                panic!("rank {rank} has passed the barrier: {}", world.describe());
            };
            let is_told = match error {
                Error::Collective { rank, .. } => rank.index() == to,
                // Who has left did so when it had its own error.
                Error::PeerLost { .. } => true,
                _ => false,
            };
            assert!(is_told, "rank {rank}: {error}");
            assert!(rank != to || matches!(node.ends[0], End::Failed(_)), "{}", world.describe());
            assert!(node.collectives.is_idle(), "rank {rank}: {}", world.describe());
        }
    });
}
