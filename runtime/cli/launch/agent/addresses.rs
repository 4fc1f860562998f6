//! At which of its addresses a host can be reached.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::launch::failed::{Failed, system};
use lathide::config::{Config, Key};
use lathide::launcher::handshake::{Limits, Party, VERSIONS};
use lathide::launcher::interface::{Interfaces, loopback, own};
use lathide::launcher::{discovery, handshake};

/// How long the launcher is looked for in all.
const PATIENCE: Duration = Duration::from_secs(8);
/// Stands for the address at which this host and another have met, which the other knows.
const WHERE_IT_IS_REACHED: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Where this host may be reached from others, the likeliest first.
pub(super) fn candidates(port: u16, advertise: Option<IpAddr>, rules: Option<&Interfaces>) -> Vec<SocketAddr> {
    let mut addresses = match (advertise, rules) {
        (Some(address), _) => vec![address],
        (None, Some(_)) => own(rules),
        (None, None) => [WHERE_IT_IS_REACHED].into_iter().chain(own(None)).collect(),
    };
    if addresses == [WHERE_IT_IS_REACHED] {
        // A host without any network can still reach itself.
        addresses.push(loopback());
    }
    addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect()
}

/// Puts an address, if it is known, in the place that stands for it.
pub(super) fn resolved(all: &[SocketAddr], known: Option<IpAddr>) -> Vec<SocketAddr> {
    let address = |at: &SocketAddr| if at.ip() == WHERE_IT_IS_REACHED { known } else { Some(at.ip()) };
    let mut found: Vec<_> = all.iter().filter_map(|at| Some(SocketAddr::new(address(at)?, at.port()))).collect();
    let mut seen = HashSet::new();
    found.retain(|at| seen.insert(*at));
    found
}

/// The address from which the launcher has reached this host.
pub(super) fn client() -> Option<IpAddr> {
    // srun says from which address it was called; what ssh says there is about the user's own session.
    let from = std::env::var("SLURM_LAUNCH_NODE_IPADDR").or_else(|_| std::env::var("SSH_CONNECTION"));
    in_session(&from.ok()?, 0)
}

/// The address at which the launcher has reached this host: known to work for somebody.
pub(super) fn server() -> Option<IpAddr> {
    // It may be about the user's own session, on another host or outside of a virtual network.
    in_session(&std::env::var("SSH_CONNECTION").ok()?, 2).filter(|address| own(None).contains(address))
}

/// An address in what ssh says of a session: the client's address and port, then the server's.
fn in_session(text: &str, place: usize) -> Option<IpAddr> {
    text.split(' ').nth(place)?.split('%').next()?.parse().ok()
}

/// The first of `roots` at which this job's rendezvous authenticates itself.
///
/// # Errors
/// Which were tried, and what came of each.
pub(super) async fn first_that_answers(roots: &[SocketAddr], party: &Party) -> Result<SocketAddr, Failed> {
    let found = discovery::first_that_answers(&resolved(roots, client()), party, PATIENCE).await;
    found.map_err(|causes| {
        let causes = if causes.is_empty() { "that has no address that may be used".into() } else { causes.join("; ") };
        Failed::launcher(format!(
            "it cannot reach the launcher: {causes}; --advertise ADDR names the address it should use"
        ))
    })
}

/// An agent or a launcher as it presents itself, in a rank's place or the rendezvous'.
pub(super) fn party(secret: [u8; 32], rank: u32, size: u32) -> Result<Party, Failed> {
    let incarnation = handshake::incarnation().map_err(system("no random numbers"))?;
    let (key, limits) = (Key::from_bytes(secret), Limits::of(&Config::alone()));
    Ok(Party { key, rank, size, incarnation, limits, encrypts: false, checks: false, versions: VERSIONS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_the_connection_came_is_tried_first() {
        let roots = ["0.0.0.0:7", "10.0.0.1:7", "192.168.1.9:7"].map(|address| address.parse().unwrap());
        let shown = |session: &str, place| {
            let all = resolved(&roots, in_session(session, place));
            all.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown("192.168.1.9 5000 192.168.1.2 22", 0), "192.168.1.9:7 10.0.0.1:7");
        assert_eq!(shown("192.168.1.9 5000 192.168.1.2 22", 2), "192.168.1.2:7 10.0.0.1:7 192.168.1.9:7");
        assert_eq!(shown("fe80::1%eth0 5000 fe80::2 22", 0), "[fe80::1]:7 10.0.0.1:7 192.168.1.9:7");
        assert_eq!(shown("", 0), "10.0.0.1:7 192.168.1.9:7");
        assert_eq!(candidates(7, Some("10.9.9.9".parse().unwrap()), None), ["10.9.9.9:7".parse().unwrap()]);
    }
}
