//! The interfaces of a host: rtnetlink says MTU and queueing discipline of each.

use std::io;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use serde::{Deserialize, Serialize};

/// An interface that is up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) mtu: Option<u32>,
    pub(crate) qdisc: Option<String>,
}

/// More are not told of: a host of many containers has hundreds.
const MOST: usize = 16;

/// Those that are up; none where the system does not say.
pub(super) fn up() -> Vec<Interface> {
    let mut all = asked().unwrap_or_default();
    all.truncate(MOST);
    all
}

fn asked() -> io::Result<Vec<Interface>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::GetLink(LinkMessage::default()));
    request.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
    let mut found = Vec::new();
    loop {
        let (answers, _) = socket.recv_from_full()?;
        let mut rest = &answers[..];
        while !rest.is_empty() {
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
            match answer.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => found.extend(interface(&link)),
                NetlinkPayload::Done(_) => return Ok(found),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            // Each is padded to four bytes.
            let length = (answer.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(4)..).unwrap_or_default();
        }
    }
}

fn interface(link: &LinkMessage) -> Option<Interface> {
    if !link.header.flags.contains(LinkFlags::Up) {
        return None;
    }
    let (mut name, mut mtu, mut qdisc) = (None, None, None);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text.clone()),
            LinkAttribute::Mtu(bytes) => mtu = Some(*bytes),
            LinkAttribute::Qdisc(text) => qdisc = Some(text.clone()),
            _ => {}
        }
    }
    Some(Interface { name: name?, mtu, qdisc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_up_is_told_of() {
        let mut link = LinkMessage::default();
        link.attributes =
            vec![LinkAttribute::IfName("eth7".into()), LinkAttribute::Mtu(1500), LinkAttribute::Qdisc("fq".into())];
        assert_eq!(interface(&link), None, "it is down");
        link.header.flags = LinkFlags::Up;
        let eth7 = Interface { name: "eth7".into(), mtu: Some(1500), qdisc: Some("fq".into()) };
        assert_eq!(interface(&link), Some(eth7));
    }

    #[test]
    fn the_system_is_understood_where_it_answers() {
        let Ok(all) = asked() else { return };
        assert!(all.iter().all(|interface| !interface.name.is_empty() && interface.mtu.is_some()), "{all:?}");
    }
}
