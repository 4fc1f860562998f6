//! This host's addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::interfaces::{Interfaces, needs_scope};

/// This host's addresses that others might know, or those that `rules` allow.
pub fn own(rules: Option<&Interfaces>) -> Vec<IpAddr> {
    let is_useful = |address: &IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback(),
    };
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let allowed = |interface: &&if_addrs::Interface| match rules {
        Some(rules) => rules.allow(&interface.name, interface.ip()),
        None => is_useful(&interface.ip()),
    };
    interfaces.iter().filter(allowed).map(|interface| interface.ip()).filter(|address| !needs_scope(address)).collect()
}

/// This host's loopback address: IPv4's, unless the host has only IPv6's.
pub fn loopback() -> IpAddr {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    loopback_of(interfaces.iter().map(|interface| interface.ip()))
}

fn loopback_of(all: impl Iterator<Item = IpAddr>) -> IpAddr {
    let found: Vec<IpAddr> = all.filter(IpAddr::is_loopback).collect();
    if !found.is_empty() && found.iter().all(IpAddr::is_ipv6) {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_that_of_ipv4_unless_there_is_none() {
        let loopback = |all: &[&str]| loopback_of(all.iter().map(|text| text.parse().unwrap())).to_string();
        assert_eq!(loopback(&["127.0.0.1", "::1", "fd00::7"]), "127.0.0.1");
        assert_eq!(loopback(&["fd00::7", "::1"]), "::1");
        assert_eq!(loopback(&[]), "127.0.0.1", "where the system does not say");
    }
}
