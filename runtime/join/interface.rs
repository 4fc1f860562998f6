//! This host's addresses.

use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::interfaces::{Interfaces, needs_scope};

/// Rtnetlink's groups of those who want to hear of addresses, of both kinds.
const ADDRESSES: u32 = 0x10 | 0x100;

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

/// Whether this host has `address`: what is connected from one that it has lost is dead, and TCP does not say so.
pub(crate) fn is_here(address: IpAddr) -> bool {
    !UdpSocket::bind((address, 0)).is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
}

/// Hears of addresses that come and go, unless the system refuses.
pub(super) struct Changes(Option<AsyncFd<OwnedFd>>);

impl Changes {
    pub(super) fn listen() -> Self {
        Changes(subscribe().ok())
    }

    /// Returns when this host has lost `address`.
    pub(super) async fn lost(&self, address: IpAddr) {
        let Some(told) = &self.0 else { return pending().await };
        while is_here(address) {
            let Ok(mut ready) = told.readable().await else { return pending().await };
            // Which it is does not matter, nor whether some found no room.
            let take = || recv(told, &mut [0; 512][..], RecvFlags::empty()).map(drop);
            while matches!(take(), Ok(()) | Err(Errno::NOBUFS | Errno::INTR)) {}
            ready.clear_ready();
        }
    }
}

#[expect(
    deprecated,
    reason = "the constructor that replaces it is unsafe, for the sake of unowned descriptors; this one is owned"
)]
fn subscribe() -> io::Result<AsyncFd<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // No protocol is rtnetlink, which has the number 0.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, ADDRESSES))?;
    AsyncFd::with_interest(socket, Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn an_address_that_is_not_here_is_lost() {
        let [loopback, documentation] = ["127.0.0.1", "192.0.2.1"].map(|address| address.parse::<IpAddr>().unwrap());
        assert!(is_here(loopback) && !is_here(documentation));
        let (changes, short) = (Changes::listen(), std::time::Duration::from_millis(50));
        assert!(tokio::time::timeout(short, changes.lost(loopback)).await.is_err());
        changes.lost(documentation).await;
    }

    #[test]
    fn the_loopback_is_that_of_ipv4_unless_there_is_none() {
        let loopback = |all: &[&str]| loopback_of(all.iter().map(|text| text.parse().unwrap())).to_string();
        assert_eq!(loopback(&["127.0.0.1", "::1", "fd00::7"]), "127.0.0.1");
        assert_eq!(loopback(&["fd00::7", "::1"]), "::1");
        assert_eq!(loopback(&[]), "127.0.0.1", "where the system does not say");
    }
}
