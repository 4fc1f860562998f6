//! Setting up a network namespace's interfaces: requests to the system over rtnetlink.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A connection to the network namespace of the thread that makes it, wherever it is used.
pub(super) struct Netlink(Socket);

impl Netlink {
    pub(super) fn connect() -> io::Result<Self> {
        let socket = Socket::new(NETLINK_ROUTE)?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }

    /// Gives an interface these flags and properties, besides those it has, and waits for the system's answer.
    pub(super) fn set(&self, interface: u32, flags: LinkFlags, properties: Vec<LinkAttribute>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = interface;
        link.header.flags = flags;
        link.header.change_mask = flags;
        link.attributes = properties;
        let mut message = NetlinkMessage::from(RouteNetlinkMessage::SetLink(link));
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        loop {
            let (answer, _) = self.0.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
            if let NetlinkPayload::Error(answer) = answer.payload {
                return if answer.code.is_some() { Err(answer.to_io()) } else { Ok(()) };
            }
        }
    }
}
