//! What holds for any hosts.

use proptest::prelude::*;

use super::*;
use crate::mutant;

/// Seeds, at scale 1.
const TEXTS: u64 = 200_000;
/// What people and schedulers write.
const LISTS: [&str; 12] = [
    "a:4,user@b,[fd00::7]:2,[fe80::1%eth0],a",
    "# comment\n\nnode01 slots=4 max_slots=8\nnode02:4 # Hydra\nuser@node03 slots=2 port=2222 addr=10.0.0.3\n",
    "[::1] addr=[fd00::7]\nnode02:1",
    "a,b,c",
    "n[01-02],big",
    "4(x2),3",
    "r[1-2]n[08,10-11],big",
    "gpu-a[098-102,7].site",
    "1(x2)",
    "localhost",
    "2",
    "a:65536\nb:65536",
];

#[test]
fn texts_that_are_almost_right_are_hosts_or_name_what_is_wrong() {
    mutant::each_seed("texts_that_are_almost_right_are_hosts_or_name_what_is_wrong", TEXTS, |chance| {
        let (text, tasks) = (mutant::text(chance, &LISTS), mutant::text(chance, &LISTS));
        let lookup = |name: &str| match name {
            "SLURM_JOB_ID" => Some("7".to_owned()),
            "SLURM_JOB_NODELIST" => Some(text.clone()),
            "SLURM_TASKS_PER_NODE" => Some(tasks.clone()).filter(|_| tasks.len() % 2 == 0),
            _ => None,
        };
        let ranks = [None, Some(1), Some(chance.below(100)), Some(u32::MAX)];
        let ranks = chance.pick(&ranks);
        let read = [parse_list(&text), parse_file(&text), allocation(&lookup).map(Option::unwrap_or_default)];
        let mut is_accepted = false;
        for hosts in read {
            match hosts {
                Ok(hosts) => {
                    assert!(hosts.len() <= 1 << 16 && hosts.iter().all(|host| host.name.len() <= text.len().max(255)));
                    match place(hosts, ranks) {
                        Ok(places) => {
                            let all: usize = places.iter().map(|(_, ranks)| ranks.len()).sum();
                            assert!(all <= 1 << 16 && ranks.is_none_or(|ranks| ranks as usize == all));
                            is_accepted = true;
                        }
                        Err(error) => assert!(error.contains("ranks"), "{error}"),
                    }
                }
                Err(error) => assert!(error.starts_with("line ") || error.starts_with("SLURM_"), "{error}"),
            }
        }
        is_accepted
    });
}

/// As many as a scheduler may name.
#[test]
fn many_hosts_take_no_longer_each_than_few() {
    let many: String = (0..65_536).map(|host| format!("node{host}\n")).collect();
    assert_eq!(parse_file(&many).unwrap().len(), 65_536);
}

fn host() -> impl Strategy<Value = Host> {
    let user = proptest::option::of("[a-z][a-z0-9_-]{0,5}");
    let name = prop_oneof!["[a-z0-9][a-z0-9.-]{0,8}", any::<std::net::Ipv6Addr>().prop_map(|a| a.to_string())];
    let addr = proptest::option::of(any::<IpAddr>());
    (name, user, 1..20u32, proptest::option::of(1..40u32), proptest::option::of(1..=u16::MAX), addr)
        .prop_map(|(name, user, slots, max_slots, port, addr)| Host { name, user, slots, max_slots, port, addr })
}

fn written(host: &Host, colon: bool) -> String {
    let user = host.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let name = if host.name.contains(':') { format!("[{}]", host.name) } else { host.name.clone() };
    let mut line = format!("{user}{name}");
    line += &if colon { format!(":{}", host.slots) } else { format!(" slots={}", host.slots) };
    line += &host.max_slots.map(|max| format!(" max_slots={max}")).unwrap_or_default();
    line += &host.port.map(|port| format!("\tport={port}")).unwrap_or_default();
    line + &host.addr.map(|addr| format!(" addr={addr} # that one")).unwrap_or_default()
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn what_is_written_is_read(hosts in proptest::collection::vec((host(), any::<bool>()), 1..8)) {
        let text: String = hosts.iter().map(|(host, colon)| written(host, *colon) + "\n").collect();
        prop_assert_eq!(parse_file(&text).unwrap(), merged(hosts.into_iter().map(|(host, _)| host)));
    }

    #[test]
    fn no_text_panics_and_places_are_within_it(text in any::<String>()) {
        for error in [parse_file(&text).err(), parse_list(&text).err()].into_iter().flatten() {
            let numbers = error.split(|sign: char| !sign.is_ascii_digit()).filter(|number| !number.is_empty());
            let place: Vec<usize> = numbers.take(2).map(|number| number.parse().unwrap()).collect();
            prop_assert!(place[0] >= 1 && place[0] <= text.lines().count().max(1));
            prop_assert!(place[1] >= 1 && place[1] <= text.chars().count() + 1);
        }
    }

    #[test]
    fn every_rank_has_one_place(hosts in proptest::collection::vec(host(), 1..6), ranks in proptest::option::of(1..200u32)) {
        let limits: u64 = hosts.iter().map(|host| host.max_slots.map_or(u64::MAX >> 8, u64::from)).sum();
        match place(hosts.clone(), ranks) {
            Ok(places) => {
                let mut all: Vec<u32> = places.iter().flat_map(|(_, ranks)| ranks.clone()).collect();
                all.sort_unstable();
                prop_assert!(ranks.is_none_or(|ranks| ranks as usize == all.len()));
                prop_assert_eq!(&all, &(0..all.len() as u32).collect::<Vec<_>>());
                let slots: u32 = hosts.iter().map(|host| host.slots.min(host.max_slots.unwrap_or(u32::MAX))).sum();
                for ((placed, ranks), host) in places.iter().zip(&hosts) {
                    prop_assert_eq!(placed, host);
                    prop_assert!(host.max_slots.is_none_or(|max| ranks.len() <= max as usize));
                    prop_assert!(all.len() > slots as usize || ranks.len() <= host.slots as usize);
                }
            }
            Err(_) => prop_assert!(u64::from(ranks.unwrap()) > limits),
        }
    }
}
