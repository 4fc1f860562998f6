//! Setting up a network namespace's interfaces: requests to the system over rtnetlink.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::{Socket, SocketAddr};

/// Gives an interface these flags and properties, besides those it has, and waits for the system's answer. The socket
/// speaks rtnetlink; it reaches the network namespace of the thread that made it, wherever it is used.
pub(super) fn set(socket: &Socket, interface: u32, flags: LinkFlags, properties: Vec<LinkAttribute>) -> io::Result<()> {
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
    socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
    loop {
        let (answer, _) = socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        if let NetlinkPayload::Error(answer) = answer.payload {
            return if answer.code.is_some() { Err(answer.to_io()) } else { Ok(()) };
        }
    }
}
