//! The way of the raw connection between two nodes: through an emulated link of the same kind as theirs, if they have one.

use socket2::Socket;

use super::raw::{RawPlace, reserve_port};
use super::target::Target;
use crate::launch::failed::{Failed, Result};
use crate::launch::link::Relay;

/// See the module. It ends when it is dropped.
pub(crate) struct RawRoute {
    /// For the nodes; between hosts the connection is where rank 0 says.
    pub(crate) place: Option<RawPlace>,
    /// Kept, so that the link can lead there before rank 0 listens.
    _port: Socket,
    _relay: Option<Relay>,
}

impl RawRoute {
    /// A way for the nodes of `target`.
    pub(crate) fn of(target: &Target) -> Result<Self> {
        let failed = |error: std::io::Error| Failed::new(format!("no place for the raw connection: {error}"));
        let (port, listen) = reserve_port().map_err(failed)?;
        let Target { link, hosts } = target;
        let relay = if link.is_loopback() { None } else { Some(Relay::start(link, vec![listen]).map_err(failed)?) };
        let connect = relay.as_ref().map_or(listen, |relay| relay.addresses()[0]);
        let place = if hosts.is_given() { None } else { Some(RawPlace { listen, connect }) };
        Ok(RawRoute { place, _port: port, _relay: relay })
    }
}
