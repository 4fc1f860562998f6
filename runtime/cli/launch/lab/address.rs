//! The names and addresses of a lab's hosts. Pure.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The lengths of the subnets' prefixes, for both kinds of addresses.
pub(super) const PREFIX_4: u8 = 16;
pub(super) const PREFIX_6: u8 = 64;

const SUBNET_4: Ipv4Addr = Ipv4Addr::new(10, 76, 0, 0);
const SUBNET_6: Ipv6Addr = Ipv6Addr::new(0xfd76, 0x6c61, 0x7468, 0, 0, 0, 0, 0);

pub(super) fn name(host: usize) -> String {
    format!("host{host}")
}

/// The host of this name.
pub(super) fn named(name: &str, hosts: usize) -> Option<usize> {
    (0..hosts).find(|&host| self::name(host) == name)
}

/// A host's first addresses: its number and one, within the subnets.
pub(super) fn addresses(host: usize) -> (Ipv4Addr, Ipv6Addr) {
    let number = host as u32 + 1;
    let address_6 = SUBNET_6.to_bits() | u128::from(number);
    (Ipv4Addr::from_bits(SUBNET_4.to_bits() | number), Ipv6Addr::from_bits(address_6))
}

/// Which host has which addresses, now.
pub(super) struct Addresses {
    hosts: Vec<(Ipv4Addr, Ipv6Addr)>,
    owners: HashMap<IpAddr, usize>,
}

impl Addresses {
    /// Each of so many hosts has those of its number.
    pub(super) fn new(hosts: usize) -> Self {
        let hosts: Vec<_> = (0..hosts).map(addresses).collect();
        let both = |(host, &(address_4, address_6)): (usize, &(Ipv4Addr, Ipv6Addr))| {
            [(address_4.into(), host), (address_6.into(), host)]
        };
        let owners = hosts.iter().enumerate().flat_map(both).collect();
        Addresses { hosts, owners }
    }

    /// Those of a host.
    pub(super) fn of(&self, host: usize) -> (Ipv4Addr, Ipv6Addr) {
        self.hosts[host]
    }

    /// The host that has this address.
    pub(super) fn owner(&self, address: IpAddr) -> Option<usize> {
        self.owners.get(&address).copied()
    }

    /// A host has this address from now on, and not its former one of that kind any more. Returns that one.
    ///
    /// # Errors
    /// No host may have it, or one has.
    pub(super) fn change(&mut self, host: usize, address: IpAddr) -> Result<IpAddr, String> {
        if !is_a_hosts(address) {
            return Err(format!(
                "{address} is no address of a host in the lab's network, which is {SUBNET_4}/{PREFIX_4} and \
                 {SUBNET_6}/{PREFIX_6}"
            ));
        }
        if let Some(owner) = self.owner(address) {
            return Err(format!("{address} is the address of {}", name(owner)));
        }
        let (address_4, address_6) = &mut self.hosts[host];
        let before = match address {
            IpAddr::V4(address) => std::mem::replace(address_4, address).into(),
            IpAddr::V6(address) => std::mem::replace(address_6, address).into(),
        };
        self.owners.remove(&before);
        self.owners.insert(address, host);
        Ok(before)
    }

    /// The text of the lab's `/etc/hosts`; `own` is what the machine's says.
    pub(super) fn hosts_file(&self, own: &str) -> String {
        let line = |(host, (address_4, address_6)): (usize, &(Ipv4Addr, Ipv6Addr))| {
            let name = name(host);
            format!("{address_4} {name}\n{address_6} {name}\n")
        };
        self.hosts.iter().enumerate().map(line).chain([own.to_owned()]).collect()
    }
}

/// Whether a host may have it: in one of the subnets, of which the first and, of the older kind, the last are no host's.
fn is_a_hosts(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let number = address.to_bits() ^ SUBNET_4.to_bits();
            (1..u32::MAX >> PREFIX_4).contains(&number)
        }
        IpAddr::V6(address) => {
            let number = address.to_bits() ^ SUBNET_6.to_bits();
            (1..=u128::MAX >> PREFIX_6).contains(&number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_owns_its_addresses() {
        let hosts = 250;
        let all = Addresses::new(hosts);
        for host in 0..hosts {
            let (address_4, address_6) = addresses(host);
            assert_eq!(all.owner(address_4.into()), Some(host));
            assert_eq!(all.owner(address_6.into()), Some(host));
            assert_eq!(named(&name(host), hosts), Some(host));
        }
        assert_eq!(addresses(0).0.to_string(), "10.76.0.1");
        assert_eq!(addresses(9).1.to_string(), "fd76:6c61:7468::a");
    }

    #[test]
    fn others_own_nothing() {
        let all = Addresses::new(3);
        for address in ["10.76.0.0", "10.76.0.4", "10.76.255.255", "10.77.0.1", "ff02::2", "fd76:6c61:7468::4"] {
            assert_eq!(all.owner(address.parse().unwrap()), None, "{address}");
        }
        for name in ["host3", "host", "host01", "host-1", "HOST1", ""] {
            assert_eq!(named(name, 3), None, "{name}");
        }
    }

    #[test]
    fn a_host_may_have_another_address() {
        let mut all = Addresses::new(2);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for (new, old) in [("10.76.0.77", "10.76.0.2"), ("fd76:6c61:7468::77", "fd76:6c61:7468::2")] {
            assert_eq!(all.change(1, address(new)), Ok(address(old)));
            assert_eq!((all.owner(address(old)), all.owner(address(new))), (None, Some(1)));
        }
        for (no, why) in [
            ("10.76.0.0", "network"),
            ("10.76.255.255", "network"),
            ("10.77.0.1", "10.76.0.0/16"),
            ("fd76:6c61:7468::", "network"),
            ("fd76:6c61:7468:1::1", "fd76:6c61:7468::/64"),
            ("10.76.0.77", "host1"),
            ("10.76.0.1", "host0"),
        ] {
            let refused = all.change(1, address(no)).unwrap_err();
            assert!(refused.contains(why), "{no}: {refused}");
        }
        assert_eq!(all.change(0, address("10.76.0.2")), Ok(address("10.76.0.1")), "nobody has it any more");
        assert!(all.hosts_file("").starts_with("10.76.0.2 host0\nfd76:6c61:7468::1 host0\n10.76.0.77 host1\n"));
    }

    #[test]
    fn names_come_before_the_machines_own() {
        let text = Addresses::new(1).hosts_file("127.0.0.1 localhost\n");
        assert_eq!(text, "10.76.0.1 host0\nfd76:6c61:7468::1 host0\n127.0.0.1 localhost\n");
    }
}
