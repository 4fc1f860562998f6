//! Whether every rank of a host can have a core of its own, and so how it waits. Pure.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// The cores that one rank may use.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cores {
    /// Names the host: the same for all ranks that share its processors, whatever their addresses.
    pub(crate) host: String,
    /// A bit for each processor the rank may run on; none if that is not known.
    pub(crate) mask: Vec<u64>,
    /// How many of them it may keep busy at a time: fewer if its control group has a quota.
    pub(crate) at_once: u32,
}

/// Whether a rank's threads poll while they wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Polling {
    /// They sleep at once.
    Never,
    /// Ranks share cores: a thread yields its core between two looks, so that the peer which is waited for may run there.
    Shared,
    /// Every rank of the host has a core of its own.
    Own,
}

/// As many as a rank may say: 4096 processors.
const WORDS_MAX: usize = 64;

impl Cores {
    /// How this rank waits; `has_core`: every rank of the host can have a core of its own. Polling uses up a quota, which may be
    /// missing then where something is calculated.
    pub(crate) fn polling(&self, has_core: bool) -> Polling {
        match has_core {
            true => Polling::Own,
            false if self.has_quota() => Polling::Never,
            false => Polling::Shared,
        }
    }

    /// Whether it may keep fewer processors busy than it may run on.
    fn has_quota(&self) -> bool {
        count(&self.mask) > self.at_once as usize
    }
}

/// The ranks that may poll, among all of a job: those on hosts where each rank can have a core of its own.
pub(crate) fn may_poll(ranks: &[Cores]) -> Vec<bool> {
    let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (rank, cores) in ranks.iter().enumerate() {
        hosts.entry(&cores.host).or_default().push(rank);
    }
    let mut may = vec![false; ranks.len()];
    for here in hosts.values() {
        let masks = here.iter().map(|&rank| &ranks[rank].mask);
        let masks: Vec<&[u64]> = masks.map(|mask| &mask[..mask.len().min(WORDS_MAX)]).collect();
        let is_known = masks.iter().all(|mask| count(mask) > 0);
        let fits = !is_known || has_core_each(&masks);
        for &rank in here {
            let Cores { at_once, .. } = &ranks[rank];
            // Who shares a quota is not known, so it must do for all.
            let is_limited = !is_known || ranks[rank].has_quota();
            may[rank] = fits && (!is_limited || here.len() <= *at_once as usize);
        }
    }
    may
}

/// How many ranks share a core on the host where most do; at least 1.
pub(crate) fn ranks_per_core(ranks: &[Cores]) -> f64 {
    let mut hosts: BTreeMap<&str, (u32, Vec<u64>, u32)> = BTreeMap::new();
    for cores in ranks {
        let (here, union, at_once) = hosts.entry(&cores.host).or_default();
        *here += 1;
        // Who is bound to one core keeps no more than that busy, and yet has no quota.
        let is_limit = cores.has_quota() || count(&cores.mask) == 0;
        *at_once = (*at_once).max(if is_limit { cores.at_once } else { u32::MAX });
        let words = cores.mask.len().min(WORDS_MAX);
        union.resize(words.max(union.len()), 0);
        union.iter_mut().zip(&cores.mask).for_each(|(all, own)| *all |= own);
    }
    let shares = hosts.values().map(|(ranks, union, at_once)| {
        // A quota holds for all; without masks it is all that is known.
        let cores = match count(union) as u32 {
            0 => *at_once,
            known => known.min((*at_once).max(1)),
        };
        if cores == 0 { 1.0 } else { f64::from(*ranks) / f64::from(cores) }
    });
    shares.fold(1.0, f64::max)
}

/// Whether ranks with these masks can all run at the same time: a matching of ranks and processors.
fn has_core_each(masks: &[&[u64]]) -> bool {
    let words = masks.iter().map(|mask| mask.len()).max().unwrap_or(0);
    let mut rank_on = vec![None; words * 64];
    masks.len() <= rank_on.len() && (0..masks.len()).all(|rank| place(rank, masks, &mut rank_on))
}

/// Gives `rank` a processor, and those that have to move for it others: along the shortest chain of such moves.
fn place(rank: usize, masks: &[&[u64]], rank_on: &mut [Option<usize>]) -> bool {
    // By which rank each processor was reached first.
    let mut reached_by = vec![None; rank_on.len()];
    let mut queue = VecDeque::from([rank]);
    while let Some(mover) = queue.pop_front() {
        for processor in processors(masks[mover]) {
            if reached_by[processor].is_some() {
                continue;
            }
            reached_by[processor] = Some(mover);
            match rank_on[processor] {
                Some(other) => queue.push_back(other),
                None => {
                    move_along(processor, &reached_by, rank_on);
                    return true;
                }
            }
        }
    }
    false
}

/// The last of the chain moves to the free processor, the one before it to where that was, and so on to the first, which
/// had none.
fn move_along(free: usize, reached_by: &[Option<usize>], rank_on: &mut [Option<usize>]) {
    let mut target = free;
    while let Some(mover) = reached_by[target] {
        let left = rank_on.iter().position(|&on| on == Some(mover));
        rank_on[target] = Some(mover);
        let Some(left) = left else { return };
        target = left;
    }
}

fn processors(mask: &[u64]) -> impl Iterator<Item = usize> {
    (0..)
        .zip(mask)
        .flat_map(|(word, bits)| (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 64 * word + bit))
}

fn count(mask: &[u64]) -> usize {
    mask.iter().map(|bits| bits.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(host: &str, mask: &[u64]) -> Cores {
        Cores { host: host.into(), mask: mask.into(), at_once: count(mask) as u32 }
    }

    #[test]
    fn a_rank_yields_its_core_to_others_but_does_not_poll_at_the_cost_of_a_quota() {
        let cores = on("a", &[3]);
        assert_eq!((cores.polling(true), cores.polling(false)), (Polling::Own, Polling::Shared));
        assert_eq!(Cores { at_once: 1, ..cores }.polling(false), Polling::Never);
    }

    fn one_host(masks: &[&[u64]]) -> bool {
        let may = may_poll(&masks.iter().map(|mask| on("a", mask)).collect::<Vec<_>>());
        assert!(may.iter().all(|&one| one == may[0]), "{may:?}");
        may[0]
    }

    #[test]
    fn ranks_that_share_cores_are_counted() {
        let on_each = |host, mask: u64, ranks| vec![on(host, &[mask]); ranks];
        assert_eq!(ranks_per_core(&on_each("a", 0b11, 8)), 4.0);
        assert_eq!(ranks_per_core(&on_each("a", 0b1111, 2)), 1.0);
        assert_eq!(ranks_per_core(&[on_each("a", 0b11, 2), on_each("b", 0b1, 3)].concat()), 3.0, "the worst host");
        assert_eq!(ranks_per_core(&[on("a", &[0b01]), on("a", &[0b10])]), 1.0, "each is bound to its own");
        assert_eq!(ranks_per_core(&[0b01, 0b01, 0b10, 0b11].map(|mask| on("a", &[mask]))), 2.0, "some are bound");
        let limited = Cores { at_once: 2, ..on("a", &[0xff]) };
        assert_eq!(ranks_per_core(&vec![limited; 4]), 2.0, "a quota");
        let unknown = Cores { host: "a".into(), ..Cores::default() };
        assert_eq!(ranks_per_core(&vec![unknown; 4]), 1.0);
    }

    #[test]
    fn pinned_ranks_count_together_and_shared_cores_once() {
        assert!(one_host(&[&[0b01], &[0b10]]), "each on a core of its own");
        assert!(!one_host(&[&[0b01], &[0b01]]), "both on the same");
        assert!(one_host(&[&[0b11], &[0b11]]));
        assert!(!one_host(&[&[0b11], &[0b11], &[0b11]]));
        assert!(one_host(&[&[0b11], &[0b01]]), "the first has to take the second core");
        assert!(one_host(&[&[0b011], &[0b101], &[0b001]]), "a chain of two moves");
        assert!(
            !one_host(&[&[0b11], &[0b11], &[0b11], &[0b1111]]),
            "two ranks must share, though there are four cores"
        );
        assert!(one_host(&[&[0, 1], &[1 << 63]]), "beyond the first 64");
        assert!(one_host(&[&[1]]));
    }

    #[test]
    fn hosts_count_apart() {
        let ranks = [on("a", &[1]), on("b", &[1]), on("b", &[1]), on("c", &[3]), on("a", &[2])];
        assert_eq!(may_poll(&ranks), [true, false, false, true, true]);
    }

    #[test]
    fn a_quota_must_do_for_all_and_without_a_mask_the_number_decides() {
        let ranks = |mask: &[u64], at_once| vec![Cores { at_once, ..on("a", mask) }; 2];
        assert_eq!(may_poll(&ranks(&[0xff], 1)), [false; 2]);
        assert_eq!(may_poll(&ranks(&[0xff], 2)), [true; 2]);
        assert_eq!(may_poll(&ranks(&[], 1)), [false; 2]);
        assert_eq!(may_poll(&ranks(&[], 2)), [true; 2]);
        assert_eq!(may_poll(&[]), [false; 0]);
    }

    /// Whether some assignment gives each its own, by trying all.
    fn tried(masks: &[u64], taken: u64) -> bool {
        let Some((first, rest)) = masks.split_first() else { return true };
        (0..6).map(|bit| 1 << bit).any(|bit| first & bit & !taken != 0 && tried(rest, taken | bit))
    }

    #[test]
    fn every_choice_of_masks_is_judged_as_by_trying_all() {
        let mut state = 7u64;
        for _ in 0..20_000 {
            let mut random = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as usize
            };
            let masks: Vec<u64> = (0..1 + random() % 6).map(|_| 1 + random() as u64 % 63).collect();
            let slices: Vec<&[u64]> = masks.iter().map(std::slice::from_ref).collect();
            assert_eq!(one_host(&slices), tried(&masks, 0), "{masks:?}");
        }
    }

    #[test]
    fn a_thousand_ranks_are_judged_at_once() {
        let all = [u64::MAX; 16];
        assert!(one_host(&vec![&all[..]; 1024]));
        assert!(!one_host(&vec![&all[..]; 1025]));
    }
}
