//! At which of the launcher's addresses a host can reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use lathide::config::{Config, Key};
use lathide::launcher::handshake::{Guest, Limits, Party, Purpose, VERSIONS};
use lathide::launcher::interface::{Interfaces, own};
use lathide::launcher::{discovery, handshake};

/// How long the launcher is looked for in all.
const PATIENCE: Duration = Duration::from_secs(8);
/// Stands for the address from which the host was reached.
const WHERE_IT_CAME_FROM: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Where the launcher's rendezvous may be reached from other hosts, the likeliest first.
pub(super) fn candidates(port: u16, advertise: Option<IpAddr>, rules: Option<&Interfaces>) -> Vec<SocketAddr> {
    let addresses = match (advertise, rules) {
        (Some(address), _) => vec![address],
        (None, Some(_)) => own(rules),
        (None, None) => [WHERE_IT_CAME_FROM].into_iter().chain(own(None)).collect(),
    };
    addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect()
}

/// The first of `roots` at which this job's rendezvous authenticates itself.
///
/// # Errors
/// Which were tried, and what came of each.
pub(super) async fn first_that_answers(roots: &[SocketAddr], key: &Key, size: u32) -> Result<SocketAddr, String> {
    // srun says from which address it was called; what ssh says there is about the user's own session.
    let from = std::env::var("SLURM_LAUNCH_NODE_IPADDR").or_else(|_| std::env::var("SSH_CONNECTION")).ok();
    let roots = resolved(roots, from.as_deref());
    let party = party(key, 0, size)?;
    let causes = match discovery::first_that_answers(&roots, &party, PATIENCE).await {
        Ok(root) => return Ok(root),
        Err(causes) => causes.join("; "),
    };
    Err(format!("it cannot reach the launcher: {causes}; --advertise ADDR names the address it should use"))
}

/// An agent or a launcher as it presents itself, in a rank's place or the rendezvous'.
pub(super) fn party(key: &Key, rank: u32, size: u32) -> Result<Party, String> {
    let incarnation = handshake::incarnation().map_err(|error| format!("no random numbers: {error}"))?;
    let limits = Limits::of(&Config::alone());
    Ok(Party { key: key.clone(), rank, size, incarnation, limits, encrypts: false, versions: VERSIONS })
}

/// Accepts connections on all addresses, on one of these ports, for as long as the tasks live. Returns the port and who has
/// authenticated.
pub(super) async fn listen(
    party: Party,
    purpose: Purpose,
    ports: Option<RangeInclusive<u16>>,
) -> Result<(u16, mpsc::Receiver<Guest>, JoinSet<()>), String> {
    let listener = discovery::bind_all(ports).await?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let (sender, guests) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(handshake::receive(listener, party, purpose, sender, |guest| guest).await) });
    Ok((port, guests, tasks))
}

/// Puts the address from which this host was reached, if that is known, in the place that stands for it.
fn resolved(roots: &[SocketAddr], connection: Option<&str>) -> Vec<SocketAddr> {
    // The client's address and port, then the server's.
    let client = connection.and_then(|text| text.split(' ').next()?.split('%').next()?.parse::<IpAddr>().ok());
    let mut all = Vec::new();
    for root in roots {
        let address = if root.ip() == WHERE_IT_CAME_FROM { client } else { Some(root.ip()) };
        let Some(address) = address else { continue };
        let root = SocketAddr::new(address, root.port());
        if !all.contains(&root) {
            all.push(root);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_the_connection_came_is_tried_first() {
        let roots: Vec<SocketAddr> = ["0.0.0.0:7", "10.0.0.1:7", "192.168.1.9:7"].map(|a| a.parse().unwrap()).to_vec();
        let shown =
            |connection| resolved(&roots, connection).iter().map(|root| root.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(Some("192.168.1.9 5000 192.168.1.2 22")), "192.168.1.9:7 10.0.0.1:7");
        assert_eq!(shown(Some("fe80::1%eth0 5000 fe80::2 22")), "[fe80::1]:7 10.0.0.1:7 192.168.1.9:7");
        assert_eq!(shown(None), "10.0.0.1:7 192.168.1.9:7");
        assert_eq!(candidates(7, Some("10.9.9.9".parse().unwrap()), None), ["10.9.9.9:7".parse().unwrap()]);
    }
}
