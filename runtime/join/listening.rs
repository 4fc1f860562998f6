//! Listening on a free port of a range.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

use super::handshake;

/// Listens on the first port of the range that is free, or on any.
pub(crate) async fn bind(address: IpAddr, ports: Option<RangeInclusive<u16>>) -> Result<TcpListener, String> {
    let named = ports.clone().map_or_else(String::new, |ports| format!(", ports {} to {}", ports.start(), ports.end()));
    let mut cause = String::new();
    for port in ports.unwrap_or(0..=0) {
        match TcpListener::bind((address, port)).await {
            Ok(listener) => return Ok(listener),
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
