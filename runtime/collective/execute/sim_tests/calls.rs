//! What the ranks of a simulated job do: calls with their right results, and messages between two ranks.

use crate::buffer::Element;
use crate::collective::execute::work::{Typed, Work};
use crate::collective::schedule::Schedule;
use crate::collective::signature::Signature;
use crate::collective::trial_tests::Chance;
use crate::collective::{Algorithm, Blocks, Call, Operator};
use crate::ids::Rank;
use crate::operation::Collective;

/// What a call has to do with exchanges of observations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Exchange {
    Nothing,
    /// It begins one.
    Begins,
    /// It does not begin before the last one has ended.
    Adopts,
}

/// One line of a job's program. Every rank goes through all of them, in order, and waits where it says so.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Collective {
        /// Which group calls it: the line that founds it, or the whole job.
        group: Option<usize>,
        call: Call,
        algorithm: Algorithm,
        seed: u64,
        exchange: Exchange,
    },
    /// Of `count` elements, by a tag of its own.
    Message { from: usize, to: usize, count: usize, seed: u64 },
    /// These ranks found a group, by themselves or, `by_parent`, with a collective of the group that it is made of.
    Found { members: Vec<u32>, parent: Option<usize>, by_parent: bool },
    /// The group that this line has founded is dropped.
    Drop(usize),
    /// Waits for the line of this number.
    Wait(usize),
}

/// Maps `x -> (a x + b) mod 65521`, one after the other: associative, not commutative. `a` is the high half.
pub(super) fn compose(left: u64, right: u64) -> u64 {
    let half = |packed: u64| (packed >> 32, packed & 0xffff_ffff);
    let ((a, b), (c, d)) = (half(left), half(right));
    ((a * c % 65521) << 32) | ((b * c + d) % 65521)
}

fn map(seed: u64) -> u64 {
    let mut chance = Chance(seed);
    ((chance.below(65520) as u64 + 1) << 32) | chance.below(65521) as u64
}

/// A random call among `ranks`.
pub(super) fn random_call(chance: &mut Chance, ranks: u32) -> (Call, Algorithm) {
    let collective = Collective::ALL[chance.below(8)];
    let count = [0, 1, 2, 3, 7, 20, 100][chance.below(7)] as u64;
    let mut call = Call::new(collective, ranks, count, 8);
    call.is_commutative = chance.below(2) == 0;
    if call.has_root() {
        call.root = Rank(chance.below(ranks as usize) as u32);
    }
    if collective == Collective::Gather && chance.below(2) == 0 {
        call.blocks = Blocks::Each((0..ranks).map(|_| chance.below(20) as u64).collect());
    }
    if collective == Collective::Barrier {
        call.blocks = Blocks::Equal(0);
    }
    let algorithms = call.algorithms();
    let algorithm = algorithms[chance.below(algorithms.len())];
    let segment = [0, 1, 5, 30][chance.below(4)];
    let window = 1 + chance.below(4) as u32;
    let algorithm = match algorithm.with_segment(segment) {
        Algorithm::Windowed { .. } => Algorithm::Windowed { window },
        Algorithm::Granted { segment, .. } => Algorithm::Granted { window, segment },
        Algorithm::Pairwise { .. } => Algorithm::Pairwise { window: window - 1 },
        other => other,
    };
    (call, algorithm)
}

/// Element `index` of the block of `rank` for `to`.
fn element(seed: u64, rank: u32, to: u32, index: u64) -> u64 {
    map(seed ^ (u64::from(rank) << 40) ^ (u64::from(to) << 20) ^ index)
}

fn block(seed: u64, rank: u32, to: u32, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |index| element(seed, rank, to, index))
}

pub(super) fn operator(call: &Call, panics: bool) -> Option<Operator<u64>> {
    if !matches!(call.collective, Collective::Reduce | Collective::Allreduce) {
        return None;
    }
    Some(match (panics, call.is_commutative) {
        // Not by a panic's usual way, which prints.
        (true, _) => Operator::new("faulty", call.is_commutative, |_, _| {
            std::panic::resume_unwind(Box::new("on purpose".to_owned()))
        }),
        (false, true) => Operator::new("sum", true, u64::wrapping_add),
        (false, false) => Operator::new("compose", false, compose),
    })
}

pub(super) fn signature(call: &Call, algorithm: Algorithm) -> Signature {
    // One that panics on one rank only is another operator of the same name.
    let operator = operator(call, false);
    Signature::new(call, algorithm, u64::TYPE, operator.as_ref().map_or("", Operator::name))
}

/// The buffers of `rank`.
pub(super) fn work(call: &Call, schedule: &Schedule, rank: u32, seed: u64, panics: bool) -> Box<dyn Work> {
    let (count, ranks) = (call.blocks.longest(), call.ranks);
    let own = call.blocks.count(rank);
    let is_root = call.root == rank;
    let nothing = |count: u64| vec![u64::MAX; count as usize];
    let (input, output): (Vec<u64>, Vec<u64>) = match call.collective {
        Collective::Barrier => (Vec::new(), Vec::new()),
        Collective::Broadcast if is_root => (Vec::new(), block(seed, rank, 0, count).collect()),
        Collective::Broadcast => (Vec::new(), nothing(count)),
        Collective::Reduce | Collective::Allreduce => (Vec::new(), block(seed, rank, 0, count).collect()),
        Collective::Gather => {
            (block(seed, rank, 0, own).collect(), nothing(if is_root { call.blocks.total(ranks) } else { 0 }))
        }
        Collective::Scatter if is_root => {
            ((0..ranks).flat_map(|to| block(seed, rank, to, count)).collect(), nothing(count))
        }
        Collective::Scatter => (Vec::new(), nothing(count)),
        Collective::Allgather => {
            let mut whole = nothing(count * u64::from(ranks));
            let start = (u64::from(rank) * count) as usize;
            whole[start..start + count as usize].copy_from_slice(&block(seed, rank, 0, count).collect::<Vec<_>>());
            (Vec::new(), whole)
        }
        Collective::Alltoall => {
            ((0..ranks).flat_map(|to| block(seed, rank, to, count)).collect(), nothing(count * u64::from(ranks)))
        }
    };
    Box::new(Typed::new(schedule, input, output, operator(call, panics), |result: Vec<u64>| result))
}

/// What `rank` gets; `None` if that may be anything.
pub(super) fn expected(call: &Call, rank: u32, seed: u64) -> Option<Vec<u64>> {
    let (count, ranks, root) = (call.blocks.longest(), call.ranks, call.root.0);
    let is_root = call.root == rank;
    Some(match call.collective {
        Collective::Barrier => return None,
        Collective::Broadcast => block(seed, root, 0, count).collect(),
        Collective::Reduce if !is_root => return None,
        Collective::Reduce | Collective::Allreduce => {
            let combine =
                |left, right| if call.is_commutative { u64::wrapping_add(left, right) } else { compose(left, right) };
            let of = |index| (0..ranks).map(|rank| element(seed, rank, 0, index)).reduce(combine).expect("a rank");
            (0..count).map(of).collect()
        }
        Collective::Gather if !is_root => return None,
        Collective::Gather => (0..ranks).flat_map(|rank| block(seed, rank, 0, call.blocks.count(rank))).collect(),
        Collective::Scatter => block(seed, root, rank, count).collect(),
        Collective::Allgather => (0..ranks).flat_map(|rank| block(seed, rank, 0, count)).collect(),
        Collective::Alltoall => (0..ranks).flat_map(|from| block(seed, from, rank, count)).collect(),
    })
}

/// What a message carries.
pub(super) fn payload(seed: u64, count: usize) -> Vec<u64> {
    block(seed, 0, 0, count as u64).collect()
}

/// The place of `rank` in a group, or in the job; `None` if it is no member.
pub(super) fn place(program: &[Line], group: Option<usize>, rank: u32) -> Option<u32> {
    let Some(group) = group else { return Some(rank) };
    let Line::Found { members, .. } = &program[group] else { return None };
    members.iter().position(|member| *member == rank).map(|place| place as u32)
}
