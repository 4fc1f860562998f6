//! Listening on a free port of a range.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::TcpListener;

use super::{handshake, loopback};
use crate::config::Config;

/// Opens the node's listener, on the address that reached the rendezvous unless other rules are set; and what the others
/// shall call.
pub(super) async fn listen(local: IpAddr, config: &Config) -> Result<(TcpListener, SocketAddr), String> {
    // A host's own idea of its address is often wrong (VPN, 127.0.1.1); the one a packet has taken is not.
    let local = match &config.interface {
        Some(rules) => rules.choose(&interfaces()?, local)?,
        None => local,
    };
    // Behind a router, packets for the address that is told may come in at any, of either family.
    let listener = if config.advertise.is_some_and(|told| told != local) {
        bind_all(config.ports.clone()).await?
    } else {
        bind(local, config.ports.clone()).await?
    };
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    Ok((listener, SocketAddr::new(config.advertise.unwrap_or(local), port)))
}

/// This host's interfaces, with their addresses.
fn interfaces() -> Result<Vec<(String, IpAddr)>, String> {
    let all = if_addrs::get_if_addrs().map_err(|error| format!("its interfaces cannot be listed: {error}"))?;
    Ok(all.into_iter().map(|interface| (interface.name.clone(), interface.ip())).collect())
}

/// Listens on the first port of the range that is free, or on any.
pub(crate) async fn bind(address: IpAddr, ports: Option<RangeInclusive<u16>>) -> Result<TcpListener, String> {
    let named = ports.clone().map_or_else(String::new, |ports| format!(", ports {} to {}", ports.start(), ports.end()));
    let mut cause = String::new();
    for port in ports.unwrap_or(0..=0) {
        match TcpListener::bind((address, port)).await {
            Ok(listener) => {
                loopback::unpace(&SockRef::from(&listener), address);
                return Ok(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => cause = "all are in use".to_owned(),
            Err(error) => return Err(format!("it cannot listen on {address}{named}: {}", handshake::explain(&error))),
        }
    }
    Err(format!("it cannot listen on {address}{named}: {cause}"))
}

/// Listens on all addresses, of both families where the system has both, at the first of `ports` that is free.
pub async fn bind_all(ports: Option<RangeInclusive<u16>>) -> Result<TcpListener, String> {
    // Linux takes connections of both families on this one, unless it has no IPv6 or is told otherwise.
    let both = |port: u16| {
        let socket = Socket::new(Domain::IPV6, Type::STREAM, None)?;
        socket.set_only_v6(false)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
        socket.listen(1024)?;
        TcpListener::from_std(socket.into())
    };
    for port in ports.clone().unwrap_or(0..=0) {
        if let Ok(listener) = both(port) {
            return Ok(listener);
        }
    }
    bind(Ipv4Addr::UNSPECIFIED.into(), ports).await
}
