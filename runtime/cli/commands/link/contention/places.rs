//! Which ranks are pairs, and which ports they share. Pure.

use crate::launch::hosts::Host;

/// The host of each rank, by number, where `pairs` pairs at most are to send at once: one rank for each slot.
///
/// # Errors
/// In words, if so many pairs cannot be made, or some would not leave their host.
pub(super) fn hosts(pairs: u32, slots: &[(Host, u32)]) -> Result<Vec<u32>, String> {
    let by_rank: Vec<u32> =
        (0..).zip(slots).flat_map(|(host, (_, slots))| std::iter::repeat_n(host, *slots as usize)).collect();
    let names = || slots.iter().map(|(host, _)| host.name.as_str()).collect::<Vec<_>>().join(",");
    let all = by_rank.len();
    if !all.is_multiple_of(2) {
        return Err(format!(
            "--pairs takes an even number of ranks, one for each slot, and {} has {all}: name one host more or less, or \
             give a host another slot, such as {}:2",
            names(),
            slots[0].0.name
        ));
    }
    if let Some((host, slots)) = slots.iter().find(|(_, slots)| 2 * *slots as usize > all) {
        return Err(format!(
            "--pairs measures between hosts, and {} has {slots} of all {all} slots, so pairs would not leave it: name more \
             hosts, such as {},other, or give the others as many slots",
            host.name, host.name
        ));
    }
    if 2 * pairs as usize > all {
        return Err(format!(
            "{pairs} pairs at once take {} ranks, and {} has {all} slots: name more hosts, or give them slots, such as \
             {}:{}",
            2 * pairs,
            names(),
            slots[0].0.name,
            (2 * pairs as usize).div_ceil(slots.len())
        ));
    }
    Ok(by_rank)
}

/// Sender and receiver of each pair, from one half of the ranks to the other. Pairs that share no port with those before come
/// first.
pub(super) fn pairing(hosts: &[u32]) -> Vec<[u32; 2]> {
    let half = (hosts.len() / 2) as u32;
    let mut left: Vec<[u32; 2]> = (0..half).map(|rank| [rank, rank + half]).collect();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let load = |at: &usize| {
            chosen.push(left[*at]);
            let load = per_port(&chosen, hosts);
            chosen.pop();
            load
        };
        let next = (0..left.len()).min_by_key(load).unwrap_or_default();
        chosen.push(left.remove(next));
    }
    chosen
}

/// The most pairs that send from one host, or to one.
pub(super) fn per_port(pairs: &[[u32; 2]], hosts: &[u32]) -> u32 {
    let host = |rank: u32| hosts[rank as usize];
    let count = |end: usize| {
        let same = |pair: &[u32; 2]| pairs.iter().filter(|other| host(other[end]) == host(pair[end])).count();
        pairs.iter().map(same).max().unwrap_or_default() as u32
    };
    count(0).max(count(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::hosts::parse_list;

    fn placed(pairs: u32, list: &str) -> Result<Vec<u32>, String> {
        let list = parse_list(list).unwrap();
        hosts(pairs, &list.into_iter().map(|host| (host.clone(), host.slots)).collect::<Vec<_>>())
    }

    #[test]
    fn every_slot_is_a_rank() {
        assert_eq!(placed(2, "a,b,c,d").unwrap(), [0, 1, 2, 3]);
        assert_eq!(placed(1, "a:2,b:2").unwrap(), [0, 0, 1, 1]);
        assert_eq!(placed(2, "a:2,b,c").unwrap(), [0, 0, 1, 2]);
    }

    #[test]
    fn what_cannot_be_is_named_with_what_to_do() {
        let refused = |pairs, list: &str, parts: &[&str]| {
            let said = placed(pairs, list).unwrap_err();
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        };
        refused(1, "a,b,c", &["even number", "a,b,c has 3", "one host more"]);
        refused(4, "a,b,c,d", &["4 pairs at once take 8 ranks", "has 4 slots", "a:2"]);
        refused(1, "a:2", &["between hosts", "a has 2 of all 2", "name more hosts"]);
        refused(1, "a:3,b", &["a has 3 of all 4"]);
    }

    #[test]
    fn pairs_leave_their_hosts_and_share_ports_late() {
        for list in ["a,b", "a,b,c,d", "a:2,b:2", "a:4,b:4", "a:2,b:2,c:2,d:2", "a:2,b:1,c:1", "a:3,b:1,c:2"] {
            let hosts = placed(1, list).unwrap();
            let pairs = pairing(&hosts);
            let mut ranks: Vec<u32> = pairs.iter().flatten().copied().collect();
            ranks.sort_unstable();
            assert!(ranks.iter().copied().eq(0..hosts.len() as u32), "{list}: each once");
            assert!(pairs.iter().all(|[from, to]| hosts[*from as usize] != hosts[*to as usize]), "{list}");
        }
        let hosts = placed(4, "a:2,b:2,c:2,d:2").unwrap();
        let pairs = pairing(&hosts);
        assert_eq!([1, 2, 3, 4].map(|n| per_port(&pairs[..n], &hosts)), [1, 1, 2, 2]);
        let two = placed(2, "a:2,b:2").unwrap();
        assert_eq!([1, 2].map(|n| per_port(&pairing(&two)[..n], &two)), [1, 2]);
        let many = placed(4, "a,b,c,d,e,f,g,h").unwrap();
        assert_eq!(per_port(&pairing(&many), &many), 1);
    }
}
