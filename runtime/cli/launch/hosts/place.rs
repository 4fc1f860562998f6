//! Which ranks go where.

use super::Host;

/// Why ranks cannot be placed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} ranks, but the hosts take {most} at most (max_slots)")]
pub(crate) struct PlaceError {
    /// The number of ranks.
    pub wanted: u32,
    /// What the hosts' limits allow.
    pub most: u64,
}

lathide_models::debug_is_display!(PlaceError);

/// Each host's ranks, in rising order, none for one that is not needed: fills the hosts in order, each up to its slots, and
/// goes round again while there are more ranks. Without a number of ranks every slot gets one.
///
/// # Errors
/// [`PlaceError`] if every host is full to its limit before.
pub(crate) fn place(hosts: &[Host], ranks: Option<u32>) -> Result<Vec<Vec<u32>>, PlaceError> {
    let limit = |host: &Host| host.max_slots.map_or(u64::MAX, u64::from);
    let most = hosts.iter().map(limit).fold(0, u64::saturating_add);
    let wanted = ranks.unwrap_or_else(|| u32::try_from(slots(hosts)).unwrap_or(u32::MAX));
    if u64::from(wanted) > most {
        return Err(PlaceError { wanted, most });
    }
    let mut placed = vec![Vec::new(); hosts.len()];
    let mut next = 0;
    while next < wanted {
        for (host, ranks) in hosts.iter().zip(&mut placed) {
            let room = limit(host) - ranks.len() as u64;
            let take = u64::from(host.slots).min(room).min(u64::from(wanted - next)) as u32;
            ranks.extend(next..next + take);
            next += take;
        }
    }
    Ok(placed)
}

/// How many ranks the hosts take in one round.
pub(crate) fn slots(hosts: &[Host]) -> u64 {
    hosts.iter().map(|host| u64::from(host.max_slots.unwrap_or(u32::MAX).min(host.slots))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::hosts::parse_file;

    #[test]
    fn hosts_fill_in_order_and_wrap_round() {
        let hosts = parse_file("a slots=2\nb:1\nc slots=3 max_slots=3").unwrap();
        let placed = |ranks| place(&hosts, ranks).unwrap();
        assert_eq!(placed(None), [vec![0, 1], vec![2], vec![3, 4, 5]]);
        assert_eq!(placed(Some(2)), [vec![0, 1], vec![], vec![]]);
        assert_eq!(placed(Some(10)), [vec![0, 1, 6, 7, 9], vec![2, 8], vec![3, 4, 5]]);
        assert_eq!((slots(&hosts), slots(&parse_file("a slots=4 max_slots=2").unwrap())), (6, 2));
        let error = place(&parse_file("a max_slots=3").unwrap(), Some(4)).unwrap_err();
        assert_eq!(error, PlaceError { wanted: 4, most: 3 });
    }
}
