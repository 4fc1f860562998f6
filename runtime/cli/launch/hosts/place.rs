//! Which ranks go where.

use super::Host;

/// More ranks no job has.
const RANKS_MAX: u32 = 1 << 16;

/// Which ranks each host has, in rising order; none on a host that is not needed. Fills the hosts in order, each up to its
/// slots, and goes round again while there are more ranks. Without a number of ranks every slot gets one.
///
/// # Errors
/// If every host is full to its limit before, or if there are more ranks than any job has.
pub(crate) fn place(hosts: Vec<Host>, ranks: Option<u32>) -> Result<Vec<(Host, Vec<u32>)>, String> {
    let limit = |host: &Host| host.max_slots.unwrap_or(u32::MAX);
    let slots = hosts.iter().map(|host| host.slots.min(limit(host))).fold(0, u32::saturating_add);
    let wanted = ranks.unwrap_or(slots);
    if wanted > RANKS_MAX {
        return Err(format!("{wanted} ranks; a job has {RANKS_MAX} at most: give -n, or the hosts fewer slots"));
    }
    let mut places: Vec<(Host, Vec<u32>)> = hosts.into_iter().map(|host| (host, Vec::new())).collect();
    let mut next = 0;
    while next < wanted {
        let before = next;
        for (host, ranks) in &mut places {
            let room = limit(host) - ranks.len() as u32;
            let take = host.slots.min(room).min(wanted - next);
            ranks.extend(next..next + take);
            next += take;
        }
        if next == before {
            return Err(format!("{wanted} ranks, but the hosts take {next} at most (max_slots)"));
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::hosts::parse_file;

    #[test]
    fn hosts_fill_in_order_and_wrap_round() {
        let hosts = parse_file("a slots=2\nb:1\nc slots=3 max_slots=3").unwrap();
        let placed = |ranks| -> Vec<Vec<u32>> {
            place(hosts.clone(), ranks).unwrap().into_iter().map(|(_, ranks)| ranks).collect()
        };
        assert_eq!(placed(None), [vec![0, 1], vec![2], vec![3, 4, 5]]);
        assert_eq!(placed(Some(2)), [vec![0, 1], vec![], vec![]]);
        assert_eq!(placed(Some(10)), [vec![0, 1, 6, 7, 9], vec![2, 8], vec![3, 4, 5]]);
        let error = place(parse_file("a max_slots=3").unwrap(), Some(4)).unwrap_err();
        assert_eq!(error, "4 ranks, but the hosts take 3 at most (max_slots)");
        let many = parse_file("a:65536\nb:65536").unwrap();
        assert!(place(many.clone(), None).unwrap_err().contains("131072 ranks; a job has 65536 at most"));
        assert_eq!(place(many, Some(3)).unwrap()[0].1, [0, 1, 2]);
    }
}
