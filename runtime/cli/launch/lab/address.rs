//! The names and addresses of a lab's hosts. Pure.

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

/// A host's addresses: its number and one, within the subnets.
pub(super) fn addresses(host: usize) -> (Ipv4Addr, Ipv6Addr) {
    let number = host as u32 + 1;
    let address_6 = SUBNET_6.to_bits() | u128::from(number);
    (Ipv4Addr::from_bits(SUBNET_4.to_bits() | number), Ipv6Addr::from_bits(address_6))
}

/// The host that has this address.
pub(super) fn owner(address: IpAddr, hosts: usize) -> Option<usize> {
    let number = match address {
        IpAddr::V4(address) => u128::from(address.to_bits() ^ SUBNET_4.to_bits()),
        IpAddr::V6(address) => address.to_bits() ^ SUBNET_6.to_bits(),
    };
    usize::try_from(number).ok()?.checked_sub(1).filter(|&host| host < hosts)
}

/// The text of the lab's `/etc/hosts`; `own` is what the machine's says.
pub(super) fn hosts_file(hosts: usize, own: &str) -> String {
    let line = |host: usize| {
        let ((address_4, address_6), name) = (addresses(host), name(host));
        format!("{address_4} {name}\n{address_6} {name}\n")
    };
    (0..hosts).map(line).chain([own.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_owns_its_addresses() {
        let hosts = 250;
        for host in 0..hosts {
            let (address_4, address_6) = addresses(host);
            assert_eq!(owner(address_4.into(), hosts), Some(host));
            assert_eq!(owner(address_6.into(), hosts), Some(host));
            assert_eq!(named(&name(host), hosts), Some(host));
        }
        assert_eq!(addresses(0).0.to_string(), "10.76.0.1");
        assert_eq!(addresses(9).1.to_string(), "fd76:6c61:7468::a");
    }

    #[test]
    fn others_own_nothing() {
        for address in ["10.76.0.0", "10.76.0.4", "10.76.255.255", "10.77.0.1", "ff02::2", "fd76:6c61:7468::4"] {
            assert_eq!(owner(address.parse().unwrap(), 3), None, "{address}");
        }
        for name in ["host3", "host", "host01", "host-1", "HOST1", ""] {
            assert_eq!(named(name, 3), None, "{name}");
        }
    }

    #[test]
    fn names_come_before_the_machines_own() {
        let text = hosts_file(1, "127.0.0.1 localhost\n");
        assert_eq!(text, "10.76.0.1 host0\nfd76:6c61:7468::1 host0\n127.0.0.1 localhost\n");
    }
}
